-- The second measurement of a problem, called its final: when all its jobs have ended, the best configs of all solvers
-- are measured together, and the result ships.
--
-- A final is carried by a bundle that measures again (bundles.remeasures), of the job with the fastest config. It
-- begins as built, since its code objects are stored. Its measurements become one more round of each job that has a
-- config in it, so each result stays proved by a stored round of its job.

-- Configs within this factor of the fastest take part, and at most so many of them.
CREATE OR REPLACE FUNCTION final_reach() RETURNS double precision
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$ SELECT 1.05::double precision $$;

CREATE OR REPLACE FUNCTION final_most() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$ SELECT 6 $$;

-- Yesterday's winner of a problem: golden's, or else that of the last final on the target.
CREATE OR REPLACE FUNCTION former_winner(its_target text, problem bigint, OUT solver text, OUT config_text text)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    SELECT g.solver, g.config_text INTO solver, config_text FROM golden_rows g
    WHERE g.target = its_target AND g.problem_id = problem AND g.until IS NULL AND g.rank = 0
    ORDER BY g.wins DESC, g.median_ms, g.solver LIMIT 1;
    IF NOT FOUND THEN
        SELECT w.solver, w.config_text INTO solver, config_text FROM last_winners w
        WHERE w.target = its_target AND w.problem_id = problem;
    END IF;
END $$;

-- The entrants of a problem's final, the fastest first: the kept configs in reach of the fastest; the default configs
-- of the fastest config's job and of the first job, whose solver was estimated best, since gains are reported against
-- that default; and yesterday's winner, also where this campaign did not try golden's config but has a job of its
-- solver. best_ms: the time that counts as the fastest, if a former attempt found the kept ones too low.
CREATE OR REPLACE FUNCTION final_entrants(c campaigns, problem bigint, least_ms double precision)
RETURNS TABLE (entrant jsonb, job bigint, pin text)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    former record := former_winner(c.target, problem);
BEGIN
    RETURN QUERY
        WITH own AS MATERIALIZED (
            SELECT j.id, j.position, e.rounds, s.id AS solver_id, s.name, s.name || ':' || s.revision || ':' || s.hash AS pin
            FROM jobs j
            JOIN job_ends e ON e.campaign_id = c.id AND e.job_id = j.id AND e.state = 'done'
            JOIN solvers s ON s.id = j.solver_id
            WHERE j.campaign_id = c.id AND j.problem_id = problem),
        kept AS MATERIALIZED (
            SELECT o.*, r.config, r.config_text, r.kernel_keys, r.is_default, r.median_ms, r.workspace_bytes,
                   r.packed_bytes, r.flops, r.build_seconds,
                   row_number() OVER (ORDER BY r.median_ms, o.name, r.config_text) AS place,
                   first_value(o.id) OVER (ORDER BY r.median_ms, o.name, r.config_text) AS best_job,
                   first_value(o.id) OVER (ORDER BY o.position) AS first_job,
                   greatest(min(r.median_ms) OVER (), least_ms) AS best_ms
            FROM own o JOIN results r ON r.campaign_id = c.id AND r.job_id = o.id),
        chosen AS (
            SELECT k.*, coalesce((k.name, k.config_text) = (former.solver, former.config_text), false) AS is_former
            FROM kept k),
        outside AS (
            SELECT o.*, g.config, g.config_text, g.kernel_keys, g.is_default, g.median_ms, g.workspace_bytes,
                   g.packed_bytes, g.flops, g.build_seconds
            FROM own o
            JOIN golden_rows g ON g.target = c.target AND g.problem_id = problem AND g.until IS NULL
                 AND g.rank = 0 AND g.solver = o.name AND g.solver_id = o.solver_id
            WHERE (g.solver, g.config_text) = (former.solver, former.config_text)
              AND coalesce(g.workspace_bytes <= c.workspace_limit, true)
              AND NOT EXISTS (SELECT FROM kept k WHERE k.id = o.id AND k.config = g.config)),
        taking_part AS (
            SELECT k.id, k.pin, k.solver_id, k.rounds, k.config, k.config_text, k.kernel_keys, k.is_default,
                   k.is_former, k.median_ms AS kept_ms, k.median_ms, k.workspace_bytes, k.packed_bytes, k.flops,
                   k.build_seconds
            FROM chosen k
            WHERE (k.median_ms <= final_reach() * k.best_ms AND k.place <= final_most())
               OR (k.is_default AND k.id IN (k.best_job, k.first_job)) OR k.is_former
            UNION ALL
            SELECT o.id, o.pin, o.solver_id, o.rounds, o.config, o.config_text, o.kernel_keys, o.is_default, true,
                   NULL, o.median_ms, o.workspace_bytes, o.packed_bytes, o.flops, o.build_seconds
            FROM outside o WHERE EXISTS (SELECT FROM kept))
        SELECT jsonb_build_object(
                   'job', t.id, 'solver_id', t.solver_id, 'rounds', t.rounds, 'config', t.config,
                   'config_text', t.config_text, 'kernel_keys', t.kernel_keys, 'is_default', t.is_default,
                   'former', t.is_former, 'median_ms', t.kept_ms, 'workspace_bytes', t.workspace_bytes,
                   'packed_bytes', t.packed_bytes, 'flops', t.flops, 'build_seconds', t.build_seconds),
               t.id, t.pin
        FROM taking_part t ORDER BY t.kept_ms IS NULL, t.median_ms, t.pin, t.config_text;
END $$;

-- Asks for the final of a problem whose jobs have all ended, unless it is asked for already. least_ms, attempt: of a
-- final that is repeated; else 0.
CREATE OR REPLACE FUNCTION ask_final(c campaigns, problem bigint, least_ms double precision, again integer)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off AS $$
DECLARE
    members jsonb;
    pins text[];
    host bigint;
    host_round integer;
    asked integer;
BEGIN
    IF EXISTS (SELECT FROM jobs j WHERE j.campaign_id = c.id AND j.problem_id = problem
               AND (NOT EXISTS (SELECT FROM job_ends e WHERE e.campaign_id = c.id AND e.job_id = j.id)
                    OR EXISTS (SELECT FROM bundles b WHERE b.campaign_id = c.id AND b.remeasures
                               AND b.job_ids[1] = j.id))) THEN
        RETURN;
    END IF;
    SELECT jsonb_agg(f.entrant ORDER BY f.place), array_agg(DISTINCT f.pin), (array_agg(f.job ORDER BY f.place))[1]
    INTO members, pins, host
    FROM final_entrants(c, problem, least_ms) WITH ORDINALITY AS f(entrant, job, pin, place);
    IF host IS NULL THEN
        RETURN;
    END IF;
    host_round := (members->0->>'rounds')::integer;
    INSERT INTO finals AS f (campaign_id, problem_id, job_id, number, state, entrants, solvers, attempt)
    VALUES (c.id, problem, host, host_round, 'asked', members, pins, again)
    ON CONFLICT (campaign_id, problem_id) DO UPDATE
        SET job_id = EXCLUDED.job_id, number = EXCLUDED.number, state = 'asked', entrants = EXCLUDED.entrants,
            solvers = EXCLUDED.solvers, attempt = EXCLUDED.attempt, at = now(), winner = NULL, detail = ''
        WHERE f.state <> 'asked';
    GET DIAGNOSTICS asked = ROW_COUNT;
    IF asked = 0 THEN
        RETURN;
    END IF;
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, remeasures)
    SELECT c.id, j.solver_id, 'built', host_round, j.position, ARRAY[j.id], true
    FROM jobs j WHERE j.campaign_id = c.id AND j.id = host;
    UPDATE campaigns SET state = 'active' WHERE id = c.id AND state = 'done';
    PERFORM wake_workers(c.id, false, 1);
END $$;

-- Whether a campaign measures its problems a second time.
CREATE OR REPLACE FUNCTION has_finals(c campaigns) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT c.final_seconds > 0 AND NOT c.build_only AND c.strategy <> 'foreign' AND c.state <> 'cancelled' $$;

-- How many second measurements a campaign with so many open jobs still has to do, at most: problems without one may
-- have failed, or been taken over with their winner.
CREATE OR REPLACE FUNCTION finals_left(c campaigns, open_jobs bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    IF open_jobs = 0 OR NOT has_finals(c) THEN
        RETURN 0;
    END IF;
    RETURN least(open_jobs, greatest(0, (SELECT count(DISTINCT j.problem_id) FROM jobs j WHERE j.campaign_id = c.id)
                 - (SELECT count(*) FROM finals f WHERE f.campaign_id = c.id AND f.state <> 'asked')));
END $$;

-- Asks for the finals of problems whose last job has just ended. Jobs that were taken over from another campaign are
-- left to ask_missing_finals(); a round that golden asked for confirms a winner and chooses none.
CREATE OR REPLACE FUNCTION ask_due_finals() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off AS $$
DECLARE
    c campaigns;
BEGIN
    SELECT k.* INTO c FROM campaigns k
    WHERE k.id = (SELECT e.campaign_id FROM ended e LIMIT 1) AND k.final_seconds > 0;
    IF NOT FOUND OR NOT has_finals(c) THEN
        RETURN NULL;
    END IF;
    PERFORM ask_final(c, p.problem_id, 0, 0)
    FROM (SELECT DISTINCT j.problem_id FROM ended e
          JOIN jobs j ON j.campaign_id = c.id AND j.id = e.job_id
          WHERE NOT e.reused AND NOT EXISTS (
              SELECT FROM remeasures m WHERE m.campaign_id = c.id AND m.job_id = e.job_id
              AND m.number = e.rounds - 1 AND m.golden_solver IS NOT NULL)) AS p;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER ask_due_finals AFTER INSERT ON job_ends
    REFERENCING NEW TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION ask_due_finals();

-- Asks for the finals that a campaign without open jobs lacks: two jobs of a problem may have ended at the same time,
-- neither seeing the other, and jobs may come from several campaigns. A problem that took over all its jobs together
-- with the winner among them needs none.
CREATE OR REPLACE FUNCTION ask_missing_finals(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    c campaigns;
BEGIN
    SELECT * INTO c FROM campaigns k WHERE k.id = campaign;
    IF NOT FOUND OR NOT has_finals(c) THEN
        RETURN;
    END IF;
    PERFORM ask_final(c, p.problem_id, 0, 0)
    FROM (SELECT j.problem_id, bool_and(e.reused) AS all_reused,
                 count(*) FILTER (WHERE EXISTS (SELECT FROM results r WHERE r.campaign_id = campaign
                                                AND r.job_id = j.id AND r.wins)) AS winners
          FROM jobs j JOIN job_ends e ON e.campaign_id = campaign AND e.job_id = j.id
          WHERE j.campaign_id = campaign
            AND NOT EXISTS (SELECT FROM finals f WHERE f.campaign_id = campaign AND f.problem_id = j.problem_id)
          GROUP BY j.problem_id HAVING bool_or(e.state = 'done')) AS p
    WHERE NOT (p.all_reused AND p.winners = 1);
END $$;

-- Changes the device time of a campaign's second measurements, 0 for none. A campaign that is done asks for those that it
-- lacks.
CREATE OR REPLACE FUNCTION set_final_seconds(campaign bigint, seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    UPDATE campaigns SET final_seconds = seconds WHERE id = campaign;
    IF seconds > 0 THEN
        PERFORM add_remeasure_partition(campaign);
        IF NOT has_open_jobs(campaign) THEN
            PERFORM ask_missing_finals(campaign);
        END IF;
    END IF;
END $$;

-- ---- claiming ----

-- The final that a bundle carries, as the open round of its job; NULL if it carries none.
CREATE OR REPLACE FUNCTION final_round(campaign bigint, job bigint, its_number integer) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT json_build_array(json_build_object(
                'number', f.number, 'stack', '', 'remeasures', true, 'config_counts', a.counts,
                'config_values', (SELECT coalesce(json_agg(v.value ORDER BY e.place, v.place), '[]')
                                  FROM jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)
                                  CROSS JOIN LATERAL jsonb_array_elements(e.it->'config')
                                  WITH ORDINALITY AS v(value, place)),
                'kernel_keys', a.keys, 'failures', a.failures, 'details', a.details, 'build_seconds', a.seconds))
            FROM finals f
            CROSS JOIN LATERAL (
                SELECT json_agg(jsonb_array_length(e.it->'config') ORDER BY e.place) AS counts,
                       json_agg(e.it->'kernel_keys' ORDER BY e.place) AS keys,
                       json_agg(@FAILURE_PENDING) AS failures, json_agg(NULL::text) AS details,
                       json_agg(e.it->'build_seconds' ORDER BY e.place) AS seconds
                FROM jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)) AS a
            WHERE f.campaign_id = campaign AND f.job_id = job AND f.number = its_number AND f.state = 'asked');
END $$;

-- The facts that a worker needs of the same final beside its round: the time that it may take, and the solver of each
-- entrant.
CREATE OR REPLACE FUNCTION final_wish(campaign bigint, job bigint, its_number integer) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT json_build_object('final', json_build_object('seconds', c.final_seconds, 'entrants', (
                SELECT json_agg(json_build_object('solver', s.name, 'revision', s.revision) ORDER BY e.place)
                FROM jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)
                JOIN solvers s ON s.id = (e.it->>'solver_id')::bigint)))
            FROM finals f JOIN campaigns c ON c.id = f.campaign_id
            WHERE f.campaign_id = campaign AND f.job_id = job AND f.number = its_number AND f.state = 'asked');
END $$;

-- Whether the worker lacks a solver of the final that this job's bundle carries.
CREATE OR REPLACE FUNCTION lacks_final_solver(w workers, campaign bigint, job bigint, its_number integer)
RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN w.carried IS NOT NULL AND EXISTS (
        SELECT FROM finals f WHERE f.campaign_id = campaign AND f.job_id = job AND f.number = its_number
        AND f.state = 'asked' AND NOT f.solvers <@ w.carried);
END $$;

-- ---- choosing ----

-- The place, from 0, of the winner among entrants that were measured together; NULL if none has a time. An entrant is an
-- object: median_ms (null without a time), low_ms, high_ms (the interval of its median), dynamic, workspace_bytes,
-- code_bytes, former (yesterday's winner).
--
-- Entrants whose interval meets that of the fastest are as fast, as far as was measured, if they are in its reach.
-- Among them a dynamic solver wins, then the smaller workspace, then the smaller code, then yesterday's winner, then
-- the faster one.
CREATE OR REPLACE FUNCTION choose_final(entrants jsonb) RETURNS integer
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (WITH timed AS (
                SELECT e.place - 1 AS place, i.*
                FROM jsonb_array_elements(entrants) WITH ORDINALITY AS e(it, place)
                CROSS JOIN LATERAL jsonb_to_record(e.it) AS i(
                    median_ms double precision, low_ms double precision, high_ms double precision, dynamic boolean,
                    workspace_bytes bigint, code_bytes bigint, former boolean)
                WHERE i.median_ms > 0),
            fastest AS (SELECT * FROM timed ORDER BY median_ms, place LIMIT 1)
            SELECT t.place FROM timed t, fastest f
            WHERE t.place = f.place
               OR (t.low_ms <= f.high_ms AND t.median_ms <= f.median_ms * final_reach())
            ORDER BY t.dynamic DESC, t.workspace_bytes, t.code_bytes, t.former DESC, t.median_ms, t.place LIMIT 1);
END $$;

-- ---- handing in ----

-- Whether an entrant's job, or what the job keeps of its config, is another than when the final was asked for.
CREATE OR REPLACE FUNCTION is_stale_final(f finals) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM jsonb_array_elements(f.entrants) AS e(it)
        WHERE NOT EXISTS (SELECT FROM job_ends d WHERE d.campaign_id = f.campaign_id
                          AND d.job_id = (e.it->>'job')::bigint AND d.state = 'done'
                          AND d.rounds = (e.it->>'rounds')::integer)
           OR (e.it->>'median_ms' IS NOT NULL AND NOT EXISTS (
               SELECT FROM results r WHERE r.campaign_id = f.campaign_id AND r.job_id = (e.it->>'job')::bigint
               AND r.config_text = e.it->>'config_text' AND r.median_ms = (e.it->>'median_ms')::double precision))
           OR EXISTS (SELECT FROM bundles b WHERE b.campaign_id = f.campaign_id AND b.remeasures
                      AND b.job_ids[1] = (e.it->>'job')::bigint AND b.job_ids[1] <> f.job_id));
END $$;

CREATE OR REPLACE FUNCTION refuse_final(job bigint, why text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM refuse_handed(job, 'its second measurement: ' || why); END $$;

CREATE OR REPLACE FUNCTION check_handed_final(f finals, i outcomes, lows double precision[], highs double precision[])
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    size integer := jsonb_array_length(f.entrants);
BEGIN
    IF i.number <> f.number OR (cardinality(i.failures) = size AND cardinality(lows) = size
                                AND cardinality(highs) = size) IS NOT TRUE THEN
        PERFORM refuse_final(i.job_id, 'it does not have the configs that were asked for');
    END IF;
    FOR at IN 1..size LOOP
        IF i.failures[at] = @FAILURE_NONE AND (lows[at] > 0 AND lows[at] <= i.median_ms[at]
                                               AND i.median_ms[at] <= highs[at] AND highs[at] < 1e12) IS NOT TRUE THEN
            PERFORM refuse_final(i.job_id, 'a median is not in its interval');
        END IF;
    END LOOP;
END $$;

-- Stores what the final measured as one more round of each job that has a config in it, with who measured it and in which
-- conditions.
CREATE OR REPLACE FUNCTION write_final_rounds(f finals, i outcomes, claimer bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    g record;
BEGIN
    FOR g IN SELECT (e.it->>'job')::bigint AS job, min((e.it->>'rounds')::integer) AS number,
                    array_agg(e.place ORDER BY e.place) AS places, count(*)::integer AS size,
                    array_agg(jsonb_array_length(e.it->'config')::smallint ORDER BY e.place) AS counts,
                    jsonb_agg(e.it->'config' ORDER BY e.place) AS configs,
                    array_agg(e.it->>'kernel_keys' ORDER BY e.place) AS keys,
                    array_agg(@FAILURE_PENDING::smallint) AS pending, array_agg(NULL::text) AS details,
                    array_agg(0::double precision) AS nothing
             FROM jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)
             GROUP BY e.it->>'job'
    LOOP
        INSERT INTO rounds (campaign_id, job_id, number, fence, stack, config_counts, config_values, kernel_keys,
                            failures, details, build_seconds, kernels, evaluated, pending, total_build_seconds)
        VALUES (f.campaign_id, g.job, g.number, i.fence, i.stack, g.counts,
                ARRAY(SELECT v.value::integer FROM jsonb_array_elements(g.configs) WITH ORDINALITY AS c(it, place)
                      CROSS JOIN LATERAL jsonb_array_elements_text(c.it) WITH ORDINALITY AS v(value, place)
                      ORDER BY c.place, v.place),
                g.keys, g.pending, g.details, g.nothing, 0, 0, g.size, 0);
        INSERT INTO outcomes (campaign_id, job_id, number, is_open, fence, stack, drift, failures, details, n, min_ms,
                              median_ms, spread, error, eval_seconds, evaluated, pending, total_eval_seconds, pack_ms,
                              cold, verified_share, proof_runs, proof_kinds)
        SELECT f.campaign_id, g.job, g.number, false, i.fence, i.stack, i.drift,
               array_agg(i.failures[u.at] ORDER BY u.at), array_agg(i.details[u.at] ORDER BY u.at),
               array_agg(i.n[u.at] ORDER BY u.at), array_agg(i.min_ms[u.at] ORDER BY u.at),
               array_agg(i.median_ms[u.at] ORDER BY u.at), array_agg(i.spread[u.at] ORDER BY u.at),
               array_agg(i.error[u.at] ORDER BY u.at), array_agg(i.eval_seconds[u.at] ORDER BY u.at), g.size, 0,
               sum(i.eval_seconds[u.at]),
               CASE WHEN i.pack_ms IS NOT NULL THEN array_agg(i.pack_ms[u.at] ORDER BY u.at) END, i.cold, i.verified_share,
               CASE WHEN i.proof_runs IS NOT NULL THEN array_agg(i.proof_runs[u.at] ORDER BY u.at) END,
               CASE WHEN i.proof_kinds IS NOT NULL THEN array_agg(i.proof_kinds[u.at] ORDER BY u.at) END
        FROM unnest(g.places) AS u(at);
        INSERT INTO remeasures (campaign_id, job_id, number, configs, keeps_all)
        VALUES (f.campaign_id, g.job, g.number, g.configs, false);
        -- The conditions came with the number of the job that carries the final.
        INSERT INTO round_conditions
        SELECT s.campaign_id, g.job, g.number, s.device, s.samples, s.sm_mhz_min, s.sm_mhz_max, s.memory_mhz_min,
               s.memory_mhz_max, s.temperature_c, s.power_w, s.throttle, s.locked_mhz
        FROM round_conditions s
        WHERE s.campaign_id = f.campaign_id AND s.job_id = f.job_id AND s.number = f.number
        ON CONFLICT DO NOTHING;
        IF g.job <> f.job_id AND claimer IS NOT NULL THEN
            INSERT INTO deliveries (campaign_id, worker_id, job_ids, numbers)
            VALUES (f.campaign_id, claimer, ARRAY[g.job], ARRAY[g.number]);
        END IF;
        UPDATE job_ends e SET rounds = g.number + 1 WHERE e.campaign_id = f.campaign_id AND e.job_id = g.job;
    END LOOP;
END $$;

-- Makes the final's times those of the kept results, adds golden's config to them if it was none of them, and removes
-- configs that were wrong or broke the device this time. A config without a time for another reason keeps its old one, and cannot win.
CREATE OR REPLACE FUNCTION write_final_results(f finals, i outcomes, lows double precision[],
                                               highs double precision[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    UPDATE results r SET wins = false, low_ms = NULL, high_ms = NULL
    FROM jobs j
    WHERE j.campaign_id = f.campaign_id AND j.problem_id = f.problem_id AND r.campaign_id = f.campaign_id
      AND r.job_id = j.id AND (r.wins OR r.low_ms IS NOT NULL);
    DELETE FROM results r USING jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)
    WHERE r.campaign_id = f.campaign_id AND r.job_id = (e.it->>'job')::bigint
      AND r.config_text = e.it->>'config_text'
      AND i.failures[e.place] IN (@FAILURE_WRONG_RESULT, @FAILURE_OUT_OF_BOUNDS, @FAILURE_TIME_IMPOSSIBLE,
                                    @FAILURE_DEVICE_FAULT, @FAILURE_RUN_TIMEOUT);
    UPDATE results r
    SET n = i.n[e.place], min_ms = i.min_ms[e.place], median_ms = i.median_ms[e.place], spread = i.spread[e.place],
        error = i.error[e.place], eval_seconds = i.eval_seconds[e.place], stack = i.stack, low_ms = lows[e.place],
        high_ms = highs[e.place], wins = e.place - 1 = f.winner,
        pack_ms = CASE WHEN r.packed_bytes IS NOT NULL THEN coalesce(i.pack_ms[e.place], r.pack_ms) END
    FROM jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)
    WHERE r.campaign_id = f.campaign_id AND r.job_id = (e.it->>'job')::bigint
      AND r.config_text = e.it->>'config_text' AND i.failures[e.place] = @FAILURE_NONE;
    INSERT INTO results (campaign_id, job_id, rank, config, config_text, kernel_keys, stack, n, min_ms, median_ms, spread,
                         error, build_seconds, eval_seconds, workspace_bytes, flops, is_default, pack_ms,
                         packed_bytes, low_ms, high_ms, wins)
    SELECT f.campaign_id, t.job, coalesce((SELECT max(o.rank) FROM results o
                                           WHERE o.campaign_id = f.campaign_id AND o.job_id = t.job), -1) + 1,
           t.config, t.config_text, t.kernel_keys, i.stack, i.n[e.place], i.min_ms[e.place], i.median_ms[e.place],
           i.spread[e.place], i.error[e.place], t.build_seconds, i.eval_seconds[e.place], t.workspace_bytes, t.flops,
           t.is_default, CASE WHEN t.packed_bytes > 0 THEN coalesce(i.pack_ms[e.place], 0) END,
           nullif(t.packed_bytes, 0), lows[e.place], highs[e.place], e.place - 1 = f.winner
    FROM jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)
    CROSS JOIN LATERAL jsonb_to_record(e.it) AS t(
        job bigint, config integer[], config_text text, kernel_keys text, build_seconds double precision,
        workspace_bytes bigint, packed_bytes bigint, flops double precision, is_default boolean)
    WHERE e.it->>'median_ms' IS NULL AND i.failures[e.place] = @FAILURE_NONE;
    PERFORM rank_results(f.campaign_id, ARRAY(SELECT DISTINCT (e.it->>'job')::bigint
                                              FROM jsonb_array_elements(f.entrants) AS e(it)));
END $$;

-- A job whose configs were all wrong in the final has failed.
CREATE OR REPLACE FUNCTION fail_refuted_jobs(f finals, i outcomes) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    UPDATE job_ends d SET state = 'failed', failure = g.failure, detail = g.words
    FROM (SELECT (e.it->>'job')::bigint AS job, min(i.failures[e.place]) AS failure,
                 min(i.details[e.place]) AS words
          FROM jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)
          WHERE i.failures[e.place] <> @FAILURE_NONE GROUP BY 1) AS g
    WHERE d.campaign_id = f.campaign_id AND d.job_id = g.job
      AND NOT EXISTS (SELECT FROM results r WHERE r.campaign_id = f.campaign_id AND r.job_id = g.job);
END $$;

-- The entrants as choose_final() takes them.
CREATE OR REPLACE FUNCTION final_facts(f finals, i outcomes, lows double precision[], highs double precision[])
RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_agg(jsonb_build_object(
                'median_ms', CASE WHEN i.failures[e.place] = @FAILURE_NONE THEN i.median_ms[e.place] END,
                'low_ms', lows[e.place], 'high_ms', highs[e.place], 'dynamic', s.dynamic,
                'workspace_bytes', e.it->'workspace_bytes', 'former', e.it->'former',
                'code_bytes', (SELECT coalesce(sum(k.code_bytes), 0) FROM kernels k
                               WHERE k.key = ANY (string_to_array(e.it->>'kernel_keys', ','))))
                ORDER BY e.place)
            FROM jsonb_array_elements(f.entrants) WITH ORDINALITY AS e(it, place)
            JOIN solvers s ON s.id = (e.it->>'solver_id')::bigint);
END $$;

-- Asks once or twice more if a config that did not take part is now in front of the winner: the search had measured the
-- winner too fast.
CREATE OR REPLACE FUNCTION widen_final(c campaigns, f finals, winner_ms double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    IF f.attempt < 2 AND EXISTS (
        SELECT FROM jobs j JOIN results r ON r.campaign_id = c.id AND r.job_id = j.id
        WHERE j.campaign_id = c.id AND j.problem_id = f.problem_id AND r.low_ms IS NULL
          AND r.median_ms < winner_ms) THEN
        PERFORM ask_final(c, f.problem_id, winner_ms, f.attempt + 1);
    END IF;
END $$;

-- Stores a final. A repeated call changes nothing. A final whose jobs changed meanwhile is dropped and asked for again.
CREATE OR REPLACE FUNCTION take_final(campaign bigint, i outcomes, lows double precision[], highs double precision[],
                                      seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    c campaigns;
    b bundles;
    f finals;
    stale boolean;
BEGIN
    SELECT * INTO b FROM held_bundles(campaign, i.fence, ARRAY[i.job_id]);
    IF NOT FOUND THEN
        IF NOT EXISTS (SELECT FROM finals k WHERE k.campaign_id = campaign AND k.fence = i.fence
                       AND k.job_id = i.job_id) THEN
            PERFORM refuse_job(campaign, i.job_id, i.fence, 'store the second measurement');
        END IF;
        RETURN;
    END IF;
    SELECT * INTO f FROM finals k WHERE k.campaign_id = campaign AND k.job_id = i.job_id AND k.state = 'asked'
                                    AND k.number = b.round_no FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM refuse_job(campaign, i.job_id, i.fence, 'store the second measurement');
    END IF;
    PERFORM check_handed_final(f, i, lows, highs);
    SELECT * INTO c FROM campaigns k WHERE k.id = campaign;
    stale := is_stale_final(f);
    PERFORM take_jobs(b, b.job_ids);
    UPDATE job_ends e SET fence = b.fence, claimed_by = b.claimed_by
    WHERE e.campaign_id = campaign AND e.job_id = f.job_id;
    IF stale THEN
        UPDATE finals k SET state = 'given up', fence = b.fence, detail = 'its jobs changed meanwhile'
        WHERE k.campaign_id = campaign AND k.problem_id = f.problem_id;
        PERFORM ask_final(c, f.problem_id, 0, 0);
    ELSE
        f.winner := choose_final(final_facts(f, i, lows, highs));
        f.state := 'stored';
        PERFORM write_final_rounds(f, i, b.claimed_by);
        PERFORM write_final_results(f, i, lows, highs);
        PERFORM fail_refuted_jobs(f, i);
        UPDATE finals k SET state = 'stored', fence = b.fence, at = clock_timestamp(), winner = f.winner
        WHERE k.campaign_id = campaign AND k.problem_id = f.problem_id;
        INSERT INTO last_winners AS w (target, problem_id, solver, config_text, campaign_id)
        SELECT c.target, f.problem_id, s.name, f.entrants->f.winner->>'config_text', campaign
        FROM solvers s WHERE s.id = (f.entrants->f.winner->>'solver_id')::bigint
        ON CONFLICT (target, problem_id) DO UPDATE
            SET solver = EXCLUDED.solver, config_text = EXCLUDED.config_text, campaign_id = EXCLUDED.campaign_id,
                at = EXCLUDED.at;
        PERFORM widen_final(c, f, i.median_ms[f.winner + 1]);
    END IF;
    PERFORM reopen_carrier(campaign, ARRAY[f.job_id]);
    PERFORM settle_campaign(campaign, seconds);
END $$;

-- Stores a final, and checks it: as outcomes and results of any round (checks.sql).
CREATE OR REPLACE FUNCTION store_final(campaign bigint, items outcomes[], lows double precision[],
                                       highs double precision[], seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    i outcomes := items[1];
    members bigint[];
BEGIN
    IF cardinality(items) <> 1 OR (seconds >= 0 AND seconds < 1e9) IS NOT TRUE THEN
        PERFORM refuse_final(i.job_id, 'its working time cannot be');
    END IF;
    PERFORM check_handed_outcomes(items, true);
    SELECT array_agg(DISTINCT (e.it->>'job')::bigint) INTO members
    FROM finals f CROSS JOIN LATERAL jsonb_array_elements(f.entrants) AS e(it)
    WHERE f.campaign_id = campaign AND f.job_id = i.job_id;
    PERFORM take_final(campaign, i, lows, highs, seconds);
    PERFORM check_results_possible(campaign, ARRAY(
        SELECT r FROM results r WHERE r.campaign_id = campaign AND r.job_id = ANY (members)));
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.store_final(campaign bigint, items outcomes[], lows double precision[],
                                                     highs double precision[], seconds double precision)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_seconds(ARRAY[seconds]);
    PERFORM note_delivery(campaign, items);
    PERFORM store_final(campaign, items, lows, highs, (possible_seconds(campaign, ARRAY[seconds]))[1]);
END $$;

-- Notes that a bundle that was taken away carried a final: what the search measured ships.
CREATE OR REPLACE FUNCTION give_up_final(campaign bigint, ids bigint[], words text) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE finals f SET state = 'given up', detail = left(words, 2000), at = clock_timestamp()
    WHERE f.campaign_id = campaign AND f.job_id = ANY (ids) AND f.state = 'asked'
$$;
