-- A claim tells of stored rounds what a worker goes by, and no more.
-- oldest program: 0012

-- What a worker has to know of the jobs of a bundle it claimed: the configs
-- taken out and the stored rounds; for evaluating also the one that is open,
-- and the problem's best time in the campaign so far (one look into results a
-- job, not a join: planned before statistics know how the tables grew, a join
-- may go through all of them).
CREATE OR REPLACE FUNCTION claimed_jobs(b bundles, build boolean)
RETURNS TABLE (job_id bigint, problem_id bigint, best_ms double precision, quarantined jsonb,
               rounds jsonb)
LANGUAGE plpgsql ROWS 16
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    for_target text;
    round_end integer := CASE WHEN build THEN b.round_no ELSE b.round_no + 1 END;
BEGIN
    SELECT c.target INTO for_target FROM campaigns c
    WHERE c.id = b.campaign_id AND EXISTS (SELECT 1 FROM quarantine q
                                           WHERE q.solver_id = b.solver_id AND q.target = c.target);
    IF round_end = 0 AND for_target IS NULL THEN
        RETURN QUERY SELECT j.id, j.problem_id, NULL::double precision, NULL::jsonb, NULL::jsonb
                     FROM jobs j WHERE j.campaign_id = b.campaign_id AND j.id = ANY (b.job_ids)
                     ORDER BY j.position;
        RETURN;
    END IF;
    RETURN QUERY
        SELECT j.id, j.problem_id,
               CASE WHEN NOT build THEN
                   (SELECT min((SELECT k.median_ms FROM results k
                                WHERE k.campaign_id = b.campaign_id AND k.job_id = o.id
                                AND k.rank = 0))
                    FROM jobs o
                    WHERE o.campaign_id = b.campaign_id AND o.problem_id = j.problem_id) END,
               CASE WHEN for_target IS NOT NULL THEN
                   (SELECT jsonb_agg(to_jsonb(q.config) ORDER BY q.config) FROM quarantine q
                    WHERE q.solver_id = j.solver_id AND q.problem_id = j.problem_id
                    AND q.target = for_target) END,
               CASE WHEN round_end > 1 OR b.is_partial OR (build AND round_end > 0) THEN
                   (SELECT jsonb_agg(to_jsonb(w) ORDER BY w.number)
                    FROM (SELECT r.number, r.stack, r.drift, r.config_counts, r.config_values,
                                 r.kernel_keys, r.failures, r.details, r.n, r.min_ms, r.median_ms,
                                 r.spread, r.error, r.build_seconds, r.eval_seconds
                          FROM round_rows r
                          WHERE r.campaign_id = b.campaign_id AND r.job_id = j.id
                          AND r.number < round_end) AS w)
               WHEN round_end = 1 THEN
                   (SELECT jsonb_build_array(to_jsonb(w))
                    FROM (SELECT r.number, r.stack, r.config_counts, r.config_values,
                                 r.kernel_keys, r.failures, r.details, r.build_seconds
                          FROM rounds r
                          WHERE r.campaign_id = b.campaign_id AND r.job_id = j.id
                          AND r.number = 0) AS w) END
        FROM jobs j WHERE j.campaign_id = b.campaign_id AND j.id = ANY (b.job_ids)
        ORDER BY j.position;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
