-- What a device did while a round was measured on it: its clocks, its heat, its
-- power, and what held it back. A time that was taken while the device was throttled
-- is still a time, but who reads it must be able to see that.
-- oldest program: 0037

CREATE TABLE round_conditions (
    campaign_id    bigint NOT NULL,
    job_id         bigint NOT NULL,
    number         integer NOT NULL,
    device         text NOT NULL,    -- its UUID, or else its PCI address; of several the last
    samples        integer NOT NULL, -- one after each config that was timed
    sm_mhz_min     integer,          -- what is not known is NULL
    sm_mhz_max     integer,
    memory_mhz_min integer,
    memory_mhz_max integer,
    temperature_c  integer,          -- the highest, as the power
    power_w        double precision,
    throttle       integer NOT NULL, -- bits of all samples: enum throttle of conditions.h
    locked_mhz     integer,          -- NULL where the driver chose the clocks at any time
    PRIMARY KEY (campaign_id, job_id, number)
) PARTITION BY LIST (campaign_id);

-- A CPU tells none of this, and each partition costs a file.
CREATE FUNCTION add_partition(campaign bigint, parent text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL, CHECK (campaign_id = %s))',
                   parent || '_' || campaign, parent, campaign);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%s)',
                   parent, parent || '_' || campaign, campaign);
END $$;

CREATE OR REPLACE FUNCTION add_partitions(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    c campaigns;
    parents text[] := ARRAY['jobs', 'job_ends', 'rounds', 'outcomes', 'results'];
    parent text;
BEGIN
    SELECT * INTO c FROM campaigns WHERE id = campaign;
    IF c.strategy = 'prior' THEN
        parents := parents || 'priors'::text;
    END IF;
    IF c.target NOT LIKE 'cpu-%' THEN
        parents := parents || 'round_conditions'::text;
    END IF;
    FOREACH parent IN ARRAY parents LOOP
        PERFORM add_partition(campaign, parent);
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'skipjack_coordinator') THEN
        EXECUTE format('GRANT SELECT ON %I TO skipjack_coordinator', 'results_' || campaign);
    END IF;
END $$;

SELECT add_partition(c.id, 'round_conditions') FROM campaigns c
WHERE c.target NOT LIKE 'cpu-%' AND to_regclass('jobs_' || c.id) IS NOT NULL;

CREATE OR REPLACE VIEW dropped_partitions AS
    SELECT parent.relname AS parent, child.relname AS child,
           coalesce(i.inhdetachpending, false) AS pending, i.inhrelid IS NULL AS detached
    FROM pg_class child
    JOIN pg_class parent ON parent.relkind = 'p' AND parent.relnamespace = child.relnamespace
         AND parent.relname = regexp_replace(child.relname, '_[0-9]+$', '')
    LEFT JOIN pg_inherits i ON i.inhrelid = child.oid
    WHERE child.relkind = 'r' AND child.relnamespace = 'skipjack'::regnamespace
      AND parent.relname IN ('jobs', 'job_ends', 'rounds', 'outcomes', 'results', 'priors',
                             'round_conditions')
      AND NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE child.relname = parent.relname || '_' || c.id);

-- Adds what one eval child saw to what others saw of the round, so repeating it
-- changes nothing but the number of samples. Whoever does not hold the job any more
-- is told so when it hands in the outcomes, and here nothing happens.
CREATE FUNCTION skipjack_work.put_conditions(campaign bigint, job bigint, held_fence bigint,
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

-- Jobs that were taken over keep what is known of their times.
CREATE OR REPLACE FUNCTION reuse_jobs_of(c campaigns, o campaigns) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    reused_before bigint[] := ARRAY(SELECT e.job_id FROM job_ends e WHERE e.campaign_id = c.id);
    reused_count integer := copy_jobs_of(c, o);
    new_jobs bigint[];
    old_jobs bigint[];
BEGIN
    IF reused_count = 0 OR (c.target LIKE 'cpu-%' AND (c.strategy <> 'prior'
                                                       OR o.strategy <> 'prior')) THEN
        RETURN reused_count;
    END IF;
    SELECT array_agg(fresh.id), array_agg(old.id) INTO new_jobs, old_jobs
    FROM jobs fresh
    JOIN job_ends e ON e.campaign_id = c.id AND e.job_id = fresh.id
    JOIN jobs old ON old.campaign_id = o.id AND old.problem_id = fresh.problem_id
         AND old.solver_id = fresh.solver_id
    WHERE fresh.campaign_id = c.id
      AND NOT EXISTS (SELECT 1 FROM unnest(reused_before) AS b(id) WHERE b.id = fresh.id);
    IF c.strategy = 'prior' AND o.strategy = 'prior' THEN
        INSERT INTO priors
        SELECT c.id, pair.fresh, p.configs
        FROM unnest(new_jobs, old_jobs) AS pair(fresh, old)
        JOIN priors p ON p.campaign_id = o.id AND p.job_id = pair.old;
    END IF;
    IF c.target NOT LIKE 'cpu-%' THEN
        INSERT INTO round_conditions
        SELECT c.id, pair.fresh, r.number, r.device, r.samples, r.sm_mhz_min, r.sm_mhz_max,
               r.memory_mhz_min, r.memory_mhz_max, r.temperature_c, r.power_w, r.throttle,
               r.locked_mhz
        FROM unnest(new_jobs, old_jobs) AS pair(fresh, old)
        JOIN round_conditions r ON r.campaign_id = o.id AND r.job_id = pair.old;
    END IF;
    RETURN reused_count;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
