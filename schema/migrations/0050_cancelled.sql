-- A cancelled or dropped campaign has no bundle left, whoever claims and stores meanwhile, and a
-- result that comes late brings none of its jobs back.
-- oldest program: 0038

-- What others have in hand becomes other bundles when they commit: until none is to be seen. A
-- bundle that was replaced by a transaction not yet committed still is.
CREATE FUNCTION delete_bundles(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    WHILE EXISTS (SELECT FROM bundles b WHERE b.campaign_id = campaign) LOOP
        PERFORM FROM bundles b WHERE b.campaign_id = campaign ORDER BY b.id FOR UPDATE;
        DELETE FROM bundles b WHERE b.campaign_id = campaign;
    END LOOP;
END $$;

-- verb: pause, resume, cancel, retry or drop. The bundles are locked or deleted first, in one order,
-- then the campaign; a retry may have made some while this one waited for it. A dropped campaign
-- leaves its partitions to whoever detaches them.
CREATE OR REPLACE FUNCTION change_campaign(campaign bigint, verb text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
BEGIN
    IF verb IN ('cancel', 'drop') THEN
        PERFORM delete_bundles(campaign);
    ELSIF verb = 'retry' THEN
        PERFORM 1 FROM bundles WHERE campaign_id = campaign ORDER BY id FOR UPDATE;
    END IF;
    SELECT state INTO now_state FROM campaigns WHERE id = campaign FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    END IF;
    IF verb = 'pause' AND now_state = 'active' THEN
        UPDATE campaigns SET state = 'paused' WHERE id = campaign;
    ELSIF verb = 'resume' AND now_state = 'paused' THEN
        UPDATE campaigns SET state = 'active' WHERE id = campaign;
    ELSIF verb = 'cancel' AND now_state IN ('active', 'paused') THEN
        PERFORM delete_bundles(campaign);
        UPDATE campaigns SET state = 'cancelled' WHERE id = campaign;
    ELSIF verb = 'retry' AND now_state <> 'cancelled' THEN
        PERFORM reopen_jobs(campaign, true);
    ELSIF verb = 'drop' THEN
        PERFORM delete_bundles(campaign);
        DELETE FROM campaigns WHERE id = campaign;
    ELSE
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot %s campaign %s: it is %s', verb, campaign, now_state);
    END IF;
    IF verb IN ('resume', 'retry') THEN
        PERFORM wake_workers(campaign, true, 4);
        PERFORM wake_workers(campaign, false, 4);
    END IF;
END $$;

-- Jobs that failed only since their worker was given up, by the fence of its claim. The campaign
-- is held, so that nobody cancels it before they are to be seen.
CREATE OR REPLACE FUNCTION revive_jobs(campaign bigint, held_fence bigint, ids bigint[])
    RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_bitmapscan = off SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = ANY (ids)
                   AND e.failure = 13 AND e.fence = held_fence) THEN
        RETURN;
    END IF;
    PERFORM FROM campaigns c WHERE c.id = campaign AND c.state <> 'cancelled' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    WITH revived AS (
        DELETE FROM job_ends e
        WHERE e.campaign_id = campaign AND e.job_id = ANY (ids) AND e.failure = 13
          AND e.fence = held_fence
        RETURNING e.*)
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence, claimed_by)
    SELECT campaign, j.solver_id, r.lost_state, r.rounds, j.position, ARRAY[r.job_id], r.strikes,
           true, held_fence, r.claimed_by
    FROM revived r JOIN jobs j ON j.campaign_id = campaign AND j.id = r.job_id;
    UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done';
END $$;

-- What such races have left.
DELETE FROM bundles b
WHERE NOT EXISTS (SELECT FROM campaigns c WHERE c.id = b.campaign_id AND c.state <> 'cancelled');

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
