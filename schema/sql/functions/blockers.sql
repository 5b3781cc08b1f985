-- Sessions that keep others waiting: who blocks, which of them are ended, and turns for
-- work that one session at a time does.

CREATE OR REPLACE FUNCTION take_turn(its_name text) RETURNS boolean
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

CREATE OR REPLACE FUNCTION end_turn(its_name text) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS
$$ DELETE FROM turns t WHERE t.name = its_name AND t.pid = pg_backend_pid() $$;

-- Returns true for a login that is in the worker role and in no other.
CREATE OR REPLACE FUNCTION is_workers_login(its_login oid) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM pg_roles w, pg_roles r
                   WHERE w.rolname = 'skipjack_worker' AND r.oid = its_login AND NOT r.rolsuper
                     AND pg_has_role(r.oid, w.oid, 'MEMBER'))
           AND NOT has_function_privilege(its_login, 'change_campaign(bigint, text)', 'EXECUTE');
END $$;

-- Returns true if the owner may end sessions of the login: "db roles --login" makes the
-- owner a member of the login.
CREATE OR REPLACE FUNCTION may_end(its_login oid) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
           OR pg_has_role(current_user, its_login, 'USAGE')
           OR pg_has_role(current_user, 'pg_signal_backend', 'USAGE');
END $$;

-- Sessions of this database that others wait for: how many wait, and for how long.
CREATE OR REPLACE FUNCTION waited_for() RETURNS TABLE (pid integer, waiting bigint, seconds double precision)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT b.pid, count(DISTINCT l.pid),
           max(extract(epoch FROM clock_timestamp() - l.waitstart))::double precision
    FROM pg_locks l JOIN pg_stat_activity w ON w.pid = l.pid AND w.datname = current_database()
    CROSS JOIN LATERAL unnest(pg_blocking_pids(l.pid)) AS b(pid)
    WHERE NOT l.granted AND b.pid <> l.pid GROUP BY b.pid
$$;

-- Returns why a worker's session is ended, or NULL. Our programs make each call a
-- transaction of its own and wait for its end. So their transactions wait for the
-- client only while a long answer goes over a slow line, and last for a minute only
-- while they wait for a lock. most: how long a transaction may stay open.
CREATE OR REPLACE FUNCTION blocking_reason(s pg_stat_activity, has_advisory boolean, most interval) RETURNS text
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

-- Ends sessions of workers' logins that block others, and with each of them all
-- sessions of its login. Other sessions of the login may queue for the same lock, and
-- would get it before the session that waited and asks again. A program whose session
-- was ended repeats the call. Advisory locks fill the server's table of locks, also
-- from another database, so they count as blocking. Returns how many sessions blocked
-- others.
CREATE OR REPLACE FUNCTION watch_sessions() RETURNS integer
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

-- Called by a session that waited for a lock until its timeout.
CREATE OR REPLACE FUNCTION skipjack_work.end_blockers() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN RETURN watch_sessions(); END $$;

-- Sessions that others have waited for longer than a second, and workers' sessions that
-- left a transaction open. A value is NULL if the owner may not see it of another
-- login's session.
CREATE OR REPLACE FUNCTION blockers() RETURNS SETOF jsonb
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
