-- Where outcomes go because they are measured anew, what the device did while they were
-- measured goes with them: the next one may be another device.
-- oldest program: 0038

CREATE OR REPLACE FUNCTION drop_open_rounds(campaign bigint, ids bigint[], from_number integer)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_bitmapscan = off SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM rounds WHERE campaign_id = campaign AND job_id = ANY (ids) AND number >= from_number;
    DELETE FROM outcomes WHERE campaign_id = campaign AND job_id = ANY (ids)
                           AND number >= from_number;
    DELETE FROM round_conditions WHERE campaign_id = campaign AND job_id = ANY (ids)
                                   AND number >= from_number;
END $$;

CREATE OR REPLACE FUNCTION reopen_jobs(campaign bigint, failed boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ids bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM job_ends e
        WHERE e.campaign_id = campaign
          AND CASE WHEN failed THEN e.state = 'failed' ELSE e.by_budget END
        RETURNING e.job_id, e.rounds),
    cleared AS (
        DELETE FROM rounds r USING gone g
        WHERE r.campaign_id = campaign AND r.job_id = g.job_id AND r.number >= g.rounds),
    cleared_outcomes AS (
        DELETE FROM outcomes o USING gone g
        WHERE o.campaign_id = campaign AND o.job_id = g.job_id AND o.number >= g.rounds),
    cleared_conditions AS (
        DELETE FROM round_conditions c USING gone g
        WHERE c.campaign_id = campaign AND c.job_id = g.job_id AND c.number >= g.rounds),
    opened AS (
        INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
        SELECT campaign, j.solver_id, 'ready', g.rounds, j.position, ARRAY[j.id]
        FROM gone g JOIN jobs j ON j.campaign_id = campaign AND j.id = g.job_id)
    SELECT array_agg(job_id) INTO ids FROM gone;
    UPDATE campaigns SET state = 'active'
    WHERE id = campaign AND state = 'done' AND ids IS NOT NULL;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
