-- A transaction that one worker's login left open stopped the farm: BEGIN; heartbeat() kept all leases from
-- ending, known_kernels() all builds, report_worker() all reports, and an advisory lock (any login takes
-- any) upkeep, migrations and new campaigns. Now
-- * what many workers write is written without waiting: rows that somebody else holds are left to him;
-- * what one program at a time may do is a row that workers have no right to (turns), and no advisory lock;
-- * a worker's session that leaves a transaction open is ended with all of its login, by the beats of others
--   and by whoever waited for a lock (watch_sessions()). Locks are given out in turn, so a wait that is longer than
--   a transaction may be open is a wait for one that was open too long;
-- * status names who blocks (blockers()).
-- oldest program: 0062

-- ---- what many write ----

-- One beat a second, of the whole farm, looks for leases that ended. open_seconds: for so long a worker's
-- session may keep a transaction open.
ALTER TABLE lease_watch ADD COLUMN watched_at timestamptz NOT NULL DEFAULT '-infinity',
                        ADD COLUMN open_seconds double precision NOT NULL DEFAULT 10 CHECK (open_seconds > 0);

-- The worker lives; one of the farm's beats a second looks for leases that ended. A session that has this
-- turn and does not end its transaction keeps nobody from looking: after ten seconds a fifth of the beats
-- look without the turn. Returns whether the worker was asked to drain.
CREATE OR REPLACE FUNCTION heartbeat(beating bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    drains boolean;
    looked timestamptz;
    watches boolean := true;
BEGIN
    UPDATE workers SET beat_at = clock_timestamp(), ended_at = NULL WHERE id = beating
    RETURNING drain INTO drains;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', beating);
    END IF;
    SELECT l.looked_at INTO looked FROM lease_watch l;
    IF looked > clock_timestamp() - interval '1 second' THEN
        RETURN drains;
    END IF;
    SELECT l.watched_at < clock_timestamp() - interval '5 seconds' INTO watches FROM lease_watch l
    WHERE l.looked_at < clock_timestamp() - interval '1 second' FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE lease_watch SET looked_at = clock_timestamp(),
            watched_at = CASE WHEN watches THEN clock_timestamp() ELSE watched_at END;
    ELSIF looked > clock_timestamp() - interval '10 seconds' OR random() > 0.2 THEN
        RETURN drains;
    END IF;
    IF watches IS NOT FALSE THEN
        PERFORM watch_sessions();
    END IF;
    PERFORM lose_expired();
    RETURN drains;
END $$;

-- Working time in parts, so that sessions seldom meet; one that meets another adds a part.
ALTER TABLE campaign_spent DROP CONSTRAINT campaign_spent_pkey;
CREATE INDEX campaign_spent_parts ON campaign_spent (campaign_id, part);

CREATE OR REPLACE FUNCTION add_spent(campaign bigint, more_seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    own_part CONSTANT integer := pg_backend_pid() % 256;
    free tid;
BEGIN
    IF coalesce(more_seconds, 0) = 0 THEN
        RETURN;
    END IF;
    SELECT s.ctid INTO free FROM campaign_spent s
    WHERE s.campaign_id = campaign AND s.part = own_part LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE campaign_spent s SET seconds = s.seconds + more_seconds WHERE s.ctid = free;
    ELSE
        INSERT INTO campaign_spent (campaign_id, part, seconds)
        SELECT c.id, own_part, more_seconds FROM campaigns c WHERE c.id = campaign;
    END IF;
END $$;

-- Holds the campaign's row for its end. Somebody who holds it for longer than a second leaves the end to
-- the next claim.
CREATE FUNCTION hold_campaign_end(campaign bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET lock_timeout = '1s' AS $$
BEGIN
    PERFORM 1 FROM campaigns WHERE id = campaign FOR NO KEY UPDATE;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Adds working time; a campaign without an open job is done. The row is locked
-- before the look at the jobs, so of two last jobs the later one sees both; no
-- lock is taken while there are open ones, since commits would wait for each
-- other. Should two last ones miss each other, the next claim settles.
CREATE OR REPLACE FUNCTION settle_campaign(campaign bigint, seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM add_spent(campaign, seconds);
    IF has_open_jobs(campaign) THEN
        RETURN;
    END IF;
    IF hold_campaign_end(campaign) AND NOT has_open_jobs(campaign) THEN
        UPDATE campaigns SET state = 'done' WHERE id = campaign AND state IN ('active', 'paused');
    END IF;
END $$;

-- Rows that whoever wakes workers holds just now stay: those are woken in vain, once.
CREATE FUNCTION idle_no_more(ending bigint, for_build boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM idle_workers i WHERE i.worker_id = ending AND i.build = for_build) THEN
        DELETE FROM idle_workers i WHERE i.ctid = ANY (ARRAY(
            SELECT o.ctid FROM idle_workers o WHERE o.worker_id = ending AND o.build = for_build
            FOR UPDATE SKIP LOCKED));
    END IF;
END $$;

-- After a claim: one that found nothing leaves its worker idle; one that took
-- as much as it could leaves more behind, so it wakes two others, and each of
-- them two: many are at work soon, and never all at once at the door.
CREATE OR REPLACE FUNCTION note_claim(claimer bigint, for_build boolean, wanted_campaign bigint,
                                      wanted_target text, claimed_campaign bigint,
                                      took_all boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF claimed_campaign IS NULL THEN
        IF NOT EXISTS (SELECT 1 FROM idle_workers i
                       WHERE i.worker_id = claimer AND i.build = for_build) THEN
            INSERT INTO idle_workers VALUES (claimer, for_build, wanted_campaign, wanted_target)
            ON CONFLICT DO NOTHING;
        END IF;
        RETURN;
    END IF;
    PERFORM idle_no_more(claimer, for_build);
    IF NOT took_all THEN
        PERFORM wake_workers(claimed_campaign, for_build, 2);
    END IF;
END $$;

-- Ends a worker; was_lost tells whether its leases cost a strike.
CREATE OR REPLACE FUNCTION end_worker(ending bigint, was_lost boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    b bundles;
    touched bigint[] := '{}';
BEGIN
    UPDATE workers SET ended_at = clock_timestamp() WHERE id = ending;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', ending);
    END IF;
    PERFORM idle_no_more(ending, true), idle_no_more(ending, false);
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

-- Kernels with code, or that do not compile, among those asked for; each was asked for now. A
-- kernel that another session notes at the same time is returned without being noted. One that upkeep is
-- about to drop (it alone holds rows against key locks) is not returned.
CREATE FUNCTION ask_for_kernels(wanted text[]) RETURNS SETOF kernels
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    noted text[];
    others text[] := '{}';
BEGIN
    noted := ARRAY(SELECT k.key FROM kernels k
                   WHERE k.key = ANY (wanted) AND (k.code_place IS NOT NULL OR k.failure = 2)
                   FOR NO KEY UPDATE SKIP LOCKED);
    UPDATE kernels k SET used_at = clock_timestamp() WHERE k.key = ANY (noted);
    IF cardinality(noted) < cardinality(wanted) THEN
        others := ARRAY(SELECT k.key FROM kernels k
                        WHERE k.key = ANY (wanted) AND k.key <> ALL (noted)
                          AND (k.code_place IS NOT NULL OR k.failure = 2)
                          AND k.used_at > clock_timestamp() - interval '30 minutes'
                        FOR KEY SHARE SKIP LOCKED);
    END IF;
    RETURN QUERY SELECT * FROM kernels k WHERE k.key = ANY (noted || others);
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.known_kernels(keys jsonb) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT kernel_json(k) FROM ask_for_kernels(ARRAY(SELECT jsonb_array_elements_text(keys))) AS k
$$;

CREATE OR REPLACE FUNCTION skipjack_work.judge_kernels(its_arch text) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT kernel_json(k) FROM ask_for_kernels(ARRAY(
        SELECT j.key FROM kernels j
        WHERE j.file = 'judge.cl' AND j.arch = its_arch AND j.code_place IS NOT NULL
          AND j.failure = 0)) AS k
$$;

CREATE OR REPLACE FUNCTION skipjack_work.proof_kernels(its_arch text) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT kernel_json(k) FROM ask_for_kernels(ARRAY(
        SELECT p.key FROM kernels p
        WHERE p.file = 'conv_direct_naive.cl' AND p.entry = 'conv_naive_f' AND p.arch = its_arch
          AND p.code_place IS NOT NULL AND p.failure = 0)) AS k
$$;

-- Sums over all workers: about one row in ten seconds, for an hour.
ALTER TABLE farm_samples DROP CONSTRAINT farm_samples_pkey;
CREATE INDEX farm_samples_at ON farm_samples (at);

-- Notes a worker's counts. The first report of ten seconds takes the sample; reports that do not see each
-- other's sample take the same one twice, which does no harm.
CREATE OR REPLACE FUNCTION report_worker(reporting bigint, its_counts jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    bin timestamptz := date_bin('10 seconds', clock_timestamp(), 'epoch');
BEGIN
    UPDATE workers SET counts = its_counts WHERE id = reporting;
    IF EXISTS (SELECT 1 FROM farm_samples WHERE at = bin) THEN
        RETURN;
    END IF;
    INSERT INTO farm_samples
    SELECT bin, coalesce(sum((counts->>'jobs')::double precision), 0),
           coalesce(sum((counts->>'configs')::double precision), 0),
           coalesce(sum((counts->>'kernels')::double precision), 0)
    FROM workers;
    DELETE FROM farm_samples s WHERE s.ctid = ANY (ARRAY(
        SELECT o.ctid FROM farm_samples o WHERE o.at < bin - interval '1 hour'
        FOR UPDATE SKIP LOCKED));
END $$;

-- A session that stores code holds the table's weak lock until its transaction ends. A session that changes
-- the place holds the table alone, so no call under way still goes by the former place. It waits for a
-- second at a time, since sessions that store wait behind it.
CREATE FUNCTION hold_blob_place() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET lock_timeout = '1s' AS
$$ BEGIN LOCK TABLE blob_places IN EXCLUSIVE MODE; END $$;

CREATE OR REPLACE FUNCTION lock_blob_place(alone boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF alone THEN
        PERFORM hold_blob_place();
    ELSE
        LOCK TABLE blob_places IN ROW EXCLUSIVE MODE;
    END IF;
END $$;

-- ---- campaigns ----

-- Its row is held as weakly as the change allows: a claim that is under way refers to it.
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
    IF verb = 'drop' THEN
        SELECT state INTO now_state FROM campaigns WHERE id = campaign FOR UPDATE;
    ELSE
        SELECT state INTO now_state FROM campaigns WHERE id = campaign FOR NO KEY UPDATE;
    END IF;
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

CREATE OR REPLACE FUNCTION hold_remeasured(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    c campaigns;
BEGIN
    SELECT * INTO c FROM campaigns k WHERE k.id = campaign FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF c.state = 'cancelled' OR c.build_only OR c.strategy = 'foreign'
          OR c.deadline <= clock_timestamp() THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'campaign %s cannot be measured again: %s', campaign,
            CASE WHEN c.build_only THEN 'it was only built'
                 WHEN c.strategy = 'foreign' THEN 'somebody else measured it'
                 WHEN c.state = 'cancelled' THEN 'it is cancelled'
                 ELSE 'its deadline has passed, campaign set --deadline gives it a later one' END);
    END IF;
END $$;

-- The campaign's row is held for jobs alone that the worker itself failed: the row keeps others from changing and
-- ending the campaign.
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
                     AND e.failure IN (7, 8) AND (mine IS NULL OR e.claimed_by = ANY (mine))) THEN
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

-- ---- one at a time ----

-- Work that one session at a time does, and the session that does it. A turn ends with its session.
CREATE TABLE turns (
    name          text PRIMARY KEY,
    pid           integer NOT NULL,
    session_since timestamptz,
    since         timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION take_turn(its_name text) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    taker integer;
BEGIN
    DELETE FROM turns t
    WHERE t.name = its_name AND NOT EXISTS (
        SELECT 1 FROM pg_stat_activity a
        WHERE a.pid = t.pid AND coalesce(a.backend_start = t.session_since, true));
    INSERT INTO turns AS t (name, pid, session_since)
    SELECT its_name, a.pid, a.backend_start FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()
    ON CONFLICT (name) DO UPDATE SET pid = t.pid RETURNING t.pid INTO taker;
    RETURN taker = pg_backend_pid();
END $$;

CREATE FUNCTION end_turn(its_name text) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS
$$ DELETE FROM turns t WHERE t.name = its_name AND t.pid = pg_backend_pid() $$;

-- Whether the caller is to do upkeep now: nobody else is at it, and the last one
-- began so many seconds ago. The turn is the session's: it ends with it.
CREATE OR REPLACE FUNCTION begin_upkeep(period_seconds double precision) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT take_turn('upkeep') THEN
        RETURN false;
    ELSIF EXISTS (SELECT 1 FROM upkeep_state
                  WHERE begun_at + period_seconds * interval '1 second' > clock_timestamp()) THEN
        PERFORM end_turn('upkeep');
        RETURN false;
    END IF;
    UPDATE upkeep_state SET begun_at = clock_timestamp();
    RETURN true;
END $$;

-- what: NULL where it was not done whole; whoever asks next may begin it again.
CREATE OR REPLACE FUNCTION end_upkeep(took_seconds double precision, what jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF what IS NULL THEN
        UPDATE upkeep_state SET begun_at = NULL;
    ELSE
        UPDATE upkeep_state SET finished_at = clock_timestamp(), seconds = took_seconds,
                                report = what;
    END IF;
    PERFORM end_turn('upkeep');
END $$;

-- ---- sessions that hold others up ----

-- A login that is a worker's and no more.
CREATE FUNCTION is_workers_login(its_login oid) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM pg_roles w, pg_roles r
                   WHERE w.rolname = 'skipjack_worker' AND r.oid = its_login AND NOT r.rolsuper
                     AND pg_has_role(r.oid, w.oid, 'MEMBER'))
           AND NOT has_function_privilege(its_login, 'change_campaign(bigint, text)', 'EXECUTE');
END $$;

-- Whether the owner may end sessions of the login: "db roles --login" makes it a member.
CREATE FUNCTION may_end(its_login oid) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
           OR pg_has_role(current_user, its_login, 'USAGE')
           OR pg_has_role(current_user, 'pg_signal_backend', 'USAGE');
END $$;

-- Sessions of this database that others wait for, how many those are and for how long.
CREATE FUNCTION waited_for() RETURNS TABLE (pid integer, waiting bigint, seconds double precision)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT b.pid, count(DISTINCT l.pid),
           max(extract(epoch FROM clock_timestamp() - l.waitstart))::double precision
    FROM pg_locks l JOIN pg_stat_activity w ON w.pid = l.pid AND w.datname = current_database()
    CROSS JOIN LATERAL unnest(pg_blocking_pids(l.pid)) AS b(pid)
    WHERE NOT l.granted AND b.pid <> l.pid GROUP BY b.pid
$$;

-- Why a worker's session is ended, or null. Our programs make each call a transaction of its own and wait for
-- its end. So their transactions wait for the client only while a long answer goes over a slow line, and last
-- for a minute only while they wait for a lock. most: how long a transaction may stay open.
CREATE FUNCTION blocking_reason(s pg_stat_activity, has_advisory boolean, most interval) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    age interval := clock_timestamp() - s.xact_start;
    reads boolean := coalesce(s.wait_event_type = 'Client' AND s.backend_xid IS NULL, false);
BEGIN
    IF has_advisory THEN
        RETURN 'held an advisory lock';
    ELSIF coalesce(age < most, true) THEN
        RETURN NULL;
    ELSIF s.state LIKE 'idle in transaction%' OR s.wait_event_type = 'Client' AND NOT reads THEN
        RETURN 'left a transaction open';
    ELSIF s.wait_event_type = 'Lock' THEN
        RETURN NULL;
    ELSIF age > 90 * most OR age > 6 * most AND NOT reads THEN
        RETURN 'was in a transaction';
    ELSIF age > 18 * most AND s.pid IN (SELECT w.pid FROM waited_for() AS w) THEN
        RETURN 'kept others waiting';
    END IF;
    RETURN NULL;
END $$;

-- Ends sessions of workers' logins that hold others up, and with each of them all sessions of its login: else
-- those that queue for the same lock are served before whoever waited in vain and asks again. A program
-- whose session was ended repeats the call. Advisory locks fill the server's table of locks, also from another
-- database. Returns how many sessions held others up.
CREATE FUNCTION watch_sessions() RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    most interval := (SELECT l.open_seconds FROM lease_watch l) * interval '1 second';
    s record;
    why text;
    ended integer[] := '{}';
    logins oid[] := '{}';
BEGIN
    FOR s IN
        SELECT a AS session, a.pid, a.usesysid, a.usename, a.query, a.xact_start,
               l.pid IS NOT NULL AS has_advisory
        FROM pg_stat_activity a
        LEFT JOIN (SELECT DISTINCT k.pid FROM pg_locks k
                   WHERE k.locktype = 'advisory' AND k.granted) AS l ON l.pid = a.pid
        WHERE a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
          AND (a.datname = current_database() OR l.pid IS NOT NULL)
    LOOP
        why := blocking_reason(s.session, s.has_advisory, most);
        CONTINUE WHEN why IS NULL OR NOT is_workers_login(s.usesysid) OR NOT may_end(s.usesysid);
        IF pg_terminate_backend(s.pid) THEN
            ended := ended || s.pid;
            logins := logins || s.usesysid;
            INSERT INTO events (kind, detail)
            VALUES ('session ended', format(
                'a session of the login %s %s for %s s; its last statement: %s', s.usename, why,
                round(extract(epoch FROM clock_timestamp() - s.xact_start)), left(s.query, 300)));
        END IF;
    END LOOP;
    PERFORM pg_terminate_backend(a.pid) FROM pg_stat_activity a
    WHERE a.usesysid = ANY (logins) AND a.datname = current_database()
      AND a.pid <> ALL (ended || pg_backend_pid());
    RETURN cardinality(ended);
END $$;

-- For whoever waited for a lock in vain.
CREATE FUNCTION skipjack_work.end_blockers() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN RETURN watch_sessions(); END $$;

-- Sessions that others have waited for since more than a second, and workers' that left a transaction open.
-- Values that the owner may not see of another login's session are null.
CREATE FUNCTION blockers() RETURNS SETOF jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('pid', b.pid, 'login', coalesce(a.usename, '(a prepared transaction)'),
        'nodes', (SELECT string_agg(DISTINCT w.node, ', ') FROM workers w
                  WHERE w.login = a.usename AND w.ended_at IS NULL
                    AND w.beat_at > now() - interval '1 day'),
        'seconds', extract(epoch FROM clock_timestamp() - a.xact_start)::double precision,
        'waiting', b.waiting, 'waited_seconds', b.seconds, 'state', a.state,
        'statement', left(a.query, 300), 'worker', coalesce(is_workers_login(a.usesysid), false),
        'may_end', coalesce(may_end(a.usesysid), false))
    FROM (SELECT w.pid, w.waiting, w.seconds FROM waited_for() AS w WHERE w.seconds > 1
          UNION ALL
          SELECT o.pid, 0, 0 FROM pg_stat_activity o, lease_watch l
          WHERE o.datname = current_database() AND o.state LIKE 'idle in transaction%'
            AND o.xact_start < clock_timestamp() - l.open_seconds * interval '1 second'
            AND is_workers_login(o.usesysid)
            AND o.pid NOT IN (SELECT w.pid FROM waited_for() AS w WHERE w.seconds > 1)) AS b
    LEFT JOIN pg_stat_activity a ON a.pid = b.pid
    WHERE b.pid <> pg_backend_pid()
    ORDER BY b.waiting DESC, b.seconds DESC, b.pid
$$;

INSERT INTO entry_points (role, name) VALUES
    ('skipjack_reader', 'blockers'), ('skipjack_coordinator', 'take_turn'),
    ('skipjack_coordinator', 'end_turn');

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
