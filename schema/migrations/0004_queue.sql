-- The queue. Every function is one call of the store, whole or not at all.
-- Errors carry the states SJ001 (no such row), SJ002 (the state forbids it)
-- and SJ003 (an older fence). Rows are locked in the order job, campaign.

-- The job's row, locked; refuses whoever does not hold the newest fence.
CREATE FUNCTION lock_job(job bigint, held_fence bigint) RETURNS jobs
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    found_job jobs;
BEGIN
    SELECT * INTO found_job FROM jobs WHERE id = job FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001',
            MESSAGE = format('job %s does not exist any more', job);
    ELSIF found_job.fence <> held_fence THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ003',
            MESSAGE = format('job %s was claimed again: its fence is %s, this result has %s',
                             job, found_job.fence, held_fence);
    ELSIF found_job.state = 'cancelled' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format('job %s was cancelled', job);
    END IF;
    RETURN found_job;
END $$;

CREATE FUNCTION refuse_state(job jobs, wish text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'SJ002',
        MESSAGE = format('cannot %s of job %s: it is %s in round %s',
                         wish, job.id, job.state, job.round_no);
END $$;

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
CREATE FUNCTION settle_campaign(campaign bigint, seconds double precision) RETURNS void
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
CREATE FUNCTION end_spent_jobs(campaign bigint) RETURNS void
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

-- Whether a worker's stack ("clang 15.0.6; PoCL 3.1") has all that a campaign
-- asks for: each item whole, or cut off at a dot or a blank ("clang 15").
CREATE FUNCTION stack_matches(wanted text, present text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT NOT EXISTS (
        SELECT 1 FROM regexp_split_to_table(wanted, '\s*;\s*') AS w
        WHERE w <> '' AND NOT EXISTS (
            SELECT 1 FROM regexp_split_to_table(present, '\s*;\s*') AS h
            WHERE h = w OR starts_with(h, w || '.') OR starts_with(h, w || ' ')))
$$;

-- A late result opens the job of a campaign that was done without it.
CREATE FUNCTION reopen_campaign(campaign bigint) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS
$$ UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done' $$;

-- Claims jobs of the oldest active campaign that has some for this worker. The
-- LIMIT is a parameter, so each call is planned with its value.
CREATE FUNCTION claim_jobs(claimer bigint, build boolean, wanted_campaign bigint,
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

-- Gives claimed jobs back as they were, without a strike.
CREATE FUNCTION release_jobs(ids bigint[]) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE jobs SET state = CASE state WHEN 'building' THEN 'ready' ELSE 'built' END::job_state,
                    worker_id = NULL, claim_token = NULL
    WHERE id = ANY (ids) AND state IN ('building', 'evaluating')
$$;

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

-- Takes claimed jobs from a worker that was lost: a strike each, and the third
-- since the last stored round makes a failure (13, worker lost).
CREATE FUNCTION lose_jobs(ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    campaign bigint;
BEGIN
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    SELECT 'lease lost', j.campaign_id, j.id, j.worker_id,
           format('%s, strike %s', j.state, j.strikes + 1)
    FROM jobs j WHERE j.id = ANY (ids) AND j.state IN ('building', 'evaluating');
    UPDATE jobs
    SET state = CASE WHEN strikes >= 2 THEN 'failed' WHEN state = 'building' THEN 'ready'
                     ELSE 'built' END::job_state,
        failure = CASE WHEN strikes >= 2 THEN 13 ELSE 0 END,
        detail = CASE WHEN strikes >= 2 THEN format('worker lost three times, last in state %s', state) END,
        strikes = strikes + 1, worker_id = NULL, claim_token = NULL
    WHERE id = ANY (ids) AND state IN ('building', 'evaluating');
    FOR campaign IN SELECT DISTINCT j.campaign_id FROM jobs j
                    WHERE j.id = ANY (ids) AND j.state = 'failed' ORDER BY 1
    LOOP
        PERFORM settle_campaign(campaign, 0);
    END LOOP;
END $$;

-- The worker lives; leases of workers that were not heard of for too long are
-- lost, and so is a job without progress for four hours, whoever beats for it.
-- Nobody can beat while the server is down: all leases begin anew with it.
CREATE FUNCTION heartbeat(beating bigint) RETURNS void
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

-- Ends a worker; was_lost tells whether its leases cost a strike.
CREATE FUNCTION end_worker(ending bigint, was_lost boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    held bigint[];
BEGIN
    UPDATE workers SET ended_at = clock_timestamp() WHERE id = ending;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', ending);
    END IF;
    SELECT array_agg(h.id) INTO held FROM (
        SELECT id FROM jobs WHERE worker_id = ending ORDER BY id FOR UPDATE) AS h;
    IF was_lost THEN
        PERFORM lose_jobs(held);
    ELSE
        PERFORM release_jobs(held);
    END IF;
END $$;

CREATE FUNCTION write_round(job bigint, data jsonb, open boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM rounds WHERE job_id = job AND number = (data->>'number')::integer;
    INSERT INTO rounds SELECT * FROM jsonb_populate_record(
        NULL::rounds, data || jsonb_build_object('job_id', job, 'is_open', open));
END $$;

-- A built round. Repeating it changes nothing.
CREATE FUNCTION store_built(job bigint, held_fence bigint, data jsonb) RETURNS void
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

CREATE FUNCTION store_partial(job bigint, held_fence bigint, data jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    j jobs := lock_job(job, held_fence);
BEGIN
    IF j.round_no > (data->>'number')::integer THEN
        RETURN;
    ELSIF j.state NOT IN ('evaluating', 'built') AND NOT was_given_up(j) THEN
        PERFORM refuse_state(j, 'store outcomes');
    END IF;
    PERFORM write_round(job, data, true);
    UPDATE jobs SET progress_at = clock_timestamp() WHERE id = job;
END $$;

-- Replaces the kept results. One that was kept before with the same times
-- keeps the stack it was measured under.
CREATE FUNCTION replace_results(job bigint, kept jsonb, round_stack text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    before jsonb;
BEGIN
    SELECT coalesce(jsonb_agg(to_jsonb(r)), '[]') INTO before FROM results r WHERE r.job_id = job;
    DELETE FROM results WHERE job_id = job;
    INSERT INTO results
    SELECT job, k.rank, k.config, k.config_text, k.kernel_keys,
           coalesce((SELECT o.stack FROM jsonb_populate_recordset(NULL::results, before) AS o
                     WHERE o.config = k.config AND o.median_ms = k.median_ms LIMIT 1), round_stack),
           k.n, k.min_ms, k.median_ms, k.spread, k.error, k.build_seconds, k.eval_seconds,
           k.workspace_bytes, k.flops, k.is_default
    FROM jsonb_populate_recordset(NULL::results, kept) AS k;
END $$;

-- An evaluated round. Repeating it changes nothing.
CREATE FUNCTION store_round(job bigint, held_fence bigint, data jsonb, kept jsonb,
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

CREATE FUNCTION fail_job(job bigint, held_fence bigint, why smallint, words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    j jobs := lock_job(job, held_fence);
BEGIN
    IF j.state = 'done' THEN
        PERFORM refuse_state(j, 'store the failure');
    END IF;
    UPDATE jobs SET state = 'failed', failure = why, detail = words, worker_id = NULL,
                    claim_token = NULL
    WHERE id = job;
    PERFORM settle_campaign(j.campaign_id, 0);
END $$;

CREATE FUNCTION finish_job(job bigint, held_fence bigint) RETURNS void
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

CREATE FUNCTION release_job(job bigint, held_fence bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM lock_job(job, held_fence);
    PERFORM release_jobs(ARRAY[job]);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
