-- What one worker's login may take up. Registrations: each login has its own, so that nobody can enter a
-- process of another login's node first; those that run, and all that are kept, have a limit. Working
-- time: no more than passed since the worker's first claim of the campaign, for each device and for its
-- builds; it could end a campaign's budget with one call. Temporary tables and functions: none, but for
-- coordinators, whose upkeep keeps lists in them.
-- oldest program: 0038

-- ---- registrations ----

ALTER TABLE workers DROP CONSTRAINT workers_node_process_key;
ALTER TABLE workers ADD CONSTRAINT workers_login_process_key UNIQUE (login, node, process);

-- Workers of the login that may run at once. Each holds two connections, so twice the login's own limit
-- leaves room for processes that were killed a moment ago.
CREATE FUNCTION registrations_most(its_login text) RETURNS integer
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT CASE WHEN r.rolconnlimit < 0 THEN 4096 ELSE greatest(2 * r.rolconnlimit, 64) END
    FROM pg_roles r WHERE r.rolname = its_login
$$;

-- Makes room for one more worker of this login: what ended, or was silent for an hour and holds nothing,
-- is forgotten once 10,000 rows of the login are kept.
CREATE FUNCTION check_registrations() RETURNS void
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

-- Enters a process of a node, or changes what it is. Entered again, which a
-- lost answer makes happen, it must present the secret that it had.
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

-- "ours": this login may say that the worker is dead.
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

-- ---- working time ----

-- Since the worker's first claim of the campaign; of earlier ones that is not known.
ALTER TABLE claimed_campaigns ADD COLUMN since timestamptz NOT NULL DEFAULT now() - interval '30 days',
                              ADD COLUMN spent_seconds double precision NOT NULL DEFAULT 0;
ALTER TABLE claimed_campaigns ALTER COLUMN since SET DEFAULT clock_timestamp();

-- What counts of the working time that this session says to have spent on a campaign: each device, and
-- the builds of a node together, work for a second a second. A minute is for clocks and rounding: one for the
-- worker, since devices are only what it says.
CREATE FUNCTION possible_seconds(campaign bigint, said double precision[])
RETURNS double precision[]
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    mine bigint[] := my_workers();
    total double precision := (SELECT coalesce(sum(s), 0) FROM unnest(said) AS s);
    left_over double precision;
BEGIN
    IF mine IS NULL OR total = 0 THEN
        RETURN said;
    END IF;
    SELECT extract(epoch FROM clock_timestamp() - c.since)
           * (1 + least((SELECT count(*) FROM worker_devices d WHERE d.worker_id = c.worker_id), 64))
           + 60 - c.spent_seconds
    INTO left_over
    FROM claimed_campaigns c WHERE c.worker_id = ANY (mine) AND c.campaign_id = campaign
    ORDER BY c.worker_id LIMIT 1;
    left_over := least(greatest(coalesce(left_over, 0), 0), total);
    UPDATE claimed_campaigns c SET spent_seconds = c.spent_seconds + left_over
    WHERE c.worker_id = (SELECT min(o.worker_id) FROM claimed_campaigns o
                         WHERE o.worker_id = ANY (mine) AND o.campaign_id = campaign)
      AND c.campaign_id = campaign;
    RETURN CASE WHEN left_over = total THEN said
                ELSE ARRAY(SELECT s.part * (left_over / total)
                           FROM unnest(said) WITH ORDINALITY AS s(part, place)
                           ORDER BY s.place) END;
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.store_rounds(campaign bigint, items outcomes[],
                                                      kept results[], more boolean[],
                                                      seconds double precision[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_seconds(seconds);
    PERFORM store_rounds(campaign, items, kept, more, possible_seconds(campaign, seconds));
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.add_spent(campaign bigint, seconds double precision)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_claimed_campaign(campaign);
    PERFORM check_seconds(ARRAY[seconds]);
    PERFORM add_spent(campaign, (possible_seconds(campaign, ARRAY[seconds]))[1]);
END $$;

-- Told before the call that ends the claim, by whoever claimed the job last; of others nothing is kept.
CREATE OR REPLACE FUNCTION skipjack_work.put_device_use(campaign bigint, job bigint,
                                                        held_fence bigint, took double precision,
                                                        busy double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
BEGIN
    PERFORM check_seconds(ARRAY[took, busy]);
    INSERT INTO device_use AS u
    SELECT campaign, job, held_fence, possible.seconds, least(busy, possible.seconds)
    FROM bundles b
    CROSS JOIN LATERAL (SELECT CASE WHEN mine IS NULL OR b.claimed_at IS NULL THEN took
        ELSE least(took, extract(epoch FROM clock_timestamp() - b.claimed_at) + 60) END)
        AS possible(seconds)
    WHERE b.campaign_id = campaign AND b.fence = held_fence AND b.job_ids @> ARRAY[job]
      AND (mine IS NULL OR b.claimed_by = ANY (mine))
    ON CONFLICT (campaign_id, job_id, fence) DO UPDATE
        SET seconds = EXCLUDED.seconds, busy_seconds = EXCLUDED.busy_seconds;
END $$;

-- ---- temporary objects ----

-- Upkeep's lists are a coordinator's own temporary tables. Only the database's owner can say who may make
-- some: where another role owns our schema, its database keeps PostgreSQL's own rule.
CREATE FUNCTION close_temporary_objects() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    is_owner boolean := (SELECT pg_has_role(d.datdba, 'USAGE') FROM pg_database d
                         WHERE d.datname = current_database());
BEGIN
    IF NOT is_owner THEN
        RETURN;
    END IF;
    IF has_database_privilege('public', current_database(), 'TEMPORARY') THEN
        EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    END IF;
    IF EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = 'skipjack_coordinator'
               AND NOT has_database_privilege(r.oid, current_database(), 'TEMPORARY')) THEN
        EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO skipjack_coordinator', current_database());
    END IF;
END $$;

-- Called after every migration, and when roles were created. What roles call
-- runs with the owner's rights; the rest is the owner's alone.
CREATE OR REPLACE FUNCTION set_privileges() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    thing text;
BEGIN
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
    PERFORM close_temporary_objects();
    FOR thing IN SELECT f.function::text FROM functions_of('skipjack_coordinator') AS f
                 JOIN pg_proc p ON p.oid = f.function WHERE f.as_owner AND NOT p.prosecdef
    LOOP
        EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER', thing);
    END LOOP;
    FOR thing IN SELECT r.rolname FROM pg_roles r
                 WHERE r.rolname IN ('skipjack_reader', 'skipjack_worker', 'skipjack_coordinator')
                 ORDER BY r.rolname
    LOOP
        PERFORM grant_role(thing);
    END LOOP;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
