-- Confirming golden entries: which results are measured again before a proposal, and
-- what the new measurements said.

-- The first row of an entry of the newest golden version.
CREATE OR REPLACE FUNCTION golden_first(its_target text, its_problem bigint, its_solver text) RETURNS golden_rows
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT r FROM golden_rows r
    WHERE r.target = its_target AND r.problem_id = its_problem AND r.solver = its_solver
      AND r.until IS NULL
    ORDER BY r.rank LIMIT 1
$$;

-- Returns the campaign's job of a problem with a solver; if it has jobs of several revisions
-- of the solver, a carried one before others, then the newest. 0 if there is no job.
CREATE OR REPLACE FUNCTION job_of_entry(campaign bigint, its_problem bigint, its_solver text, carried text[])
RETURNS bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce((SELECT j.id FROM jobs j JOIN solvers s ON s.id = j.solver_id AND s.name = its_solver
                     WHERE j.campaign_id = campaign AND j.problem_id = its_problem
                     ORDER BY s.name || ':' || s.revision || ':' || s.hash = ANY (carried) DESC,
                              s.revision DESC, j.id LIMIT 1), 0)
$$;

-- Makes a job for a golden entry that the campaign never tried. Returns 0 if its solver
-- is not carried.
CREATE OR REPLACE FUNCTION add_golden_job(campaign bigint, g golden_rows, carried text[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    added bigint;
BEGIN
    INSERT INTO jobs (campaign_id, problem_id, solver_id, position, priority, multiplicity)
    SELECT campaign, g.problem_id, g.solver_id,
           1 + coalesce((SELECT max(j.position) FROM jobs j WHERE j.campaign_id = campaign), 0), 0,
           g.multiplicity
    FROM solvers s
    WHERE s.id = g.solver_id AND s.name || ':' || s.revision || ':' || s.hash = ANY (carried)
    RETURNING id INTO added;
    RETURN coalesce(added, 0);
END $$;

-- Logins with a worker that may measure for the campaign and sent a heartbeat within the
-- last seven days. carried: the solvers of such a worker, NULL for all.
CREATE OR REPLACE FUNCTION measuring_logins(campaign bigint) RETURNS TABLE (login text, carried text[])
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT DISTINCT w.login, w.carried
    FROM campaigns c
    JOIN workers w ON w.login <> '' AND w.beat_at > now() - interval '7 days'
     AND (w.target = c.target OR EXISTS (SELECT FROM worker_devices d
                                         WHERE d.worker_id = w.id AND d.target = c.target))
     AND (c.pool = '' OR c.pool = ANY (w.labels))
     AND worker_lacks(w.id, w.stack, false, c.target, c.stack) IS NULL
    WHERE c.id = campaign
$$;

-- Returns who measured the configs of entries. items: objects of problem_id, solver,
-- job, config (its text) and median_ms. Each row has: the item's number, from 0; times:
-- what each round of the job measured for the config, first the round with that median,
-- then the newest, with the logins that handed it in; golden: the first row of the
-- entry in the newest golden version if that is this config, else NULL; able: the
-- logins of measuring_logins() with a worker that carries the job's solver.
CREATE OR REPLACE FUNCTION golden_measurements(its_target text, campaign bigint, items jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        WITH item AS MATERIALIZED (
            SELECT i.place - 1 AS place, x.problem_id, x.solver, x.job, x.config, x.median_ms
            FROM jsonb_array_elements(items) WITH ORDINALITY AS i(object, place)
            CROSS JOIN LATERAL jsonb_to_record(i.object)
                       AS x(problem_id bigint, solver text, job bigint, config text,
                            median_ms double precision)),
        hands AS MATERIALIZED ( -- one row a job: the logins of its rounds, by round number
            SELECT r.job, jsonb_object_agg(r.number, r.logins) AS logins
            FROM (SELECT u.job, u.number, jsonb_agg(DISTINCT n.login) AS logins
                  FROM deliveries d
                  CROSS JOIN LATERAL unnest(d.job_ids, d.numbers) AS u(job, number)
                  JOIN worker_names n ON n.worker_id = d.worker_id AND n.login <> ''
                  WHERE d.campaign_id = campaign AND u.job IN (SELECT i.job FROM item i)
                  GROUP BY u.job, u.number) AS r
            GROUP BY r.job),
        measuring AS MATERIALIZED (SELECT * FROM measuring_logins(campaign))
        SELECT jsonb_build_object('place', i.place,
            'times', coalesce((
                SELECT jsonb_agg(jsonb_build_object(
                           'median_ms', f.median_ms, 'spread', f.spread,
                           'logins', coalesce(h.logins -> r.number::text, '[]'))
                           ORDER BY f.median_ms = i.median_ms DESC, r.number DESC)
                FROM rounds r
                JOIN outcomes o ON o.campaign_id = campaign AND o.job_id = i.job
                     AND o.number = r.number AND NOT o.is_open
                CROSS JOIN LATERAL unnest(o.failures, o.median_ms, o.spread, r.config_counts)
                           WITH ORDINALITY AS f(failure, median_ms, spread, size, at)
                CROSS JOIN LATERAL (SELECT coalesce(sum(n), 0)::integer AS values
                                    FROM unnest(r.config_counts[:f.at - 1]) AS n) AS before
                WHERE r.campaign_id = campaign AND r.job_id = i.job AND f.failure = @FAILURE_NONE
                  AND array_to_string(r.config_values[before.values + 1:before.values + f.size], ',')
                      = i.config), '[]'),
            'golden', (SELECT jsonb_build_object('median_ms', g.median_ms, 'spread', g.spread,
                                                 'logins', coalesce(to_jsonb(g.measured_by), '[]'))
                       FROM golden_first(its_target, i.problem_id, i.solver) AS g
                       WHERE g.config_text = i.config),
            'able', coalesce((
                SELECT jsonb_agg(DISTINCT m.login)
                FROM measuring m
                WHERE m.carried IS NULL OR EXISTS (
                    SELECT FROM jobs j JOIN solvers s ON s.id = j.solver_id
                    WHERE j.campaign_id = campaign AND j.id = i.job
                      AND s.name || ':' || s.revision || ':' || s.hash = ANY (m.carried))), '[]'))
        FROM item i LEFT JOIN hands h ON h.job = i.job;
END $$;

-- Has the campaign measure golden entries again, beside their rivals, before it proposes a
-- version.
--
-- items: objects with the members
--   problem_id, solver  the entry to measure again
--   rival               the solver of a golden entry of the problem to compare with: the entry
--                       itself, or the problem's winner. NULL if golden has nothing to compare
--   not_by              logins that may not measure the entry
--
-- With a rival, two rounds measure the configs that the campaign kept of the entry and those
-- of the newest golden version. Without a rival, one round measures what the campaign kept. A
-- golden entry that the campaign never tried gets a job in it, if its solver is carried.
--
-- Returns counts of entries:
--   asked       will be measured again
--   under_way   their job already measures again
--   at_work     their job is open for another reason
--   impossible  there is no config to measure, the solver is not carried, the job failed as
--               worker lost, golden no longer holds the rival, or only logins of not_by have
--               workers that could measure
CREATE OR REPLACE FUNCTION remeasure_for_golden(its_target text, campaign bigint, items jsonb, carried jsonb)
RETURNS jsonb
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    its_solvers text[] := ARRAY(SELECT jsonb_array_elements_text(carried));
    able text[] := ARRAY(SELECT m.login FROM measuring_logins(campaign) AS m);
    barred text[];
    all_barred text[] := '{}';
    item record;
    g golden_rows;
    own golden_rows;
    job bigint;
    e job_ends;
    b bundles;
    wished jsonb;
    asked bigint := 0;
    under_way bigint := 0;
    at_work bigint := 0;
    impossible bigint := 0;
BEGIN
    PERFORM hold_remeasured(campaign);
    PERFORM add_remeasure_partition(campaign);
    FOR item IN SELECT * FROM jsonb_to_recordset(items)
                              AS i(problem_id bigint, solver text, rival text, not_by jsonb)
    LOOP
        barred := ARRAY(SELECT jsonb_array_elements_text(item.not_by));
        g := golden_first(its_target, item.problem_id, item.rival);
        own := golden_first(its_target, item.problem_id, item.solver);
        job := job_of_entry(campaign, item.problem_id, item.solver, its_solvers);
        IF job = 0 AND own.solver_id IS NOT NULL THEN
            job := add_golden_job(campaign, own, its_solvers);
        END IF;
        SELECT * INTO b FROM bundles k WHERE k.campaign_id = campaign AND job = ANY (k.job_ids);
        IF b.id IS NOT NULL THEN
            under_way := under_way + b.remeasures::integer;
            at_work := at_work + (NOT b.remeasures)::integer;
            CONTINUE;
        END IF;
        SELECT * INTO e FROM job_ends d WHERE d.campaign_id = campaign AND d.job_id = job;
        wished := (
            SELECT jsonb_agg(DISTINCT to_jsonb(w.config))
            FROM (SELECT k.config FROM results k WHERE k.campaign_id = campaign AND k.job_id = job
                  UNION ALL
                  SELECT r.config FROM golden_rows r
                  WHERE r.target = its_target AND r.problem_id = item.problem_id
                    AND r.solver = item.solver AND r.until IS NULL AND item.rival IS NOT NULL) AS w
            WHERE EXISTS (SELECT FROM jobs j JOIN solvers s ON s.id = j.solver_id
                          WHERE j.campaign_id = campaign AND j.id = job
                            AND s.name || ':' || s.revision || ':' || s.hash = ANY (its_solvers)));
        IF wished IS NULL OR (item.rival IS NOT NULL AND g.since IS NULL) OR e.failure = @FAILURE_WORKER_LOST
           OR (barred <> '{}' AND able <@ barred) THEN
            impossible := impossible + 1;
            CONTINUE;
        END IF;
        PERFORM drop_open_rounds(campaign, ARRAY[job], coalesce(e.rounds, 0));
        INSERT INTO remeasures (campaign_id, job_id, number, configs, keeps_all, golden_solver,
                                golden_since, not_by)
        SELECT campaign, job, coalesce(e.rounds, 0) + place, wished, true, item.rival, g.since,
               barred
        FROM generate_series(0, (item.rival IS NOT NULL)::integer) AS place;
        asked := asked + 1;
        all_barred := ARRAY(SELECT unnest(all_barred) UNION SELECT unnest(barred) ORDER BY 1);
    END LOOP;
    IF asked > 0 THEN
        PERFORM open_remeasures(campaign);
        INSERT INTO events (kind, campaign_id, detail) VALUES ('measured again', campaign,
            format('%s entries for the golden version of %s', asked, its_target)
            || CASE WHEN all_barred = '{}' THEN ''
                    ELSE '; what one of these logins measured, others are to measure: '
                         || array_to_string(all_barred, ', ') END);
    END IF;
    RETURN jsonb_build_object('asked', asked, 'under_way', under_way, 'at_work', at_work,
                              'impossible', impossible);
END $$;

-- For each entry of the campaign that was measured again for golden beside a rival, the
-- first of the two rounds. An entry is left out if its job is open or had rounds since, or
-- if the newest golden version no longer holds the rival's row. base_config: golden's best
-- config of the same entry, or NULL.
CREATE OR REPLACE FUNCTION golden_confirmations(its_target text, campaign bigint) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        SELECT jsonb_build_object('problem_id', j.problem_id, 'solver', s.name,
            'base_config', (golden_first(its_target, j.problem_id, s.name)).config_text,
            'drift', o.drift,
            'throttle', coalesce((SELECT q.throttle FROM round_conditions q WHERE q.campaign_id = campaign
                                  AND q.job_id = m.job_id AND q.number = m.number), 0),
            'configs', (SELECT jsonb_agg(jsonb_build_object(
                            'config', array_to_string(
                                r.config_values[before.values + 1:before.values + f.size], ','),
                            'failure', f.failure, 'median_ms', f.median_ms, 'spread', f.spread)
                            ORDER BY f.at)
                        FROM unnest(o.failures, o.median_ms, o.spread, r.config_counts)
                             WITH ORDINALITY AS f(failure, median_ms, spread, size, at)
                        CROSS JOIN LATERAL (SELECT coalesce(sum(n), 0)::integer AS values
                                            FROM unnest(r.config_counts[:f.at - 1]) AS n) AS before))
        FROM remeasures m
        JOIN remeasures n ON n.campaign_id = campaign AND n.job_id = m.job_id
             AND n.number = m.number + 1 AND n.golden_solver = m.golden_solver
             AND n.golden_since = m.golden_since
        JOIN job_ends e ON e.campaign_id = campaign AND e.job_id = m.job_id
             AND e.rounds = m.number + 2
        JOIN jobs j ON j.campaign_id = campaign AND j.id = m.job_id
        JOIN solvers s ON s.id = j.solver_id
        JOIN rounds r ON r.campaign_id = campaign AND r.job_id = m.job_id AND r.number = m.number
        JOIN outcomes o ON o.campaign_id = campaign AND o.job_id = m.job_id AND o.number = m.number
        WHERE m.campaign_id = campaign AND m.golden_solver IS NOT NULL
          AND (golden_first(its_target, j.problem_id, m.golden_solver)).since = m.golden_since
          AND j.id NOT IN (SELECT unnest(b.job_ids) FROM bundles b WHERE b.campaign_id = campaign);
END $$;
