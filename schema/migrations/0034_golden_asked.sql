-- What a proposal asks for comes in pieces, each a transaction of its own: who
-- proposes a million rows holds some thousands of them. They wait in a table
-- until the proposal takes them, or a day is over.
-- oldest program: 0012

CREATE SEQUENCE golden_asked_numbers;
CREATE TABLE golden_asked (
    number    bigint NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    job_id    bigint NOT NULL,
    rank      integer NOT NULL,
    median_ms double precision NOT NULL,
    reason    text NOT NULL
);
CREATE INDEX ON golden_asked (number, job_id);

-- Adds to what was asked for under a number; 0 gives a new one. items: arrays of
-- as many jobs, ranks, medians and reasons.
CREATE FUNCTION ask_golden(asked_number bigint, items jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF asked_number = 0 THEN
        asked_number := nextval('golden_asked_numbers');
        DELETE FROM golden_asked a WHERE a.at < now() - interval '1 day';
    END IF;
    INSERT INTO golden_asked (number, job_id, rank, median_ms, reason)
    SELECT asked_number, i.job::bigint, i.rank::integer, i.median::double precision, i.reason
    FROM ROWS FROM (jsonb_array_elements_text(items->'jobs'),
                    jsonb_array_elements_text(items->'ranks'),
                    jsonb_array_elements_text(items->'medians'),
                    jsonb_array_elements_text(items->'reasons')) AS i(job, rank, median, reason);
    RETURN asked_number;
END $$;

CREATE FUNCTION hash_of_asked(asked_number bigint) RETURNS text
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT encode(sha256(convert_to(coalesce(string_agg(
        format('%s %s %s %s', a.job_id, a.rank, a.median_ms, a.reason), ','
        ORDER BY a.job_id, a.rank, a.median_ms, a.reason), ''), 'UTF8')), 'hex')
    FROM golden_asked a WHERE a.number = asked_number
$$;

-- As propose_golden(), with what was asked for under that number: so many rows,
-- kept results of the campaign as they were read.
CREATE FUNCTION propose_asked_golden(its_target text, its_base integer, campaign bigint,
                                     its_name text, its_note text, asked_number bigint,
                                     asked_count bigint, its_counts jsonb,
                                     OUT version integer, OUT is_new boolean)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    c campaigns;
    its_hash text := hash_of_asked(asked_number);
    next_version integer;
    copied bigint;
BEGIN
    PERFORM hold_golden(its_target, its_name);
    SELECT * INTO c FROM campaigns k WHERE k.id = campaign FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF c.target <> its_target THEN
        PERFORM refuse_golden(format('campaign %s is of %s, not of %s', campaign, c.target, its_target));
    ELSIF asked_count = 0 THEN
        PERFORM refuse_golden('a proposal holds something');
    END IF;
    PERFORM check_golden_base(its_target, its_base);
    SELECT v.version, false INTO propose_asked_golden.version, is_new FROM golden_versions v
    WHERE v.target = its_target AND v.base = its_base AND v.campaign_id = campaign
      AND v.asked = its_hash AND v.approved_at IS NULL AND v.withdrawn_at IS NULL;
    IF FOUND THEN
        DELETE FROM golden_asked a WHERE a.number = asked_number;
        RETURN;
    END IF;
    PERFORM withdraw_golden(its_target, v.version, its_name) FROM golden_versions v
    WHERE v.target = its_target AND v.campaign_id = campaign
      AND v.approved_at IS NULL AND v.withdrawn_at IS NULL;
    next_version := (SELECT coalesce(max(v.version), 0) + 1 FROM golden_versions v
                     WHERE v.target = its_target);
    INSERT INTO golden_versions (target, version, kind, base, campaign_id, campaign_name,
                                 campaign_stack, asked, counts, note, proposed_by)
    VALUES (its_target, next_version, 'propose', its_base, campaign, c.name, c.stack, its_hash,
            its_counts, its_note, its_name);
    INSERT INTO golden_proposed
    SELECT its_target, j.problem_id, s.name, r.rank, next_version, NULL, s.id, j.multiplicity,
           campaign, j.id, i.reason, r.config, r.config_text, r.kernel_keys, r.stack, r.n, r.min_ms,
           r.median_ms, r.spread, r.error, r.build_seconds, r.eval_seconds, r.workspace_bytes,
           r.flops, r.is_default
    FROM golden_asked i
    JOIN results r ON r.campaign_id = campaign AND r.job_id = i.job_id
                  AND r.rank = i.rank AND r.median_ms = i.median_ms
    JOIN jobs j ON j.campaign_id = campaign AND j.id = r.job_id
    JOIN solvers s ON s.id = j.solver_id
    WHERE i.number = asked_number AND EXISTS (
        SELECT 1 FROM rounds b JOIN outcomes o USING (campaign_id, job_id, number)
        CROSS JOIN LATERAL unnest(array_positions(o.median_ms, r.median_ms)) AS at
        CROSS JOIN LATERAL (SELECT coalesce(sum(e), 0)::integer AS values
                            FROM unnest(b.config_counts[:at - 1]) AS e) AS before
        WHERE b.campaign_id = campaign AND b.job_id = r.job_id AND NOT o.is_open
          AND o.failures[at] = 0 AND o.n[at] = r.n AND o.min_ms[at] = r.min_ms
          AND b.kernel_keys[at] = r.kernel_keys
          AND b.config_values[before.values + 1:before.values + b.config_counts[at]] = r.config);
    GET DIAGNOSTICS copied = ROW_COUNT;
    IF copied <> asked_count THEN
        PERFORM refuse_golden(format('the results of campaign %s are not those that were read, or '
                                     'not verified by its rounds: propose again', campaign));
    END IF;
    PERFORM use_golden_kernels(its_target, next_version);
    DELETE FROM golden_asked a WHERE a.number = asked_number;
    propose_asked_golden.version := next_version;
    is_new := true;
END $$;

INSERT INTO entry_points (role, name)
SELECT 'skipjack_coordinator', n FROM unnest(ARRAY['ask_golden', 'propose_asked_golden']) AS n;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
