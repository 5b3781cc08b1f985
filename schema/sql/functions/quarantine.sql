-- Configs that crashed or hung, taken out for a solver, a problem and a target.

-- The most configs of one job in quarantine. A worker asks the device for proof after
-- five crashes, and each costs a child process, so no job comes near a hundred.
CREATE OR REPLACE FUNCTION quarantined_most() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$ SELECT 100 $$;

CREATE OR REPLACE FUNCTION check_quarantine(campaign bigint, job bigint, said integer[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    IF cardinality(said) > 16 OR array_position(said, NULL) IS NOT NULL THEN
        PERFORM refuse_value('a config has up to 16 values');
    ELSIF NOT EXISTS (SELECT 1 FROM rounds r WHERE r.campaign_id = campaign AND r.job_id = job
                      AND round_has_config(r, said)) THEN
        PERFORM refuse_handed(job, format('config %s is to be quarantined, and no round of the job '
                                          'has it', array_to_string(said, ',')));
    ELSIF (SELECT count(*) FROM jobs j
           JOIN campaigns c ON c.id = j.campaign_id
           JOIN quarantine q ON q.solver_id = j.solver_id AND q.problem_id = j.problem_id
                            AND q.target = c.target AND q.campaign_id = campaign AND q.job_id = job
           WHERE j.campaign_id = campaign AND j.id = job) >= quarantined_most() THEN
        PERFORM refuse_handed(job, format('%s of its configs are quarantined already',
                                          quarantined_most()));
    END IF;
END $$;

-- The worker of this session that claimed the job last. Refuses a job that another worker
-- claimed last. A session that acts for all workers gets whichever worker claimed the job,
-- NULL if none did.
CREATE OR REPLACE FUNCTION last_claimer(campaign bigint, job bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
    claimer bigint;
BEGIN
    SELECT h.claimed_by INTO claimer FROM (
        SELECT b.claimed_by FROM bundles b
        WHERE b.campaign_id = campaign AND b.job_ids @> ARRAY[job]
        UNION ALL
        SELECT e.claimed_by FROM job_ends e
        WHERE e.campaign_id = campaign AND e.job_id = job) AS h
    WHERE mine IS NULL OR h.claimed_by = ANY (mine);
    IF NOT FOUND AND mine IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ003',
            MESSAGE = format('job %s was claimed by another worker', job);
    END IF;
    RETURN claimer;
END $$;

-- Quarantines a config. Only the worker that claimed its job last may do so.
CREATE OR REPLACE FUNCTION skipjack_work.quarantine(campaign bigint, job bigint, values_of jsonb,
                                                    why smallint, words text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    said integer[] := ARRAY(SELECT v::integer FROM jsonb_array_elements_text(values_of)
                            WITH ORDINALITY AS e(v, n) ORDER BY n);
    claimer bigint := last_claimer(campaign, job);
BEGIN
    PERFORM check_failure(why);
    PERFORM check_quarantine(campaign, job, said);
    INSERT INTO quarantine (solver_id, problem_id, target, config, failure, detail, campaign_id,
                            job_id, worker_id, login)
    SELECT j.solver_id, j.problem_id, c.target, said, why, left(words, 4096), campaign, job,
           claimer, session_user
    FROM jobs j JOIN campaigns c ON c.id = j.campaign_id
    WHERE j.campaign_id = campaign AND j.id = job ON CONFLICT DO NOTHING;
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.list_quarantine() RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(q) || jsonb_build_object('problem', to_jsonb(p), 'solver', s.name,
        'revision', s.revision, 'hash', s.hash, 'since_unix', extract(epoch FROM q.since)::bigint,
        'node', w.node)
    FROM quarantine q JOIN problems p ON p.id = q.problem_id
    JOIN solvers s ON s.id = q.solver_id LEFT JOIN workers w ON w.id = q.worker_id
    ORDER BY q.target, s.name, q.problem_id, q.config
$$;

-- Lifts the quarantine of configs that this worker quarantined, unless the job stays failed by a
-- second device.
CREATE OR REPLACE FUNCTION skipjack_work.lift_quarantine(campaign bigint, job bigint,
                                                         values_of jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
    said integer[] := ARRAY(SELECT v::integer FROM jsonb_array_elements_text(values_of)
                            WITH ORDINALITY AS e(v, n) ORDER BY n);
BEGIN
    PERFORM last_claimer(campaign, job);
    DELETE FROM quarantine q USING jobs j, campaigns c
    WHERE j.campaign_id = campaign AND j.id = job AND c.id = j.campaign_id
      AND q.solver_id = j.solver_id AND q.problem_id = j.problem_id AND q.target = c.target
      AND q.config = said
      AND (mine IS NULL OR q.worker_id = ANY (mine))
      AND NOT EXISTS (
          SELECT 1 FROM job_faults f JOIN job_ends e USING (campaign_id, job_id)
          WHERE f.campaign_id = campaign AND f.job_id = job);
END $$;

-- Lifts the quarantine of all configs of a target and a login; NULL for all of them.
CREATE OR REPLACE FUNCTION clear_quarantine(of_target text, of_login text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    WITH cleared AS (
        DELETE FROM quarantine
        WHERE (of_target IS NULL OR target = of_target) AND (of_login IS NULL OR login = of_login)
        RETURNING 1)
    SELECT count(*) FROM cleared
$$;
