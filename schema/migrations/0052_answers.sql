-- What other campaigns answer is looked for among the jobs that still lack an answer, and with plans
-- that do not depend on what the planner knows of tables that are a second old: one of 100,000 jobs
-- took 40 s to make where three were there before, and now 7. What lost the code of its kernels
-- answers nothing.
-- oldest program: 0038

-- Of the jobs lacking an answer in campaign c those that a finished job of campaign o answers. Jobs
-- that a budget cut short are no answer; one that had nothing left to try within its limit answers
-- for every seed, and for every strategy too, unless its solver's own search ended it: that knows
-- nothing of the rest of the space, which 'exhaustive' asks for. Nor is one an answer whose kept
-- results have lost the code of a kernel: nobody could ship it.
CREATE FUNCTION answers_of(c campaigns, o campaigns, lacking bigint[])
    RETURNS TABLE (fresh_id bigint, old_id bigint, had_rounds integer)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    same boolean := o.strategy = c.strategy AND o.seed = c.seed
                    AND o.configs_limit = c.configs_limit;
    whole boolean := o.strategy = 'exhaustive' OR c.strategy <> 'exhaustive';
BEGIN
    RETURN QUERY
        SELECT f.id, old.id, e.rounds
        FROM unnest(lacking) AS wanted(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = c.id
                            AND j.id = wanted.id OFFSET 0) AS f
        CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.campaign_id = o.id
                            AND j.problem_id = f.problem_id AND j.solver_id = f.solver_id
                            OFFSET 0) AS old
        CROSS JOIN LATERAL (SELECT * FROM job_ends d WHERE d.campaign_id = o.id
                            AND d.job_id = old.id AND d.state = 'done' AND NOT d.by_budget
                            OFFSET 0) AS e
        -- Each round after the first began with the default config again.
        CROSS JOIN LATERAL (SELECT coalesce(sum(cardinality(m.failures)), 0)
                                   - greatest(count(*) - 1, 0) AS tried
                            FROM outcomes m WHERE m.campaign_id = o.id AND m.job_id = old.id
                            AND NOT m.is_open AND NOT same) AS t
        WHERE (same OR ((whole OR NOT (SELECT s.searches FROM solvers s WHERE s.id = f.solver_id))
                        AND (o.configs_limit = 0 OR t.tried < o.configs_limit)
                        AND (c.configs_limit = 0 OR t.tried <= c.configs_limit)))
          AND NOT EXISTS (SELECT FROM results k, unnest(string_to_array(k.kernel_keys, ',')) AS u(key)
                          JOIN kernels n ON n.key = u.key AND n.code_place IS NULL
                          WHERE k.campaign_id = o.id AND k.job_id = old.id);
END $$;

-- Their rounds and results are copied, so that each campaign owns what it reports and may be
-- dropped alone.
CREATE FUNCTION copy_answers(c campaigns, o campaigns, fresh bigint[], old bigint[], had integer[])
    RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, reused, fence)
    SELECT c.id, p.fresh, 'done', p.had, 0, true, 0 FROM unnest(fresh, had) AS p(fresh, had);
    INSERT INTO rounds
    SELECT c.id, p.fresh, r.number, 0, r.stack, r.config_counts, r.config_values, r.kernel_keys,
           r.failures, r.details, r.build_seconds, r.kernels, r.evaluated, r.pending,
           r.total_build_seconds
    FROM unnest(fresh, old, had) AS p(fresh, old, had)
    JOIN rounds r ON r.campaign_id = o.id AND r.job_id = p.old AND r.number < p.had;
    INSERT INTO outcomes
    SELECT c.id, p.fresh, m.number, m.is_open, 0, m.stack, m.drift, m.failures, m.details, m.n,
           m.min_ms, m.median_ms, m.spread, m.error, m.eval_seconds, m.evaluated, m.pending,
           m.total_eval_seconds
    FROM unnest(fresh, old, had) AS p(fresh, old, had)
    JOIN outcomes m ON m.campaign_id = o.id AND m.job_id = p.old AND m.number < p.had;
    INSERT INTO results
    SELECT c.id, p.fresh, k.rank, k.config, k.config_text, k.kernel_keys, k.stack, k.n, k.min_ms,
           k.median_ms, k.spread, k.error, k.build_seconds, k.eval_seconds, k.workspace_bytes,
           k.flops, k.is_default
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

-- Takes over what jobs of other campaigns answer, the newest first, until none lacks an answer.
-- Gives how many it took over.
CREATE FUNCTION reuse_jobs(c campaigns) RETURNS integer
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
             WHERE p.id <> c.id AND NOT p.build_only AND p.target = c.target AND p.stack = c.stack
             ORDER BY p.id DESC
    LOOP
        EXIT WHEN lacking = '{}';
        SELECT array_agg(a.fresh_id), array_agg(a.old_id), array_agg(a.had_rounds)
        INTO fresh, old, had FROM answers_of(c, o, lacking) AS a;
        CONTINUE WHEN fresh IS NULL;
        PERFORM copy_answers(c, o, fresh, old, had);
        lacking := ARRAY(SELECT l FROM unnest(lacking) AS l EXCEPT SELECT f FROM unnest(fresh) AS f
                         ORDER BY 1);
    END LOOP;
    RETURN wanted - cardinality(lacking);
END $$;

DROP FUNCTION reuse_jobs_of(campaigns, campaigns), copy_jobs_of(campaigns, campaigns),
    configs_tried(bigint, bigint);

-- All jobs are there: what is known is taken over, and the rest goes into bundles of one solver, of
-- more jobs where there are many. Gives how many were taken over.
CREATE OR REPLACE FUNCTION open_campaign(campaign bigint) RETURNS integer
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
    END IF;
    SELECT count(*) INTO job_count FROM jobs WHERE campaign_id = campaign;
    bundle_jobs := least(greatest(job_count / 1024, 1), 64);
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
    SELECT campaign, solver_id, 'ready', 0, min(position), array_agg(id ORDER BY position)
    FROM (SELECT j.id, j.solver_id, j.position,
                 (row_number() OVER (PARTITION BY j.solver_id ORDER BY j.position) - 1)
                     / bundle_jobs AS part
          FROM jobs j LEFT JOIN job_ends e ON e.campaign_id = campaign AND e.job_id = j.id
          WHERE j.campaign_id = campaign AND e.job_id IS NULL) AS placed
    GROUP BY solver_id, part ORDER BY min(position);
    PERFORM settle_campaign(campaign, 0);
    PERFORM wake_workers(campaign, true, 4);
    RETURN reused_count;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
