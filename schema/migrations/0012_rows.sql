-- What workers hand in comes as rows of the tables it goes to, arrays of their
-- row types, which the server reads several times faster than JSON. Each call
-- goes through its rows once for each table, and writes them as they came, but
-- for the campaign, the round and the fence, which are the bundle's.

DROP FUNCTION store_rounds(bigint, jsonb), move_on(bundles, jsonb, boolean),
    replace_results(bundles, jsonb), former_results(bundles), store_partial(bigint, jsonb),
    write_outcomes(bundles, jsonb, boolean), store_built(bigint, jsonb),
    check_stored(bigint, bigint, bigint[], jsonb, boolean), fences_of(jsonb);

-- Of jobs that no bundle holds under the fence all must have been stored under
-- it already, up to this round: then this is a repetition.
CREATE FUNCTION check_built(campaign bigint, held_fence bigint, missing bigint[], items rounds[])
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    PERFORM refuse_job(campaign, i.job_id, held_fence, 'store the round')
    FROM unnest(items) AS i
    WHERE i.job_id = ANY (missing)
      AND NOT EXISTS (SELECT 1 FROM rounds r
                      WHERE r.campaign_id = campaign AND r.job_id = i.job_id
                        AND r.number = i.number AND r.fence = held_fence);
END $$;

CREATE FUNCTION check_evaluated(campaign bigint, held_fence bigint, missing bigint[],
                                items outcomes[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    PERFORM refuse_job(campaign, i.job_id, held_fence, 'store the round')
    FROM unnest(items) AS i
    WHERE i.job_id = ANY (missing)
      AND NOT EXISTS (SELECT 1 FROM outcomes o
                      WHERE o.campaign_id = campaign AND o.job_id = i.job_id
                        AND o.number = i.number AND o.fence = held_fence AND NOT o.is_open);
END $$;

-- Code that a round waits for may have been dropped when its jobs were not held
-- any more. What is there stays from here on; a round that lacks some is refused,
-- and its jobs are built again.
CREATE FUNCTION ask_for_code(b bundles, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    lacking bigint;
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT DISTINCT i.job_id, one.key
        FROM unnest(items) AS i, unnest(i.kernel_keys, i.failures) AS c(keys, failure),
             unnest(string_to_array(c.keys, ',')) AS one(key)
        WHERE i.fence = b.fence AND i.job_id = ANY (b.job_ids) AND c.failure = 15
    ), asked AS (
        UPDATE kernels k SET used_at = clock_timestamp()
        WHERE k.key IN (SELECT w.key FROM wanted w) RETURNING k.key, k.code_place)
    SELECT w.job_id INTO lacking FROM wanted w JOIN asked a USING (key)
    WHERE a.code_place IS NULL LIMIT 1;
    IF FOUND THEN
        PERFORM refuse_job(b.campaign_id, lacking, b.fence, 'store a round without its code');
    END IF;
END $$;

-- Built rounds. Repeating it changes nothing.
CREATE FUNCTION store_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    build_only boolean;
    f record;
    b bundles;
    stored integer;
    missing bigint[];
BEGIN
    SELECT c.build_only INTO build_only FROM campaigns c WHERE c.id = campaign;
    FOR f IN SELECT i.fence AS held, array_agg(i.job_id ORDER BY i.job_id) AS ids
             FROM unnest(items) AS i GROUP BY i.fence ORDER BY i.fence
    LOOP
        missing := f.ids;
        FOR b IN SELECT * FROM held_bundles(campaign, f.held, f.ids) LOOP
            CONTINUE WHEN b.state = 'built';
            IF b.state = 'evaluating' THEN
                PERFORM refuse_job(campaign, b.job_ids[1], b.fence, 'store the built round');
            END IF;
            IF b.worker_id IS NULL THEN
                PERFORM ask_for_code(b, items);
            END IF;
            INSERT INTO rounds
            SELECT campaign, i.job_id, b.round_no, b.fence, i.stack, i.config_counts,
                   i.config_values, i.kernel_keys, i.failures, i.details, i.build_seconds,
                   i.kernels, i.evaluated, i.pending, i.total_build_seconds
            FROM unnest(items) AS i
            WHERE i.fence = b.fence AND i.number = b.round_no AND i.job_id = ANY (b.job_ids);
            GET DIAGNOSTICS stored = ROW_COUNT;
            IF stored <> cardinality(b.job_ids) THEN
                PERFORM refuse_job(campaign, b.job_ids[1], b.fence, 'store another round');
            END IF;
            PERFORM take_jobs(b, b.job_ids);
            IF build_only THEN
                PERFORM end_verified_jobs(b, b.job_ids, false, b.round_no + 1);
            ELSE
                PERFORM put_jobs(b, b.job_ids, 'built', b.round_no, b.strikes);
            END IF;
            missing := ARRAY(SELECT m FROM unnest(missing) AS m WHERE m <> ALL (b.job_ids));
        END LOOP;
        IF missing <> '{}' THEN
            PERFORM check_built(campaign, f.held, missing, items);
        END IF;
    END LOOP;
    IF build_only THEN
        PERFORM settle_campaign(campaign, 0);
    ELSE
        PERFORM wake_workers(campaign, false, 2);
    END IF;
END $$;

-- Writes outcomes of rounds that the bundle's jobs have open.
CREATE FUNCTION write_outcomes(b bundles, items outcomes[], open boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    stored integer;
BEGIN
    IF b.is_partial THEN
        PERFORM forget_outcomes(b);
    END IF;
    INSERT INTO outcomes
    SELECT b.campaign_id, i.job_id, b.round_no, open, b.fence, i.stack, i.drift, i.failures,
           i.details, i.n, i.min_ms, i.median_ms, i.spread, i.error, i.eval_seconds, i.evaluated,
           i.pending, i.total_eval_seconds
    FROM unnest(items) AS i
    WHERE i.fence = b.fence AND i.number = b.round_no AND i.job_id = ANY (b.job_ids);
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored <> cardinality(b.job_ids) THEN
        PERFORM refuse_job(b.campaign_id, b.job_ids[1], b.fence, 'store another round');
    END IF;
END $$;

-- Outcomes known so far of a round that goes on. Late ones change nothing.
CREATE FUNCTION store_partial(campaign bigint, items outcomes[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    f record;
    b bundles;
    missing bigint[];
BEGIN
    FOR f IN SELECT i.fence AS held, array_agg(i.job_id ORDER BY i.job_id) AS ids
             FROM unnest(items) AS i GROUP BY i.fence ORDER BY i.fence
    LOOP
        missing := f.ids;
        FOR b IN SELECT * FROM held_bundles(campaign, f.held, f.ids) LOOP
            IF b.state NOT IN ('evaluating', 'built') THEN
                CONTINUE;
            END IF;
            PERFORM write_outcomes(b, items, true);
            UPDATE bundles SET progress_at = clock_timestamp(), is_partial = true WHERE id = b.id;
            missing := ARRAY(SELECT m FROM unnest(missing) AS m WHERE m <> ALL (b.job_ids));
        END LOOP;
        IF missing <> '{}' THEN
            PERFORM check_evaluated(campaign, f.held, missing, items);
        END IF;
    END LOOP;
END $$;

-- The results kept so far, which are taken away.
CREATE FUNCTION former_results(b bundles) RETURNS results[]
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    former results[];
BEGIN
    WITH gone AS (
        DELETE FROM results r WHERE r.campaign_id = b.campaign_id AND r.job_id = ANY (b.job_ids)
        RETURNING r)
    SELECT array_agg(g.r) INTO former FROM gone g;
    RETURN former;
END $$;

-- Replaces the kept results. One that was kept before with the same times
-- keeps the stack it was measured under.
CREATE FUNCTION replace_results(b bundles, kept results[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    former results[] := CASE WHEN b.round_no > 0 THEN former_results(b) END;
BEGIN
    INSERT INTO results
    SELECT b.campaign_id, k.job_id, k.rank, k.config, k.config_text, k.kernel_keys,
           CASE WHEN former IS NULL THEN k.stack ELSE
               coalesce((SELECT o.stack FROM unnest(former) AS o
                         WHERE o.job_id = k.job_id AND o.config = k.config
                         AND o.median_ms = k.median_ms LIMIT 1), k.stack) END,
           k.n, k.min_ms, k.median_ms, k.spread, k.error, k.build_seconds, k.eval_seconds,
           k.workspace_bytes, k.flops, k.is_default
    FROM unnest(kept) AS k
    WHERE k.job_id = ANY (b.job_ids);
END $$;

-- What becomes of a bundle's jobs after a round: those that want more go on
-- unless the time is spent. A job whose round kept a result (verified) has
-- something verified.
CREATE FUNCTION move_on(b bundles, eager bigint[], verified bigint[], spent boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    f record;
BEGIN
    FOR f IN
        SELECT job = ANY (eager) AS wishes_more, job = ANY (verified) AS verified,
               array_agg(job) AS ids
        FROM unnest(b.job_ids) AS job GROUP BY 1, 2
    LOOP
        IF f.wishes_more AND NOT spent THEN
            PERFORM put_jobs(b, f.ids, 'ready', b.round_no + 1, 0);
        ELSIF f.verified THEN
            PERFORM end_verified_jobs(b, f.ids, f.wishes_more, b.round_no + 1);
        ELSE
            PERFORM end_jobs(b, f.ids, f.wishes_more, b.round_no + 1);
        END IF;
    END LOOP;
END $$;

-- Evaluated rounds and the results to keep of their jobs; more and seconds
-- have an element for each of the items. Repeating it changes nothing.
CREATE FUNCTION store_rounds(campaign bigint, items outcomes[], kept results[], more boolean[],
                             seconds double precision[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    f record;
    b bundles;
    budget double precision;
    worked double precision := 0;
    missing bigint[];
    jobs bigint[] := ARRAY(SELECT i.job_id FROM unnest(items) AS i);
    eager bigint[] := ARRAY(SELECT e.job FROM unnest(jobs, more) AS e(job, wishes)
                            WHERE e.wishes);
    verified bigint[] := ARRAY(SELECT k.job_id FROM unnest(kept) AS k);
BEGIN
    SELECT c.budget_seconds INTO budget FROM campaigns c WHERE c.id = campaign;
    FOR f IN SELECT i.fence AS held, array_agg(i.job_id ORDER BY i.job_id) AS ids
             FROM unnest(items) AS i GROUP BY i.fence ORDER BY i.fence
    LOOP
        missing := f.ids;
        FOR b IN SELECT * FROM held_bundles(campaign, f.held, f.ids) LOOP
            CONTINUE WHEN b.state = 'ready';
            IF b.state = 'building' THEN
                PERFORM refuse_job(campaign, b.job_ids[1], b.fence, 'store the round');
            END IF;
            PERFORM write_outcomes(b, items, false);
            PERFORM replace_results(b, kept);
            PERFORM take_jobs(b, b.job_ids);
            worked := worked + (SELECT coalesce(sum(w.time), 0)
                                FROM unnest(jobs, seconds) AS w(job, time)
                                WHERE w.job = ANY (b.job_ids));
            PERFORM move_on(b, eager, verified,
                            budget > 0 AND spent_seconds(campaign) + worked >= budget);
            missing := ARRAY(SELECT m FROM unnest(missing) AS m WHERE m <> ALL (b.job_ids));
        END LOOP;
        IF missing <> '{}' THEN
            PERFORM check_evaluated(campaign, f.held, missing, items);
        END IF;
    END LOOP;
    PERFORM settle_campaign(campaign, worked);
    IF eager <> '{}' THEN
        PERFORM wake_workers(campaign, true, 2);
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
