-- Waking idle workers when there is work for them.

-- Wakes up to `most` workers that idle in this pool and that the campaign admits, each
-- by a channel of its own. A worker that was woken in vain is left alone for five
-- seconds, so the same worker is not woken over and over for work that it cannot take,
-- or because it is dead. Commits that notify wait for each other, so nothing is sent if
-- no worker idles. Called last in a transaction: claims of woken workers wait for its
-- locks, and it waits for none.
CREATE OR REPLACE FUNCTION wake_workers(campaign bigint, for_build boolean, most integer) RETURNS void
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
             AND coalesce(c.deadline > clock_timestamp(), true)
        WHERE i.build = for_build AND i.woken_at < clock_timestamp() - interval '5 seconds'
          AND i.campaign_id IN (0, campaign) AND (i.target IS NULL OR i.target = c.target)
          AND (c.pool = '' OR c.pool = ANY (w.labels))
          AND worker_lacks(w.id, w.stack, for_build, c.target, c.stack) IS NULL
        LIMIT most FOR UPDATE OF i SKIP LOCKED
    ), woken AS (
        UPDATE idle_workers i SET woken_at = clock_timestamp() FROM picked p
        WHERE i.worker_id = p.worker_id AND i.build = for_build
        RETURNING i.worker_id)
    SELECT count(pg_notify('skipjack_worker_' || worker_id, '')) INTO told FROM woken;
END $$;

-- Wakes workers for work that was given back or lost, of each campaign and pool.
CREATE OR REPLACE FUNCTION wake_for(campaign_ids bigint[]) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    SELECT wake_workers(id, for_build, 1)
    FROM (SELECT DISTINCT c FROM unnest(campaign_ids) AS c) AS given(id),
         (VALUES (true), (false)) AS pools(for_build)
$$;

-- Removes a worker's rows among the idle workers. Rows that a waking session holds stay: those
-- workers are woken in vain, once.
CREATE OR REPLACE FUNCTION idle_no_more(ending bigint, for_build boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM idle_workers i WHERE i.worker_id = ending AND i.build = for_build) THEN
        DELETE FROM idle_workers i WHERE i.ctid = ANY (ARRAY(
            SELECT o.ctid FROM idle_workers o WHERE o.worker_id = ending AND o.build = for_build
            FOR UPDATE SKIP LOCKED));
    END IF;
END $$;
