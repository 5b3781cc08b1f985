-- The queue over bundles. Every function is one call of the store, whole or
-- not at all. Errors carry the states SJ001 (no such row), SJ002 (the state
-- forbids it) and SJ003 (an older fence). Rows are locked in the order bundle,
-- campaign. What reads partitions names the campaign and is planned anew at
-- each call, for that partition alone; the statements that every job goes
-- through only insert, or see bundles, and keep their plans.

-- ---- moving jobs between bundles ----

CREATE FUNCTION check_bundle_move() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT (OLD.state = NEW.state
            OR (OLD.state, NEW.state) IN (('ready', 'building'), ('building', 'ready'),
                                          ('built', 'evaluating'), ('evaluating', 'built'))) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('bundle %s cannot go from %s to %s', OLD.id, OLD.state, NEW.state);
    ELSIF NEW.fence < OLD.fence THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('the fence of bundle %s cannot go back', OLD.id);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER check_move BEFORE UPDATE ON bundles
    FOR EACH ROW EXECUTE FUNCTION check_bundle_move();

-- Puts jobs of a bundle, which left it, into one of their own, that nobody
-- holds. It keeps the fence, so that what was stored under it is known again.
CREATE FUNCTION put_jobs(b bundles, ids bigint[], new_state job_state, round integer,
                         new_strikes integer) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence)
    VALUES (b.campaign_id, b.solver_id, new_state, round, b.position, ids, new_strikes,
            b.is_partial AND round = b.round_no, b.fence)
$$;

-- Takes jobs out of the locked bundle, of which b may show a part; an empty
-- one goes.
CREATE FUNCTION take_jobs(b bundles, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM bundles WHERE id = b.id AND job_ids <@ ids;
    IF NOT FOUND THEN
        UPDATE bundles SET progress_at = clock_timestamp(),
                           job_ids = ARRAY(SELECT j FROM unnest(job_ids) AS j
                                           WHERE j <> ALL (ids))
        WHERE id = b.id;
    END IF;
END $$;

-- Jobs that failed only since their worker was lost three times are open again
-- for the result that comes late: the fence decides.
CREATE FUNCTION revive_jobs(campaign bigint, held_fence bigint, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    WITH revived AS (
        DELETE FROM job_ends e
        WHERE e.campaign_id = campaign AND e.job_id = ANY (ids) AND e.failure = 13
          AND e.fence = held_fence
        RETURNING e.*)
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence)
    SELECT campaign, j.solver_id, r.lost_state, r.rounds, j.position, ARRAY[r.job_id], r.strikes,
           true, held_fence
    FROM revived r JOIN jobs j ON j.campaign_id = campaign AND j.id = r.job_id;
    IF FOUND THEN
        UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done';
    END IF;
END $$;

-- The bundles that hold any of the jobs under this fence, locked, with only
-- those of the jobs among their job_ids.
CREATE FUNCTION held_bundles(campaign bigint, held_fence bigint, ids bigint[]) RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 1
SET search_path = skipjack, pg_temp SET enable_seqscan = off AS $$
DECLARE
    b bundles;
    seen integer := 0;
BEGIN
    FOR attempt IN 1..2 LOOP
        FOR b IN SELECT * FROM bundles
                 WHERE campaign_id = campaign AND fence = held_fence AND job_ids && ids
                 ORDER BY id FOR UPDATE
        LOOP
            IF NOT ids @> b.job_ids THEN
                b.job_ids := ARRAY(SELECT j FROM unnest(b.job_ids) AS j WHERE j = ANY (ids));
            END IF;
            seen := seen + cardinality(b.job_ids);
            RETURN NEXT b;
        END LOOP;
        EXIT WHEN seen > 0;
        PERFORM revive_jobs(campaign, held_fence, ids);
    END LOOP;
END $$;

-- Why none of the bundles holds the job under this fence.
CREATE FUNCTION refuse_job(campaign bigint, job bigint, held_fence bigint, wish text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    row job_rows;
BEGIN
    SELECT r.* INTO row FROM job_rows r JOIN campaigns c ON c.id = r.campaign_id
    WHERE r.campaign_id = campaign AND r.id = job;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001',
            MESSAGE = format('job %s does not exist any more', job);
    ELSIF row.state = 'cancelled' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format('job %s was cancelled', job);
    ELSIF row.fence <> held_fence THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ003',
            MESSAGE = format('job %s was claimed again: its fence is %s, this result has %s',
                             job, row.fence, held_fence);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'SJ002',
        MESSAGE = format('cannot %s of job %s: it is %s in round %s', wish, job, row.state,
                         row.round_no);
END $$;

-- ---- campaigns: time, ends ----

CREATE FUNCTION has_open_jobs(campaign bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    -- What lives longest stands last in each state's order: it is looked for from the end, where
    -- it is found at once however many rows came before it.
    SELECT EXISTS (
        SELECT 1 FROM unnest(ARRAY['ready', 'built', 'building', 'evaluating']::job_state[]) AS s
        CROSS JOIN LATERAL (SELECT b.id FROM bundles b WHERE b.campaign_id = campaign AND b.state = s
                            ORDER BY b.round_no DESC, b.position DESC LIMIT 1) AS last)
$$;

-- Adds working time; a campaign without an open job is done. The row is locked
-- before the look at the jobs, so of two last jobs the later one sees both; no
-- lock is taken while there are open ones, since commits would wait for each
-- other. Should two last ones miss each other, the next claim settles.
CREATE FUNCTION settle_campaign(campaign bigint, seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM add_spent(campaign, seconds);
    IF has_open_jobs(campaign) THEN
        RETURN;
    END IF;
    PERFORM 1 FROM campaigns WHERE id = campaign FOR NO KEY UPDATE;
    IF NOT has_open_jobs(campaign) THEN
        UPDATE campaigns SET state = 'done' WHERE id = campaign AND state IN ('active', 'paused');
    END IF;
END $$;

-- Ends jobs that no bundle holds any more: done, or failed with their
-- commonest failure when configs were tried and none was ever verified (0 and
-- 16, "slow", are verified). had_rounds: how many each had.
CREATE FUNCTION end_jobs(b bundles, ids bigint[], budget boolean, had_rounds integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, by_budget, fence)
    SELECT b.campaign_id, e.id, CASE WHEN coalesce(worst.failure, 0) = 0 THEN 'done'
                                     ELSE 'failed' END::job_state,
           had_rounds, coalesce(worst.failure, 0), worst.words, budget, b.fence
    FROM unnest(ids) AS e(id)
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT 1 FROM outcomes o WHERE o.campaign_id = b.campaign_id AND o.job_id = e.id
        AND o.number < had_rounds AND o.failures && ARRAY[0, 16]::smallint[])) AS v(verified)
    LEFT JOIN LATERAL (
        SELECT f.failure, min(f.detail)
        FROM round_rows r, unnest(r.failures, r.details) AS f(failure, detail)
        WHERE NOT v.verified AND r.campaign_id = b.campaign_id AND r.job_id = e.id
          AND r.number < had_rounds AND f.failure <> 15
        GROUP BY f.failure ORDER BY count(*) DESC, f.failure LIMIT 1
    ) AS worst(failure, words) ON true;
END $$;

-- Ends jobs with something verified, which need no look at what they had.
CREATE FUNCTION end_verified_jobs(b bundles, ids bigint[], budget boolean, had_rounds integer)
RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, by_budget, fence)
    SELECT b.campaign_id, job, 'done', had_rounds, 0, budget, b.fence FROM unnest(ids) AS job
$$;

CREATE FUNCTION drop_open_rounds(campaign bigint, ids bigint[], from_number integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    DELETE FROM rounds WHERE campaign_id = campaign AND job_id = ANY (ids) AND number >= from_number;
    DELETE FROM outcomes WHERE campaign_id = campaign AND job_id = ANY (ids)
                           AND number >= from_number;
END $$;

-- The rounds of a campaign whose budget is spent: what is past its first round
-- ends, what never had one still gets it.
CREATE FUNCTION end_spent_jobs(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    b bundles;
    ended boolean := false;
BEGIN
    FOR b IN SELECT * FROM bundles
             WHERE campaign_id = campaign AND state IN ('ready', 'built') AND round_no > 0
             FOR UPDATE SKIP LOCKED
    LOOP
        PERFORM take_jobs(b, b.job_ids);
        PERFORM drop_open_rounds(campaign, b.job_ids, b.round_no);
        PERFORM end_jobs(b, b.job_ids, true, b.round_no);
        ended := true;
    END LOOP;
    IF ended THEN
        PERFORM settle_campaign(campaign, 0);
    END IF;
END $$;

-- ---- waking idle workers ----

-- Pools of workers whose last claim found nothing: what they asked for, and
-- when they were woken since. A worker waits for its channel, and polls slowly.
CREATE TABLE idle_workers (
    worker_id   bigint NOT NULL REFERENCES workers ON DELETE CASCADE,
    build       boolean NOT NULL,
    campaign_id bigint NOT NULL,
    target      text,
    woken_at    timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (worker_id, build)
) WITH (fillfactor = 50);

-- Wakes a few workers that idle in this pool and that the campaign suits, each
-- through a channel of its own. One that was woken in vain is left alone for
-- five seconds, so that nobody is woken over and over for what it cannot take;
-- a dead one would never answer. Commits that notify wait for each other, so
-- nothing is sent where nobody idles. Called last in a transaction: its locks
-- are waited for by the claims of those it wakes, and it waits for nobody.
CREATE FUNCTION wake_workers(campaign bigint, for_build boolean, most integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    told integer;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM idle_workers i WHERE i.build = for_build) THEN
        RETURN;
    END IF;
    WITH picked AS MATERIALIZED (
        SELECT i.worker_id
        FROM idle_workers i
        JOIN workers w ON w.id = i.worker_id AND w.ended_at IS NULL
             AND w.beat_at > clock_timestamp() - interval '2 minutes'
        JOIN campaigns c ON c.id = campaign AND c.state = 'active'
        WHERE i.build = for_build AND i.woken_at < clock_timestamp() - interval '5 seconds'
          AND i.campaign_id IN (0, campaign) AND (i.target IS NULL OR i.target = c.target)
          AND (c.pool = '' OR c.pool = ANY (w.labels)) AND stack_matches(c.stack, w.stack)
        LIMIT most FOR UPDATE OF i SKIP LOCKED
    ), woken AS (
        UPDATE idle_workers i SET woken_at = clock_timestamp() FROM picked p
        WHERE i.worker_id = p.worker_id AND i.build = for_build
        RETURNING i.worker_id)
    SELECT count(pg_notify('skipjack_worker_' || worker_id, '')) INTO told FROM woken;
END $$;

-- After a claim: one that found nothing leaves its worker idle; one that took
-- as much as it could leaves more behind, so it wakes two others, and each of
-- them two: many are at work soon, and never all at once at the door.
CREATE FUNCTION note_claim(claimer bigint, for_build boolean, wanted_campaign bigint,
                           wanted_target text, claimed_campaign bigint, took_all boolean)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF claimed_campaign IS NULL THEN
        INSERT INTO idle_workers VALUES (claimer, for_build, wanted_campaign, wanted_target)
        ON CONFLICT DO NOTHING;
        RETURN;
    END IF;
    DELETE FROM idle_workers WHERE worker_id = claimer AND build = for_build;
    IF NOT took_all THEN
        PERFORM wake_workers(claimed_campaign, for_build, 2);
    END IF;
END $$;

-- ---- claiming ----

-- Claims up to `batch` jobs of one campaign. Bundles are looked at in order
-- from a place on that the caller had before (so it need not pass again what
-- was there once), and a bundle that cost a worker already is claimed alone,
-- so that what kills workers takes nobody with it.
CREATE FUNCTION claim_bundles(claimer bigint, campaign bigint, from_state job_state,
                              solver_ids bigint[], last_round integer, batch integer,
                              lease double precision, token bigint, from_round integer,
                              from_position bigint)
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 8
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
    to_state job_state := CASE from_state WHEN 'ready' THEN 'building' ELSE 'evaluating' END;
    b bundles;
    taken bundles;
    wanted integer := batch;
BEGIN
    FOR b IN SELECT * FROM bundles
             WHERE campaign_id = campaign AND state = from_state
               AND (round_no, position) >= (from_round, from_position)
               AND round_no <= last_round AND solver_id = ANY (solver_ids)
             ORDER BY round_no, position LIMIT batch FOR UPDATE SKIP LOCKED
    LOOP
        EXIT WHEN b.strikes > 0 AND wanted < batch;
        IF b.strikes > 0 THEN
            wanted := 1;
        END IF;
        IF cardinality(b.job_ids) <= wanted THEN
            UPDATE bundles
            SET state = to_state, fence = nextval('fences'), worker_id = claimer,
                claim_token = token, claimed_at = clock_timestamp(),
                progress_at = clock_timestamp(), lease_seconds = lease
            WHERE id = b.id RETURNING * INTO taken;
        ELSE
            UPDATE bundles SET job_ids = b.job_ids[wanted + 1:] WHERE id = b.id;
            INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids,
                                 strikes, is_partial, fence, worker_id, claim_token, claimed_at, progress_at,
                                 lease_seconds)
            VALUES (campaign, b.solver_id, to_state, b.round_no, b.position,
                    b.job_ids[1:wanted], b.strikes, b.is_partial, nextval('fences'), claimer, token,
                    clock_timestamp(), clock_timestamp(), lease)
            RETURNING * INTO taken;
        END IF;
        RETURN NEXT taken;
        wanted := wanted - cardinality(taken.job_ids);
        EXIT WHEN wanted <= 0;
    END LOOP;
END $$;

-- What a worker has to know of the jobs of a bundle it claimed: the configs
-- taken out and the stored rounds; for evaluating also the one that is open,
-- and the problem's best time in the campaign so far (one look into results a
-- job, not a join: planned before statistics know how the tables grew, a join
-- may go through all of them).
CREATE FUNCTION claimed_jobs(b bundles, build boolean)
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
                   (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.number) FROM round_rows r
                    WHERE r.campaign_id = b.campaign_id AND r.job_id = j.id
                    AND r.number < round_end)
               WHEN round_end = 1 THEN
                   (SELECT jsonb_build_array(to_jsonb(r)) FROM rounds r
                    WHERE r.campaign_id = b.campaign_id AND r.job_id = j.id AND r.number = 0) END
        FROM jobs j WHERE j.campaign_id = b.campaign_id AND j.id = ANY (b.job_ids)
        ORDER BY j.position;
END $$;

-- Claims jobs of one active campaign that has some for this worker: of those
-- with the highest priority the one with the least working time for its share.
-- known_campaign, from_round, from_position: where the last claim from this
-- pool ended, which is where this one begins.
CREATE FUNCTION claim_jobs(claimer bigint, build boolean, wanted_campaign bigint,
                           wanted_target text, carried text[], batch integer,
                           lease double precision, token bigint, known_campaign bigint,
                           from_round integer, from_position bigint)
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 8 SET search_path = skipjack, pg_temp AS $$
DECLARE
    from_state job_state := CASE WHEN build THEN 'ready' ELSE 'built' END;
    has_stack text;
    has_labels text[];
    several boolean := (SELECT count(*) > 1 FROM campaigns WHERE state = 'active');
    solver_ids bigint[];
    c campaigns;
    b bundles;
    claimed_campaign bigint;
    last_round integer;
    wanted integer := batch;
BEGIN
    UPDATE workers SET beat_at = clock_timestamp(), ended_at = NULL
    WHERE id = claimer RETURNING stack, labels INTO has_stack, has_labels;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', claimer);
    END IF;
    SELECT array_agg(id) INTO solver_ids FROM solvers
    WHERE carried IS NULL OR name || ':' || revision || ':' || hash = ANY (carried);
    FOR c IN SELECT * FROM campaigns
             WHERE state = 'active' AND (wanted_campaign = 0 OR id = wanted_campaign)
               AND (wanted_target IS NULL OR target = wanted_target)
               AND (pool = '' OR pool = ANY (has_labels)) AND stack_matches(stack, has_stack)
             ORDER BY priority DESC, CASE WHEN several THEN spent_seconds(id) / share END, id
    LOOP
        last_round := 2147483647;
        IF c.budget_seconds > 0 AND spent_seconds(c.id) >= c.budget_seconds THEN
            PERFORM end_spent_jobs(c.id);
            last_round := 0;
        END IF;
        FOR b IN SELECT * FROM claim_bundles(claimer, c.id, from_state, solver_ids, last_round,
                                             batch, lease, token,
                                             CASE c.id WHEN known_campaign THEN from_round ELSE 0 END,
                                             CASE c.id WHEN known_campaign THEN from_position ELSE 0 END)
        LOOP
            wanted := wanted - cardinality(b.job_ids);
            RETURN NEXT b;
        END LOOP;
        IF wanted = batch AND c.id = known_campaign THEN
            FOR b IN SELECT * FROM claim_bundles(claimer, c.id, from_state, solver_ids, last_round,
                                                 batch, lease, token, 0, 0)
            LOOP
                wanted := wanted - cardinality(b.job_ids);
                RETURN NEXT b;
            END LOOP;
        END IF;
        claimed_campaign := CASE WHEN wanted < batch THEN c.id END;
        EXIT WHEN claimed_campaign IS NOT NULL;
        IF NOT has_open_jobs(c.id) THEN
            PERFORM settle_campaign(c.id, 0);
        END IF;
    END LOOP;
    PERFORM note_claim(claimer, build, wanted_campaign, wanted_target, claimed_campaign,
                       wanted > 0);
END $$;

-- ---- giving back, losing ----

-- Gives a bundle back as it was, without a strike.
CREATE FUNCTION release_bundles(ids bigint[]) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE bundles SET state = CASE state WHEN 'building' THEN 'ready' ELSE 'built' END::job_state,
                       worker_id = NULL, claim_token = NULL
    WHERE id = ANY (ids) AND worker_id IS NOT NULL
$$;

-- Somebody else may take what was given back or lost, of each campaign and pool.
CREATE FUNCTION wake_for(campaign_ids bigint[]) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    SELECT wake_workers(id, for_build, 1)
    FROM (SELECT DISTINCT c FROM unnest(campaign_ids) AS c) AS given(id),
         (VALUES (true), (false)) AS pools(for_build)
$$;

-- Bundles of a claim whose answer was lost. The worker's row is locked first,
-- which waits for a claim that is still under way behind a broken connection.
CREATE FUNCTION release_claim(claimer bigint, token bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    ids bigint[];
BEGIN
    PERFORM 1 FROM workers WHERE id = claimer FOR UPDATE;
    ids := ARRAY(SELECT b.id FROM bundles b WHERE b.worker_id = claimer AND b.claim_token = token);
    PERFORM release_bundles(ids);
    PERFORM wake_for(ARRAY(SELECT b.campaign_id FROM bundles b WHERE b.id = ANY (ids)));
END $$;

-- Takes a locked bundle from a worker that was lost: a strike for each job,
-- which go on one by one, and the third since the last stored round makes a
-- failure (13, worker lost).
CREATE FUNCTION lose_bundle(b bundles) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    back job_state := CASE b.state WHEN 'building' THEN 'ready' ELSE 'built' END;
BEGIN
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    SELECT 'lease lost', b.campaign_id, job, b.worker_id,
           format('%s, strike %s', b.state, b.strikes + 1)
    FROM unnest(b.job_ids) AS job;
    DELETE FROM bundles WHERE id = b.id;
    IF b.strikes < 2 THEN
        PERFORM put_jobs(b, ARRAY[job], back, b.round_no, b.strikes + 1)
        FROM unnest(b.job_ids) AS job;
        RETURN;
    END IF;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state)
    SELECT b.campaign_id, job, 'failed', b.round_no, 13,
           format('worker lost three times, last in state %s', b.state), b.strikes + 1, b.fence, back
    FROM unnest(b.job_ids) AS job;
    PERFORM settle_campaign(b.campaign_id, 0);
END $$;

-- Bundles of workers that were not heard of for too long are lost, and so are
-- those without progress for four hours, whoever beats for them. Nobody can
-- beat while the server is down: all leases begin anew with it.
CREATE FUNCTION lose_expired() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    b bundles;
    touched bigint[] := '{}';
BEGIN
    FOR b IN SELECT h.* FROM bundles h JOIN workers w ON w.id = h.worker_id
             WHERE h.worker_id IS NOT NULL
               AND (greatest(w.beat_at, pg_postmaster_start_time())
                        + h.lease_seconds * interval '1 second' < clock_timestamp()
                    OR h.progress_at + interval '4 hours' < clock_timestamp())
             ORDER BY h.id FOR UPDATE OF h SKIP LOCKED
    LOOP
        PERFORM lose_bundle(b);
        touched := touched || b.campaign_id;
    END LOOP;
    PERFORM wake_for(touched);
END $$;

-- When leases were last looked through: one of the farm's beats a second does,
-- however many nodes beat.
CREATE TABLE lease_watch (looked_at timestamptz NOT NULL);
INSERT INTO lease_watch VALUES ('-infinity');

-- The worker lives; of all that do, one a second looks for leases that ended.
-- Tells whether the worker was asked to drain.
CREATE FUNCTION heartbeat(beating bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    drains boolean;
BEGIN
    UPDATE workers SET beat_at = clock_timestamp(), ended_at = NULL WHERE id = beating
    RETURNING drain INTO drains;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', beating);
    END IF;
    PERFORM 1 FROM lease_watch WHERE looked_at < clock_timestamp() - interval '1 second'
    FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE lease_watch SET looked_at = clock_timestamp();
        PERFORM lose_expired();
    END IF;
    RETURN drains;
END $$;

-- Ends a worker; was_lost tells whether its leases cost a strike.
CREATE FUNCTION end_worker(ending bigint, was_lost boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    b bundles;
    touched bigint[] := '{}';
BEGIN
    UPDATE workers SET ended_at = clock_timestamp() WHERE id = ending;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', ending);
    END IF;
    DELETE FROM idle_workers WHERE worker_id = ending;
    FOR b IN SELECT * FROM bundles WHERE worker_id = ending ORDER BY id FOR UPDATE
    LOOP
        IF was_lost THEN
            PERFORM lose_bundle(b);
        ELSE
            PERFORM release_bundles(ARRAY[b.id]);
        END IF;
        touched := touched || b.campaign_id;
    END LOOP;
    PERFORM wake_for(touched);
END $$;

-- ---- handing in ----

-- An item of built or evaluated rounds: {"job", "fence", "round": {...}, ...}.
-- fences and their jobs, for one lock each.
CREATE FUNCTION fences_of(items jsonb)
RETURNS TABLE (held_fence bigint, ids bigint[])
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT i.fence, array_agg(i.job ORDER BY i.job)
    FROM jsonb_to_recordset(items) AS i(job bigint, fence bigint) GROUP BY i.fence ORDER BY i.fence
$$;

-- Of jobs that no bundle holds under the fence all must have been stored under
-- it already, up to this round: then this is a repetition.
CREATE FUNCTION check_stored(campaign bigint, held_fence bigint, ids bigint[], items jsonb,
                             of_outcomes boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    job bigint;
BEGIN
    FOR job IN
        SELECT i.job FROM jsonb_to_recordset(items) AS i(job bigint, round jsonb)
        WHERE i.job = ANY (ids)
          AND NOT EXISTS (SELECT 1 FROM rounds r
                          WHERE NOT of_outcomes AND r.campaign_id = campaign AND r.job_id = i.job
                            AND r.number = (i.round->>'number')::integer AND r.fence = held_fence)
          AND NOT EXISTS (SELECT 1 FROM outcomes o
                          WHERE of_outcomes AND o.campaign_id = campaign AND o.job_id = i.job
                            AND o.number = (i.round->>'number')::integer AND o.fence = held_fence
                            AND NOT o.is_open)
    LOOP
        PERFORM refuse_job(campaign, job, held_fence, 'store the round');
    END LOOP;
END $$;

-- Built rounds. Repeating it changes nothing.
CREATE FUNCTION store_built(campaign bigint, items jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    build_only boolean;
    f record;
    b bundles;
    stored integer;
    missing bigint[];
BEGIN
    SELECT c.build_only INTO build_only FROM campaigns c WHERE c.id = campaign;
    FOR f IN SELECT * FROM fences_of(items) LOOP
        missing := f.ids;
        FOR b IN SELECT * FROM held_bundles(campaign, f.held_fence, f.ids) LOOP
            CONTINUE WHEN b.state = 'built';
            IF b.state = 'evaluating' THEN
                PERFORM refuse_job(campaign, b.job_ids[1], b.fence, 'store the built round');
            END IF;
            INSERT INTO rounds
            SELECT campaign, i.job, b.round_no, b.fence, r.stack, r.config_counts, r.config_values,
                   r.kernel_keys, r.failures, r.details, r.build_seconds, r.kernels, r.evaluated,
                   r.pending, r.total_build_seconds
            FROM jsonb_to_recordset(items) AS i(job bigint, fence bigint, round jsonb),
                 jsonb_populate_record(NULL::rounds, i.round) AS r
            WHERE i.fence = b.fence AND i.job = ANY (b.job_ids) AND r.number = b.round_no;
            GET DIAGNOSTICS stored = ROW_COUNT;
            IF stored <> cardinality(b.job_ids) THEN
                PERFORM refuse_job(campaign, b.job_ids[1], b.fence, 'store another round');
            END IF;
            PERFORM take_jobs(b, b.job_ids);
            IF build_only THEN
                INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, fence)
                SELECT campaign, job, 'done', b.round_no + 1, 0, b.fence
                FROM unnest(b.job_ids) AS job;
            ELSE
                PERFORM put_jobs(b, b.job_ids, 'built', b.round_no, b.strikes);
            END IF;
            missing := ARRAY(SELECT m FROM unnest(missing) AS m WHERE m <> ALL (b.job_ids));
        END LOOP;
        IF missing <> '{}' THEN
            PERFORM check_stored(campaign, f.held_fence, missing, items, false);
        END IF;
    END LOOP;
    IF build_only THEN
        PERFORM settle_campaign(campaign, 0);
    ELSE
        PERFORM wake_workers(campaign, false, 2);
    END IF;
END $$;

CREATE FUNCTION forget_outcomes(b bundles) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    DELETE FROM outcomes WHERE campaign_id = b.campaign_id AND job_id = ANY (b.job_ids)
                           AND number = b.round_no;
END $$;

-- Writes outcomes of rounds that the bundle's jobs have open.
CREATE FUNCTION write_outcomes(b bundles, items jsonb, open boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    stored integer;
BEGIN
    IF b.is_partial THEN
        PERFORM forget_outcomes(b);
    END IF;
    INSERT INTO outcomes
    SELECT b.campaign_id, i.job, b.round_no, open, b.fence, o.stack, o.drift, o.failures, o.details,
           o.n, o.min_ms, o.median_ms, o.spread, o.error, o.eval_seconds, o.evaluated, o.pending,
           o.total_eval_seconds
    FROM jsonb_to_recordset(items) AS i(job bigint, fence bigint, round jsonb),
         jsonb_populate_record(NULL::outcomes, i.round) AS o
    WHERE i.fence = b.fence AND i.job = ANY (b.job_ids) AND o.number = b.round_no;
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored <> cardinality(b.job_ids) THEN
        PERFORM refuse_job(b.campaign_id, b.job_ids[1], b.fence, 'store another round');
    END IF;
END $$;

-- Outcomes known so far of a round that goes on. Late ones change nothing.
CREATE FUNCTION store_partial(campaign bigint, items jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    f record;
    b bundles;
    missing bigint[];
BEGIN
    FOR f IN SELECT * FROM fences_of(items) LOOP
        missing := f.ids;
        FOR b IN SELECT * FROM held_bundles(campaign, f.held_fence, f.ids) LOOP
            IF b.state NOT IN ('evaluating', 'built') THEN
                CONTINUE;
            END IF;
            PERFORM write_outcomes(b, items, true);
            UPDATE bundles SET progress_at = clock_timestamp(), is_partial = true WHERE id = b.id;
            missing := ARRAY(SELECT m FROM unnest(missing) AS m WHERE m <> ALL (b.job_ids));
        END LOOP;
        IF missing <> '{}' THEN
            PERFORM check_stored(campaign, f.held_fence, missing, items, true);
        END IF;
    END LOOP;
END $$;

-- The results kept so far, which are taken away.
CREATE FUNCTION former_results(b bundles) RETURNS jsonb
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    former jsonb;
BEGIN
    WITH gone AS (
        DELETE FROM results r WHERE r.campaign_id = b.campaign_id AND r.job_id = ANY (b.job_ids)
        RETURNING r.*)
    SELECT jsonb_agg(to_jsonb(g)) INTO former FROM gone g;
    RETURN coalesce(former, '[]');
END $$;

-- Replaces the kept results. One that was kept before with the same times
-- keeps the stack it was measured under.
CREATE FUNCTION replace_results(b bundles, items jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    former jsonb := CASE WHEN b.round_no > 0 THEN former_results(b) ELSE '[]' END;
BEGIN
    INSERT INTO results
    SELECT b.campaign_id, i.job, k.rank, k.config, k.config_text, k.kernel_keys,
           CASE WHEN b.round_no > 0 THEN
               coalesce((SELECT o.stack FROM jsonb_populate_recordset(NULL::results, former) AS o
                         WHERE o.job_id = i.job AND o.config = k.config
                         AND o.median_ms = k.median_ms LIMIT 1), i.round->>'stack')
           ELSE i.round->>'stack' END,
           k.n, k.min_ms, k.median_ms, k.spread, k.error, k.build_seconds, k.eval_seconds,
           k.workspace_bytes, k.flops, k.is_default
    FROM jsonb_to_recordset(items) AS i(job bigint, fence bigint, round jsonb, kept jsonb),
         jsonb_populate_recordset(NULL::results, i.kept) AS k
    WHERE i.fence = b.fence AND i.job = ANY (b.job_ids);
END $$;

-- What becomes of a bundle's jobs after a round: "more" go on unless the time
-- is spent. A job whose round kept a result has something verified.
CREATE FUNCTION move_on(b bundles, items jsonb, spent boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    f record;
BEGIN
    FOR f IN
        SELECT i.more AND NOT spent AS goes_on, i.more AS wishes_more,
               jsonb_array_length(i.kept) > 0 AS verified, array_agg(i.job) AS ids
        FROM jsonb_to_recordset(items) AS i(job bigint, fence bigint, more boolean, kept jsonb)
        WHERE i.fence = b.fence AND i.job = ANY (b.job_ids)
        GROUP BY i.more, jsonb_array_length(i.kept) > 0
    LOOP
        IF f.goes_on THEN
            PERFORM put_jobs(b, f.ids, 'ready', b.round_no + 1, 0);
        ELSIF f.verified THEN
            PERFORM end_verified_jobs(b, f.ids, f.wishes_more, b.round_no + 1);
        ELSE
            PERFORM end_jobs(b, f.ids, f.wishes_more, b.round_no + 1);
        END IF;
    END LOOP;
END $$;

-- Evaluated rounds; an item also has "kept" (rows of results), "more" and
-- "seconds". Repeating it changes nothing.
CREATE FUNCTION store_rounds(campaign bigint, items jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    f record;
    b bundles;
    budget double precision;
    worked double precision := 0;
    missing bigint[];
BEGIN
    SELECT c.budget_seconds INTO budget FROM campaigns c WHERE c.id = campaign;
    FOR f IN SELECT * FROM fences_of(items) LOOP
        missing := f.ids;
        FOR b IN SELECT * FROM held_bundles(campaign, f.held_fence, f.ids) LOOP
            CONTINUE WHEN b.state = 'ready';
            IF b.state = 'building' THEN
                PERFORM refuse_job(campaign, b.job_ids[1], b.fence, 'store the round');
            END IF;
            PERFORM write_outcomes(b, items, false);
            PERFORM replace_results(b, items);
            PERFORM take_jobs(b, b.job_ids);
            worked := worked + (SELECT sum(i.seconds)
                                FROM jsonb_to_recordset(items) AS i(job bigint,
                                                                    seconds double precision)
                                WHERE i.job = ANY (b.job_ids));
            PERFORM move_on(b, items,
                            budget > 0 AND spent_seconds(campaign) + worked >= budget);
            missing := ARRAY(SELECT m FROM unnest(missing) AS m WHERE m <> ALL (b.job_ids));
        END LOOP;
        IF missing <> '{}' THEN
            PERFORM check_stored(campaign, f.held_fence, missing, items, true);
        END IF;
    END LOOP;
    PERFORM settle_campaign(campaign, worked);
    IF items @? '$[*] ? (@.more == true)' THEN
        PERFORM wake_workers(campaign, true, 2);
    END IF;
END $$;

-- The one bundle that holds the job under the fence, with this job alone;
-- NULL where it ended under this fence already.
CREATE FUNCTION held_job(campaign bigint, job bigint, held_fence bigint, wish text) RETURNS bundles
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles;
BEGIN
    SELECT * INTO b FROM held_bundles(campaign, held_fence, ARRAY[job]);
    IF NOT FOUND AND NOT EXISTS (SELECT 1 FROM job_ends e WHERE e.campaign_id = campaign
                                 AND e.job_id = job AND e.fence = held_fence) THEN
        PERFORM refuse_job(campaign, job, held_fence, wish);
    END IF;
    RETURN b;
END $$;

CREATE FUNCTION fail_job(campaign bigint, job bigint, held_fence bigint, why smallint, words text)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'store the failure');
BEGIN
    IF b.id IS NULL THEN
        IF EXISTS (SELECT 1 FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = job
                   AND e.state = 'done') THEN
            PERFORM refuse_job(campaign, job, held_fence, 'store the failure');
        END IF;
        RETURN;
    END IF;
    PERFORM take_jobs(b, b.job_ids);
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state)
    VALUES (campaign, job, 'failed', b.round_no, why, words, b.strikes, b.fence,
            CASE WHEN why = 13 THEN CASE WHEN b.state IN ('ready', 'building') THEN 'ready'
                                         ELSE 'built' END END::job_state);
    PERFORM settle_campaign(campaign, 0);
END $$;

CREATE FUNCTION finish_job(campaign bigint, job bigint, held_fence bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'store the end');
BEGIN
    IF b.id IS NULL THEN
        RETURN;
    ELSIF b.state NOT IN ('building', 'ready') THEN
        PERFORM refuse_job(campaign, job, held_fence, 'store the end');
    END IF;
    PERFORM take_jobs(b, b.job_ids);
    PERFORM end_jobs(b, b.job_ids, false, b.round_no);
    PERFORM settle_campaign(campaign, 0);
END $$;

-- Gives one job of a bundle back without a strike.
CREATE FUNCTION release_job(campaign bigint, job bigint, held_fence bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'give back');
BEGIN
    IF b.worker_id IS NOT NULL THEN
        PERFORM take_jobs(b, b.job_ids);
        PERFORM put_jobs(b, b.job_ids,
                         CASE b.state WHEN 'building' THEN 'ready' ELSE 'built' END::job_state,
                         b.round_no, b.strikes);
        PERFORM wake_for(ARRAY[campaign]);
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
