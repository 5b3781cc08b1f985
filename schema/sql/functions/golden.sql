-- Golden versions of a target: proposing, approving, rolling back, pruning, reading.

CREATE OR REPLACE FUNCTION refuse_golden(words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS
$$ BEGIN RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = words; END $$;

CREATE OR REPLACE FUNCTION newest_golden(its_target text) RETURNS integer
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce(max(v.version), 0) FROM golden_versions v
    WHERE v.target = its_target AND v.approved_at IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION demands_two_persons(its_target text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce((SELECT p.two_persons FROM golden_policies p
                     WHERE p.target = its_target OR p.target IS NULL
                     ORDER BY p.target IS NULL, p.id DESC LIMIT 1), false)
$$;

-- Returns true if the session's login has the owner's rights.
CREATE OR REPLACE FUNCTION is_owners_login() RETURNS boolean
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT pg_has_role(session_user, c.relowner, 'USAGE') FROM pg_class c
    WHERE c.oid = 'golden_versions'::regclass
$$;

-- Locks the target, so one session at a time changes its versions.
CREATE OR REPLACE FUNCTION hold_golden(its_target text, its_name text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF btrim(coalesce(its_name, '')) = '' OR length(its_name) > 200 THEN
        PERFORM refuse_golden('who does this needs a name of up to 200 letters');
    END IF;
    PERFORM FROM targets t WHERE t.id = its_target FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001',
            MESSAGE = format('the database knows no target ''%s''', its_target);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION check_golden_base(its_target text, its_base integer) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF its_base <> newest_golden(its_target) THEN
        PERFORM refuse_golden(format('its base, version %s, is not the newest approved one of %s, '
                                     'which is %s: propose again', its_base, its_target,
                                     newest_golden(its_target)));
    END IF;
END $$;

CREATE OR REPLACE VIEW golden_version_rows AS
    SELECT v.*, extract(epoch FROM v.proposed_at)::bigint AS proposed,
           extract(epoch FROM v.approved_at)::bigint AS approved,
           CASE WHEN v.withdrawn_at IS NOT NULL THEN 'withdrawn'
                WHEN v.pruned_at IS NOT NULL THEN 'pruned'
                WHEN v.approved_at IS NOT NULL THEN 'approved'
                WHEN v.base < max(v.version) FILTER (WHERE v.approved_at IS NOT NULL)
                                             OVER (PARTITION BY v.target) THEN 'outdated'
                ELSE 'proposed' END AS state
    FROM golden_versions v;

CREATE OR REPLACE FUNCTION golden_version(its_target text, its_version integer)
RETURNS golden_versions
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    v golden_versions;
BEGIN
    SELECT * INTO v FROM golden_versions g WHERE g.target = its_target AND g.version = its_version;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001',
            MESSAGE = format('%s has no golden version %s', its_target, its_version);
    ELSIF v.withdrawn_at IS NOT NULL THEN
        PERFORM refuse_golden(format('version %s of %s was withdrawn by %s', its_version,
                                     its_target, v.withdrawn_by));
    ELSIF v.pruned_at IS NOT NULL THEN
        PERFORM refuse_golden(format('version %s of %s was pruned by %s: its content is not kept',
                                     its_version, its_target, v.pruned_by));
    END IF;
    RETURN v;
END $$;

-- The rows of a version, or of a proposal as if it were approved; version 0 has none.
CREATE OR REPLACE FUNCTION golden_content(its_target text, its_version integer) RETURNS SETOF golden_rows
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    v golden_versions;
BEGIN
    IF its_version = 0 THEN
        RETURN;
    END IF;
    v := golden_version(its_target, its_version);
    IF v.approved_at IS NOT NULL THEN
        RETURN QUERY SELECT * FROM golden_rows r
                     WHERE r.target = its_target AND r.since <= its_version
                       AND (r.until IS NULL OR r.until > its_version);
    ELSIF v.kind = 'rollback' THEN
        RETURN QUERY SELECT * FROM golden_content(its_target, v.restores);
    ELSE
        RETURN QUERY
            SELECT * FROM golden_content(its_target, v.base) AS r
            WHERE NOT EXISTS (SELECT 1 FROM golden_proposed p
                              WHERE p.target = its_target AND p.since = its_version
                                AND p.problem_id = r.problem_id AND p.solver = r.solver)
            UNION ALL
            SELECT * FROM golden_proposed p WHERE p.target = its_target AND p.since = its_version;
    END IF;
END $$;

-- The last job of a part of about that many rows; NULL if no rows are left.
CREATE OR REPLACE FUNCTION golden_part_end(its_target text, after_job bigint, wanted integer) RETURNS bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT least((SELECT r.from_job FROM golden_rows r
                  WHERE r.target = its_target AND r.from_job > after_job
                  ORDER BY r.from_job LIMIT 1 OFFSET wanted - 1),
                 (SELECT p.from_job FROM golden_proposed p
                  WHERE p.target = its_target AND p.from_job > after_job
                  ORDER BY p.from_job LIMIT 1 OFFSET wanted - 1))
$$;

-- golden_content() for a range of jobs. The rows that a proposal replaces are looked
-- for in all of the version.
CREATE OR REPLACE FUNCTION golden_content_part(its_target text, its_version integer, after_job bigint,
                                               last_job bigint) RETURNS SETOF golden_rows
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v golden_versions;
BEGIN
    IF its_version = 0 THEN
        RETURN;
    END IF;
    v := golden_version(its_target, its_version);
    IF v.approved_at IS NOT NULL THEN
        RETURN QUERY SELECT * FROM golden_rows r
                     WHERE r.target = its_target AND r.since <= its_version
                       AND (r.until IS NULL OR r.until > its_version)
                       AND r.from_job > after_job AND r.from_job <= last_job;
    ELSIF v.kind = 'rollback' THEN
        RETURN QUERY SELECT * FROM golden_content_part(its_target, v.restores, after_job, last_job);
    ELSE
        RETURN QUERY
            SELECT * FROM golden_content_part(its_target, v.base, after_job, last_job) AS r
            WHERE NOT EXISTS (SELECT 1 FROM golden_proposed p
                              WHERE p.target = its_target AND p.since = its_version
                                AND p.problem_id = r.problem_id AND p.solver = r.solver)
            UNION ALL
            SELECT * FROM golden_proposed p
            WHERE p.target = its_target AND p.since = its_version
              AND p.from_job > after_job AND p.from_job <= last_job;
    END IF;
END $$;

-- Rows in the form of a campaign's results: for a range of jobs, and of these only the named
-- ones (NULL for all). fits: the row's stack has what is wanted.
CREATE OR REPLACE FUNCTION list_golden_part(its_target text, its_version integer, wanted_stack text,
                                            of_network text, with_tag text, after_job bigint, last_job bigint,
                                            of_jobs bigint[]) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        SELECT jsonb_build_object('problem', to_jsonb(p),
            'result', to_jsonb(r) || jsonb_build_object('job_id', r.from_job),
            'solver', s.name, 'algorithm', s.algorithm, 'revision', s.revision,
            'dynamic', s.dynamic, 'tunable', s.tunable, 'multiplicity', r.multiplicity,
            'verified', true, 'campaign', r.from_campaign, 'since', r.since,
            'fits', stack_matches(wanted_stack, r.stack))
        FROM golden_content_part(its_target, its_version, after_job, last_job) AS r
        JOIN problems p ON p.id = r.problem_id JOIN solvers s ON s.id = r.solver_id
        WHERE (of_jobs IS NULL OR r.from_job = ANY (of_jobs))
          AND (of_network IS NULL OR r.problem_id IN (SELECT l.problem_id FROM network_layers l
                                                      WHERE l.network = of_network))
          AND (with_tag IS NULL OR r.problem_id IN (SELECT t.problem_id FROM problem_tags t
                                                    WHERE t.tag = with_tag));
END $$;

-- Entries that differ only in their drift were measured anew, so they count as changed.
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

CREATE OR REPLACE FUNCTION open_golden_version(its_target text, its_version integer) RETURNS golden_versions
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    v golden_versions := golden_version(its_target, its_version);
BEGIN
    IF v.approved_at IS NOT NULL THEN
        PERFORM refuse_golden(format('version %s of %s is approved already, by %s', its_version,
                                     its_target, v.approved_by));
    END IF;
    RETURN v;
END $$;

-- Adds rows to those asked for under a number; number 0 returns a new number. items:
-- arrays of equal length, jobs, ranks, medians and reasons.
CREATE OR REPLACE FUNCTION ask_golden(asked_number bigint, items jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF asked_number = 0 THEN
        asked_number := nextval('golden_asked_numbers');
        DELETE FROM golden_asked a WHERE a.at < now() - interval '1 day';
    END IF;
    INSERT INTO golden_asked (number, job_id, rank, median_ms, reason, as_rank)
    SELECT asked_number, i.job::bigint, i.rank::integer, i.median::double precision, i.reason,
           i.as_rank::integer
    FROM ROWS FROM (jsonb_array_elements_text(items->'jobs'),
                    jsonb_array_elements_text(items->'ranks'),
                    jsonb_array_elements_text(items->'medians'),
                    jsonb_array_elements_text(items->'reasons'),
                    jsonb_array_elements_text(items->'as_ranks'))
         AS i(job, rank, median, reason, as_rank);
    RETURN asked_number;
END $$;

CREATE OR REPLACE FUNCTION hash_of_asked(asked_number bigint) RETURNS text
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT encode(sha256(convert_to(coalesce(string_agg(
        format('%s %s %s %s', a.job_id, coalesce(a.as_rank, a.rank), a.median_ms, a.reason), ','
        ORDER BY a.job_id, a.rank, a.median_ms, a.reason), ''), 'UTF8')), 'hex')
    FROM golden_asked a WHERE a.number = asked_number
$$;

-- Proposes the rows asked for under a number. A row's drift is that of the newest round
-- that measured its time.
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
    INSERT INTO golden_proposed (target, problem_id, solver, rank, since, until, solver_id, multiplicity,
                                 from_campaign, from_job, reason, config, config_text, kernel_keys, stack,
                                 n, min_ms, median_ms, spread, error, build_seconds, eval_seconds,
                                 workspace_bytes, flops, is_default, pack_ms, packed_bytes, low_ms, high_ms, wins,
                                 drift)
    SELECT its_target, j.problem_id, s.name, coalesce(i.as_rank, r.rank), next_version, NULL, s.id, j.multiplicity,
           campaign, j.id, i.reason, r.config, r.config_text, r.kernel_keys, r.stack, r.n, r.min_ms,
           r.median_ms, r.spread, r.error, r.build_seconds, r.eval_seconds, r.workspace_bytes,
           r.flops, r.is_default, r.pack_ms, r.packed_bytes, r.low_ms, r.high_ms, r.wins,
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
          AND o.failures[at] = @FAILURE_NONE AND o.n[at] = r.n AND o.min_ms[at] = r.min_ms
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

-- Marks the kernels as used. An upkeep under way may not know yet that they are needed,
-- and keeps what was used since it began.
CREATE OR REPLACE FUNCTION use_golden_kernels(its_target text, its_version integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    keys text[] := ARRAY(SELECT DISTINCT unnest(string_to_array(p.kernel_keys, ','))
                         FROM golden_proposed p
                         WHERE p.target = its_target AND p.since = its_version ORDER BY 1);
    missing text;
BEGIN
    PERFORM FROM kernels k WHERE k.key = ANY (keys) ORDER BY k.key FOR NO KEY UPDATE;
    UPDATE kernels k SET used_at = clock_timestamp()
    WHERE k.key = ANY (keys) AND k.code_place IS NOT NULL;
    SELECT min(n.key) INTO missing FROM unnest(keys) AS n(key)
    WHERE NOT EXISTS (SELECT 1 FROM kernels k WHERE k.key = n.key AND k.code_place IS NOT NULL);
    IF missing IS NOT NULL THEN
        PERFORM refuse_golden(format('kernel %s has no code in the database: tune again',
                                     left(missing, 12)));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION name_measurers() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NEW.measured_by IS NULL THEN
        NEW.measured_by := measurers(NEW.from_campaign, NEW.from_job);
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER name_measurers BEFORE INSERT ON golden_proposed
    FOR EACH ROW EXECUTE FUNCTION name_measurers();

CREATE OR REPLACE FUNCTION withdraw_golden(its_target text, its_version integer, its_name text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM hold_golden(its_target, its_name);
    PERFORM open_golden_version(its_target, its_version);
    DELETE FROM golden_proposed p WHERE p.target = its_target AND p.since = its_version;
    UPDATE golden_versions v SET withdrawn_by = its_name, withdrawn_login = session_user,
                                 withdrawn_at = clock_timestamp()
    WHERE v.target = its_target AND v.version = its_version;
END $$;

-- Logins must differ, whatever names are given. The owner's login may be shared by
-- several persons, so there names must differ.
CREATE OR REPLACE FUNCTION check_second_person(v golden_versions, its_name text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF demands_two_persons(v.target)
       AND (lower(btrim(its_name)) = lower(btrim(v.proposed_by))
            OR session_user = v.proposed_login AND NOT is_owners_login()) THEN
        PERFORM refuse_golden(format('version %s of %s was proposed by %s (login %s): the policy '
            'asks that somebody else approves it, under another name and login', v.version,
            v.target, v.proposed_by, v.proposed_login));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION take_proposed(v golden_versions) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    UPDATE golden_rows r SET until = v.version
    FROM (SELECT DISTINCT p.problem_id, p.solver FROM golden_proposed p
          WHERE p.target = v.target AND p.since = v.version) AS n
    WHERE r.target = v.target AND r.until IS NULL AND r.problem_id = n.problem_id
      AND r.solver = n.solver;
    WITH taken AS (DELETE FROM golden_proposed p
                   WHERE p.target = v.target AND p.since = v.version RETURNING p.*)
    INSERT INTO golden_rows SELECT * FROM taken;
END $$;

CREATE OR REPLACE FUNCTION approve_golden(its_target text, its_version integer, its_name text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    v golden_versions;
BEGIN
    PERFORM hold_golden(its_target, its_name);
    v := open_golden_version(its_target, its_version);
    PERFORM check_golden_base(its_target, v.base);
    PERFORM check_second_person(v, its_name);
    IF v.kind = 'rollback' THEN
        PERFORM take_restored(v);
    ELSE
        PERFORM take_proposed(v);
    END IF;
    UPDATE golden_versions g SET approved_by = its_name, approved_login = session_user,
                                 approved_at = clock_timestamp()
    WHERE g.target = its_target AND g.version = its_version;
END $$;

-- Ends the rows that are newer than the restored version, and begins those again that
-- had ended since.
CREATE OR REPLACE FUNCTION take_restored(v golden_versions) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    UPDATE golden_rows r SET until = v.version
    WHERE r.target = v.target AND r.until IS NULL AND r.since > v.restores;
    INSERT INTO golden_rows
    SELECT n.* FROM golden_rows r
    CROSS JOIN LATERAL jsonb_populate_record(
        r, jsonb_build_object('since', v.version, 'until', NULL)) AS n
    WHERE r.target = v.target AND r.since <= v.restores AND r.until > v.restores;
END $$;

-- Makes a new version with the content of an older one. It is approved at once if the
-- policy asks for one person only.
CREATE OR REPLACE FUNCTION roll_back_golden(its_target text, to_version integer, its_name text, its_note text,
                                            OUT version integer, OUT is_approved boolean)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    newest integer;
    v golden_versions;
BEGIN
    PERFORM hold_golden(its_target, its_name);
    newest := newest_golden(its_target);
    v := golden_version(its_target, to_version);
    IF v.approved_at IS NULL THEN
        PERFORM refuse_golden(format('version %s of %s was never approved', to_version, its_target));
    ELSIF to_version = newest THEN
        PERFORM refuse_golden(format('version %s of %s is the newest approved one already',
                                     to_version, its_target));
    END IF;
    SELECT g.version INTO roll_back_golden.version FROM golden_versions g
    WHERE g.target = its_target AND g.restores = to_version AND g.base = newest
      AND g.approved_at IS NULL AND g.withdrawn_at IS NULL;
    IF NOT FOUND THEN
        roll_back_golden.version := (SELECT max(g.version) + 1 FROM golden_versions g
                                     WHERE g.target = its_target);
        INSERT INTO golden_versions (target, version, kind, base, restores, asked, counts, note,
                                     proposed_by)
        VALUES (its_target, roll_back_golden.version, 'rollback', newest, to_version, '', '{}',
                its_note, its_name);
    END IF;
    is_approved := NOT demands_two_persons(its_target);
    IF is_approved THEN
        PERFORM approve_golden(its_target, roll_back_golden.version, its_name);
    END IF;
END $$;

-- Gives up the content of versions before this one. Proposals that can no longer be
-- approved, or would restore such content, are withdrawn. Rows that the version itself
-- holds stay.
CREATE OR REPLACE FUNCTION prune_golden(its_target text, before_version integer, its_name text,
                                        OUT versions bigint, OUT configs bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    v golden_versions;
BEGIN
    PERFORM hold_golden(its_target, its_name);
    v := golden_version(its_target, before_version);
    IF v.approved_at IS NULL THEN
        PERFORM refuse_golden(format('version %s of %s was never approved: versions before an '
                                     'approved one are pruned', before_version, its_target));
    END IF;
    PERFORM withdraw_golden(its_target, g.version, its_name) FROM golden_versions g
    WHERE g.target = its_target AND g.approved_at IS NULL AND g.withdrawn_at IS NULL
      AND (g.base < before_version OR g.restores < before_version);
    DELETE FROM golden_rows r WHERE r.target = its_target AND r.until <= before_version;
    GET DIAGNOSTICS configs = ROW_COUNT;
    UPDATE golden_versions g SET pruned_by = its_name, pruned_login = session_user,
                                 pruned_at = clock_timestamp()
    WHERE g.target = its_target AND g.version < before_version AND g.approved_at IS NOT NULL
      AND g.pruned_at IS NULL;
    GET DIAGNOSTICS versions = ROW_COUNT;
END $$;

-- A coordinator may ask for two persons. Only the owner may end that.
CREATE OR REPLACE FUNCTION set_golden_policy(its_target text, demand boolean, its_name text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF its_target IS NOT NULL THEN
        PERFORM hold_golden(its_target, its_name);
    END IF;
    IF NOT demand AND NOT is_owners_login() THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = 'only the owner of the database may let one person propose and approve';
    END IF;
    INSERT INTO golden_policies (target, two_persons, set_by) VALUES (its_target, demand, its_name);
END $$;
