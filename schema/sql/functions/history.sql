-- History: gathering points from campaigns, thinning them by age, and reading them.

-- A number as a real, which has a smaller range: 0 for what is too small for it.
CREATE OR REPLACE FUNCTION as_real(number double precision) RETURNS real
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT CASE WHEN abs(number) < 1e-30 THEN 0 ELSE least(number, 1e30) END::real
$$;

-- The night of something that a campaign measured at that time.
CREATE OR REPLACE FUNCTION night_of(campaign bigint, at timestamptz) RETURNS date
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce((SELECT n.night FROM history_nights n
                     WHERE n.campaign_id = campaign AND n.since <= at ORDER BY n.since DESC LIMIT 1),
                    (at - interval '12 hours')::date)
$$;

-- Names the night of what the campaign measures from now on. A campaign without an ended job gets the
-- night from its beginning. Raises SJ001 for an unknown campaign.
CREATE OR REPLACE FUNCTION name_night(campaign bigint, its_night date) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    begun timestamptz := (SELECT c.created_at FROM campaigns c WHERE c.id = campaign);
BEGIN
    IF begun IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    END IF;
    INSERT INTO history_nights
    SELECT campaign, CASE WHEN EXISTS (SELECT FROM job_ends e WHERE e.campaign_id = campaign AND NOT e.reused)
                          THEN clock_timestamp() ELSE begun END, its_night
    WHERE night_of(campaign, 'infinity') IS DISTINCT FROM its_night
    ON CONFLICT (campaign_id, since) DO UPDATE SET night = EXCLUDED.night;
END $$;

CREATE OR REPLACE FUNCTION history_progress(campaign bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
    SELECT count(*) + coalesce(sum(e.rounds), 0) FROM job_ends e WHERE e.campaign_id = campaign
$$;

-- Campaigns with points that were not gathered yet: this one, or with 0 all. A campaign that ended without
-- another ended job is gathered once more: after that its jobs are not counted any more.
CREATE OR REPLACE FUNCTION history_to_gather(campaign bigint) RETURNS TABLE (campaign_id bigint, progress bigint)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    FOR c IN SELECT a.id, a.state, m.progress AS seen FROM campaigns a LEFT JOIN history_marks m ON m.campaign_id = a.id
             WHERE NOT a.build_only AND a.strategy <> 'foreign' AND m.final IS NOT TRUE
               AND (campaign = 0 OR a.id = campaign)
             ORDER BY a.id
    LOOP
        campaign_id := c.id;
        progress := history_progress(c.id);
        IF progress IS DISTINCT FROM c.seen OR c.state IN ('done', 'cancelled') THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- Marks a campaign as gathered as far as history_to_gather() said. The lock keeps the campaign from working
-- again before its mark can be seen: gather_again() would miss the mark.
CREATE OR REPLACE FUNCTION mark_history(campaign bigint, its_progress bigint) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO history_marks
    SELECT c.id, its_progress,
           c.state IN ('done', 'cancelled') AND its_progress = history_progress(campaign), true
    FROM campaigns c WHERE c.id = campaign FOR SHARE OF c
    ON CONFLICT (campaign_id) DO UPDATE SET progress = EXCLUDED.progress, final = EXCLUDED.final, whole = true
$$;

-- Sessions take turns to add and to thin points, until their transactions end. Otherwise two sessions that gather one
-- problem at once would both miss the points that the other session adds, and both solvers would win. They would also
-- lock the same rows in different orders.
CREATE OR REPLACE FUNCTION hold_history() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM FROM history_retention FOR NO KEY UPDATE;
END $$;

-- Sets who won, in the points of these problems and nights and, unless they were thinned, of later nights: the
-- solver with the least time among the newest points of all solvers then; but if the campaign of that point chose its
-- winner by a second measurement, the chosen one.
CREATE OR REPLACE FUNCTION set_history_winners(its_target text, problems bigint[], nights date[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    dense date := (SELECT r.weeks_done FROM history_retention r);
BEGIN
    WITH touched AS MATERIALIZED (
        SELECT u.problem, u.night FROM unnest(problems, nights) AS u(problem, night)
        UNION
        SELECT f.problem, p.night
        FROM (SELECT u.problem, min(u.night) AS night
              FROM unnest(problems, nights) AS u(problem, night) GROUP BY u.problem) AS f
        CROSS JOIN LATERAL (SELECT * FROM history_series i WHERE i.target = its_target
                            AND i.problem_id = f.problem OFFSET 0) AS s
        CROSS JOIN LATERAL (SELECT h.night FROM history h WHERE h.series = s.id
                            AND h.night > greatest(f.night, dense - 1) OFFSET 0) AS p),
    known AS MATERIALIZED (
        SELECT t.problem, t.night, s.id AS series, s.solver, p.night AS at, p.median_ms, p.failure, p.wins,
               p.chosen, p.campaign_id
        FROM touched t
        CROSS JOIN LATERAL (SELECT * FROM history_series i WHERE i.target = its_target
                            AND i.problem_id = t.problem OFFSET 0) AS s
        CROSS JOIN LATERAL (SELECT * FROM history h WHERE h.series = s.id AND h.night <= t.night
                            ORDER BY h.night DESC LIMIT 1) AS p),
    ranked AS (
        SELECT k.*, first_value(k.campaign_id) OVER (
                   PARTITION BY k.problem, k.night
                   ORDER BY k.failure <> @FAILURE_NONE, k.median_ms, k.solver) AS fastest_of
        FROM known k),
    judged AS (
        SELECT k.*, k.failure = @FAILURE_NONE AND 1 = row_number() OVER (
                   PARTITION BY k.problem, k.night
                   ORDER BY k.failure <> @FAILURE_NONE, (k.chosen AND k.campaign_id = k.fastest_of) DESC,
                            k.median_ms, k.solver) AS is_best
        FROM ranked k)
    UPDATE history h SET wins = j.is_best FROM judged j
    WHERE j.at = j.night AND j.wins <> j.is_best AND h.series = j.series AND h.night = j.night;
END $$;

-- The texts' ids, in their order; new texts are added.
CREATE OR REPLACE FUNCTION history_text_ids(texts text[]) RETURNS integer[]
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO history_texts (text)
    SELECT DISTINCT u.text FROM unnest(texts) AS u(text)
    WHERE NOT EXISTS (SELECT FROM history_texts t WHERE t.text = u.text)
    ON CONFLICT DO NOTHING;
    RETURN ARRAY(SELECT t.id FROM unnest(texts) WITH ORDINALITY AS u(text, at)
                 JOIN history_texts t ON t.text = u.text ORDER BY u.at);
END $$;

-- Gathers the points of a campaign's next jobs after that one. A job that only took over an answer has
-- no point. Returns the last job's id, NULL after the campaign's last one. A point that
-- exists is replaced, unless it is in a span that was thinned.
--
-- The planner does not know how many rounds were handed in: nested loops over them would be slow, and are
-- used where OFFSET 0 demands a lookup by key only.
CREATE OR REPLACE FUNCTION gather_history(campaign bigint, after bigint, batch integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_nestloop = off
SET enable_hashjoin = on SET enable_mergejoin = off AS $$
DECLARE
    last bigint := (SELECT max(page.id) FROM (SELECT j.id FROM jobs j WHERE j.campaign_id = campaign
                                              AND j.id > after ORDER BY j.id LIMIT batch) AS page);
    c campaigns;
    again boolean := EXISTS (SELECT FROM history_marks m WHERE m.campaign_id = campaign AND m.whole);
    dense date;
    found record;
    ids integer[];
BEGIN
    PERFORM hold_history();
    dense := (SELECT r.weeks_done FROM history_retention r);
    SELECT * INTO c FROM campaigns k WHERE k.id = campaign;
    IF last IS NULL OR c.id IS NULL THEN
        RETURN NULL;
    END IF;
    WITH handed AS MATERIALIZED (
        SELECT m.job_id, m.number, max(d.at) AS at, (array_agg(n.node ORDER BY d.at DESC))[1] AS node
        FROM deliveries d
        CROSS JOIN LATERAL unnest(d.job_ids, d.numbers) AS m(job_id, number)
        LEFT JOIN worker_names n ON n.worker_id = d.worker_id
        WHERE d.campaign_id = campaign AND m.job_id > after AND m.job_id <= last
        GROUP BY m.job_id, m.number),
    ended AS MATERIALIZED (
        SELECT j.problem_id, j.solver_id, s.name AS solver, e.failure, e.claimed_by, k, m,
               coalesce(k.stack, m.stack, b.stack, '') AS stack, j.id
        FROM (SELECT * FROM jobs o WHERE o.campaign_id = campaign AND o.id > after AND o.id <= last OFFSET 0) AS j
        CROSS JOIN LATERAL (SELECT * FROM job_ends d WHERE d.campaign_id = campaign AND d.job_id = j.id
                            AND NOT d.reused OFFSET 0) AS e
        JOIN solvers s ON s.id = j.solver_id
        LEFT JOIN LATERAL (SELECT * FROM results r WHERE r.campaign_id = campaign AND r.job_id = j.id
                           AND r.rank = 0 AND e.state = 'done' OFFSET 0) AS k ON true
        -- The round that measured the result; of a failed job the last one.
        LEFT JOIN LATERAL (SELECT * FROM outcomes o WHERE o.campaign_id = campaign AND o.job_id = j.id
                           AND NOT o.is_open AND (e.state = 'failed' OR o.median_ms @> ARRAY[k.median_ms])
                           ORDER BY o.number DESC LIMIT 1) AS m ON true
        LEFT JOIN LATERAL (SELECT r.stack FROM rounds r WHERE r.campaign_id = campaign AND r.job_id = j.id
                           ORDER BY r.number DESC LIMIT 1) AS b ON true
        WHERE e.state = 'failed' OR k.median_ms IS NOT NULL),
    -- When the job itself measured last.
    own AS MATERIALIZED (
        SELECT g.job_id, max(g.at) AS at FROM handed g
        CROSS JOIN LATERAL (SELECT FROM outcomes o WHERE o.campaign_id = campaign AND o.job_id = g.job_id
                            AND o.number = g.number AND o.fence > 0 OFFSET 0) AS its
        GROUP BY g.job_id),
    dated AS MATERIALIZED (
        SELECT e.*, h.node, night_of(campaign, coalesce(w.at, c.created_at)) AS night,
               (e.k).median_ms IS NOT NULL AND ((e.m).fence <= 0
                   OR night_of(campaign, h.at) < night_of(campaign, w.at)) AS older
        FROM ended e
        LEFT JOIN handed h ON h.job_id = e.id AND h.number = (e.m).number
        LEFT JOIN own w ON w.job_id = e.id)
    SELECT array_agg(d.problem_id ORDER BY d.id) AS problems, array_agg(d.solver ORDER BY d.id) AS solvers,
           array_agg(d.solver_id ORDER BY d.id) AS solver_ids, array_agg(d.night ORDER BY d.id) AS nights,
           array_agg(coalesce((d.k).config_text, '') ORDER BY d.id) AS configs,
           array_agg(d.stack ORDER BY d.id) AS stacks,
           array_agg(coalesce(d.node, w.node, '') ORDER BY d.id) AS nodes,
           array_agg(as_real(coalesce((d.k).median_ms, 0)) ORDER BY d.id) AS medians,
           array_agg(as_real(coalesce((d.k).spread, 0)) ORDER BY d.id) AS spreads,
           array_agg(as_real(coalesce((d.m).drift, 0)) ORDER BY d.id) AS drifts,
           array_agg(least(coalesce((d.k).n, 0), 32767)::smallint ORDER BY d.id) AS counts,
           array_agg(least(coalesce(r.sm_mhz_min, 0), 32767)::smallint ORDER BY d.id) AS least_mhz,
           array_agg(least(coalesce(r.sm_mhz_max, 0), 32767)::smallint ORDER BY d.id) AS most_mhz,
           array_agg((coalesce(r.throttle, 0) & 32767)::smallint ORDER BY d.id) AS throttles,
           array_agg(d.failure ORDER BY d.id) AS failures, array_agg(d.older ORDER BY d.id) AS olds,
           array_agg(as_real(coalesce((d.k).low_ms, 0)) ORDER BY d.id) AS lows,
           array_agg(as_real(coalesce((d.k).high_ms, 0)) ORDER BY d.id) AS highs,
           array_agg(coalesce((d.k).wins, false) ORDER BY d.id) AS choices
    INTO found
    FROM dated d
    LEFT JOIN worker_names w ON w.worker_id = d.claimed_by
    LEFT JOIN LATERAL (SELECT * FROM round_conditions o WHERE o.campaign_id = campaign AND o.job_id = d.id
                       AND o.number = (d.m).number OFFSET 0) AS r ON true
    WHERE d.night >= dense OR NOT again;
    IF found.problems IS NULL THEN
        RETURN last;
    END IF;
    -- From here on each point is looked up by key. These settings end with the function, too.
    SET LOCAL enable_nestloop = on;
    SET LOCAL enable_hashjoin = off;
    INSERT INTO history_series (target, problem_id, solver)
    SELECT DISTINCT c.target, u.problem, u.solver FROM unnest(found.problems, found.solvers) AS u(problem, solver)
    WHERE NOT EXISTS (SELECT FROM history_series s WHERE s.target = c.target AND s.problem_id = u.problem
                      AND s.solver = u.solver)
    ON CONFLICT DO NOTHING;
    INSERT INTO history_versions (solver_id)
    SELECT DISTINCT u.id FROM unnest(found.solver_ids) AS u(id)
    WHERE NOT EXISTS (SELECT FROM history_versions v WHERE v.solver_id = u.id)
    ON CONFLICT DO NOTHING;
    ids := history_text_ids(found.configs || found.stacks || found.nodes);
    INSERT INTO history AS h (series, night, campaign_id, version, config, stack, node, median_ms, spread,
                              fastest_ms, slowest_ms, drift, n, sm_mhz_min, sm_mhz_max, throttle, failure,
                              older, low_ms, high_ms, chosen, wins)
    -- Two revisions of a solver in one campaign: the newer one counts. wins is right here unless another
    -- solver of this step is faster, or was chosen: then it is corrected below.
    SELECT DISTINCT ON (s.id, u.night) s.id, u.night, campaign, v.id, u.config, u.stack, u.node,
           u.median, u.spread, u.median, u.median, u.drift, u.n, u.least_mhz, u.most_mhz, u.throttle, u.failure,
           u.older, u.low, u.high, u.chosen, u.failure = @FAILURE_NONE AND NOT EXISTS (
               SELECT FROM history_series o
               CROSS JOIN LATERAL (SELECT * FROM history p WHERE p.series = o.id AND p.night <= u.night
                                   ORDER BY p.night DESC LIMIT 1) AS p
               WHERE o.target = c.target AND o.problem_id = u.problem AND o.id <> s.id
                 AND p.failure = @FAILURE_NONE AND p.median_ms <= u.median)
    FROM unnest(found.problems, found.solvers, found.solver_ids, found.nights,
                ids[:cardinality(found.problems)],
                ids[cardinality(found.problems) + 1:2 * cardinality(found.problems)],
                ids[2 * cardinality(found.problems) + 1:], found.medians, found.spreads, found.drifts,
                found.counts, found.least_mhz, found.most_mhz, found.throttles, found.failures, found.olds,
                found.lows, found.highs, found.choices)
         AS u(problem, solver, solver_id, night, config, stack, node, median, spread, drift, n, least_mhz,
              most_mhz, throttle, failure, older, low, high, chosen)
    JOIN history_series s ON s.target = c.target AND s.problem_id = u.problem AND s.solver = u.solver
    JOIN history_versions v ON v.solver_id = u.solver_id
    ORDER BY s.id, u.night, u.solver_id DESC
    ON CONFLICT (series, night) DO UPDATE
    SET campaign_id = EXCLUDED.campaign_id, version = EXCLUDED.version, config = EXCLUDED.config,
        stack = EXCLUDED.stack, node = EXCLUDED.node, median_ms = EXCLUDED.median_ms, spread = EXCLUDED.spread,
        fastest_ms = EXCLUDED.fastest_ms, slowest_ms = EXCLUDED.slowest_ms, drift = EXCLUDED.drift,
        n = EXCLUDED.n, sm_mhz_min = EXCLUDED.sm_mhz_min, sm_mhz_max = EXCLUDED.sm_mhz_max,
        throttle = EXCLUDED.throttle, failure = EXCLUDED.failure, older = EXCLUDED.older,
        low_ms = EXCLUDED.low_ms, high_ms = EXCLUDED.high_ms, chosen = EXCLUDED.chosen
    -- A time of that night replaces one that was taken over, not the other way round.
    WHERE (h.campaign_id, h.version, h.config, h.stack, h.node, h.median_ms, h.n, h.failure, h.older,
           h.high_ms, h.chosen)
              <> (EXCLUDED.campaign_id, EXCLUDED.version, EXCLUDED.config, EXCLUDED.stack, EXCLUDED.node,
                  EXCLUDED.median_ms, EXCLUDED.n, EXCLUDED.failure, EXCLUDED.older, EXCLUDED.high_ms,
                  EXCLUDED.chosen)
      AND (h.older OR NOT EXCLUDED.older) AND h.campaign_id <= EXCLUDED.campaign_id;
    PERFORM set_history_winners(c.target, found.problems, found.nights);
    -- Points from before the last thinning: their spans are thinned once more.
    UPDATE history_retention r
    SET weeks_done = least(r.weeks_done, date_trunc('week', oldest.night::timestamp)::date),
        months_done = least(r.months_done, date_trunc('month', oldest.night::timestamp)::date)
    FROM (SELECT min(n) AS night FROM unnest(found.nights) AS n) AS oldest
    WHERE oldest.night < r.weeks_done;
    RETURN last;
END $$;

-- Gathers what a campaign that is dropped has left to gather.
CREATE OR REPLACE FUNCTION gather_rest_of_history(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    last bigint := 0;
BEGIN
    WHILE last IS NOT NULL AND EXISTS (SELECT FROM history_to_gather(campaign)) LOOP
        last := gather_history(campaign, last, 5000);
    END LOOP;
    DELETE FROM history_marks m WHERE m.campaign_id = campaign;
    DELETE FROM history_nights n WHERE n.campaign_id = campaign;
END $$;

-- The spans of nights that are to be thinned, from since to the day before until: the first night of each week, or
-- month, stays.
CREATE OR REPLACE FUNCTION history_to_thin(today date) RETURNS TABLE (span text, since date, until date)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT s.* FROM history_retention r
    CROSS JOIN LATERAL (VALUES ('week', r.weeks_done, date_trunc('week', (today - r.dense_days)::timestamp)::date),
                               ('month', r.months_done, date_trunc('month', (today - r.weekly_days)::timestamp)::date))
         AS s(span, since, until)
    WHERE s.since < s.until
$$;

-- Thins a batch of series after that one. The first night of each span stays, and each point at which the
-- config, revision, stack, failure or win is another than before. Points that go are folded into the one before
-- them, which is of the same state. last: NULL after the last series.
CREATE OR REPLACE FUNCTION thin_history(its_span text, since date, until date, after integer, batch integer,
                                        OUT last integer, OUT dropped bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM hold_history();
    last := (SELECT max(page.id) FROM (SELECT s.id FROM history_series s WHERE s.id > after
                                       ORDER BY s.id LIMIT batch) AS page);
    WITH points AS (
        SELECT h.series, h.night, h.nights, h.fastest_ms, h.slowest_ms,
               (date_trunc(its_span, h.night::timestamp), h.config, h.version, h.stack, h.failure, h.wins)
               IS DISTINCT FROM
               (lag((date_trunc(its_span, h.night::timestamp), h.config, h.version, h.stack, h.failure, h.wins))
                OVER (PARTITION BY h.series ORDER BY h.night)) AS stays
        FROM history_series s
        CROSS JOIN LATERAL (SELECT * FROM history p WHERE p.series = s.id AND p.night >= since
                            AND p.night < until ORDER BY p.night OFFSET 0) AS h
        WHERE s.id > after AND s.id <= last),
    grouped AS MATERIALIZED (
        SELECT p.*, count(*) FILTER (WHERE p.stays) OVER (PARTITION BY p.series ORDER BY p.night) AS part
        FROM points p),
    folded AS (
        UPDATE history h
        SET nights = least(f.nights, 32767), fastest_ms = f.fastest_ms, slowest_ms = f.slowest_ms
        FROM (SELECT g.series, min(g.night) AS night, sum(g.nights) AS nights, min(g.fastest_ms) AS fastest_ms,
                     max(g.slowest_ms) AS slowest_ms
              FROM grouped g GROUP BY g.series, g.part HAVING count(*) > 1) AS f
        WHERE h.series = f.series AND h.night = f.night),
    gone AS (
        DELETE FROM history h USING (SELECT g.series, g.night FROM grouped g WHERE NOT g.stays) AS d
        WHERE h.series = d.series AND h.night = d.night
        RETURNING 1)
    SELECT count(*) INTO dropped FROM gone;
END $$;

-- Notes that a span was thinned for all series.
CREATE OR REPLACE FUNCTION end_thinning(its_span text, until date) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE history_retention r
    SET weeks_done = CASE its_span WHEN 'week' THEN greatest(until, r.weeks_done) ELSE r.weeks_done END,
        months_done = CASE its_span WHEN 'month' THEN greatest(until, r.months_done) ELSE r.months_done END
$$;

CREATE OR REPLACE FUNCTION set_history_retention(dense integer, weekly integer) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE history_retention SET dense_days = dense, weekly_days = weekly
$$;

-- The points with their texts. low_ms, high_ms: the interval of the median, of a second measurement its own; else as
-- wide as the notch of McGill, Tukey and Larsen's box plots (1978): 1.57 times the interquartile range, divided by the
-- root of n. is_second: the config was measured a second time.
CREATE OR REPLACE VIEW history_points AS
    SELECT s.target, s.problem_id, s.solver, h.night, h.campaign_id, v.revision, v.hash, c.text AS config_text,
           k.text AS stack, n.text AS node, h.failure, h.n, h.median_ms, h.spread,
           (CASE WHEN h.high_ms > 0 THEN h.low_ms
                 ELSE greatest(h.median_ms * (1 - 1.57 * h.spread / sqrt(greatest(h.n, 1))), 0) END)::real AS low_ms,
           (CASE WHEN h.high_ms > 0 THEN h.high_ms
                 ELSE h.median_ms * (1 + 1.57 * h.spread / sqrt(greatest(h.n, 1))) END)::real AS high_ms,
           h.drift, h.sm_mhz_min, h.sm_mhz_max, h.throttle, h.wins, h.older, h.nights, h.fastest_ms,
           h.slowest_ms, h.series, h.high_ms > 0 AS is_second, h.chosen
    FROM history h
    JOIN history_series s ON s.id = h.series
    JOIN history_versions r ON r.id = h.version
    JOIN solvers v ON v.id = r.solver_id
    JOIN history_texts c ON c.id = h.config
    JOIN history_texts k ON k.id = h.stack
    JOIN history_texts n ON n.id = h.node;

-- The newest points, at most so many of each series, from before the night. problems: ids, NULL for all.
CREATE OR REPLACE FUNCTION newest_history(its_target text, problems jsonb, before date, most integer)
RETURNS SETOF history_points
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    ids bigint[] := ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(problems) AS e);
BEGIN
    RETURN QUERY
        SELECT p.* FROM (SELECT i.id FROM history_series i WHERE problems IS NULL AND i.target = its_target
                         UNION ALL
                         SELECT i.id FROM unnest(ids) AS u(id)
                         JOIN history_series i ON i.target = its_target AND i.problem_id = u.id) AS s
        CROSS JOIN LATERAL (SELECT h.series, h.night FROM history h WHERE h.series = s.id AND h.night < before
                            ORDER BY h.night DESC LIMIT most) AS wanted
        CROSS JOIN LATERAL (SELECT * FROM history_points q WHERE q.series = wanted.series
                            AND q.night = wanted.night OFFSET 0) AS p;
END $$;

-- The points of a problem in time order; NULL or '-infinity' for any target, solver, night.
CREATE OR REPLACE FUNCTION problem_history(problem bigint, its_target text, its_solver text, since date)
RETURNS SETOF history_points
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT p.* FROM history_points p
    WHERE p.problem_id = problem AND (its_target IS NULL OR p.target = its_target)
      AND (its_solver IS NULL OR p.solver = its_solver) AND p.night >= since
    ORDER BY p.target, p.night, p.solver
$$;
