-- A database that was restored from a backup goes back in time, and its workers do not:
-- one may hold a fence, or know a problem by its number, from after the backup. So no
-- number may be given out twice. A restored database finds itself in another place than
-- the last row of homes says, and begins a new epoch before it gives out any number.

-- Identifies where the database is: the server, its timeline (a recovery up to a point
-- of time and a standby that takes over change it), and this table, which pg_restore
-- makes anew.
CREATE OR REPLACE FUNCTION this_place() RETURNS text
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT s.system_identifier || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' '
           || 'homes'::regclass::oid
    FROM pg_control_system() AS s
$$;

-- Moves all numbers that processes may know (bigint) far beyond those given out before: at least half a million further
-- for campaigns and workers, half of 10^12 for the others. Held jobs are given back
-- without a strike: their workers may have handed them in to the database that is gone,
-- and would hold them as long as they send heartbeats. Their results are still accepted
-- until another worker claims.
CREATE OR REPLACE FUNCTION begin_epoch() RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    s record;
    begun integer;
BEGIN
    PERFORM set_config('skipjack.home_seen', 'homes'::regclass::oid::text, false);
    LOCK TABLE homes IN EXCLUSIVE MODE;
    FOR s IN SELECT c.oid::regclass AS name,
                    CASE WHEN c.relname IN ('campaigns_id_seq', 'workers_id_seq') THEN 1000000
                         ELSE 1000000000000 END AS step
             FROM pg_class c JOIN pg_sequence q ON q.seqrelid = c.oid AND q.seqtypid = 'bigint'::regtype
             WHERE c.relnamespace = 'skipjack'::regnamespace
    LOOP
        EXECUTE format('SELECT setval(%L, ((last_value + %s / 2) / %2$s + 1) * %2$s) FROM %s',
                       s.name, s.step, s.name);
    END LOOP;
    PERFORM release_bundles(ARRAY(SELECT id FROM bundles WHERE worker_id IS NOT NULL ORDER BY id
                                  FOR UPDATE));
    INSERT INTO homes (epoch, place) SELECT max(epoch) + 1, this_place() FROM homes
    RETURNING epoch INTO begun;
    INSERT INTO events (kind, detail) VALUES ('database restored', format('epoch %s', begun));
    RETURN begun;
END $$;

-- Runs once a session, before the session gets a number or renews a lease; again if the
-- tables were restored meanwhile.
CREATE OR REPLACE FUNCTION check_home() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF (SELECT place FROM homes ORDER BY epoch DESC LIMIT 1) <> this_place() THEN
        LOCK TABLE homes IN EXCLUSIVE MODE;
        IF (SELECT place FROM homes ORDER BY epoch DESC LIMIT 1) <> this_place() THEN
            PERFORM begin_epoch();
        END IF;
    END IF;
    PERFORM set_config('skipjack.home_seen', 'homes'::regclass::oid::text, false);
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER check_home BEFORE INSERT OR UPDATE ON workers
    FOR EACH STATEMENT WHEN (current_setting('skipjack.home_seen', true)
                             IS DISTINCT FROM 'homes'::regclass::oid::text)
    EXECUTE FUNCTION check_home();
CREATE OR REPLACE TRIGGER check_home BEFORE INSERT ON campaigns
    FOR EACH STATEMENT WHEN (current_setting('skipjack.home_seen', true)
                             IS DISTINCT FROM 'homes'::regclass::oid::text)
    EXECUTE FUNCTION check_home();
CREATE OR REPLACE TRIGGER check_home BEFORE INSERT ON problems
    FOR EACH STATEMENT WHEN (current_setting('skipjack.home_seen', true)
                             IS DISTINCT FROM 'homes'::regclass::oid::text)
    EXECUTE FUNCTION check_home();
CREATE OR REPLACE TRIGGER check_home BEFORE INSERT ON solvers
    FOR EACH STATEMENT WHEN (current_setting('skipjack.home_seen', true)
                             IS DISTINCT FROM 'homes'::regclass::oid::text)
    EXECUTE FUNCTION check_home();
