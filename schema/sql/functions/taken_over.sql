-- Taking over earlier results: a new campaign copies what earlier campaigns measured for
-- the same problem, solver and target.

-- Takes over the answers that other campaigns have for the jobs, the newest campaign
-- first, except for jobs that are to take over nothing (is_fresh_job()). Returns how many
-- jobs got an answer.
CREATE OR REPLACE FUNCTION reuse_jobs(c campaigns) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    lacking bigint[] := ARRAY(SELECT j.id FROM jobs j
                              WHERE j.campaign_id = c.id AND NOT is_fresh_job(c.id, j.id) ORDER BY j.id);
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
        PERFORM note_origins(c.id, fresh, array_fill(@JOB_REASON_ANSWERED::smallint, ARRAY[cardinality(fresh)]),
                             array_fill(o.id, ARRAY[cardinality(fresh)]),
                             array_fill(0, ARRAY[cardinality(fresh)]),
                             array_fill(0, ARRAY[cardinality(fresh)]));
        lacking := ARRAY(SELECT l FROM unnest(lacking) AS l EXCEPT SELECT f FROM unnest(fresh) AS f
                         ORDER BY 1);
    END LOOP;
    RETURN wanted - cardinality(lacking);
END $$;

-- For each job of c whose problem campaign o had with other solvers: JOB_REASON_NEW_REVISION
-- if one of these solvers is another revision of the job's solver, else JOB_REASON_NEW_SOLVER.
CREATE OR REPLACE FUNCTION same_problems_of(c campaigns, o campaigns, lacking bigint[])
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
        SELECT f.id, max(CASE WHEN all_revisions->f.solver_id::text @> to_jsonb(old.solver_id)
                              THEN @JOB_REASON_NEW_REVISION ELSE @JOB_REASON_NEW_SOLVER END)::smallint
        FROM unnest(lacking) AS wanted(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = c.id
                            AND j.id = wanted.id OFFSET 0) AS f
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = o.id
                            AND j.problem_id = f.problem_id AND j.solver_id <> f.solver_id
                            OFFSET 0) AS old
        GROUP BY f.id;
END $$;

-- For each job of c that lacks an answer, the same job of campaign o (same problem and
-- solver revision), and why that job of o is no answer (reason: enum job_reason).
CREATE OR REPLACE FUNCTION same_jobs_of(c campaigns, o campaigns, lacking bigint[])
    RETURNS TABLE (fresh_id bigint, old_id bigint, reason smallint)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
        SELECT f.id, old.id, CASE
            WHEN o.build_only THEN @JOB_REASON_ONLY_BUILT
            WHEN measured.stack IS NOT NULL AND NOT stack_matches(c.stack, measured.stack)
                THEN @JOB_REASON_OTHER_STACK
            WHEN e.job_id IS NULL THEN @JOB_REASON_UNFINISHED
            WHEN e.by_budget THEN @JOB_REASON_BUDGET_CUT
            WHEN e.state = 'failed' THEN @JOB_REASON_FAILED
            WHEN EXISTS (SELECT FROM results k
                         CROSS JOIN LATERAL unnest(string_to_array(k.kernel_keys, ',')) AS u(key)
                         CROSS JOIN LATERAL (SELECT n.code_place FROM kernels n WHERE n.key = u.key
                                             OFFSET 0) AS code
                         WHERE k.campaign_id = o.id AND k.job_id = old.id
                           AND code.code_place IS NULL) THEN @JOB_REASON_LOST_CODE
            ELSE @JOB_REASON_OTHER_SEARCH END::smallint
        FROM unnest(lacking) AS wanted(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = c.id
                            AND j.id = wanted.id OFFSET 0) AS f
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = o.id
                            AND j.problem_id = f.problem_id AND j.solver_id = f.solver_id
                            OFFSET 0) AS old
        LEFT JOIN LATERAL (SELECT * FROM job_ends d WHERE d.campaign_id = o.id
                           AND d.job_id = old.id OFFSET 0) AS e ON true
        -- The stack of the job's newest round.
        LEFT JOIN LATERAL (SELECT m.stack FROM outcomes m WHERE m.campaign_id = o.id
                           AND m.job_id = old.id AND NOT m.is_open
                           ORDER BY m.number DESC LIMIT 1) AS measured ON true;
END $$;

-- Jobs of campaign o whose results answer the same jobs of campaign c. Such a job is done
-- with a verified outcome, was not cut short by the budget, was measured with stacks that c
-- admits, and the code of all its kept results is still stored. Besides, o asked for the same
-- search as c (strategy, seed and limits of configs), and ends it no sooner by seconds and gain; or the job ran
-- out of configs before the limits of o, and tried no more configs than c allows. If the solver searches by itself, such
-- a job answers an exhaustive c only if o was exhaustive, too.
CREATE OR REPLACE FUNCTION answers_of(c campaigns, o campaigns, lacking bigint[])
    RETURNS TABLE (fresh_id bigint, old_id bigint, had_rounds integer)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    same boolean := o.strategy = c.strategy AND o.seed = c.seed
                    AND o.configs_limit = c.configs_limit
                    AND o.close_configs = c.close_configs
                    AND (o.search_seconds = 0 OR (c.search_seconds > 0 AND o.search_seconds >= c.search_seconds))
                    AND (o.min_gain = 0 OR (c.min_gain > 0 AND o.min_gain <= c.min_gain));
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
                                          AND v.failures && ARRAY[@FAILURE_NONE, @FAILURE_SLOW]::smallint[])
                            AND (o.stack = c.stack
                                 OR NOT EXISTS (SELECT 1 FROM outcomes v
                                                WHERE v.campaign_id = o.id AND v.job_id = old.id
                                                  AND NOT v.is_open
                                                  AND NOT stack_matches(c.stack, v.stack)))
                            OFFSET 0) AS e
        -- Each round after the first begins with the default config again, so it counts once.
        CROSS JOIN LATERAL (SELECT coalesce(sum(cardinality(m.failures)), 0)
                                   - greatest(count(*) - 1, 0) AS tried
                            FROM outcomes m WHERE m.campaign_id = o.id AND m.job_id = old.id
                            AND NOT m.is_open AND NOT same) AS t
        WHERE same OR ((whole OR NOT (SELECT s.searches FROM solvers s WHERE s.id = f.solver_id))
                       AND (e.search_end = 'space'
                            OR (e.search_end IS NULL
                                AND (o.configs_limit = 0 OR t.tried < o.configs_limit)))
                       AND (c.configs_limit = 0
                            OR t.tried <= greatest(c.configs_limit, c.close_configs))))
    SELECT a.fresh, a.job, a.rounds FROM answers a
    CROSS JOIN LATERAL (SELECT count(*) AS lost
                        FROM results k, unnest(string_to_array(k.kernel_keys, ',')) AS u(key),
                             LATERAL (SELECT n.code_place FROM kernels n WHERE n.key = u.key
                                      OFFSET 0) AS code
                        WHERE k.campaign_id = o.id AND k.job_id = a.job
                          AND code.code_place IS NULL) AS l
    WHERE l.lost = 0;
END $$;

-- The configs of a round, whose values are stored one after another.
CREATE OR REPLACE FUNCTION configs_of(counts smallint[], all_values integer[])
    RETURNS TABLE (at bigint, config integer[])
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT s.at, all_values[s.ends - s.size + 1:s.ends]
    FROM (SELECT u.at, u.size, sum(u.size) OVER (ORDER BY u.at)::integer AS ends
          FROM unnest(counts) WITH ORDINALITY AS u(size, at)) AS s
$$;

-- Copies measured configs from jobs of campaign o to the same jobs of campaign c, which have
-- not ended: from old[i] to fresh[i]. Only configs that fresh[i] does not have yet are copied.
--
-- Returns a row for each copied round: its number in o, its number in c, and how many configs
-- were copied. Returns also a row without numbers for each job of which configs were left out
-- because their device drifted, with the number of these configs.
--
-- mark: the fence that copied rounds get in c. Rounds with the fence -1 keep it: they do not
-- count for the job's limit.
-- with_copies[i]: also copies rounds that old[i] had itself taken over from another campaign.
--
-- If a config was measured several times, its newest time counts, or a newer failure in a
-- round that measured again. Other failures, and configs dropped early as slow, count only
-- if the config has no time.
--
-- The rounds of a job in c have one stack: that of the rounds which the job took over before,
-- else that of the newest round of old[i]. Rounds of another stack are not copied.
--
-- These configs are not copied either, so c measures them itself:
--  - failures that may not happen again: crashes, timeouts, device faults, unstable times,
--  - times of a round whose device drifted beyond drift_limit,
--  - verified configs that could become results, but whose code was dropped. Only the code of
--    kept results stays, and these are the fastest of their job. Slower configs cannot become
--    results while all kept results are copied, so they are then copied without their code,
--  - verified configs that may need more workspace than c allows. The workspace is known for
--    kept results only.
CREATE OR REPLACE FUNCTION take_over(c campaigns, o campaigns, fresh bigint[], old bigint[], with_copies boolean[],
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
        -- A success counts before a failure: the default config is measured in each round, to show drift, and
        -- may fail in one of them.
        ORDER BY p.fresh, v.config,
                 m.failures[v.at] = @FAILURE_NONE
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
                           LIMIT 1) AS k ON e.failure = @FAILURE_NONE
        WHERE e.failure IN (@FAILURE_NONE, @FAILURE_NOT_APPLICABLE, @FAILURE_COMPILE_ERROR,
                            @FAILURE_WRONG_RESULT, @FAILURE_OUT_OF_BOUNDS, @FAILURE_SLOW,
                            @FAILURE_OVER_LIMITS)
          AND NOT (e.drifted AND e.failure IN (@FAILURE_NONE, @FAILURE_SLOW))
          AND NOT EXISTS (SELECT FROM held h WHERE h.fresh = e.fresh AND h.config = e.config)),
    taken AS MATERIALIZED (
        SELECT e.*, e.first_number - 1 + dense_rank() OVER (PARTITION BY e.fresh ORDER BY e.number)
                    AS place
        FROM known e
        WHERE e.failure <> @FAILURE_NONE OR e.kept_rank IS NOT NULL
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
               count(*) FILTER (WHERE r.failures[t.at] = @FAILURE_PENDING)::integer AS built,
               array_agg(m.failures[t.at] ORDER BY t.at) AS failures,
               array_agg(m.details[t.at] ORDER BY t.at) AS details,
               array_agg(m.n[t.at] ORDER BY t.at) AS n,
               array_agg(m.min_ms[t.at] ORDER BY t.at) AS min_ms,
               array_agg(m.median_ms[t.at] ORDER BY t.at) AS median_ms,
               array_agg(m.spread[t.at] ORDER BY t.at) AS spread,
               array_agg(m.error[t.at] ORDER BY t.at) AS error,
               array_agg(m.eval_seconds[t.at] ORDER BY t.at) AS eval_seconds,
               CASE WHEN bool_or(m.pack_ms IS NOT NULL)
                    THEN array_agg(coalesce(m.pack_ms[t.at], 0) ORDER BY t.at) END AS pack_ms,
               bool_and(m.cold) AS cold, min(m.verified_share) AS verified_share,
               CASE WHEN bool_or(m.proof_runs IS NOT NULL)
                    THEN array_agg(coalesce(m.proof_runs[t.at], 0) ORDER BY t.at) END AS proof_runs,
               CASE WHEN bool_or(m.proof_kinds IS NOT NULL)
                    THEN array_agg(coalesce(m.proof_kinds[t.at], 0) ORDER BY t.at) END AS proof_kinds,
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
                              total_eval_seconds, pack_ms, cold, verified_share, proof_runs, proof_kinds)
        SELECT c.id, x.fresh, x.number, false, x.mark, x.stack, x.drift, x.failures, x.details, x.n,
               x.min_ms, x.median_ms, x.spread, x.error, x.eval_seconds, x.configs, 0,
               x.total_eval_seconds, x.pack_ms, x.cold, x.verified_share, x.proof_runs, x.proof_kinds
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
                             flops, is_default, pack_ms, packed_bytes, low_ms, high_ms)
        SELECT c.id, t.fresh, t.first_rank + k.rank, k.config, k.config_text, k.kernel_keys, k.stack, k.n,
               k.min_ms, k.median_ms, k.spread, k.error, k.build_seconds, k.eval_seconds,
               k.workspace_bytes, k.flops, k.is_default, k.pack_ms, k.packed_bytes, k.low_ms, k.high_ms
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
    WHERE e.drifted AND e.failure IN (@FAILURE_NONE, @FAILURE_SLOW) GROUP BY e.fresh, e.old;
END $$;

-- Copies the rounds and results of jobs, so that each campaign owns what it reports,
-- and each may be dropped alone.
CREATE OR REPLACE FUNCTION copy_answers(c campaigns, o campaigns, fresh bigint[], old bigint[], had integer[])
    RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, reused, fence, search_end)
    SELECT c.id, p.fresh, 'done', p.had, @FAILURE_NONE, true, 0, e.search_end
    FROM unnest(fresh, old, had) AS p(fresh, old, had)
    LEFT JOIN LATERAL (SELECT d.search_end FROM job_ends d WHERE d.campaign_id = o.id AND d.job_id = p.old
                       OFFSET 0) AS e ON true;
    INSERT INTO rounds
    SELECT c.id, p.fresh, r.number, 0, r.stack, r.config_counts, r.config_values, r.kernel_keys,
           r.failures, r.details, r.build_seconds, r.kernels, r.evaluated, r.pending,
           r.total_build_seconds
    FROM unnest(fresh, old, had) AS p(fresh, old, had)
    JOIN rounds r ON r.campaign_id = o.id AND r.job_id = p.old AND r.number < p.had;
    INSERT INTO outcomes
    SELECT c.id, p.fresh, m.number, m.is_open, 0, m.stack, m.drift, m.failures, m.details, m.n,
           m.min_ms, m.median_ms, m.spread, m.error, m.eval_seconds, m.evaluated, m.pending,
           m.total_eval_seconds, m.pack_ms, m.cold, m.verified_share, m.proof_runs, m.proof_kinds
    FROM unnest(fresh, old, had) AS p(fresh, old, had)
    JOIN outcomes m ON m.campaign_id = o.id AND m.job_id = p.old AND m.number < p.had;
    INSERT INTO results
    SELECT c.id, p.fresh, k.rank, k.config, k.config_text, k.kernel_keys, k.stack, k.n, k.min_ms,
           k.median_ms, k.spread, k.error, k.build_seconds, k.eval_seconds, k.workspace_bytes,
           k.flops, k.is_default, k.pack_ms, k.packed_bytes, k.low_ms, k.high_ms, k.wins
    FROM unnest(fresh, old) AS p(fresh, old)
    JOIN results k ON k.campaign_id = o.id AND k.job_id = p.old;
    IF c.strategy = 'prior' AND o.strategy = 'prior' THEN
        INSERT INTO priors
        SELECT c.id, p.fresh, g.configs FROM unnest(fresh, old) AS p(fresh, old)
        JOIN priors g ON g.campaign_id = o.id AND g.job_id = p.old;
    END IF;
    IF c.target NOT LIKE 'cpu-%' THEN
        INSERT INTO round_conditions
        SELECT c.id, p.fresh, r.number, r.device, r.samples, r.sm_mhz_min, r.sm_mhz_max,
               r.memory_mhz_min, r.memory_mhz_max, r.temperature_c, r.power_w, r.throttle,
               r.locked_mhz
        FROM unnest(fresh, old) AS p(fresh, old)
        JOIN round_conditions r ON r.campaign_id = o.id AND r.job_id = p.old;
    END IF;
END $$;

-- Copies the records of who measured the copied rounds: round old_numbers[i] of job old[i]
-- in campaign o became round numbers[i] of job fresh[i] in campaign c.
CREATE OR REPLACE FUNCTION copy_deliveries(c campaigns, o campaigns, fresh bigint[], old bigint[],
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

-- Ranks the kept results of jobs: the winner of the second measurement and then the fastest first, without gaps.
CREATE OR REPLACE FUNCTION rank_results(campaign bigint, ids bigint[]) RETURNS void
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
    FROM (SELECT f, row_number() OVER (PARTITION BY f.job_id ORDER BY f.wins DESC, f.median_ms, f.rank) - 1 AS place
          FROM unnest(former) AS f) AS placed
    CROSS JOIN LATERAL jsonb_populate_record(placed.f, jsonb_build_object('rank', placed.place)) AS n;
END $$;

CREATE OR REPLACE FUNCTION note_origins(campaign bigint, ids bigint[], reasons smallint[], sources bigint[],
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

-- For jobs of c that no earlier campaign answers: notes how near the earlier campaigns came
-- to an answer (job_origins), and takes over the configs that they measured; none for jobs
-- that are to take over nothing. Campaigns of
-- the same search come first, so that all configs that the search tried count for its
-- limit; then the others, from the newest to the oldest.
CREATE OR REPLACE FUNCTION find_origins(c campaigns, drift_limit double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    lacking bigint[] := ARRAY(SELECT j.id FROM jobs j
                              LEFT JOIN job_ends e ON e.campaign_id = c.id AND e.job_id = j.id
                              WHERE j.campaign_id = c.id AND e.job_id IS NULL ORDER BY j.id);
    distant bigint[] := lacking; -- jobs whose solver no campaign looked at so far had, in any revision
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
                         WHERE i.campaign_id = c.id AND i.reason >= @JOB_REASON_NEW_REVISION ORDER BY 1);
        PERFORM note_origins(c.id, array_agg(f.fresh_id), array_agg(f.reason),
                             array_agg(o.id), array_agg(0), array_agg(0))
        FROM same_problems_of(c, o, distant) AS f HAVING count(*) > 0;
        SELECT array_agg(f.fresh_id), array_agg(f.reason),
               array_agg(f.fresh_id) FILTER (WHERE f.reason >= @JOB_REASON_FAILED
                                             AND NOT is_fresh_job(c.id, f.fresh_id)),
               array_agg(f.old_id) FILTER (WHERE f.reason >= @JOB_REASON_FAILED
                                           AND NOT is_fresh_job(c.id, f.fresh_id))
        INTO ids, reasons, fresh, old
        FROM same_jobs_of(c, o, ARRAY(SELECT j.id FROM jobs j WHERE j.campaign_id = c.id AND j.id = ANY (lacking)
                                      AND j.solver_id IN (SELECT p.solver_id FROM jobs p
                                                          WHERE p.campaign_id = o.id))) AS f;
        CONTINUE WHEN ids IS NULL;
        PERFORM note_origins(c.id, ids, reasons, array_fill(o.id, ARRAY[cardinality(ids)]),
                             array_fill(0, ARRAY[cardinality(ids)]),
                             array_fill(0, ARRAY[cardinality(ids)]));
        CONTINUE WHEN fresh IS NULL;
        -- The same search goes on where it ended, and its configs count for the limit; configs of another
        -- search do not. The newest campaign of a job holds copies of all that it had taken over, so of older
        -- campaigns only what they measured themselves is taken.
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
