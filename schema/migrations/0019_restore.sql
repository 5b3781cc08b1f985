-- A database that was restored from a backup goes back in time, and workers do
-- not: one may hold a fence, or know a problem by its number, from after the
-- backup. So no number may be given out twice. A restored database knows itself
-- by where it lives, and begins a new epoch before it gives out anything.
-- oldest program: 0018

-- place is where the database lived in that epoch.
CREATE TABLE homes (
    epoch integer PRIMARY KEY,
    place text NOT NULL,
    since timestamptz NOT NULL DEFAULT now()
);

-- The server, its timeline (which a recovery up to a time, and a standby that
-- takes over, change), and this table, which pg_restore makes anew.
CREATE FUNCTION this_place() RETURNS text
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT s.system_identifier || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' '
           || 'homes'::regclass::oid
    FROM pg_control_system() AS s
$$;
INSERT INTO homes (epoch, place) VALUES (0, this_place());

-- All numbers go on far beyond what was given out before: a million campaigns
-- and workers, 10^12 of the rest, or half of that at least. Claims of then are
-- given back without a strike: their workers may have handed them in to the
-- database that is gone, and would hold them as long as they beat. What they
-- still hand in is accepted while nobody else has claimed it.
CREATE FUNCTION begin_epoch() RETURNS integer
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
             FROM pg_class c
             WHERE c.relkind = 'S' AND c.relnamespace = 'skipjack'::regnamespace
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

-- Once a session, before it gives out a number or renews a lease; again where
-- the tables under it were restored meanwhile.
CREATE FUNCTION check_home() RETURNS trigger
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
CREATE TRIGGER check_home BEFORE INSERT OR UPDATE ON workers
    FOR EACH STATEMENT WHEN (current_setting('skipjack.home_seen', true)
                             IS DISTINCT FROM 'homes'::regclass::oid::text)
    EXECUTE FUNCTION check_home();
CREATE TRIGGER check_home BEFORE INSERT ON campaigns
    FOR EACH STATEMENT WHEN (current_setting('skipjack.home_seen', true)
                             IS DISTINCT FROM 'homes'::regclass::oid::text)
    EXECUTE FUNCTION check_home();
CREATE TRIGGER check_home BEFORE INSERT ON problems
    FOR EACH STATEMENT WHEN (current_setting('skipjack.home_seen', true)
                             IS DISTINCT FROM 'homes'::regclass::oid::text)
    EXECUTE FUNCTION check_home();
CREATE TRIGGER check_home BEFORE INSERT ON solvers
    FOR EACH STATEMENT WHEN (current_setting('skipjack.home_seen', true)
                             IS DISTINCT FROM 'homes'::regclass::oid::text)
    EXECUTE FUNCTION check_home();

-- Rounds that wait for their evaluation, and whose code is nowhere any more,
-- are built again; how many jobs.
CREATE FUNCTION rebuild_rounds() RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles;
    ids bigint[];
    total bigint := 0;
BEGIN
    FOR b IN SELECT * FROM bundles WHERE state = 'built' ORDER BY id FOR UPDATE SKIP LOCKED LOOP
        ids := ARRAY(
            SELECT r.job_id FROM rounds r
            WHERE r.campaign_id = b.campaign_id AND r.job_id = ANY (b.job_ids)
              AND r.number = b.round_no
              AND EXISTS (SELECT 1 FROM unnest(r.kernel_keys, r.failures) AS c(keys, failure),
                                        unnest(string_to_array(c.keys, ',')) AS wanted(key)
                          LEFT JOIN kernels k ON k.key = wanted.key
                          WHERE c.failure = 15 AND k.code_place IS NULL));
        CONTINUE WHEN ids = '{}';
        PERFORM take_jobs(b, ids);
        PERFORM drop_open_rounds(b.campaign_id, ids, b.round_no);
        b.is_partial := false;
        PERFORM put_jobs(b, ids, 'ready', b.round_no, 0);
        PERFORM wake_workers(b.campaign_id, true, 1);
        total := total + cardinality(ids);
    END LOOP;
    RETURN total;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
