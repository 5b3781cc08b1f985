-- Workers: registering, heartbeats, ending, reports, and the event log.

-- How many workers of the login may run at once. Each holds two connections, so twice
-- the login's limit of connections leaves room for processes that were killed a moment
-- ago.
CREATE OR REPLACE FUNCTION registrations_most(its_login text) RETURNS integer
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT CASE WHEN r.rolconnlimit < 0 THEN 4096 ELSE greatest(2 * r.rolconnlimit, 64) END
    FROM pg_roles r WHERE r.rolname = its_login
$$;

-- Makes room for one more worker of this login. Beyond 10,000 rows of the login, ended
-- workers are forgotten, and workers that were silent for an hour and hold no bundle.
CREATE OR REPLACE FUNCTION check_registrations() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    running bigint;
    kept bigint;
BEGIN
    SELECT count(*), count(*) FILTER (WHERE w.ended_at IS NULL AND w.beat_at > now() - interval '5 minutes')
    INTO kept, running FROM workers w WHERE w.login = session_user;
    IF running >= registrations_most(session_user) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('%s workers of the login %s run already, which is its limit', running,
                             session_user);
    ELSIF kept >= 10000 THEN
        DELETE FROM workers w
        WHERE w.id IN (SELECT o.id FROM workers o
                       WHERE o.login = session_user
                         AND coalesce(o.ended_at, o.beat_at + interval '1 hour') < now()
                         AND NOT EXISTS (SELECT 1 FROM bundles b WHERE b.worker_id = o.id)
                       ORDER BY o.beat_at LIMIT 100 FOR UPDATE SKIP LOCKED);
    END IF;
END $$;

-- Enters a process of a node, or changes its description. A process that enters again,
-- as after a lost answer, must present its former secret.
CREATE OR REPLACE FUNCTION skipjack_work.register_worker(
    its_node text, its_process text, its_target text, its_stack text, it_builds boolean,
    its_labels jsonb, it_carries jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    secret text := coalesce(current_setting('skipjack.secret', true), '');
    mine bigint[] := my_workers();
    entered bigint;
BEGIN
    IF length(secret) < 32 THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = 'a worker presents a secret of at least 32 characters (skipjack.secret)';
    ELSIF length(its_node || its_process || its_target) > 1000 OR length(its_stack) > 4000
          OR pg_column_size(its_labels) > 4000 OR pg_column_size(it_carries) > 100000 THEN
        PERFORM refuse_value('a worker describes itself in less words');
    END IF;
    IF mine IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM workers w
        WHERE w.login = session_user AND w.node = its_node AND w.process = its_process) THEN
        PERFORM check_registrations();
    END IF;
    INSERT INTO workers AS w (node, process, target, stack, builds, labels, carried, login)
    VALUES (its_node, its_process, its_target, its_stack, it_builds,
            ARRAY(SELECT jsonb_array_elements_text(its_labels)),
            CASE jsonb_typeof(it_carries)
                 WHEN 'array' THEN ARRAY(SELECT jsonb_array_elements_text(it_carries)) END,
            session_user)
    ON CONFLICT (login, node, process) DO UPDATE
    SET target = EXCLUDED.target, stack = EXCLUDED.stack, builds = EXCLUDED.builds,
        labels = EXCLUDED.labels, carried = EXCLUDED.carried,
        beat_at = clock_timestamp(), ended_at = NULL
    WHERE mine IS NULL OR w.id = ANY (mine)
    RETURNING id INTO entered;
    IF entered IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = format('process %s of node %s has registered with another secret',
                             its_process, its_node);
    END IF;
    INSERT INTO worker_secrets VALUES (entered, sha256(convert_to(secret, 'UTF8')))
    ON CONFLICT (worker_id) DO UPDATE SET sha256 = EXCLUDED.sha256;
    RETURN entered;
END $$;

-- Notes that the worker lives. One heartbeat a second of the whole farm looks for
-- expired leases. If the session whose turn it is does not end its transaction, after
-- ten seconds a fifth of the heartbeats look without the turn. Returns whether the
-- worker was asked to drain.
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

CREATE OR REPLACE FUNCTION skipjack_work.heartbeat(worker bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(worker);
    RETURN heartbeat(worker);
END $$;

-- Ends a worker. was_lost: each of its leases costs a strike.
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

-- Ends the worker itself, or declares another worker dead. The other worker must be of
-- the same node, since only its node sees that the process is gone, and of the same
-- login, since naming a node proves nothing.
CREATE OR REPLACE FUNCTION skipjack_work.end_worker(ending bigint, was_lost boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT was_lost OR NOT EXISTS (
        SELECT 1 FROM workers dead JOIN workers own ON own.node = dead.node
        WHERE dead.id = ending AND own.id = ANY (my_workers())
          AND dead.login = session_user AND own.login = session_user) THEN
        PERFORM check_worker(ending);
    END IF;
    PERFORM end_worker(ending, was_lost);
END $$;

-- "ours": this login may declare the worker dead.
CREATE OR REPLACE FUNCTION skipjack_work.list_workers(of_node text) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(w) || jsonb_build_object('ended', w.ended_at IS NOT NULL,
        'ours', w.login = session_user OR acts_for_all(),
        'age', greatest(extract(epoch FROM clock_timestamp() - w.beat_at), 0)::float8,
        'leases', (SELECT coalesce(sum(cardinality(b.job_ids)), 0) FROM bundles b
                   WHERE b.worker_id = w.id))
    FROM workers w WHERE of_node IS NULL OR w.node = of_node
    ORDER BY w.ended_at IS NOT NULL, w.node, w.id DESC
$$;

-- Asks the running workers of a node to end. Returns how many there are. Workers that
-- listen hear of it at once, all others with their next heartbeat.
CREATE OR REPLACE FUNCTION drain_node(draining text) RETURNS bigint
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    WITH asked AS (
        UPDATE workers SET drain = true WHERE node = draining AND ended_at IS NULL RETURNING id)
    SELECT count(pg_notify('skipjack_worker_' || id, 'drain')) FROM asked
$$;

-- Stores a worker's counts. The first report in ten seconds takes the farm's sample.
-- Two reports at once may both take it, which does no harm.
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

-- Bounds the counts: a sum over all workers must not fail because of one worker's
-- report.
CREATE OR REPLACE FUNCTION skipjack_work.report_worker(reporting bigint, its_counts jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(reporting);
    IF EXISTS (SELECT 1 FROM unnest(ARRAY['jobs', 'configs', 'kernels']) AS k
               WHERE coalesce(jsonb_typeof(its_counts->k), '') <> 'number'
                  OR (its_counts->k)::numeric NOT BETWEEN 0 AND 1e15)
       OR jsonb_typeof(its_counts->'failures') IS DISTINCT FROM 'object'
       OR pg_column_size(its_counts) > 2000 THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = format('worker %s tells no counts', reporting);
    END IF;
    PERFORM report_worker(reporting, its_counts);
END $$;

-- Writes to the event log: of the worker itself, or of campaigns that it had jobs of; 0
-- for none. Before the worker registered, the row has its login.
CREATE OR REPLACE FUNCTION skipjack_work.add_event(what text, of_campaign bigint, of_job bigint,
                                                   of_worker bigint, words text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    named text := words;
BEGIN
    IF acts_for_all() THEN
        NULL;
    ELSIF of_campaign = 0 AND of_job = 0 AND of_worker = 0 THEN
        named := session_user || ': ' || words;
    ELSE
        PERFORM check_worker(of_worker);
        IF of_campaign <> 0 OR of_job <> 0 THEN
            PERFORM check_claimed_campaign(of_campaign);
        END IF;
    END IF;
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    VALUES (what, nullif(of_campaign, 0), nullif(of_job, 0), nullif(of_worker, 0), named);
END $$;
