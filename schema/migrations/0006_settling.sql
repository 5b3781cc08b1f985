-- Rounds of one campaign are stored side by side: the campaign's row is locked
-- only near its end. A campaign that was done is opened by a late result, and
-- what races left undone is caught up with.

-- Working time, in parts: whoever adds to the same row waits for the other's
-- commit, so each connection adds to one of its own.
CREATE TABLE campaign_spent (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    part        integer NOT NULL,
    seconds     double precision NOT NULL,
    PRIMARY KEY (campaign_id, part)
) WITH (fillfactor = 50);
INSERT INTO campaign_spent SELECT id, 0, spent_seconds FROM campaigns WHERE spent_seconds <> 0;
ALTER TABLE campaigns DROP COLUMN spent_seconds;

CREATE FUNCTION spent_seconds(campaign bigint) RETURNS double precision
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS
$$ SELECT coalesce(sum(s.seconds), 0) FROM campaign_spent s WHERE s.campaign_id = campaign $$;

-- Nothing for a campaign that was dropped.
CREATE FUNCTION add_spent(campaign bigint, more_seconds double precision) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO campaign_spent AS s (campaign_id, part, seconds)
    SELECT c.id, pg_backend_pid() % 256, more_seconds FROM campaigns c
    WHERE c.id = campaign AND more_seconds <> 0
    ON CONFLICT (campaign_id, part) DO UPDATE SET seconds = s.seconds + EXCLUDED.seconds
$$;

CREATE FUNCTION has_open_jobs(campaign bigint, more_than integer) RETURNS boolean
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM jobs j WHERE j.campaign_id = campaign
                   AND j.state = ANY (ARRAY['ready', 'building', 'built', 'evaluating']::job_state[])
                   OFFSET more_than)
$$;

-- Adds working time; a campaign without an open job is done. With many jobs
-- open nobody is the last, and no lock is taken: a commit to disk lasts
-- milliseconds, and all of the campaign's would wait for each other. Near the
-- end the row is locked before the look at the jobs, so of two last jobs the
-- later one sees both. Should 64 jobs end while one call runs, the next claim
-- settles.
CREATE OR REPLACE FUNCTION settle_campaign(campaign bigint, seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM add_spent(campaign, seconds);
    IF has_open_jobs(campaign, 64) THEN
        RETURN;
    END IF;
    PERFORM 1 FROM campaigns WHERE id = campaign FOR NO KEY UPDATE;
    IF NOT has_open_jobs(campaign, 0) THEN
        UPDATE campaigns SET state = 'done' WHERE id = campaign AND state IN ('active', 'paused');
    END IF;
END $$;

-- Ends a job: done, or failed with its commonest failure when configs were
-- tried and none was ever verified (0 and 16, "slow", are verified). One
-- update: a second one of a row in a transaction checks its foreign keys anew,
-- which locks what they point to.
DROP FUNCTION end_job(bigint, boolean);
CREATE FUNCTION end_job(job bigint, by_budget boolean, next_round integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    worst smallint := 0;
    words text;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM rounds r, unnest(r.failures) AS f
                   WHERE r.job_id = job AND f IN (0, 16)) THEN
        SELECT f.failure, min(f.detail) INTO worst, words
        FROM rounds r, unnest(r.failures, r.details) AS f(failure, detail)
        WHERE r.job_id = job AND f.failure <> 15
        GROUP BY f.failure ORDER BY count(*) DESC, f.failure LIMIT 1;
    END IF;
    DELETE FROM rounds WHERE job_id = job AND is_open;
    UPDATE jobs SET state = CASE WHEN coalesce(worst, 0) = 0 THEN 'done' ELSE 'failed' END::job_state,
                    failure = coalesce(worst, 0), detail = words, ended_by_budget = by_budget,
                    strikes = CASE WHEN next_round > round_no THEN 0 ELSE strikes END,
                    round_no = next_round, worker_id = NULL, claim_token = NULL
    WHERE id = job;
END $$;

-- The rounds of a campaign whose budget is spent: what is past its first round
-- ends, what never had one still gets it.
CREATE OR REPLACE FUNCTION end_spent_jobs(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    job record;
    ended boolean := false;
BEGIN
    FOR job IN SELECT id, round_no FROM jobs
               WHERE campaign_id = campaign AND state IN ('ready', 'built') AND round_no > 0
               FOR UPDATE SKIP LOCKED
    LOOP
        PERFORM end_job(job.id, true, job.round_no);
        ended := true;
    END LOOP;
    IF ended THEN
        PERFORM settle_campaign(campaign, 0);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION finish_job(job bigint, held_fence bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    j jobs := lock_job(job, held_fence);
BEGIN
    IF j.state = 'done' THEN
        RETURN;
    ELSIF j.state NOT IN ('building', 'ready') AND NOT was_given_up(j) THEN
        PERFORM refuse_state(j, 'store the end');
    END IF;
    PERFORM end_job(job, false, j.round_no);
    PERFORM settle_campaign(j.campaign_id, 0);
END $$;

-- A late result opens the job of a campaign that was done without it.
CREATE FUNCTION reopen_campaign(campaign bigint) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS
$$ UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done' $$;

-- Claims jobs of the oldest active campaign that has some for this worker. The
-- LIMIT is a parameter, so each call is planned with its value.
CREATE OR REPLACE FUNCTION claim_jobs(claimer bigint, build boolean, wanted_campaign bigint,
                           wanted_target text, carried text[], batch integer,
                           lease double precision, token bigint)
RETURNS TABLE (job_id bigint, job_fence bigint)
LANGUAGE plpgsql ROWS 16
SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    from_state job_state := CASE WHEN build THEN 'ready' ELSE 'built' END;
    to_state job_state := CASE WHEN build THEN 'building' ELSE 'evaluating' END;
    has_stack text;
    solver_ids bigint[];
    c campaigns;
    last_round integer;
BEGIN
    UPDATE workers SET beat_at = clock_timestamp(), ended_at = NULL
    WHERE id = claimer RETURNING stack INTO has_stack;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', claimer);
    END IF;
    SELECT array_agg(id) INTO solver_ids FROM solvers
    WHERE carried IS NULL OR name || ':' || revision || ':' || hash = ANY (carried);
    FOR c IN SELECT * FROM campaigns
             WHERE state = 'active' AND (wanted_campaign = 0 OR id = wanted_campaign)
               AND (wanted_target IS NULL OR target = wanted_target)
               AND stack_matches(stack, has_stack)
             ORDER BY id
    LOOP
        last_round := 2147483647;
        IF c.budget_seconds > 0 AND spent_seconds(c.id) >= c.budget_seconds THEN
            PERFORM end_spent_jobs(c.id);
            last_round := 0;
        END IF;
        RETURN QUERY
            WITH picked AS (
                SELECT j.id FROM jobs j
                WHERE j.campaign_id = c.id AND j.state = from_state
                  AND j.round_no <= last_round AND j.solver_id = ANY (solver_ids)
                ORDER BY j.round_no, j.priority DESC, j.id
                LIMIT batch FOR UPDATE SKIP LOCKED)
            UPDATE jobs j
            SET state = to_state, fence = j.fence + 1, worker_id = claimer, claim_token = token,
                claimed_at = clock_timestamp(), progress_at = clock_timestamp(),
                lease_seconds = lease
            FROM picked WHERE j.id = picked.id
            RETURNING j.id, j.fence;
        EXIT WHEN FOUND;
        IF NOT has_open_jobs(c.id, 0) THEN
            PERFORM settle_campaign(c.id, 0);
        END IF;
    END LOOP;
END $$;

-- Jobs of a claim whose answer was lost. The worker's row is locked first,
-- which waits for a claim that is still under way behind a broken connection.
CREATE FUNCTION release_claim(claimer bigint, token bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    held bigint[];
BEGIN
    PERFORM 1 FROM workers WHERE id = claimer FOR UPDATE;
    SELECT array_agg(j.id) INTO held FROM jobs j
    WHERE j.worker_id = claimer AND j.claim_token = token;
    PERFORM release_jobs(held);
END $$;

-- The worker lives; leases of workers that were not heard of for too long are
-- lost, and so is a job without progress for four hours, whoever beats for it.
-- Nobody can beat while the server is down: all leases begin anew with it.
CREATE OR REPLACE FUNCTION heartbeat(beating bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    lost bigint[];
BEGIN
    UPDATE workers SET beat_at = clock_timestamp(), ended_at = NULL WHERE id = beating;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', beating);
    END IF;
    SELECT array_agg(expired.id) INTO lost FROM (
        SELECT j.id FROM jobs j JOIN workers w ON w.id = j.worker_id
        WHERE j.worker_id IS NOT NULL
          AND (greatest(w.beat_at, pg_postmaster_start_time())
                   + j.lease_seconds * interval '1 second' < clock_timestamp()
               OR j.progress_at + interval '4 hours' < clock_timestamp())
        FOR UPDATE OF j SKIP LOCKED) AS expired;
    IF lost IS NOT NULL THEN
        PERFORM lose_jobs(lost);
    END IF;
END $$;

-- A built round. Repeating it changes nothing.
CREATE OR REPLACE FUNCTION store_built(job bigint, held_fence bigint, data jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    j jobs := lock_job(job, held_fence);
    build_only boolean;
BEGIN
    IF j.state IN ('built', 'done') THEN
        RETURN;
    ELSIF (j.state NOT IN ('building', 'ready') AND NOT was_given_up(j))
          OR j.round_no <> (data->>'number')::integer THEN
        PERFORM refuse_state(j, 'store the built round');
    END IF;
    SELECT c.build_only INTO build_only FROM campaigns c WHERE c.id = j.campaign_id;
    PERFORM write_round(job, data, NOT build_only);
    UPDATE jobs SET state = CASE WHEN build_only THEN 'done' ELSE 'built' END::job_state,
                    round_no = round_no + build_only::integer, failure = 0, detail = NULL,
                    worker_id = NULL, claim_token = NULL
    WHERE id = job;
    IF build_only THEN
        PERFORM settle_campaign(j.campaign_id, 0);
    ELSIF was_given_up(j) THEN
        PERFORM reopen_campaign(j.campaign_id);
    END IF;
END $$;

-- An evaluated round. Repeating it changes nothing.
CREATE OR REPLACE FUNCTION store_round(job bigint, held_fence bigint, data jsonb, kept jsonb,
                                       more boolean, seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    j jobs := lock_job(job, held_fence);
    round_number integer := (data->>'number')::integer;
    spent boolean;
BEGIN
    IF j.round_no > round_number THEN
        RETURN;
    ELSIF (j.state NOT IN ('evaluating', 'built') AND NOT was_given_up(j))
          OR j.round_no <> round_number THEN
        PERFORM refuse_state(j, 'store the round');
    END IF;
    PERFORM write_round(job, data, false);
    PERFORM replace_results(job, kept, data->>'stack');
    SELECT c.budget_seconds > 0 AND spent_seconds(c.id) + seconds >= c.budget_seconds INTO spent
    FROM campaigns c WHERE c.id = j.campaign_id;
    IF more AND NOT spent THEN
        UPDATE jobs SET state = 'ready', round_no = round_number + 1, strikes = 0, failure = 0,
                        detail = NULL, worker_id = NULL, claim_token = NULL
        WHERE id = job;
    ELSE
        PERFORM end_job(job, more, round_number + 1);
    END IF;
    IF was_given_up(j) THEN
        PERFORM reopen_campaign(j.campaign_id);
    END IF;
    PERFORM settle_campaign(j.campaign_id, seconds);
END $$;

-- Sets the whole budget (0 for none); what the old one ended goes on.
CREATE OR REPLACE FUNCTION extend_campaign(campaign bigint, new_budget double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
    ended bigint[];
BEGIN
    PERFORM 1 FROM jobs WHERE campaign_id = campaign ORDER BY id FOR UPDATE;
    UPDATE campaigns SET budget_seconds = new_budget WHERE id = campaign RETURNING state INTO now_state;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF now_state = 'cancelled' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot extend campaign %s: it is cancelled', campaign);
    ELSIF new_budget = 0 OR new_budget > spent_seconds(campaign) THEN
        SELECT coalesce(array_agg(id), '{}') INTO ended
        FROM jobs WHERE campaign_id = campaign AND ended_by_budget;
        PERFORM reopen_jobs(campaign, ended);
    END IF;
END $$;

-- Also a job that was given up may still hand in what it evaluated.
CREATE OR REPLACE VIEW kernels_needed AS
    SELECT unnest(string_to_array(kernel_keys, ',')) AS key FROM results
    UNION
    SELECT unnest(string_to_array(keys, ','))
    FROM rounds r
    JOIN jobs j ON j.id = r.job_id
         AND (j.state IN ('building', 'built', 'evaluating') OR was_given_up(j)),
    unnest(r.kernel_keys) AS keys
    WHERE r.is_open
    UNION
    SELECT unnest(string_to_array(keys, ','))
    FROM rounds r
    JOIN jobs j ON j.id = r.job_id AND j.state = 'done'
    JOIN campaigns c ON c.id = j.campaign_id AND c.build_only,
    unnest(r.kernel_keys) AS keys;

-- A kernel that was asked for since the oldest build claim of now, or since
-- this call began, may be part of a round that is not stored yet, so it stays.
CREATE OR REPLACE FUNCTION collect_kernels() RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    building_since timestamptz;
    dropped integer;
BEGIN
    SELECT least(min(claimed_at), now()) INTO building_since
    FROM jobs WHERE worker_id IS NOT NULL AND state = 'building';
    UPDATE kernels k SET code = NULL
    WHERE code IS NOT NULL AND used_at < building_since
      AND NOT EXISTS (SELECT 1 FROM kernels_needed n WHERE n.key = k.key);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
