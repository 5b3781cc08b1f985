-- Nights: making one, who works on it, its moves, steps, campaigns and jobs.

-- The turn (take_turn()) that the session has which works on the night.
CREATE OR REPLACE FUNCTION night_turn(night bigint) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$ SELECT 'night ' || night $$;

-- Finds the night of that name and date, or makes it. Returns {id, is_new}.
CREATE OR REPLACE FUNCTION begin_night(its_name text, its_date date, its_description jsonb,
                                       deadline_unix double precision) RETURNS jsonb
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    its_id bigint;
BEGIN
    INSERT INTO nights (name, night, description, deadline)
    VALUES (its_name, its_date, its_description,
            CASE WHEN deadline_unix > 0 THEN to_timestamp(deadline_unix) END)
    ON CONFLICT ON CONSTRAINT nights_once DO NOTHING RETURNING id INTO its_id;
    IF its_id IS NOT NULL THEN
        RETURN jsonb_build_object('id', its_id, 'is_new', true);
    END IF;
    SELECT n.id INTO its_id FROM nights n WHERE n.name = its_name AND n.night = its_date;
    RETURN jsonb_build_object('id', its_id, 'is_new', false);
END $$;

-- Makes this session the one that works on the night. Returns false while another one does.
CREATE OR REPLACE FUNCTION take_night(its_id bigint, whose text) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT take_turn(night_turn(its_id)) THEN
        RETURN false;
    END IF;
    UPDATE nights n SET begun_by = whose WHERE n.id = its_id;
    IF NOT FOUND THEN
        PERFORM end_turn(night_turn(its_id));
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no night %s', its_id);
    END IF;
    RETURN true;
END $$;

-- Refuses sessions that have not taken the night: another one may work on it by now.
CREATE OR REPLACE FUNCTION check_night(its_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM nights n WHERE n.id = its_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no night %s', its_id);
    ELSIF NOT EXISTS (SELECT FROM turns t JOIN pg_stat_activity a ON a.pid = t.pid
                      WHERE t.name = night_turn(its_id) AND t.pid = pg_backend_pid()
                        AND coalesce(a.backend_start = t.session_since, true)) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'night %s: this session does not work on it; its connection was lost, or another '
            'process has taken the night over', its_id);
    END IF;
END $$;

-- The moves of a night. C has the same table (coordinator/nights/night.c); a test compares them.
-- A night whose plan is empty goes from planning to reporting at once. A step that was given up goes to
-- reporting. A night that ended with failed steps may go back to the first of them.
CREATE OR REPLACE FUNCTION night_may_move(from_state night_state, to_state night_state) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT (from_state::text, to_state::text) IN (
        ('planning', 'tuning'), ('planning', 'reporting'),
        ('tuning', 'gathering'), ('tuning', 'reporting'),
        ('gathering', 'judging'), ('gathering', 'reporting'),
        ('judging', 'confirming'), ('judging', 'proposing'), ('judging', 'reporting'),
        ('confirming', 'settling'), ('confirming', 'reporting'),
        ('settling', 'proposing'), ('settling', 'reporting'),
        ('proposing', 'exporting'), ('proposing', 'reporting'),
        ('exporting', 'reporting'),
        ('reporting', 'telling'),
        ('telling', 'done'),
        ('done', 'planning'), ('done', 'tuning'), ('done', 'gathering'), ('done', 'judging'),
        ('done', 'confirming'), ('done', 'settling'), ('done', 'proposing'), ('done', 'exporting'),
        ('done', 'reporting'), ('done', 'telling'))
$$;

CREATE OR REPLACE FUNCTION move_night(its_id bigint, from_state text, to_state text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state night_state;
BEGIN
    PERFORM check_night(its_id);
    SELECT n.state INTO now_state FROM nights n WHERE n.id = its_id FOR UPDATE;
    IF now_state::text <> from_state OR NOT night_may_move(now_state, to_state::night_state) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'night %s is %s and cannot move from %s to %s', its_id, now_state, from_state, to_state);
    END IF;
    UPDATE nights n
    SET state = to_state::night_state,
        ended_at = CASE WHEN to_state = 'done' THEN clock_timestamp() END
    WHERE n.id = its_id;
END $$;

-- what: the object that `run --json` prints. findings_now: how many regressions and failed steps there are.
-- is_empty: the plan has no job.
CREATE OR REPLACE FUNCTION set_night_summary(its_id bigint, what jsonb, findings_now integer,
                                             is_empty boolean)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_night(its_id);
    UPDATE nights n SET summary = what, findings = findings_now, empty = is_empty WHERE n.id = its_id;
END $$;

-- Returns how often the step has begun, this time included.
CREATE OR REPLACE FUNCTION begin_night_step(its_id bigint, its_step text) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    times integer;
BEGIN
    PERFORM check_night(its_id);
    INSERT INTO night_steps AS s (night_id, step) VALUES (its_id, its_step::night_state)
    ON CONFLICT (night_id, step) DO UPDATE
    SET tries = s.tries + 1, begun_at = clock_timestamp(), ended_at = NULL, failed = false, detail = ''
    RETURNING s.tries INTO times;
    RETURN times;
END $$;

CREATE OR REPLACE FUNCTION end_night_step(its_id bigint, its_step text, has_failed boolean, words text)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_night(its_id);
    UPDATE night_steps s SET ended_at = clock_timestamp(), failed = has_failed, detail = words
    WHERE s.night_id = its_id AND s.step = its_step::night_state;
END $$;

CREATE OR REPLACE FUNCTION put_night_target(its_id bigint, its_target text, its_stack text,
                                            its_baseline integer, its_plan jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_night(its_id);
    INSERT INTO night_targets AS t VALUES (its_id, its_target, its_stack, its_baseline, its_plan)
    ON CONFLICT (night_id, target) DO UPDATE
    SET stack = EXCLUDED.stack, baseline = EXCLUDED.baseline, plan = EXCLUDED.plan;
END $$;

CREATE OR REPLACE FUNCTION judge_night_target(its_id bigint, its_target text, findings jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_night(its_id);
    UPDATE night_targets t SET judged = findings WHERE t.night_id = its_id AND t.target = its_target;
END $$;

-- Notes a campaign that was just made with its night.
CREATE OR REPLACE FUNCTION add_night_campaign(its_id bigint, its_target text, is_backfill boolean,
                                              campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_night(its_id);
    INSERT INTO night_campaigns VALUES (its_id, its_target, is_backfill, campaign);
END $$;

-- Notes why jobs are in a night's campaign. items: those that add_jobs() got with the same `first`.
CREATE OR REPLACE FUNCTION add_night_jobs(campaign bigint, first bigint, items jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    INSERT INTO night_jobs (night_id, target, problem_id, solver_id, campaign_id, job_id, reason, fresh,
                            again, detail)
    SELECT c.night_id, c.target, j.problem_id, j.solver_id, campaign, j.id,
           (item.value->>'reason')::smallint, (item.value->>'fresh')::boolean,
           (item.value->>'again')::boolean, item.value->>'detail'
    FROM jsonb_array_elements(items) WITH ORDINALITY AS item(value, ord)
    JOIN jobs j ON j.campaign_id = campaign AND j.position = first + item.ord - 1
    JOIN night_campaigns c ON c.campaign_id = campaign
    -- A job of the backfill may be in the main campaign, too: that one has the row.
    ON CONFLICT DO NOTHING;
END $$;

-- Returns true if the job takes over nothing that earlier campaigns measured.
CREATE OR REPLACE FUNCTION is_fresh_job(campaign bigint, job bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM night_jobs n WHERE n.campaign_id = campaign AND n.job_id = job AND n.fresh);
END $$;

-- state: how the job ended; 'open' while its campaign works on it. A job that the budget cut is
-- unfinished, too: the next night goes on with it. A bundle that measures again has one job. IN makes a hash
-- table of these bundles: with EXISTS, each of thousands of jobs looks at each bundle.
CREATE OR REPLACE VIEW night_job_rows AS
    SELECT n.*, d.name, d.night, c.backfill,
           coalesce(n.ended, CASE WHEN n.again AND n.ended IS NULL
                                       AND (n.campaign_id, n.job_id) IN (
                                           SELECT b.campaign_id, b.job_ids[1] FROM bundles b
                                           WHERE b.remeasures) THEN 'open'
                                  WHEN e.by_budget THEN 'unfinished'
                                  WHEN e.state IS NOT NULL THEN e.state::text
                                  ELSE 'open' END) AS state,
           s.name AS solver, s.revision
    FROM night_jobs n
    JOIN nights d ON d.id = n.night_id
    JOIN solvers s ON s.id = n.solver_id
    LEFT JOIN night_campaigns c ON c.campaign_id = n.campaign_id
    LEFT JOIN LATERAL (SELECT k.state, k.by_budget FROM job_ends k
                       WHERE n.ended IS NULL AND k.campaign_id = n.campaign_id
                         AND k.job_id = n.job_id OFFSET 0) AS e ON true;

-- is_running: a session works on the night now.
CREATE OR REPLACE VIEW night_rows AS
    SELECT n.*, extract(epoch FROM n.begun_at)::bigint AS begun,
           extract(epoch FROM n.ended_at)::bigint AS ended,
           extract(epoch FROM n.deadline)::bigint AS deadline_unix,
           EXISTS (SELECT FROM turns t JOIN pg_stat_activity a ON a.pid = t.pid
                   WHERE t.name = 'night ' || n.id
                     AND coalesce(a.backend_start = t.session_since, true)) AS is_running,
           j.*
    FROM nights n
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, count(*) FILTER (WHERE r.state = 'open') AS jobs_open,
               count(*) FILTER (WHERE r.state = 'done') AS jobs_done,
               count(*) FILTER (WHERE r.state = 'failed') AS jobs_failed,
               count(*) FILTER (WHERE r.state = 'unfinished') AS jobs_unfinished
        FROM night_job_rows r WHERE r.night_id = n.id) AS j;

-- Notes how the night's jobs ended. Open jobs of the main campaigns are unfinished. Those of the
-- backfill stay open while their campaign goes on.
--
-- Jobs of nights of the same name that are older than 400 days are forgotten; the counts by reason stay
-- in night_targets. A night of 10,000 problems after a new driver has 100,000 jobs, about 12 MB.
CREATE OR REPLACE FUNCTION end_night_jobs(its_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    PERFORM check_night(its_id);
    UPDATE night_jobs n
    SET ended = CASE WHEN r.state = 'open' THEN 'unfinished' ELSE r.state END
    FROM night_job_rows r
    WHERE r.night_id = its_id AND n.night_id = its_id AND n.target = r.target
      AND n.problem_id = r.problem_id AND n.solver_id = r.solver_id AND n.ended IS NULL
      AND (r.state <> 'open' OR NOT r.backfill
           OR NOT EXISTS (SELECT FROM campaigns c
                          WHERE c.id = r.campaign_id AND c.state IN ('active', 'paused')));
    DELETE FROM night_jobs n USING nights d, nights own
    WHERE own.id = its_id AND d.id = n.night_id AND d.name = own.name AND d.night < own.night - 400;
END $$;

-- The open campaigns of earlier nights of the same name. They are cancelled when a new night has
-- planned: the new one's campaigns take over what they measured.
CREATE OR REPLACE FUNCTION end_earlier_nights(its_id bigint) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    own nights;
    earlier record;
    ended_count integer := 0;
BEGIN
    PERFORM check_night(its_id);
    SELECT * INTO own FROM nights n WHERE n.id = its_id;
    FOR earlier IN SELECT c.id, c.target, n.id AS night_id
                   FROM campaigns c JOIN night_campaigns k ON k.campaign_id = c.id
                   JOIN nights n ON n.id = k.night_id
                   WHERE n.name = own.name AND n.night < own.night AND c.state IN ('active', 'paused')
                   ORDER BY c.id
    LOOP
        PERFORM change_campaign(earlier.id, 'cancel');
        UPDATE night_jobs j SET ended = CASE WHEN r.state = 'open' THEN 'unfinished' ELSE r.state END
        FROM night_job_rows r
        WHERE j.campaign_id = earlier.id AND j.ended IS NULL AND r.campaign_id = j.campaign_id
          AND r.job_id = j.job_id;
        ended_count := ended_count + 1;
    END LOOP;
    RETURN ended_count;
END $$;

-- Jobs of the night's campaigns that are to be measured again and still stand as they were taken over.
CREATE OR REPLACE FUNCTION night_jobs_again(its_id bigint) RETURNS TABLE (campaign_id bigint, job_id bigint)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT n.campaign_id, n.job_id
        FROM night_jobs n
        CROSS JOIN LATERAL (SELECT e.reused, e.state FROM job_ends e WHERE e.campaign_id = n.campaign_id
                            AND e.job_id = n.job_id OFFSET 0) AS e
        WHERE n.night_id = its_id AND n.again AND n.ended IS NULL AND e.reused AND e.state = 'done'
        ORDER BY n.campaign_id, n.job_id;
END $$;

-- The times that rounds of remeasure_jobs() with nodes or configs brought in a campaign, by job, round and
-- config: the second measurements of a night's suspects. config: its values, joined by commas, as configs are
-- written. wished: false for the default config, which each round measures besides.
CREATE OR REPLACE FUNCTION confirmations(campaign bigint) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        -- Read once, not once for each config.
        WITH handed AS MATERIALIZED (
            SELECT DISTINCT ON (m.job_id, m.number) m.job_id, m.number, n.node, d.at
            FROM deliveries d
            CROSS JOIN LATERAL unnest(d.job_ids, d.numbers) AS u(job, number)
            JOIN remeasures m ON m.campaign_id = campaign AND m.job_id = u.job AND m.number = u.number
                 AND m.places_until IS NOT NULL
            LEFT JOIN worker_names n ON n.worker_id = d.worker_id
            WHERE d.campaign_id = campaign ORDER BY m.job_id, m.number, d.at DESC)
        SELECT jsonb_build_object('job', j.id, 'problem_id', j.problem_id, 'solver', s.name,
                   'revision', s.revision, 'hash', s.hash, 'number', m.number,
                   'config', array_to_string(v.config, ','), 'failure', o.failures[v.at],
                   'wished', m.configs @> jsonb_build_array(to_jsonb(v.config)),
                   'detail', o.details[v.at], 'n', o.n[v.at], 'median_ms', o.median_ms[v.at],
                   'spread', o.spread[v.at], 'drift', o.drift, 'stack', o.stack,
                   'node', h.node, 'at', extract(epoch FROM h.at)::bigint,
                   'sm_mhz', q.sm_mhz_min, 'temperature_c', q.temperature_c, 'throttle', q.throttle)
        FROM remeasures m
        JOIN jobs j ON j.campaign_id = campaign AND j.id = m.job_id
        JOIN solvers s ON s.id = j.solver_id
        JOIN rounds r ON r.campaign_id = campaign AND r.job_id = m.job_id AND r.number = m.number
        JOIN outcomes o ON o.campaign_id = campaign AND o.job_id = m.job_id AND o.number = m.number
             AND NOT o.is_open
        CROSS JOIN LATERAL configs_of(r.config_counts, r.config_values) AS v
        LEFT JOIN handed h ON h.job_id = m.job_id AND h.number = m.number
        LEFT JOIN LATERAL (SELECT min(k.sm_mhz_min) AS sm_mhz_min, max(k.temperature_c) AS temperature_c,
                                  bit_or(k.throttle) AS throttle
                           FROM round_conditions k WHERE k.campaign_id = campaign
                             AND k.job_id = m.job_id AND k.number = m.number) AS q ON true
        WHERE m.campaign_id = campaign AND m.places_until IS NOT NULL
        ORDER BY j.id, m.number, v.at;
END $$;

-- The night that a campaign belongs to; NULL for a campaign of no night.
CREATE OR REPLACE FUNCTION night_of_campaign(campaign bigint) RETURNS date
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT n.night FROM night_campaigns c JOIN nights n ON n.id = c.night_id
            WHERE c.campaign_id = campaign);
END $$;
