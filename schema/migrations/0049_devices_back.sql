-- A device that a job took off the bus may come back by itself, to the same worker, and the
-- job with it: that worker's second note ends the job as another device's does. And what
-- is said of the device holds for one that is not there any more, too.
-- oldest program: 0038

ALTER TABLE job_faults ADD COLUMN worker_id bigint, ADD COLUMN fence bigint; -- of who had it at hand

-- Ends it where another device noted it before, or the same one under an earlier claim of this
-- worker, which had it back. A call may come twice.
CREATE OR REPLACE FUNCTION fault_at_hand(campaign bigint, job bigint, held_fence bigint,
                                         saying bigint, its_device text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    words text := format('it failed on %s, which is out of service', its_device);
BEGIN
    IF EXISTS (SELECT 1 FROM job_faults f WHERE f.campaign_id = campaign AND f.job_id = job
               AND (f.device <> its_device OR f.worker_id = saying AND f.fence <> held_fence)) THEN
        INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
        VALUES ('job failed', campaign, job, nullif(saying, 0),
                concat(words, faulted_before(campaign, job)));
        PERFORM fail_job(campaign, job, held_fence, 7::smallint, words);
    END IF;
    INSERT INTO job_faults (campaign_id, job_id, device, worker_id, fence)
    VALUES (campaign, job, its_device, saying, held_fence)
    ON CONFLICT (campaign_id, job_id, device) DO UPDATE SET worker_id = saying, fence = held_fence;
END $$;

-- A job that failed by a device which was found sick: ended since, by whoever ended it, or
-- still at hand, of which only the faults are noted.
CREATE OR REPLACE FUNCTION skipjack_work.return_job(campaign bigint, job bigint, saying bigint,
                                                    its_device text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
    held bigint;
    before text;
BEGIN
    PERFORM check_worker(saying);
    IF (length(its_device) BETWEEN 1 AND 200) IS NOT TRUE THEN
        PERFORM refuse_value('a device has a name of at most 200 characters');
    END IF;
    SELECT b.fence INTO held FROM bundles b
    WHERE b.campaign_id = campaign AND b.worker_id = saying AND b.state = 'evaluating'
      AND b.job_ids @> ARRAY[job];
    IF FOUND THEN
        PERFORM fault_at_hand(campaign, job, held, saying, its_device);
        RETURN;
    END IF;
    PERFORM 1 FROM campaigns c WHERE c.id = campaign AND c.state <> 'cancelled' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM 1 FROM job_ends e
    WHERE e.campaign_id = campaign AND e.job_id = job AND e.state = 'failed'
      AND e.failure IN (7, 8) AND (mine IS NULL OR e.claimed_by = ANY (mine))
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    before := faulted_before(campaign, job);
    INSERT INTO job_faults (campaign_id, job_id, device) VALUES (campaign, job, its_device)
    ON CONFLICT DO NOTHING;
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    VALUES (CASE WHEN before IS NULL THEN 'job returned' ELSE 'job stays failed' END, campaign,
            job, nullif(saying, 0),
            concat('it failed on ', its_device, ', which is out of service', before));
    IF before IS NULL THEN
        PERFORM reopen_job(campaign, job);
        PERFORM wake_for(ARRAY[campaign]);
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
