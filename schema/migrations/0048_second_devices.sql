-- A config that breaks devices for good breaks the next one when its job goes on there. So
-- a job that a device had at hand when its faults led to the proof that failed is noted, too;
-- it goes back once, and ends with the second device. What was quarantined of a job that
-- does not go back stays so.
-- oldest program: 0038

-- Ends it where another device noted it before.
CREATE FUNCTION fault_at_hand(campaign bigint, job bigint, held_fence bigint, saying bigint,
                              its_device text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    words text := format('it failed on %s, which is sick', its_device);
BEGIN
    IF EXISTS (SELECT 1 FROM job_faults f WHERE f.campaign_id = campaign AND f.job_id = job
               AND f.device <> its_device) THEN
        INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
        VALUES ('job failed', campaign, job, nullif(saying, 0),
                concat(words, faulted_before(campaign, job)));
        PERFORM fail_job(campaign, job, held_fence, 7::smallint, words);
    END IF;
    INSERT INTO job_faults (campaign_id, job_id, device) VALUES (campaign, job, its_device)
    ON CONFLICT DO NOTHING;
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
            job, nullif(saying, 0), concat('it failed on ', its_device, ', which is sick', before));
    IF before IS NULL THEN
        PERFORM reopen_job(campaign, job);
        PERFORM wake_for(ARRAY[campaign]);
    END IF;
END $$;

-- As before, but nothing of a job that stays failed since another device noted it.
CREATE OR REPLACE FUNCTION skipjack_work.lift_quarantine(campaign bigint, job bigint,
                                                         values_of jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
    said integer[] := ARRAY(SELECT v::integer FROM jsonb_array_elements_text(values_of)
                            WITH ORDINALITY AS e(v, n) ORDER BY n);
BEGIN
    IF mine IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM bundles b
        WHERE b.campaign_id = campaign AND b.job_ids @> ARRAY[job] AND b.claimed_by = ANY (mine)
        UNION ALL
        SELECT 1 FROM job_ends e
        WHERE e.campaign_id = campaign AND e.job_id = job AND e.claimed_by = ANY (mine)) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ003',
            MESSAGE = format('job %s was claimed by another worker', job);
    END IF;
    DELETE FROM quarantine q USING jobs j, campaigns c
    WHERE j.campaign_id = campaign AND j.id = job AND c.id = j.campaign_id
      AND q.solver_id = j.solver_id AND q.problem_id = j.problem_id AND q.target = c.target
      AND q.config = said
      AND NOT EXISTS (
          SELECT 1 FROM job_faults f JOIN job_ends e USING (campaign_id, job_id)
          WHERE f.campaign_id = campaign AND f.job_id = job);
END $$;

-- What 0026 had set of the one, 0047 lost; the other reads as it does.
ALTER FUNCTION end_jobs SET enable_bitmapscan = off;
ALTER FUNCTION end_jobs SET enable_seqscan = off;
ALTER FUNCTION reopen_job SET enable_bitmapscan = off;
ALTER FUNCTION reopen_job SET enable_seqscan = off;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
