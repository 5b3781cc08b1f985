-- A golden row keeps the drift of the round that measured it: what was taken although its device
-- drifted says so as long as it ships.
-- oldest program: 0038

ALTER TABLE golden_rows ADD COLUMN drift double precision NOT NULL DEFAULT 0;
ALTER TABLE golden_proposed ADD COLUMN drift double precision NOT NULL DEFAULT 0;

-- The newest round that measured a kept result's time says how far its device drifted.
CREATE OR REPLACE FUNCTION propose_asked_golden(its_target text, its_base integer, campaign bigint,
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
           r.flops, r.is_default,
           coalesce((SELECT o.drift FROM outcomes o
                     WHERE o.campaign_id = campaign AND o.job_id = r.job_id AND NOT o.is_open
                       AND o.median_ms @> ARRAY[r.median_ms] ORDER BY o.number DESC LIMIT 1), 0)
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

-- Entries that differ in their drift alone were measured anew.
CREATE OR REPLACE FUNCTION diff_golden(its_target text, a integer, b integer) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN QUERY
        WITH old AS (SELECT DISTINCT ON (r.problem_id, r.solver) r.*, s.revision
                     FROM golden_content(its_target, a) AS r JOIN solvers s ON s.id = r.solver_id
                     ORDER BY r.problem_id, r.solver, r.rank),
             new AS (SELECT DISTINCT ON (r.problem_id, r.solver) r.*, s.revision
                     FROM golden_content(its_target, b) AS r JOIN solvers s ON s.id = r.solver_id
                     ORDER BY r.problem_id, r.solver, r.rank)
        SELECT jsonb_build_object('problem', to_jsonb(p), 'solver', coalesce(new.solver, old.solver),
            'change', CASE WHEN old.solver IS NULL THEN 'gained' WHEN new.solver IS NULL THEN 'lost'
                           ELSE 'changed' END,
            'reason', new.reason, 'old_ms', old.median_ms, 'new_ms', new.median_ms,
            'old_revision', old.revision, 'new_revision', new.revision,
            'old_config', old.config_text, 'new_config', new.config_text,
            'old_drift', old.drift, 'new_drift', new.drift)
        FROM old FULL JOIN new ON new.problem_id = old.problem_id AND new.solver = old.solver
        JOIN problems p ON p.id = coalesce(new.problem_id, old.problem_id)
        WHERE (old.solver_id, old.config, old.config_text, old.median_ms, old.stack, old.kernel_keys,
               old.drift)
              IS DISTINCT FROM (new.solver_id, new.config, new.config_text, new.median_ms, new.stack,
                                new.kernel_keys, new.drift);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
