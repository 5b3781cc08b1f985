-- How long a GPU had work while a job was evaluated, beside how long that took: what
-- a problem costs of the device, and what the device waits for.
-- oldest program: 0037

CREATE TABLE device_use (
    campaign_id  bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    job_id       bigint NOT NULL,
    fence        bigint NOT NULL, -- of the claim that it was done under: what is told twice counts once
    seconds      double precision NOT NULL CHECK (seconds >= 0 AND seconds < 1e9),
    busy_seconds double precision NOT NULL CHECK (busy_seconds >= 0 AND busy_seconds < 1e9),
    PRIMARY KEY (campaign_id, job_id, fence)
);

-- Told before the call that ends the claim, by whoever claimed the job last; of others
-- nothing is kept.
CREATE FUNCTION skipjack_work.put_device_use(campaign bigint, job bigint, held_fence bigint,
                                             took double precision, busy double precision)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
BEGIN
    PERFORM check_seconds(ARRAY[took, busy]);
    INSERT INTO device_use AS u
    SELECT campaign, job, held_fence, took, least(busy, took)
    FROM bundles b
    WHERE b.campaign_id = campaign AND b.fence = held_fence AND b.job_ids @> ARRAY[job]
      AND (mine IS NULL OR b.claimed_by = ANY (mine))
    ON CONFLICT (campaign_id, job_id, fence) DO UPDATE
        SET seconds = EXCLUDED.seconds, busy_seconds = EXCLUDED.busy_seconds;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
