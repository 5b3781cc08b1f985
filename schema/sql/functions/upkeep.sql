-- Upkeep: removing kernels' code that nothing needs, and old rows of workers and events.

-- The age in seconds of the oldest transaction other than the caller's; NULL without
-- one. The login must be allowed to see other sessions: a superuser, or an owner with
-- pg_read_all_stats.
CREATE OR REPLACE FUNCTION oldest_transaction() RETURNS double precision
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT extract(epoch FROM clock_timestamp() - min(a.xact_start))::double precision
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
$$;

-- Returns true if the caller is to do upkeep now: no other session does, and the last
-- upkeep began at least so many seconds ago. The turn belongs to the session, and ends
-- with it.
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

-- what: the report, NULL if the upkeep was not complete; the next session that asks may
-- then begin it again.
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

-- Begins the list of needed kernels with those of golden versions and open proposals, and
-- the judges and proofs that were used within 30 days. Returns the time from which on
-- kernels that were asked for stay, listed or not: the oldest build claim under way,
-- else now.
CREATE OR REPLACE FUNCTION begin_kernel_search() RETURNS timestamptz
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    CREATE TEMP TABLE IF NOT EXISTS kernel_search_tables (name oid PRIMARY KEY);
    CREATE TEMP TABLE IF NOT EXISTS kernel_search_needed (key text PRIMARY KEY);
    TRUNCATE pg_temp.kernel_search_tables, pg_temp.kernel_search_needed;
    INSERT INTO pg_temp.kernel_search_needed
    SELECT unnest(string_to_array(r.kernel_keys, ',')) FROM golden_rows r
    UNION
    SELECT unnest(string_to_array(p.kernel_keys, ',')) FROM golden_proposed p
    UNION
    SELECT key FROM kernels WHERE file = 'judge.cl' AND used_at > now() - interval '30 days'
    UNION
    SELECT key FROM kernels WHERE file = 'conv_direct_naive.cl' AND entry = 'conv_naive_f'
                              AND used_at > now() - interval '30 days';
    RETURN (SELECT least(min(claimed_at), now()) FROM bundles
            WHERE worker_id IS NOT NULL AND state = 'building');
END $$;

-- Notes the kernels of rounds that wait for evaluation, also of jobs whose worker was
-- lost and may still hand in outcomes; for a build-only campaign, of all rounds.
CREATE OR REPLACE FUNCTION note_kernels_of_rounds(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO pg_temp.kernel_search_needed
    SELECT unnest(string_to_array(keys, ','))
    FROM bundles b, unnest(b.job_ids) AS member(job_id), rounds r, unnest(r.kernel_keys) AS keys
    WHERE b.campaign_id = campaign AND b.state IN ('built', 'evaluating')
      AND r.campaign_id = campaign AND r.job_id = member.job_id AND r.number = b.round_no
    UNION ALL
    SELECT unnest(string_to_array(keys, ','))
    FROM job_ends e, rounds r, unnest(r.kernel_keys) AS keys
    WHERE e.campaign_id = campaign AND e.failure = @FAILURE_WORKER_LOST
      AND r.campaign_id = campaign AND r.job_id = e.job_id AND r.number >= e.rounds
    ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT FROM campaigns c WHERE c.id = campaign AND c.build_only) THEN
        INSERT INTO pg_temp.kernel_search_needed
        SELECT unnest(string_to_array(keys, ','))
        FROM job_ends e, rounds r, unnest(r.kernel_keys) AS keys
        WHERE e.campaign_id = campaign AND e.state = 'done'
          AND r.campaign_id = campaign AND r.job_id = e.job_id
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- Notes what one more campaign needs; false if no campaign is left. It goes through
-- tables, not campaigns: a campaign that copies results keeps the source's table from
-- being detached until its own table exists.
CREATE OR REPLACE FUNCTION note_needed_kernels() RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    child record;
BEGIN
    SELECT c.oid, c.relname INTO child
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'results'::regclass
      AND NOT EXISTS (SELECT 1 FROM pg_temp.kernel_search_tables s WHERE s.name = c.oid)
    ORDER BY c.oid LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO pg_temp.kernel_search_tables VALUES (child.oid);
    PERFORM note_kernels_of_rounds(substring(child.relname FROM '[0-9]+$')::bigint);
    BEGIN
        EXECUTE format('INSERT INTO pg_temp.kernel_search_needed'
                       ' SELECT DISTINCT unnest(string_to_array(kernel_keys, '','')) FROM %I'
                       ' ON CONFLICT DO NOTHING', child.relname);
    EXCEPTION WHEN undefined_table THEN
        NULL; -- the campaign was dropped meanwhile
    END;
    RETURN true;
END $$;

-- Drops the code of kernels after this key that no list has and no build asked for
-- since. Rows that other sessions hold are left to the next search.
CREATE OR REPLACE FUNCTION drop_code(after text, used_before timestamptz, batch integer, really boolean,
                                     OUT looked bigint, OUT looked_bytes bigint, OUT last text,
                                     OUT freed bigint, OUT bytes bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off AS $$
DECLARE
    keys text[];
BEGIN
    SELECT count(*), coalesce(sum(p.code_bytes), 0), max(p.key),
           array_agg(p.key) FILTER (WHERE p.used_at < used_before AND p.needed IS NULL)
    INTO looked, looked_bytes, last, keys
    FROM (SELECT k.key, k.code_bytes, k.used_at,
                 (SELECT n.key FROM pg_temp.kernel_search_needed n WHERE n.key = k.key) AS needed
          FROM kernels k
          WHERE k.code_place IS NOT NULL AND k.key > after ORDER BY k.key LIMIT batch) AS p;
    IF NOT really THEN
        SELECT count(*), coalesce(sum(k.code_bytes), 0) INTO freed, bytes
        FROM kernels k WHERE k.key = ANY (keys) AND k.code_place IS NOT NULL;
        RETURN;
    END IF;
    WITH needless AS MATERIALIZED (
        SELECT k.key, k.code_place, k.code_name, k.code_bytes FROM kernels k
        WHERE k.key = ANY (keys) AND k.code_place IS NOT NULL AND k.used_at < used_before
        FOR UPDATE SKIP LOCKED
    ), emptied AS (
        UPDATE kernels k SET code = NULL, code_place = NULL, code_name = NULL
        FROM needless n WHERE k.key = n.key
    ), loose AS (
        INSERT INTO blob_loose (place, name, is_upload)
        SELECT n.code_place, n.code_name, false FROM needless n WHERE n.code_name IS NOT NULL
    )
    SELECT count(*), coalesce(sum(n.code_bytes), 0) INTO freed, bytes FROM needless n;
END $$;

-- Forgets kernels without code that no list has and no build asked for since; they only
-- say how long they took to compile, or why they failed. If one moment has more kernels
-- than a batch, the rest is left to the next search.
CREATE OR REPLACE FUNCTION forget_kernels(after timestamptz, used_before timestamptz, batch integer,
                                          really boolean, OUT looked bigint, OUT last timestamptz,
                                          OUT freed bigint, OUT bytes bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off AS $$
DECLARE
    keys text[];
BEGIN
    SELECT count(*), max(p.built_at), array_agg(p.key) FILTER (WHERE p.is_old),
           count(*) FILTER (WHERE p.is_old), coalesce(sum(p.bytes) FILTER (WHERE p.is_old), 0)
    INTO looked, last, keys, freed, bytes
    FROM (SELECT k.key, k.built_at, pg_column_size(k) AS bytes,
                 k.used_at < used_before
                 AND (SELECT n.key FROM pg_temp.kernel_search_needed n
                      WHERE n.key = k.key) IS NULL AS is_old
          FROM kernels k
          WHERE k.code_place IS NULL AND k.built_at < used_before AND k.built_at > after
          ORDER BY k.built_at LIMIT batch) AS p;
    IF really THEN
        DELETE FROM kernels k
        WHERE k.key IN (SELECT h.key FROM kernels h
                        WHERE h.key = ANY (keys) AND h.code_place IS NULL
                          AND h.used_at < used_before FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS freed = ROW_COUNT;
    END IF;
END $$;

-- Forgets old rows of the event log. A row of a campaign and no worker says how the
-- campaign was planned, and stays as long as the campaign.
CREATE OR REPLACE FUNCTION forget_events(after bigint, said_before timestamptz, batch integer, really boolean,
                                         OUT looked bigint, OUT last bigint, OUT freed bigint,
                                         OUT bytes bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    ids bigint[];
BEGIN
    SELECT count(*) FILTER (WHERE p.at < said_before), max(p.id),
           array_agg(p.id) FILTER (WHERE p.is_old), count(*) FILTER (WHERE p.is_old),
           coalesce(sum(p.bytes) FILTER (WHERE p.is_old), 0)
    INTO looked, last, ids, freed, bytes
    FROM (SELECT e.id, e.at, pg_column_size(e) AS bytes,
                 e.at < said_before
                 AND (e.campaign_id IS NULL OR e.worker_id IS NOT NULL OR e.job_id IS NOT NULL
                      OR NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = e.campaign_id)) AS is_old
          FROM events e WHERE e.id > after ORDER BY e.id LIMIT batch) AS p;
    IF really THEN
        DELETE FROM events e
        WHERE e.id IN (SELECT h.id FROM events h WHERE h.id = ANY (ids) FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS freed = ROW_COUNT;
    END IF;
END $$;

-- Forgets workers that ended, or whose last heartbeat was, before that time, and that
-- hold no bundle.
CREATE OR REPLACE FUNCTION forget_workers(heard_before timestamptz, batch integer, really boolean,
                                          OUT freed bigint, OUT bytes bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    ids bigint[];
BEGIN
    SELECT array_agg(p.id), count(*), coalesce(sum(p.bytes), 0) INTO ids, freed, bytes
    FROM (SELECT w.id, pg_column_size(w) AS bytes FROM workers w
          WHERE w.beat_at < heard_before AND coalesce(w.ended_at, w.beat_at) < heard_before
            AND NOT EXISTS (SELECT 1 FROM bundles b WHERE b.worker_id = w.id)
          LIMIT CASE WHEN really THEN batch END) AS p;
    IF really THEN
        DELETE FROM workers w
        WHERE w.id IN (SELECT h.id FROM workers h
                       WHERE h.id = ANY (ids) AND h.beat_at < heard_before FOR UPDATE SKIP LOCKED)
          AND NOT EXISTS (SELECT 1 FROM bundles b WHERE b.worker_id = w.id);
        GET DIAGNOSTICS freed = ROW_COUNT;
    END IF;
END $$;
