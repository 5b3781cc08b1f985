-- Devices: what workers report of them, and the jobs of devices that were found sick.

-- Replaces the worker's devices with these.
CREATE OR REPLACE FUNCTION skipjack_work.put_devices(saying bigint, its_devices jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(saying);
    IF jsonb_typeof(its_devices) IS DISTINCT FROM 'array'
       OR jsonb_array_length(its_devices) > 1024 OR pg_column_size(its_devices) > 500000 THEN
        PERFORM refuse_value('a worker has up to 1024 devices, described in few words');
    END IF;
    DELETE FROM worker_devices WHERE worker_id = saying;
    INSERT INTO worker_devices (worker_id, place, device, name, target, uuid, address, partition, stack)
    SELECT saying, e.place - 1, coalesce(e.d->>'device', ''), coalesce(e.d->>'name', ''),
           coalesce(e.d->>'target', ''), coalesce(e.d->>'uuid', ''),
           coalesce(e.d->>'address', ''), coalesce(e.d->>'partition', ''), nullif(e.d->>'stack', '')
    FROM jsonb_array_elements(its_devices) WITH ORDINALITY AS e(d, place);
END $$;

-- Takes a device of the worker out of service, or puts it back if no reason is given.
CREATE OR REPLACE FUNCTION skipjack_work.set_device_service(saying bigint, its_place integer, why text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(saying);
    IF length(why) <= 4096 IS NOT TRUE THEN
        PERFORM refuse_value('a device is out of service for a reason of at most 4096 characters');
    END IF;
    UPDATE worker_devices
    SET out_since = CASE WHEN why <> '' THEN coalesce(out_since, now()) END, out_reason = why
    WHERE worker_id = saying AND place = its_place;
END $$;

-- Merges what one eval child saw of the device into what was stored for the round: the
-- extremes of both, all throttle reasons, and the larger number of samples. A repeated
-- call changes nothing. A worker that no longer holds the job gets no error here; it gets
-- one when it hands in the outcomes.
CREATE OR REPLACE FUNCTION skipjack_work.put_conditions(campaign bigint, job bigint, held_fence bigint,
                                                        round_number integer, seen jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
    s round_conditions := jsonb_populate_record(NULL::round_conditions, seen);
BEGIN
    IF (s.samples > 0 AND s.throttle >= 0 AND length(s.device) <= 100
        AND coalesce(least(s.sm_mhz_min, s.sm_mhz_max, s.memory_mhz_min, s.memory_mhz_max,
                           s.locked_mhz, 1) > 0, true)
        AND coalesce(s.power_w BETWEEN 0 AND 1e6, true)) IS NOT TRUE THEN
        PERFORM refuse_value('a device is said to be in conditions that cannot be');
    END IF;
    INSERT INTO round_conditions AS c
    SELECT campaign, job, b.round_no, s.device, s.samples, s.sm_mhz_min, s.sm_mhz_max,
           s.memory_mhz_min, s.memory_mhz_max, s.temperature_c, s.power_w, s.throttle, s.locked_mhz
    FROM bundles b
    WHERE b.campaign_id = campaign AND b.fence = held_fence AND b.job_ids @> ARRAY[job]
      AND b.round_no = round_number
      AND (mine IS NULL OR b.claimed_by = ANY (mine))
    ON CONFLICT (campaign_id, job_id, number) DO UPDATE SET
        device = EXCLUDED.device, samples = greatest(c.samples, EXCLUDED.samples),
        sm_mhz_min = least(c.sm_mhz_min, EXCLUDED.sm_mhz_min),
        sm_mhz_max = greatest(c.sm_mhz_max, EXCLUDED.sm_mhz_max),
        memory_mhz_min = least(c.memory_mhz_min, EXCLUDED.memory_mhz_min),
        memory_mhz_max = greatest(c.memory_mhz_max, EXCLUDED.memory_mhz_max),
        temperature_c = greatest(c.temperature_c, EXCLUDED.temperature_c),
        power_w = greatest(c.power_w, EXCLUDED.power_w),
        throttle = c.throttle | EXCLUDED.throttle,
        locked_mhz = CASE WHEN c.locked_mhz = EXCLUDED.locked_mhz THEN c.locked_mhz END;
END $$;

-- Called before the call that ends the claim, by the worker that claimed the job last.
-- Reports of other workers are ignored.
CREATE OR REPLACE FUNCTION skipjack_work.put_device_use(campaign bigint, job bigint,
                                                        held_fence bigint, took double precision,
                                                        busy double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
BEGIN
    PERFORM check_seconds(ARRAY[took, busy]);
    INSERT INTO device_use AS u
    SELECT campaign, job, held_fence, possible.seconds, least(busy, possible.seconds)
    FROM bundles b
    CROSS JOIN LATERAL (SELECT CASE WHEN mine IS NULL OR b.claimed_at IS NULL THEN took
        ELSE least(took, extract(epoch FROM clock_timestamp() - b.claimed_at) + 60) END)
        AS possible(seconds)
    WHERE b.campaign_id = campaign AND b.fence = held_fence AND b.job_ids @> ARRAY[job]
      AND (mine IS NULL OR b.claimed_by = ANY (mine))
    ON CONFLICT (campaign_id, job_id, fence) DO UPDATE
        SET seconds = EXCLUDED.seconds, busy_seconds = EXCLUDED.busy_seconds;
END $$;

-- Returns "; before that it failed on GPU-1", NULL if no device failed with the job.
CREATE OR REPLACE FUNCTION faulted_before(campaign bigint, job bigint) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT '; before that it failed on ' || string_agg(f.device, ', ' ORDER BY f.at)
            FROM job_faults f WHERE f.campaign_id = campaign AND f.job_id = job);
END $$;

-- Notes a device that failed while the job was measured on it. Fails the job if another
-- device failed with it before, or the same device under an earlier claim of this
-- worker. A repeated call changes nothing.
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
        PERFORM fail_job(campaign, job, held_fence, @FAILURE_DEVICE_FAULT::smallint, words);
    END IF;
    INSERT INTO job_faults (campaign_id, job_id, device, worker_id, fence)
    VALUES (campaign, job, its_device, saying, held_fence)
    ON CONFLICT (campaign_id, job_id, device) DO UPDATE SET worker_id = saying, fence = held_fence;
END $$;

-- Opens an ended job again. Its rounds after the last verified outcome are dropped.
CREATE OR REPLACE FUNCTION reopen_job(campaign bigint, job bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_bitmapscan = off SET enable_seqscan = off AS $$
DECLARE
    from_round integer;
BEGIN
    from_round := coalesce((SELECT max(o.number) + 1 FROM outcomes o
                            WHERE o.campaign_id = campaign AND o.job_id = job
                              AND NOT o.is_open
                              AND o.failures && ARRAY[@FAILURE_NONE, @FAILURE_SLOW]::smallint[]), 0);
    DELETE FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = job;
    PERFORM drop_open_rounds(campaign, ARRAY[job], from_round);
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
    SELECT campaign, j.solver_id, 'ready', from_round, j.position, ARRAY[j.id]
    FROM jobs j WHERE j.campaign_id = campaign AND j.id = job;
    UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done';
END $$;

-- Gives back a job that ended by the faults of a device that was found sick. The
-- campaign's row is locked only for jobs that the worker itself failed, because the
-- lock keeps others from changing and ending the campaign.
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
    IF NOT EXISTS (SELECT 1 FROM job_ends e
                   WHERE e.campaign_id = campaign AND e.job_id = job AND e.state = 'failed'
                     AND e.failure IN (@FAILURE_DEVICE_FAULT, @FAILURE_RUN_TIMEOUT)
                     AND (mine IS NULL OR e.claimed_by = ANY (mine))) THEN
        RETURN;
    END IF;
    PERFORM 1 FROM campaigns c WHERE c.id = campaign AND c.state <> 'cancelled' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM 1 FROM job_ends e
    WHERE e.campaign_id = campaign AND e.job_id = job AND e.state = 'failed'
      AND e.failure IN (@FAILURE_DEVICE_FAULT, @FAILURE_RUN_TIMEOUT)
      AND (mine IS NULL OR e.claimed_by = ANY (mine))
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
