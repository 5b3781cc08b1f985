-- Whether an answer's kernels have their code is looked up by their keys, for what is else an answer
-- alone. Where the planner did not know yet of kernels without code, each of them was sought among all
-- results of the other campaign: a hundred of them made a campaign of 100,000 jobs wait for 52 s.
-- oldest program: 0038

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
