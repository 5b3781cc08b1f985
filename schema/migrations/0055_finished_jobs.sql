-- A worker's login could end jobs as done without working on them: finish_job() before the first round
-- made a job done that has no outcome, and later campaigns took that over as the answer. Now the first
-- round must have come back, a job without a verified config ends as failed, and reuse takes only jobs
-- that have a verified outcome, also from before this migration.
-- oldest program: 0038

-- Nothing left to propose. A solver proposes its default config at least, so the first round is always
-- there; a worker that may propose none of them fails the job (fail_job()).
CREATE OR REPLACE FUNCTION finish_job(campaign bigint, job bigint, held_fence bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'store the end');
BEGIN
    IF b.id IS NULL THEN
        RETURN;
    ELSIF b.state NOT IN ('building', 'ready') THEN
        PERFORM refuse_job(campaign, job, held_fence, 'store the end');
    ELSIF b.round_no = 0 THEN
        PERFORM refuse_handed(job, 'it cannot be done before its first round was evaluated');
    END IF;
    PERFORM take_jobs(b, b.job_ids);
    PERFORM end_jobs(b, b.job_ids, false, b.round_no);
    PERFORM settle_campaign(campaign, 0);
END $$;

-- Ends the jobs of bundles that are gone, all of one campaign, after the rounds before round_no: done
-- where a config was verified, else failed with the commonest failure of their configs.
CREATE OR REPLACE FUNCTION end_bundles(ending bundles[], budget boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    campaign bigint := ending[1].campaign_id;
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, by_budget, fence,
                          claimed_by)
    SELECT campaign, e.id, CASE WHEN v.verified THEN 'done' ELSE 'failed' END::job_state,
           b.round_no, CASE WHEN v.verified THEN 0 ELSE coalesce(worst.failure, 14) END,
           CASE WHEN worst.failure IN (7, 8)
                THEN concat(worst.words, faulted_before(campaign, e.id))
                WHEN v.verified OR worst.failure IS NOT NULL THEN worst.words
                ELSE 'it ended without an outcome of any config' END,
           budget, b.fence, b.claimed_by
    FROM unnest(ending) AS b CROSS JOIN LATERAL unnest(b.job_ids) AS e(id)
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT 1 FROM outcomes o WHERE o.campaign_id = campaign AND o.job_id = e.id
        AND o.number < b.round_no AND o.failures && ARRAY[0, 16]::smallint[])) AS v(verified)
    LEFT JOIN LATERAL (
        SELECT f.failure, min(f.detail)
        FROM round_rows r, unnest(r.failures, r.details) AS f(failure, detail)
        WHERE NOT v.verified AND r.campaign_id = campaign AND r.job_id = e.id
          AND r.number < b.round_no AND f.failure <> 15
        GROUP BY f.failure ORDER BY count(*) DESC, f.failure LIMIT 1
    ) AS worst(failure, words) ON true;
END $$;

-- Jobs of campaign o that answer what campaign c asks: those that ended with a verified outcome, and not
-- for a budget.
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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
