-- What nobody needs any more is found and dropped in short steps, each a
-- transaction of its own that locks a few hundred rows and waits for nobody.
-- Functions with `really` only count where it is false.
-- oldest program: 0011

-- Only what has code is looked through; what has none, by age.
CREATE INDEX kernels_with_code ON kernels (key) WHERE code_place IS NOT NULL;
CREATE INDEX kernels_without_code ON kernels (built_at) WHERE code_place IS NULL;

-- Tables of campaigns that were dropped: partitions, and what was detached by
-- somebody who did not come to drop it.
CREATE OR REPLACE VIEW dropped_partitions AS
    SELECT parent.relname AS parent, child.relname AS child,
           coalesce(i.inhdetachpending, false) AS pending, i.inhrelid IS NULL AS detached
    FROM pg_class child
    JOIN pg_class parent ON parent.relkind = 'p' AND parent.relnamespace = child.relnamespace
         AND parent.relname = regexp_replace(child.relname, '_[0-9]+$', '')
    LEFT JOIN pg_inherits i ON i.inhrelid = child.oid
    WHERE child.relkind = 'r' AND child.relnamespace = 'skipjack'::regnamespace
      AND parent.relname IN ('jobs', 'job_ends', 'rounds', 'outcomes', 'results')
      AND NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE child.relname = parent.relname || '_' || c.id);

-- Begins a search for kernels without a use: empties the session's lists of
-- what was looked through and of what is needed. A kernel that was asked for
-- after the time that it gives may be part of a round that is not stored yet:
-- that of the oldest build claim under way, or now.
CREATE FUNCTION begin_kernel_search() RETURNS timestamptz
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    CREATE TEMP TABLE IF NOT EXISTS kernel_search_tables (name oid PRIMARY KEY);
    CREATE TEMP TABLE IF NOT EXISTS kernel_search_needed (key text PRIMARY KEY);
    TRUNCATE pg_temp.kernel_search_tables, pg_temp.kernel_search_needed;
    RETURN (SELECT least(min(claimed_at), now()) FROM bundles
            WHERE worker_id IS NOT NULL AND state = 'building');
END $$;

-- Notes the kernels whose code a campaign's rounds need: those that wait for
-- their evaluation, also of a job that was given up and may still hand in what
-- it evaluated; and all that a build-only campaign built. One statement sees a
-- job where it is, in a bundle or ended.
CREATE FUNCTION note_kernels_of_rounds(campaign bigint) RETURNS void
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
    FROM job_ends e, campaigns c, rounds r, unnest(r.kernel_keys) AS keys
    WHERE e.campaign_id = campaign AND c.id = campaign AND r.campaign_id = campaign
      AND r.job_id = e.job_id
      AND ((e.failure = 13 AND r.number >= e.rounds) OR (c.build_only AND e.state = 'done'))
    ON CONFLICT DO NOTHING;
END $$;

-- Notes what one more campaign needs; false when there is none left. Tables
-- are looked through, not campaigns: a campaign that copies the results of
-- another keeps that one's table from being detached until it is there itself.
CREATE FUNCTION note_needed_kernels() RETURNS boolean
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
        NULL; -- it was dropped meanwhile
    END;
    RETURN true;
END $$;

-- Drops the code of kernels after this key that no list has and nobody asked
-- for since. Rows that somebody else holds are left to the next search.
CREATE FUNCTION drop_code(after text, used_before timestamptz, batch integer, really boolean,
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

-- Forgets kernels without code that no list has and nobody asked for since:
-- what is left of them is how long they took to compile, or why they did not.
-- Those of one moment beyond a batch are left to the next search.
CREATE FUNCTION forget_kernels(after timestamptz, used_before timestamptz, batch integer,
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

-- Forgets old lines of the diary. What it says of a campaign itself, and of no
-- worker, is how it was planned, and stays as long as the campaign.
CREATE FUNCTION forget_events(after bigint, said_before timestamptz, batch integer, really boolean,
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

-- Forgets workers that ended, or were last heard of, before that time, and
-- hold nothing.
CREATE FUNCTION forget_workers(heard_before timestamptz, batch integer, really boolean,
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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
