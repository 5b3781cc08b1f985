-- A new campaign takes over configs that earlier campaigns measured, one by one. Before, only jobs that had ended with
-- all they asked for were taken over, so a job that a budget had cut short was measured from its first config
-- again. And a campaign keeps for each job why it is tuned again.

-- How a job's question was met before the campaign was made: reason is a number of enum job_reason (store.h),
-- the nearest there is; source the campaign that it is found in; configs how many were taken over one by one;
-- drifted how many were not, since their device drifted while they were measured.
-- A job without a row has a problem that no campaign of the target had. Rounds whose configs are taken over
-- have fence 0, or -1 where they do not count for the limit of configs. A campaign gets its partition when it
-- has such jobs.
CREATE TABLE job_origins (
    campaign_id bigint NOT NULL,
    job_id      bigint NOT NULL,
    reason      smallint NOT NULL,
    source      bigint NOT NULL,
    configs     integer NOT NULL,
    drifted     integer NOT NULL,
    PRIMARY KEY (campaign_id, job_id)
) PARTITION BY LIST (campaign_id);

-- True where job_origins was filled for the campaign: not for campaigns from before, nor for builds alone.
ALTER TABLE campaigns ADD COLUMN has_origins boolean NOT NULL DEFAULT false;

-- A round with what came of it so far.
CREATE OR REPLACE VIEW round_rows AS
    SELECT r.campaign_id, r.job_id, r.number, coalesce(o.is_open, true) AS is_open,
           coalesce(o.stack, r.stack) AS stack, coalesce(o.drift, 0) AS drift,
           r.config_counts, r.config_values, r.kernel_keys,
           coalesce(o.failures, r.failures) AS failures, o.n, o.min_ms, o.median_ms, o.spread,
           o.error, r.build_seconds, o.eval_seconds, coalesce(o.details, r.details) AS details,
           coalesce(o.evaluated, r.evaluated) AS evaluated,
           coalesce(o.pending, r.pending) AS pending, r.kernels, r.total_build_seconds,
           coalesce(o.total_eval_seconds, 0) AS total_eval_seconds, r.fence
    FROM rounds r LEFT JOIN outcomes o USING (campaign_id, job_id, number);

CREATE OR REPLACE VIEW dropped_partitions AS
    SELECT parent.relname AS parent, child.relname AS child,
           coalesce(i.inhdetachpending, false) AS pending, i.inhrelid IS NULL AS detached
    FROM pg_class child
    JOIN pg_class parent ON parent.relkind = 'p' AND parent.relnamespace = child.relnamespace
         AND parent.relname = regexp_replace(child.relname, '_[0-9]+$', '')
    LEFT JOIN pg_inherits i ON i.inhrelid = child.oid
    WHERE child.relkind = 'r' AND child.relnamespace = 'skipjack'::regnamespace
      AND parent.relname IN ('jobs', 'job_ends', 'rounds', 'outcomes', 'results', 'priors',
                             'round_conditions', 'remeasures', 'deliveries', 'job_origins')
      AND NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE child.relname = parent.relname || '_' || c.id);

-- ---- why a job is tuned again ----

-- For each job of c that lacks an answer the same job of campaign o, and what is missing there. reason: see
-- job_origins.
CREATE FUNCTION same_jobs_of(c campaigns, o campaigns, lacking bigint[])
    RETURNS TABLE (fresh_id bigint, old_id bigint, reason smallint)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
        SELECT f.id, old.id, CASE
            WHEN o.build_only THEN 3
            WHEN measured.stack IS NOT NULL AND NOT stack_matches(c.stack, measured.stack) THEN 4
            WHEN e.job_id IS NULL THEN 6
            WHEN e.by_budget THEN 8
            WHEN e.state = 'failed' THEN 5
            WHEN EXISTS (SELECT FROM results k
                         CROSS JOIN LATERAL unnest(string_to_array(k.kernel_keys, ',')) AS u(key)
                         CROSS JOIN LATERAL (SELECT n.code_place FROM kernels n WHERE n.key = u.key
                                             OFFSET 0) AS code
                         WHERE k.campaign_id = o.id AND k.job_id = old.id
                           AND code.code_place IS NULL) THEN 9
            ELSE 7 END::smallint
        FROM unnest(lacking) AS wanted(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = c.id
                            AND j.id = wanted.id OFFSET 0) AS f
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = o.id
                            AND j.problem_id = f.problem_id AND j.solver_id = f.solver_id
                            OFFSET 0) AS old
        LEFT JOIN LATERAL (SELECT * FROM job_ends d WHERE d.campaign_id = o.id
                           AND d.job_id = old.id OFFSET 0) AS e ON true
        -- The stack of the newest of its rounds.
        LEFT JOIN LATERAL (SELECT m.stack FROM outcomes m WHERE m.campaign_id = o.id
                           AND m.job_id = old.id AND NOT m.is_open
                           ORDER BY m.number DESC LIMIT 1) AS measured ON true;
END $$;

-- For each job of c whose problem campaign o had with other solvers: reason 2 where one of them is another
-- revision of the job's solver, else 1.
CREATE FUNCTION same_problems_of(c campaigns, o campaigns, lacking bigint[])
    RETURNS TABLE (fresh_id bigint, reason smallint)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    all_revisions jsonb := (SELECT jsonb_object_agg(s.id, (SELECT jsonb_agg(r.id) FROM solvers r
                                                           WHERE r.name = s.name))
                            FROM solvers s);
BEGIN
    RETURN QUERY
        SELECT f.id, max(CASE WHEN all_revisions->f.solver_id::text @> to_jsonb(old.solver_id) THEN 2
                              ELSE 1 END)::smallint
        FROM unnest(lacking) AS wanted(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = c.id
                            AND j.id = wanted.id OFFSET 0) AS f
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = o.id
                            AND j.problem_id = f.problem_id AND j.solver_id <> f.solver_id
                            OFFSET 0) AS old
        GROUP BY f.id;
END $$;

-- ---- configs, one by one ----

-- The configs of a round, which are stored one after another.
CREATE FUNCTION configs_of(counts smallint[], all_values integer[])
    RETURNS TABLE (at bigint, config integer[])
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT s.at, all_values[s.ends - s.size + 1:s.ends]
    FROM (SELECT u.at, u.size, sum(u.size) OVER (ORDER BY u.at)::integer AS ends
          FROM unnest(counts) WITH ORDINALITY AS u(size, at)) AS s
$$;

-- Takes over what jobs `old` of campaign o measured into jobs `fresh` of campaign c, which have not ended, and
-- gives the rounds that were copied: their numbers there and here, and the number of configs; and a row without
-- numbers for each job with the configs that are left out since their device drifted. mark: the fence of the rounds
-- here, but for those that do not count for the limit of o either. with_copies: for which pairs the rounds count that campaign o itself took over from earlier ones. The newest
-- measurement of a config counts. Left out, so that they are measured again:
--  - failures that another try may not have (crashes, timeouts, device faults, unstable times; numbers are
--    those of failure.h),
--  - times of a round whose device drifted beyond the limit,
--  - rounds of another stack than the first that the job takes over, or that is not admitted,
--  - verified configs whose code nobody has any more, where they may become results: the code of all but the
--    kept ones is dropped, and these are the fastest of their job, so the others may come as long as all kept
--    ones do,
--  - verified configs that may need more workspace than c allows: of kept ones it is known what they need.
CREATE FUNCTION take_over(c campaigns, o campaigns, fresh bigint[], old bigint[], with_copies boolean[],
                          mark bigint, drift_limit double precision)
    RETURNS TABLE (fresh_id bigint, old_id bigint, old_number integer, number integer, configs integer)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    narrower boolean := coalesce(c.workspace_limit < coalesce(o.workspace_limit, 'infinity'::float8), false);
BEGIN
    RETURN QUERY WITH pairs AS MATERIALIZED (
        SELECT p.fresh, p.old, p.with_copies,
               coalesce((SELECT m.stack FROM outcomes m WHERE m.campaign_id = c.id
                         AND m.job_id = p.fresh ORDER BY m.number LIMIT 1),
                        (SELECT m.stack FROM outcomes m WHERE m.campaign_id = o.id
                         AND m.job_id = p.old AND NOT m.is_open
                         ORDER BY m.number DESC LIMIT 1)) AS stack,
               coalesce((SELECT max(r.number) + 1 FROM rounds r WHERE r.campaign_id = c.id
                         AND r.job_id = p.fresh), 0) AS first_number,
               coalesce((SELECT max(r.rank) + 1 FROM results r WHERE r.campaign_id = c.id
                         AND r.job_id = p.fresh), 0) AS first_rank,
               (SELECT count(*) FROM results r WHERE r.campaign_id = o.id
                AND r.job_id = p.old) AS kept_count
        FROM unnest(fresh, old, with_copies) AS p(fresh, old, with_copies)),
    held AS MATERIALIZED (
        SELECT p.fresh, h.config FROM pairs p
        JOIN rounds s ON s.campaign_id = c.id AND s.job_id = p.fresh
        CROSS JOIN LATERAL configs_of(s.config_counts, s.config_values) AS h
        WHERE p.first_number > 0),
    newest AS MATERIALIZED (
        SELECT DISTINCT ON (p.fresh, v.config) p.*, r.number, v.at, v.config,
               m.failures[v.at] AS failure, m.median_ms[v.at] AS median_ms,
               m.drift > drift_limit OR (m.drift > 0 AND m.drift < 1 / drift_limit) AS drifted
        FROM pairs p
        CROSS JOIN LATERAL (SELECT * FROM rounds s WHERE s.campaign_id = o.id
                            AND s.job_id = p.old AND (p.with_copies OR s.fence > 0) OFFSET 0) AS r
        CROSS JOIN LATERAL (SELECT * FROM outcomes s WHERE s.campaign_id = o.id
                            AND s.job_id = p.old AND s.number = r.number
                            AND NOT s.is_open AND s.stack = p.stack OFFSET 0) AS m
        CROSS JOIN LATERAL configs_of(r.config_counts, r.config_values) AS v
        -- A default config that fails once, when it is measured again to show drift, keeps its time.
        ORDER BY p.fresh, v.config,
                 m.failures[v.at] = 0
                 OR EXISTS (SELECT FROM remeasures w WHERE w.campaign_id = o.id
                            AND w.job_id = p.old AND w.number = r.number) DESC,
                 r.number DESC),
    known AS (
        SELECT e.*, k.rank AS kept_rank,
               count(k.rank) OVER (PARTITION BY e.fresh) = e.kept_count AS all_kept
        FROM newest e
        LEFT JOIN LATERAL (SELECT q.rank FROM results q
                           WHERE q.campaign_id = o.id AND q.job_id = e.old AND q.config = e.config
                             AND q.median_ms = e.median_ms
                             AND (NOT narrower OR q.workspace_bytes <= c.workspace_limit)
                             AND NOT EXISTS (
                                 SELECT FROM unnest(string_to_array(q.kernel_keys, ',')) AS u(key)
                                 CROSS JOIN LATERAL (SELECT n.code_place FROM kernels n
                                                     WHERE n.key = u.key OFFSET 0) AS code
                                 WHERE code.code_place IS NULL)
                           LIMIT 1) AS k ON e.failure = 0
        WHERE e.failure IN (0, 1, 2, 9, 10, 16, 17) AND NOT (e.drifted AND e.failure IN (0, 16))
          AND NOT EXISTS (SELECT FROM held h WHERE h.fresh = e.fresh AND h.config = e.config)),
    taken AS MATERIALIZED (
        SELECT e.*, e.first_number - 1 + dense_rank() OVER (PARTITION BY e.fresh ORDER BY e.number)
                    AS place
        FROM known e
        WHERE e.failure <> 0 OR e.kept_rank IS NOT NULL
           OR (e.all_kept AND e.kept_count > 0 AND NOT narrower)),
    copies AS MATERIALIZED (
        SELECT t.fresh, t.old, t.number AS old_number, t.place::integer AS number,
               CASE WHEN min(r.fence) = -1 THEN -1 ELSE mark END AS mark, min(r.stack) AS build_stack, min(m.stack) AS stack,
               min(m.drift) AS drift, count(*)::integer AS configs,
               array_agg(r.config_counts[t.at] ORDER BY t.at) AS config_counts,
               string_to_array(string_agg(array_to_string(t.config, ','), ',' ORDER BY t.at),
                               ',')::integer[] AS config_values,
               array_agg(r.kernel_keys[t.at] ORDER BY t.at) AS kernel_keys,
               array_agg(r.failures[t.at] ORDER BY t.at) AS build_failures,
               array_agg(r.details[t.at] ORDER BY t.at) AS build_details,
               array_agg(r.build_seconds[t.at] ORDER BY t.at) AS build_seconds,
               sum(r.build_seconds[t.at]) AS total_build_seconds,
               count(*) FILTER (WHERE r.failures[t.at] = 15)::integer AS built,
               array_agg(m.failures[t.at] ORDER BY t.at) AS failures,
               array_agg(m.details[t.at] ORDER BY t.at) AS details,
               array_agg(m.n[t.at] ORDER BY t.at) AS n,
               array_agg(m.min_ms[t.at] ORDER BY t.at) AS min_ms,
               array_agg(m.median_ms[t.at] ORDER BY t.at) AS median_ms,
               array_agg(m.spread[t.at] ORDER BY t.at) AS spread,
               array_agg(m.error[t.at] ORDER BY t.at) AS error,
               array_agg(m.eval_seconds[t.at] ORDER BY t.at) AS eval_seconds,
               sum(m.eval_seconds[t.at]) AS total_eval_seconds
        FROM taken t
        CROSS JOIN LATERAL (SELECT * FROM rounds s WHERE s.campaign_id = o.id
                            AND s.job_id = t.old AND s.number = t.number OFFSET 0) AS r
        CROSS JOIN LATERAL (SELECT * FROM outcomes s WHERE s.campaign_id = o.id
                            AND s.job_id = t.old AND s.number = t.number OFFSET 0) AS m
        GROUP BY t.fresh, t.old, t.number, t.place),
    built AS (
        INSERT INTO rounds (campaign_id, job_id, number, fence, stack, config_counts, config_values,
                            kernel_keys, failures, details, build_seconds, kernels, evaluated, pending,
                            total_build_seconds)
        SELECT c.id, x.fresh, x.number, x.mark, x.build_stack, x.config_counts, x.config_values,
               x.kernel_keys, x.build_failures, x.build_details, x.build_seconds, 0,
               x.configs - x.built, x.built, x.total_build_seconds
        FROM copies x),
    evaluated AS (
        INSERT INTO outcomes (campaign_id, job_id, number, is_open, fence, stack, drift, failures, details,
                              n, min_ms, median_ms, spread, error, eval_seconds, evaluated, pending,
                              total_eval_seconds)
        SELECT c.id, x.fresh, x.number, false, x.mark, x.stack, x.drift, x.failures, x.details, x.n,
               x.min_ms, x.median_ms, x.spread, x.error, x.eval_seconds, x.configs, 0,
               x.total_eval_seconds
        FROM copies x),
    conditions AS (
        INSERT INTO round_conditions
        SELECT c.id, t.fresh, t.place, s.device, s.samples, s.sm_mhz_min, s.sm_mhz_max,
               s.memory_mhz_min, s.memory_mhz_max, s.temperature_c, s.power_w, s.throttle, s.locked_mhz
        FROM (SELECT DISTINCT x.fresh, x.old, x.number, x.place FROM taken x) AS t
        JOIN round_conditions s ON s.campaign_id = o.id AND s.job_id = t.old AND s.number = t.number
        WHERE c.target NOT LIKE 'cpu-%'),
    shipped AS (
        INSERT INTO results (campaign_id, job_id, rank, config, config_text, kernel_keys, stack, n, min_ms,
                             median_ms, spread, error, build_seconds, eval_seconds, workspace_bytes,
                             flops, is_default)
        SELECT c.id, t.fresh, t.first_rank + k.rank, k.config, k.config_text, k.kernel_keys, k.stack, k.n,
               k.min_ms, k.median_ms, k.spread, k.error, k.build_seconds, k.eval_seconds,
               k.workspace_bytes, k.flops, k.is_default
        FROM taken t
        CROSS JOIN LATERAL (SELECT * FROM results q WHERE q.campaign_id = o.id AND q.job_id = t.old
                            AND q.rank = t.kept_rank OFFSET 0) AS k),
    begun AS (
        INSERT INTO priors
        SELECT c.id, p.fresh, g.configs FROM pairs p
        JOIN priors g ON g.campaign_id = o.id AND g.job_id = p.old
        WHERE c.strategy = 'prior' AND mark = 0 AND p.fresh IN (SELECT x.fresh FROM copies x)
        ON CONFLICT DO NOTHING)
    SELECT x.fresh, x.old, x.old_number, x.number, x.configs FROM copies x
    UNION ALL
    SELECT e.fresh, e.old, NULL, NULL, count(*)::integer FROM newest e
    WHERE e.drifted AND e.failure IN (0, 16) GROUP BY e.fresh, e.old;
END $$;

-- Copies who measured the rounds that were copied: of jobs `old` of campaign o to jobs `fresh`, from old_numbers to numbers.
CREATE FUNCTION copy_deliveries(c campaigns, o campaigns, fresh bigint[], old bigint[],
                                old_numbers integer[], numbers integer[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_nestloop = off AS $$
BEGIN
    INSERT INTO deliveries (campaign_id, worker_id, at, job_ids, numbers)
    SELECT c.id, m.worker_id, m.at, array_agg(p.fresh), array_agg(p.number)
    FROM (SELECT d.worker_id, d.at, u.job, u.number
          FROM deliveries d CROSS JOIN LATERAL unnest(d.job_ids, d.numbers) AS u(job, number)
          WHERE d.campaign_id = o.id) AS m
    JOIN unnest(fresh, old, old_numbers, numbers) AS p(fresh, old, old_number, number)
         ON p.old = m.job AND p.old_number = m.number
    GROUP BY m.worker_id, m.at;
END $$;

-- The kept results of jobs that took some over, the fastest first, without gaps.
CREATE FUNCTION rank_results(campaign bigint, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    former results[];
BEGIN
    WITH gone AS (DELETE FROM results r WHERE r.campaign_id = campaign AND r.job_id = ANY (ids)
                  RETURNING r)
    SELECT array_agg(g.r) INTO former FROM gone g;
    INSERT INTO results
    SELECT n.*
    FROM (SELECT f, row_number() OVER (PARTITION BY f.job_id ORDER BY f.median_ms, f.rank) - 1 AS place
          FROM unnest(former) AS f) AS placed
    CROSS JOIN LATERAL jsonb_populate_record(placed.f, jsonb_build_object('rank', placed.place)) AS n;
END $$;

-- ---- making a campaign ----

CREATE FUNCTION note_origins(campaign bigint, ids bigint[], reasons smallint[], sources bigint[],
                             counts integer[], drifts integer[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF ids = '{}' THEN
        RETURN;
    ELSIF to_regclass('skipjack.job_origins_' || campaign) IS NULL THEN
        PERFORM add_partition(campaign, 'job_origins');
    END IF;
    INSERT INTO job_origins
    SELECT campaign, i.id, i.reason, i.source, i.configs, i.drifted
    FROM unnest(ids, reasons, sources, counts, drifts) AS i(id, reason, source, configs, drifted)
    ON CONFLICT (campaign_id, job_id) DO UPDATE
    SET source = CASE WHEN EXCLUDED.reason > job_origins.reason THEN EXCLUDED.source
                      ELSE job_origins.source END,
        reason = greatest(job_origins.reason, EXCLUDED.reason),
        configs = job_origins.configs + EXCLUDED.configs,
        drifted = job_origins.drifted + EXCLUDED.drifted;
END $$;

-- Jobs of campaign o that answer what campaign c asks: those that ended with a verified outcome, and not
-- for a budget, measured under software that c admits.
CREATE OR REPLACE FUNCTION answers_of(c campaigns, o campaigns, lacking bigint[])
    RETURNS TABLE (fresh_id bigint, old_id bigint, had_rounds integer)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    same boolean := o.strategy = c.strategy AND o.seed = c.seed
                    AND o.configs_limit = c.configs_limit;
    whole boolean := o.strategy = 'exhaustive' OR c.strategy <> 'exhaustive';
BEGIN
    RETURN QUERY WITH answers AS MATERIALIZED (
        SELECT f.id AS fresh, old.id AS job, e.rounds
        FROM unnest(lacking) AS wanted(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = c.id
                            AND j.id = wanted.id OFFSET 0) AS f
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = o.id
                            AND j.problem_id = f.problem_id AND j.solver_id = f.solver_id
                            OFFSET 0) AS old
        CROSS JOIN LATERAL (SELECT * FROM job_ends d WHERE d.campaign_id = o.id
                            AND d.job_id = old.id AND d.state = 'done' AND NOT d.by_budget
                            AND EXISTS (SELECT 1 FROM outcomes v
                                        WHERE v.campaign_id = o.id AND v.job_id = old.id
                                          AND NOT v.is_open
                                          AND v.failures && ARRAY[0, 16]::smallint[])
                            AND (o.stack = c.stack
                                 OR NOT EXISTS (SELECT 1 FROM outcomes v
                                                WHERE v.campaign_id = o.id AND v.job_id = old.id
                                                  AND NOT v.is_open
                                                  AND NOT stack_matches(c.stack, v.stack)))
                            OFFSET 0) AS e
        -- Each round after the first began with the default config again.
        CROSS JOIN LATERAL (SELECT coalesce(sum(cardinality(m.failures)), 0)
                                   - greatest(count(*) - 1, 0) AS tried
                            FROM outcomes m WHERE m.campaign_id = o.id AND m.job_id = old.id
                            AND NOT m.is_open AND NOT same) AS t
        WHERE same OR ((whole OR NOT (SELECT s.searches FROM solvers s WHERE s.id = f.solver_id))
                       AND (o.configs_limit = 0 OR t.tried < o.configs_limit)
                       AND (c.configs_limit = 0 OR t.tried <= c.configs_limit)))
    SELECT a.fresh, a.job, a.rounds FROM answers a
    CROSS JOIN LATERAL (SELECT count(*) AS lost
                        FROM results k, unnest(string_to_array(k.kernel_keys, ',')) AS u(key),
                             LATERAL (SELECT n.code_place FROM kernels n WHERE n.key = u.key
                                      OFFSET 0) AS code
                        WHERE k.campaign_id = o.id AND k.job_id = a.job
                          AND code.code_place IS NULL) AS l
    WHERE l.lost = 0;
END $$;

-- Takes over what jobs of other campaigns answer, the newest first, until none lacks an answer.
-- Gives how many it took over.
CREATE OR REPLACE FUNCTION reuse_jobs(c campaigns) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    lacking bigint[] := ARRAY(SELECT j.id FROM jobs j WHERE j.campaign_id = c.id ORDER BY j.id);
    wanted integer := cardinality(lacking);
    o campaigns;
    fresh bigint[];
    old bigint[];
    had integer[];
BEGIN
    FOR o IN SELECT * FROM campaigns p
             WHERE p.id <> c.id AND NOT p.build_only AND p.strategy <> 'foreign'
               AND p.target = c.target AND same_limits(p, c)
             ORDER BY p.id DESC
    LOOP
        EXIT WHEN lacking = '{}';
        SELECT array_agg(a.fresh_id), array_agg(a.old_id), array_agg(a.had_rounds)
        INTO fresh, old, had FROM answers_of(c, o, lacking) AS a;
        CONTINUE WHEN fresh IS NULL;
        PERFORM copy_answers(c, o, fresh, old, had);
        PERFORM copy_deliveries(c, o, array_agg(p.fresh), array_agg(p.old), array_agg(n), array_agg(n))
        FROM unnest(fresh, old, had) AS p(fresh, old, had)
        CROSS JOIN LATERAL generate_series(0, p.had - 1) AS n;
        PERFORM note_origins(c.id, fresh, array_fill(10::smallint, ARRAY[cardinality(fresh)]),
                             array_fill(o.id, ARRAY[cardinality(fresh)]),
                             array_fill(0, ARRAY[cardinality(fresh)]),
                             array_fill(0, ARRAY[cardinality(fresh)]));
        lacking := ARRAY(SELECT l FROM unnest(lacking) AS l EXCEPT SELECT f FROM unnest(fresh) AS f
                         ORDER BY 1);
    END LOOP;
    RETURN wanted - cardinality(lacking);
END $$;

CREATE FUNCTION is_same_search(c campaigns, o campaigns) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT c.strategy = o.strategy AND c.seed = o.seed AND same_limits(c, o) $$;

-- For jobs that nothing answers whole: why, and what was measured for them, from the newest campaign to the
-- oldest. Campaigns of the same search come first, so that the limit of configs counts all that it tried.
CREATE FUNCTION find_origins(c campaigns, drift_limit double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    lacking bigint[] := ARRAY(SELECT j.id FROM jobs j
                              LEFT JOIN job_ends e ON e.campaign_id = c.id AND e.job_id = j.id
                              WHERE j.campaign_id = c.id AND e.job_id IS NULL ORDER BY j.id);
    distant bigint[] := lacking; -- of which no campaign yet had another revision of the solver, or the same
    o campaigns;
    ids bigint[];
    reasons smallint[];
    fresh bigint[];
    old bigint[];
    old_numbers integer[];
    numbers integer[];
    counts integer[];
    asked bigint[];
    met bigint[] := '{}';
    took bigint[] := '{}';
BEGIN
    FOR o IN SELECT p.* FROM campaigns p
             WHERE p.id <> c.id AND p.strategy <> 'foreign' AND p.target = c.target
             ORDER BY is_same_search(p, c) DESC, p.id DESC
    LOOP
        EXIT WHEN lacking = '{}';
        distant := ARRAY(SELECT d FROM unnest(distant) AS d EXCEPT
                         SELECT i.job_id FROM job_origins i
                         WHERE i.campaign_id = c.id AND i.reason >= 2 ORDER BY 1);
        PERFORM note_origins(c.id, array_agg(f.fresh_id), array_agg(f.reason),
                             array_agg(o.id), array_agg(0), array_agg(0))
        FROM same_problems_of(c, o, distant) AS f HAVING count(*) > 0;
        SELECT array_agg(f.fresh_id), array_agg(f.reason),
               array_agg(f.fresh_id) FILTER (WHERE f.reason >= 5),
               array_agg(f.old_id) FILTER (WHERE f.reason >= 5)
        INTO ids, reasons, fresh, old
        FROM same_jobs_of(c, o, ARRAY(SELECT j.id FROM jobs j WHERE j.campaign_id = c.id AND j.id = ANY (lacking)
                                      AND j.solver_id IN (SELECT p.solver_id FROM jobs p
                                                          WHERE p.campaign_id = o.id))) AS f;
        CONTINUE WHEN ids IS NULL;
        PERFORM note_origins(c.id, ids, reasons, array_fill(o.id, ARRAY[cardinality(ids)]),
                             array_fill(0, ARRAY[cardinality(ids)]),
                             array_fill(0, ARRAY[cardinality(ids)]));
        CONTINUE WHEN fresh IS NULL;
        -- The same search goes on where it was, and its configs count for the limit. Configs of another search
        -- are known beside. The newest campaign of a job has copies of all that it knew; of older ones only what
        -- they measured themselves is looked at.
        asked := fresh;
        SELECT array_agg(t.fresh_id), array_agg(t.old_id), array_agg(t.old_number), array_agg(t.number),
               array_agg(t.configs)
        INTO fresh, old, old_numbers, numbers, counts
        FROM take_over(c, o, fresh, old,
                       ARRAY(SELECT NOT EXISTS (SELECT FROM unnest(met) AS m WHERE m = f.id)
                             FROM unnest(fresh) WITH ORDINALITY AS f(id, at) ORDER BY f.at),
                       CASE WHEN is_same_search(o, c) THEN 0 ELSE -1 END, drift_limit) AS t;
        met := ARRAY(SELECT unnest(met) UNION SELECT unnest(asked));
        CONTINUE WHEN fresh IS NULL;
        PERFORM copy_deliveries(c, o, fresh, old, old_numbers, numbers);
        PERFORM note_origins(c.id, array_agg(n.job), array_agg(0::smallint), array_agg(o.id),
                             array_agg(n.configs::integer), array_agg(n.drifted::integer))
        FROM (SELECT u.job, coalesce(sum(u.configs) FILTER (WHERE u.number IS NOT NULL), 0) AS configs,
                     coalesce(sum(u.configs) FILTER (WHERE u.number IS NULL), 0) AS drifted
              FROM unnest(fresh, numbers, counts) AS u(job, number, configs) GROUP BY u.job) AS n;
        took := took || fresh;
    END LOOP;
    IF took <> '{}' THEN
        PERFORM rank_results(c.id, took);
    END IF;
END $$;

-- All jobs are there: what is known is taken over, and the rest goes into bundles of one solver, of
-- more jobs where there are many. Gives how many were taken over whole.
DROP FUNCTION open_campaign(bigint);
CREATE FUNCTION open_campaign(campaign bigint, drift_limit double precision) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    c campaigns;
    reused_count integer := 0;
    job_count bigint;
    bundle_jobs bigint;
BEGIN
    SELECT * INTO c FROM campaigns WHERE id = campaign;
    IF NOT c.build_only THEN
        reused_count := reuse_jobs(c);
        PERFORM find_origins(c, drift_limit);
        UPDATE campaigns SET has_origins = true WHERE id = campaign;
    END IF;
    SELECT count(*) INTO job_count FROM jobs WHERE campaign_id = campaign;
    bundle_jobs := least(greatest(job_count / 1024, 1), 64);
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
    SELECT campaign, solver_id, 'ready', round_no, min(position), array_agg(id ORDER BY position)
    FROM (SELECT j.id, j.solver_id, j.position, had.round_no,
                 (row_number() OVER (PARTITION BY j.solver_id, had.round_no ORDER BY j.position) - 1)
                     / bundle_jobs AS part
          FROM jobs j LEFT JOIN job_ends e ON e.campaign_id = campaign AND e.job_id = j.id
          CROSS JOIN LATERAL (SELECT coalesce(max(r.number) + 1, 0) AS round_no FROM rounds r
                              WHERE r.campaign_id = campaign AND r.job_id = j.id) AS had
          WHERE j.campaign_id = campaign AND e.job_id IS NULL) AS placed
    GROUP BY solver_id, round_no, part ORDER BY round_no, min(position);
    PERFORM settle_campaign(campaign, 0);
    PERFORM wake_workers(campaign, true, 4);
    RETURN reused_count;
END $$;

-- ---- claims ----

CREATE OR REPLACE FUNCTION claimed_jobs(taken bundles[], build boolean)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined json, rounds json, wish json)
LANGUAGE plpgsql ROWS 50
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    campaign bigint := taken[1].campaign_id;
    for_target text := (
        SELECT c.target FROM campaigns c
        WHERE c.id = campaign AND EXISTS (SELECT 1 FROM quarantine q WHERE q.target = c.target));
    last_round integer := (SELECT max(b.round_no) FROM unnest(taken) AS b);
    has_remeasures boolean := EXISTS (SELECT FROM remeasures m WHERE m.campaign_id = campaign);
BEGIN
    IF build AND last_round = 0 AND for_target IS NULL AND NOT has_remeasures THEN
        RETURN QUERY
            SELECT campaign, b.solver_id, b.round_no, b.position, b.strikes, b.fence, j.id,
                   j.problem_id, NULL::double precision, NULL::json, NULL::json, NULL::json
            FROM unnest(taken) WITH ORDINALITY AS b CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
            CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                                AND o.id = of_it.id OFFSET 0) AS j
            ORDER BY b.ordinality, j.position;
        RETURN;
    END IF;
    RETURN QUERY
        SELECT campaign, b.solver_id, b.round_no, b.position, b.strikes, b.fence, j.id,
               j.problem_id,
               CASE WHEN NOT build THEN
                   (SELECT min((SELECT k.median_ms FROM results k
                                WHERE k.campaign_id = campaign AND k.job_id = o.id AND k.rank = 0))
                    FROM jobs o
                    WHERE o.campaign_id = campaign AND o.problem_id = j.problem_id) END,
               CASE WHEN for_target IS NOT NULL THEN
                   (SELECT json_agg(q.config ORDER BY q.config) FROM quarantine q
                    WHERE q.solver_id = j.solver_id AND q.problem_id = j.problem_id
                    AND q.target = for_target) END,
               CASE WHEN b.round_no = 0 AND build THEN NULL
               WHEN b.round_no > 0 OR b.is_partial THEN
                   (SELECT json_agg(row_to_json(w) ORDER BY w.number)
                    FROM (SELECT r.number, coalesce(o.stack, r.stack) AS stack,
                                 coalesce(o.drift, 0) AS drift, r.config_counts,
                                 r.config_values, r.kernel_keys,
                                 coalesce(o.failures, r.failures) AS failures,
                                 coalesce(o.details, r.details) AS details, o.n, o.min_ms,
                                 o.median_ms, o.spread, o.error, r.build_seconds, o.eval_seconds,
                                 has_remeasures AND EXISTS (
                                     SELECT FROM remeasures m WHERE m.campaign_id = campaign
                                     AND m.job_id = j.id AND m.number = r.number) AS remeasures,
                                 r.fence = -1 AS beyond_limit
                          FROM rounds r LEFT JOIN LATERAL (
                              SELECT * FROM outcomes c WHERE c.campaign_id = campaign
                              AND c.job_id = j.id AND c.number = r.number OFFSET 0) AS o ON true
                          WHERE r.campaign_id = campaign AND r.job_id = j.id
                          AND r.number < b.round_no + CASE WHEN build THEN 0 ELSE 1 END) AS w)
               ELSE
                   (SELECT json_build_array(row_to_json(w))
                    FROM (SELECT r.number, r.stack, r.config_counts, r.config_values,
                                 r.kernel_keys, r.failures, r.details, r.build_seconds,
                                 b.remeasures
                          FROM rounds r
                          WHERE r.campaign_id = campaign AND r.job_id = j.id
                          AND r.number = 0) AS w) END,
               CASE WHEN b.remeasures THEN
                   (SELECT json_build_object('configs', m.configs, 'keeps_all', m.keeps_all)
                    FROM remeasures m WHERE m.campaign_id = campaign AND m.job_id = j.id
                    AND m.number = b.round_no) END
        FROM unnest(taken) WITH ORDINALITY AS b CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                            AND o.id = of_it.id OFFSET 0) AS j
        ORDER BY b.ordinality, j.position;
END $$;

-- A prior is made for a job that no worker built a round of yet, also where it took configs over.
CREATE OR REPLACE FUNCTION skipjack_work.priors(claimer bigint, campaign bigint, ids jsonb)
RETURNS TABLE (job_id bigint, configs json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    asked bigint[] := ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e);
    f record;
    given text[];
BEGIN
    PERFORM check_worker(claimer);
    FOR f IN SELECT j.id, s.name, c.target, b.round_no, p AS problem
             FROM bundles b
             CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
             JOIN campaigns c ON c.id = campaign AND c.strategy = 'prior'
             JOIN solvers s ON s.id = b.solver_id AND s.tunable AND NOT s.searches
             CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                                 AND o.id = of_it.id OFFSET 0) AS j
             JOIN problems p ON p.id = j.problem_id
             WHERE b.worker_id = claimer AND b.campaign_id = campaign AND b.state = 'building'
               AND of_it.id = ANY (asked)
    LOOP
        IF NOT EXISTS (SELECT 1 FROM priors g WHERE g.campaign_id = campaign AND g.job_id = f.id)
           AND NOT EXISTS (SELECT 1 FROM rounds r WHERE r.campaign_id = campaign
                           AND r.job_id = f.id AND r.fence > 0) THEN
            INSERT INTO priors VALUES (campaign, f.id,
                                       nearest_winners(f.name, f.problem, f.target))
            ON CONFLICT DO NOTHING;
        END IF;
        SELECT g.configs INTO given FROM priors g
        WHERE g.campaign_id = campaign AND g.job_id = f.id;
        IF given <> '{}' THEN
            job_id := f.id;
            configs := to_json(given);
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
