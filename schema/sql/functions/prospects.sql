-- The order in which a campaign of limited time works: by the time that the next round of a job is
-- expected to save its network, and by what the round costs. coordinator/CAMPAIGNS.md derives the
-- rule.

-- A campaign whose time is limited. Any other campaign does all rounds of all jobs, so it
-- goes by rounds.
CREATE OR REPLACE FUNCTION is_limited(c campaigns) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT c.budget_seconds > 0 OR c.deadline IS NOT NULL $$;

-- The configs that jobs have tried, each once, in the order of their first try (place), with
-- the logarithm of the newest median, NULL if it never ran right. (Each round measures the
-- default again, and some measure others again.) at_first: it was tried in the job's first
-- round. seconds: what all rounds of the job took to build and to evaluate, the same in each of
-- its rows.
CREATE OR REPLACE FUNCTION tried_configs(campaign bigint, ids bigint[])
RETURNS TABLE (job_id bigint, place bigint, log_ms double precision, at_first boolean,
               seconds double precision)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH had AS (
        SELECT r.job_id, r.number, r.config_counts, r.config_values, o.failures, o.median_ms,
               sum(r.total_build_seconds + o.total_eval_seconds) OVER its AS seconds,
               r.number = min(r.number) OVER its AS at_first
        FROM rounds r CROSS JOIN LATERAL (
            SELECT * FROM outcomes c WHERE c.campaign_id = campaign AND c.job_id = r.job_id
            AND c.number = r.number AND NOT c.is_open OFFSET 0) AS o
        WHERE r.campaign_id = campaign AND r.job_id = ANY (ids)
        WINDOW its AS (PARTITION BY r.job_id)
    ), once AS (
        SELECT h.job_id, min(ARRAY[h.number, t.at]) AS first,
               ln((array_agg(t.ms ORDER BY h.number DESC, t.at DESC)
                   FILTER (WHERE t.failure IN (@FAILURE_NONE, @FAILURE_SLOW) AND t.ms > 0))[1]) AS log_ms,
               bool_or(h.at_first) AS at_first, min(h.seconds) AS seconds
        FROM had h
        CROSS JOIN LATERAL unnest(h.failures, h.median_ms) WITH ORDINALITY AS t(failure, ms, at)
        CROSS JOIN LATERAL (
            SELECT coalesce(sum_of(h.config_counts[:t.at::integer - 1]), 0)::integer AS n) AS before
        GROUP BY h.job_id,
                 h.config_values[before.n + 1:before.n + h.config_counts[t.at::integer]]
    )
    SELECT o.job_id, row_number() OVER (PARTITION BY o.job_id ORDER BY o.first), o.log_ms,
           o.at_first, o.seconds
    FROM once o;
END $$;

-- The time that the next round of each job is expected to save, by the rule of
-- solvers/search/expected_gain.h on the job's own tries, but with a tail of four times
-- (coordinator/CAMPAIGNS.md has the figures):
--
--     m / (since_best + m + 1)     the chance that one of m more configs is the job's new best
--     exp(-behind / tail)          the chance that this one also beats the problem's best
--     1 - exp(-tail)               the part of the time that it then saves
--
-- tries, since_best: configs tried, and how many of them after the best one. tail: the mean
-- distance of the four shortest times to the fifth, in logarithms; distances that are not
-- known yet count as 0.3. behind: the logarithm of the job's best time over that of the problem.
-- first_ms, best_ms: the job's best of its first round, and of all. problem_ms: the best of
-- any solver in the campaign. round_seconds: what a round of so many configs took so far.
-- saves_ms: for the network, so with the problem's multiplicity. NULL for a problem without
-- any verified config.
CREATE OR REPLACE FUNCTION prospects(campaign bigint, ids bigint[])
RETURNS TABLE (job_id bigint, problem_id bigint, solver_id bigint, multiplicity integer, tries bigint,
               since_best bigint, tail double precision, first_ms double precision,
               best_ms double precision, problem_ms double precision, seconds double precision,
               round_seconds double precision, saves_ms double precision)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    distances CONSTANT integer := 4;
    unknown_distance CONSTANT double precision := 0.3;
    more CONSTANT integer := (SELECT greatest(c.round_configs, 1) FROM campaigns c WHERE c.id = campaign);
BEGIN
    RETURN QUERY
    WITH tried AS MATERIALIZED (SELECT * FROM tried_configs(campaign, ids)),
    ranked AS (
        SELECT t.*, row_number() OVER (PARTITION BY t.job_id ORDER BY t.log_ms, t.place) AS rank,
               count(t.log_ms) OVER (PARTITION BY t.job_id) AS timed
        FROM tried t
    ), had AS (
        SELECT r.job_id, count(*) AS tries, min(r.seconds) AS seconds, min(r.timed) AS timed,
               count(*) - coalesce(min(r.place) FILTER (WHERE r.rank = 1 AND r.log_ms IS NOT NULL), 0)
                   AS since_best,
               min(r.log_ms) AS log_best, min(r.log_ms) FILTER (WHERE r.at_first) AS log_first,
               max(r.log_ms) FILTER (WHERE r.rank <= distances + 1) AS log_end,
               sum(r.log_ms) FILTER (WHERE r.rank <= distances) AS log_sum
        FROM ranked r GROUP BY r.job_id
    ), shaped AS (
        SELECT h.*, greatest(least(h.timed - 1, distances), 0) AS known
        FROM had h
    ), tailed AS (
        SELECT h.*,
               (CASE WHEN h.known = 0 THEN 0
                     WHEN h.known = distances THEN distances * h.log_end - h.log_sum
                     ELSE h.known * h.log_end - (h.log_sum - h.log_end) END
                + (distances - h.known) * unknown_distance) / distances AS tail
        FROM shaped h
    )
    SELECT j.id, j.problem_id, j.solver_id, j.multiplicity, h.tries, h.since_best, h.tail,
           exp(h.log_first), exp(h.log_best), p.ms, h.seconds, c.seconds,
           j.multiplicity * p.ms * more / (h.since_best + more + 1.0)
           * exp(-least(greatest(h.log_best - ln(p.ms), 0) / greatest(h.tail, 1e-6), 700))
           * (1 - exp(-h.tail))
    FROM tailed h
    CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign AND o.id = h.job_id
                        OFFSET 0) AS j
    CROSS JOIN LATERAL (
        SELECT min((SELECT k.median_ms FROM results k WHERE k.campaign_id = campaign
                    AND k.job_id = o.id AND k.rank = 0)) AS ms
        FROM jobs o WHERE o.campaign_id = campaign AND o.problem_id = j.problem_id) AS p
    CROSS JOIN LATERAL (SELECT greatest(h.seconds / h.tries, 1e-6) * more AS seconds) AS c;
END $$;

-- The price of a bundle of these jobs (bundles.price): the seconds of their next rounds for each
-- ms that these are expected to save. A problem without any verified config has no time to
-- save, and a network cannot run without it: its jobs come first for 32 tries each, then last.
CREATE OR REPLACE FUNCTION price_of(campaign bigint, ids bigint[]) RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (
        SELECT CASE WHEN bool_or(p.saves_ms IS NULL AND p.tries < 32) THEN 1e-300
                    WHEN coalesce(sum(p.saves_ms), 0) < 1e-200 THEN 'infinity'
                    ELSE greatest(sum(p.round_seconds) / sum(p.saves_ms), 1e-300) END
        FROM prospects(campaign, ids) AS p);
END $$;

-- The price of a bundle whose next round is of the search and not its first; NULL for others.
CREATE OR REPLACE FUNCTION price_now(b bundles) RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF b.remeasures OR b.round_no = 0 THEN
        RETURN NULL;
    END IF;
    RETURN coalesce(price_of(b.campaign_id, b.job_ids), 1e-300);
END $$;

-- The number of evaluated rounds and the seconds of building and evaluating them, as add_spent()
-- takes them; zeros if items is NULL.
CREATE OR REPLACE FUNCTION rounds_took(campaign bigint, items outcomes[], OUT rounds bigint,
                                       OUT build_seconds double precision,
                                       OUT eval_seconds double precision)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    SELECT count(*), coalesce(sum(b.seconds), 0), coalesce(sum(i.total_eval_seconds), 0)
    INTO rounds, build_seconds, eval_seconds
    FROM unnest(items) AS i CROSS JOIN LATERAL (
        SELECT r.total_build_seconds AS seconds FROM rounds r
        WHERE r.campaign_id = campaign AND r.job_id = i.job_id AND r.number = i.number OFFSET 0) AS b;
END $$;

-- Devices of the campaign's target whose workers are alive.
CREATE OR REPLACE FUNCTION devices_of(c campaigns) RETURNS bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT count(*) FROM worker_devices w JOIN workers a ON a.id = w.worker_id
    WHERE w.target = c.target AND a.ended_at IS NULL AND a.beat_at > clock_timestamp() - interval '2 minutes'
$$;

-- How many later rounds of a campaign may be under way to its devices, being built or built. While
-- one round is built, a device evaluates as many as fit into that time: so many must lie
-- ready, one more is being evaluated next, and one may be late. More would only be
-- built by older outcomes than needed, and be lost when the budget ends. NULL, for no limit,
-- until a round was evaluated.
CREATE OR REPLACE FUNCTION rounds_ahead(campaign bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (
        SELECT greatest(d.devices, 1) * (2 + ceil(least(t.build_seconds / greatest(t.eval_seconds, 1e-6), 1e6)))::bigint
        FROM (SELECT sum(s.rounds) AS rounds, sum(s.build_seconds) AS build_seconds,
                     sum(s.eval_seconds) AS eval_seconds
              FROM campaign_spent s WHERE s.campaign_id = campaign) AS t,
             (SELECT devices_of(c) AS devices FROM campaigns c WHERE c.id = campaign) AS d
        WHERE t.rounds > 0);
END $$;

-- How many more rounds a campaign may build before its budget is spent, beside those under way: as many as the rest of the
-- budget pays for, at the time that a round took so far. Until a round was evaluated, two for each device, or one for each
-- second of the budget while no device is there. So little is under way when the budget ends. NULL for no limit: without a
-- budget, and while it pays for more than 1,000 rounds. Rounds that are built for solvers that the worker lacks
-- (solver_ids: those that it has) do not count, since they may wait for ever.
CREATE OR REPLACE FUNCTION rounds_payable(c campaigns, solver_ids bigint[]) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    most CONSTANT integer := 1000;
    devices bigint;
    payable double precision;
BEGIN
    IF c.budget_seconds <= 0 OR c.build_only THEN
        RETURN NULL;
    END IF;
    SELECT CASE WHEN sum(s.rounds) > 0
           THEN ceil((c.budget_seconds - sum(s.seconds)) * sum(s.rounds) / greatest(sum(s.seconds), 1e-9)) END
    INTO payable FROM campaign_spent s WHERE s.campaign_id = c.id;
    IF payable IS NULL THEN
        devices := devices_of(c);
        payable := CASE WHEN devices > 0 THEN 2 * devices ELSE greatest(ceil(c.budget_seconds), 2) END;
    END IF;
    IF payable > most THEN
        RETURN NULL;
    END IF;
    RETURN payable - (
        SELECT coalesce(sum(cardinality(b.job_ids)), 0)
        FROM unnest('{building, built, evaluating}'::job_state[]) AS s(state)
        CROSS JOIN LATERAL (
            SELECT o.job_ids, o.state, o.remeasures, o.solver_id FROM bundles o
            WHERE o.campaign_id = c.id AND o.state = s.state LIMIT most) AS b
        WHERE NOT b.remeasures AND (b.state <> 'built' OR b.solver_id = ANY (solver_ids)));
END $$;

-- The price above which a worker with these solvers builds no later round now, and how many it
-- may build (NULL: any). The best jobs are always under way, since their next round waits
-- for their last one. A worker that took whatever else is ready would spend the budget on
-- jobs that gain little, only since the good ones are busy. So with a budget nothing
-- is built that is times_cheapest as dear as the cheapest round under way (NULL without a
-- budget). Rounds for a problem without a time are not compared.
CREATE OR REPLACE FUNCTION worth_building(campaign bigint, solver_ids bigint[],
                                          OUT times_cheapest double precision,
                                          OUT most_price double precision, OUT most bigint)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ahead bigint := rounds_ahead(campaign);
    under_way bigint;
    cheapest double precision;
BEGIN
    SELECT sum(cardinality(b.job_ids)) FILTER (WHERE b.state <> 'evaluating'),
           min(b.price) FILTER (WHERE b.price > 1e-200)
    INTO under_way, cheapest
    FROM unnest('{building, built, evaluating}'::job_state[]) AS s(state)
    CROSS JOIN LATERAL (
        SELECT o.job_ids, o.price, o.state FROM bundles o
        WHERE o.campaign_id = campaign AND o.state = s.state AND o.price > 0
          AND (o.state <> 'built' OR o.solver_id = ANY (solver_ids))
        ORDER BY o.price LIMIT coalesce(ahead, 1)) AS b;
    most := CASE WHEN ahead IS NOT NULL THEN greatest(ahead - coalesce(under_way, 0), 0) END;
    times_cheapest := (SELECT 4 FROM campaigns c WHERE c.id = campaign AND c.budget_seconds > 0);
    most_price := coalesce(times_cheapest * cheapest, 'infinity');
END $$;

-- A campaign's problems with after < id <= last: what they took and gained so far, and what the cheapest next
-- round of those jobs would save whose search has not ended by itself. first_ms: the best time
-- after the first rounds. Times are NULL for a problem without a verified config.
CREATE OR REPLACE FUNCTION time_of_problems(campaign bigint, after bigint, last bigint)
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
    WITH rated AS MATERIALIZED (
        SELECT s.*, e.job_id IS NULL OR e.by_budget AS could_go_on
        FROM prospects(campaign, ARRAY(SELECT j.id FROM jobs j WHERE j.campaign_id = campaign
                                       AND j.problem_id > after AND j.problem_id <= last)) AS s
        LEFT JOIN job_ends e ON e.campaign_id = campaign AND e.job_id = s.job_id
    )
    SELECT jsonb_build_object(
        'problem', to_jsonb(p), 'multiplicity', its.multiplicity, 'jobs', its.jobs,
        'seconds', coalesce(had.seconds, 0), 'tries', coalesce(had.tries, 0),
        'first_ms', had.first_ms, 'best_ms', had.problem_ms, 'next_saves_ms', next.saves_ms,
        'next_seconds', next.round_seconds, 'next_solver', v.name)
    FROM (SELECT j.problem_id, min(j.multiplicity) AS multiplicity, count(*) AS jobs FROM jobs j
          WHERE j.campaign_id = campaign AND j.problem_id > after AND j.problem_id <= last
          GROUP BY j.problem_id) AS its
    JOIN problems p ON p.id = its.problem_id
    LEFT JOIN (SELECT r.problem_id, sum(r.seconds) AS seconds, sum(r.tries) AS tries,
                      min(r.first_ms) AS first_ms, min(r.problem_ms) AS problem_ms
               FROM rated r GROUP BY r.problem_id) AS had ON had.problem_id = its.problem_id
    LEFT JOIN LATERAL (
        SELECT r.* FROM rated r WHERE r.problem_id = its.problem_id AND r.could_go_on
        ORDER BY r.saves_ms / r.round_seconds DESC NULLS LAST, r.job_id LIMIT 1) AS next ON true
    LEFT JOIN solvers v ON v.id = next.solver_id
    ORDER BY its.problem_id;
END $$;

-- Has later rounds that wait rated anew when they would be claimed: now that the campaign's time is
-- limited, or is no more, another order holds.
CREATE OR REPLACE FUNCTION rate_anew(campaign bigint) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE bundles b SET price = CASE WHEN is_limited(c) THEN 1e-300 ELSE b.round_no END
    FROM campaigns c
    WHERE c.id = campaign AND b.campaign_id = campaign AND b.state = 'ready' AND b.price > 0
$$;
