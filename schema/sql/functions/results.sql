-- Handing in: built rounds, outcomes, kept results, and who delivered them.

-- Stores built rounds and checks them. A repeated call changes nothing.
CREATE OR REPLACE FUNCTION store_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_named_once(ARRAY(SELECT i.job_id FROM unnest(items) AS i));
    -- A worker that lost its claim gets the error about its claim, not one about the rows.
    PERFORM take_built(campaign, items);
    PERFORM check_handed_built(campaign, items);
END $$;

-- Stores built rounds.
CREATE OR REPLACE FUNCTION take_built(campaign bigint, items rounds[]) RETURNS void
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

CREATE OR REPLACE FUNCTION skipjack_work.store_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM store_built(campaign, items); END $$;

-- Stores the outcomes known so far of a round that goes on, and checks them. Outcomes that
-- come after the whole round was stored under their fence change nothing.
CREATE OR REPLACE FUNCTION store_partial(campaign bigint, items outcomes[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    jobs bigint[] := ARRAY(SELECT i.job_id FROM unnest(items) AS i);
BEGIN
    PERFORM check_named_once(jobs);
    PERFORM take_partial(campaign, items);
    PERFORM check_handed_outcomes(items, false);
    PERFORM check_measurements(campaign, jobs, items, '{}');
END $$;

-- Stores the outcomes known so far of a round that goes on.
CREATE OR REPLACE FUNCTION take_partial(campaign bigint, items outcomes[]) RETURNS void
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

CREATE OR REPLACE FUNCTION skipjack_work.store_partial(campaign bigint, items outcomes[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM note_delivery(campaign, items);
    PERFORM store_partial(campaign, items);
END $$;

-- Stores evaluated rounds, and the results to keep of their jobs, and checks them. more, seconds
-- and whys (NULL for none) have one element for each item. A repeated call changes nothing.
CREATE OR REPLACE FUNCTION store_rounds(campaign bigint, items outcomes[], kept results[],
                                        more boolean[], seconds double precision[], whys text[])
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    jobs bigint[] := ARRAY(SELECT i.job_id FROM unnest(items) AS i);
BEGIN
    PERFORM check_named_once(jobs);
    PERFORM take_rounds(campaign, items, kept, more, seconds, whys);
    IF (cardinality(more) = cardinality(items) AND cardinality(seconds) = cardinality(items)
        AND 0 <= ALL (seconds) AND 1e9 > ALL (seconds)) IS NOT TRUE THEN
        PERFORM refuse_handed(jobs[1], 'its working time cannot be');
    END IF;
    IF cardinality(whys) <> cardinality(items) THEN
        PERFORM refuse_handed(jobs[1], 'it does not say why its search ends');
    END IF;
    PERFORM check_handed_outcomes(items, true);
    PERFORM check_handed_results(jobs, kept);
    PERFORM check_measurements(campaign, jobs, items, kept);
    PERFORM check_results_possible(campaign, kept);
END $$;

-- Stores evaluated rounds, and the results to keep of their jobs.
CREATE OR REPLACE FUNCTION take_rounds(campaign bigint, items outcomes[], kept results[], more boolean[],
                                       seconds double precision[], whys text[]) RETURNS void
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
    limited boolean;
    took record;
BEGIN
    SELECT c.budget_seconds, is_limited(c) INTO budget, limited FROM campaigns c WHERE c.id = campaign;
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
                            budget > 0 AND spent_seconds(campaign) + worked >= budget, jobs, whys);
            missing := ARRAY(SELECT m FROM unnest(missing) AS m WHERE m <> ALL (b.job_ids));
        END LOOP;
        IF missing <> '{}' THEN
            PERFORM check_evaluated(campaign, f.held, missing, items);
        END IF;
    END LOOP;
    SELECT * INTO took FROM rounds_took(campaign, CASE WHEN limited AND worked > 0 THEN items END);
    PERFORM settle_campaign(campaign, worked, took.rounds, took.build_seconds, took.eval_seconds);
    -- Where time is limited, a round that ended also lets rounds be built that waited for it.
    IF eager <> '{}' OR limited THEN
        PERFORM wake_workers(campaign, true, 2);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.store_rounds(campaign bigint, items outcomes[],
                                                      kept results[], more boolean[],
                                                      seconds double precision[],
                                                      whys text[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_seconds(seconds);
    PERFORM check_search_ends(whys);
    PERFORM note_delivery(campaign, items);
    PERFORM store_rounds(campaign, items, kept, more, possible_seconds(campaign, seconds), whys);
END $$;

-- The types of rows that workers hand in. held_bundles() checks whose jobs the rows are
-- of.
CREATE OR REPLACE FUNCTION skipjack_work.row_types(OUT rounds oid, OUT outcomes oid, OUT results oid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ SELECT 'rounds'::regtype::oid, 'outcomes'::regtype::oid, 'results'::regtype::oid $$;

-- Refuses jobs that no bundle holds under the fence (missing), except those whose round was
-- stored under this fence before: the call is then a repetition.
CREATE OR REPLACE FUNCTION check_built(campaign bigint, held_fence bigint, missing bigint[], items rounds[])
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

CREATE OR REPLACE FUNCTION check_evaluated(campaign bigint, held_fence bigint, missing bigint[],
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

-- Stores outcomes of rounds that the bundle's jobs have open.
CREATE OR REPLACE FUNCTION write_outcomes(b bundles, items outcomes[], open boolean) RETURNS void
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
           i.pending, i.total_eval_seconds, i.pack_ms, i.cold, i.verified_share, i.proof_runs, i.proof_kinds
    FROM unnest(items) AS i
    WHERE i.fence = b.fence AND i.number = b.round_no AND i.job_id = ANY (b.job_ids);
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored <> cardinality(b.job_ids) THEN
        PERFORM refuse_job(b.campaign_id, b.job_ids[1], b.fence, 'store another round');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION forget_outcomes(b bundles) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_bitmapscan = off SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM outcomes WHERE campaign_id = b.campaign_id AND job_id = ANY (b.job_ids)
                           AND number = b.round_no;
END $$;

-- Deletes the results kept so far, and returns them.
CREATE OR REPLACE FUNCTION former_results(b bundles) RETURNS results[]
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_bitmapscan = off SET enable_seqscan = off AS $$
DECLARE
    former results[];
BEGIN
    WITH gone AS (
        DELETE FROM results r WHERE r.campaign_id = b.campaign_id AND r.job_id = ANY (b.job_ids)
        RETURNING r)
    SELECT array_agg(g.r) INTO former FROM gone g;
    RETURN former;
END $$;

-- Replaces the kept results. A result that was kept before with the same times keeps
-- the stack that it was measured under, and its interval; a winner that is measured again stays the winner until
-- the next second measurement.
CREATE OR REPLACE FUNCTION replace_results(b bundles, kept results[]) RETURNS void
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
           k.workspace_bytes, k.flops, k.is_default, k.pack_ms, k.packed_bytes, o.low_ms, o.high_ms,
           coalesce(w.wins, false)
    FROM unnest(kept) AS k
    LEFT JOIN LATERAL (SELECT f.low_ms, f.high_ms FROM unnest(former) AS f
                       WHERE f.job_id = k.job_id AND f.config = k.config
                         AND f.median_ms = k.median_ms LIMIT 1) AS o ON former IS NOT NULL
    LEFT JOIN LATERAL (SELECT f.wins FROM unnest(former) AS f
                       WHERE f.job_id = k.job_id AND f.config = k.config
                         AND (b.remeasures OR f.median_ms = k.median_ms) LIMIT 1) AS w ON former IS NOT NULL
    WHERE k.job_id = ANY (b.job_ids);
END $$;

-- Returns true if the round has the result's config, verified, with its times and
-- kernels.
CREATE OR REPLACE FUNCTION round_has_result(r rounds, o outcomes, k results) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    at integer;
    before integer;
BEGIN
    FOREACH at IN ARRAY coalesce(array_positions(o.median_ms, k.median_ms), '{}') LOOP
        IF o.failures[at] = @FAILURE_NONE AND o.min_ms[at] = k.min_ms AND o.n[at] = k.n
           AND r.kernel_keys[at] = k.kernel_keys THEN
            before := coalesce(sum_of(r.config_counts[:at - 1]), 0);
            IF r.config_values[before + 1:before + r.config_counts[at]] = k.config THEN
                RETURN true;
            END IF;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Called before the outcomes are stored, while the jobs are in the bundles that were
-- claimed. A refused call leaves no row: both are one transaction.
CREATE OR REPLACE FUNCTION note_delivery(campaign bigint, items outcomes[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO deliveries (campaign_id, worker_id, job_ids, numbers)
    SELECT campaign, held.worker, array_agg(i.job_id), array_agg(i.number)
    FROM unnest(items) AS i
    CROSS JOIN LATERAL (
        SELECT coalesce(
            (SELECT b.claimed_by FROM bundles b
             WHERE b.campaign_id = campaign AND b.fence = i.fence LIMIT 1),
            (SELECT e.claimed_by FROM job_ends e
             WHERE e.campaign_id = campaign AND e.job_id = i.job_id), 0)) AS held(worker)
    WHERE held.worker <> 0
    GROUP BY held.worker;
END $$;

CREATE OR REPLACE FUNCTION name_worker() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO worker_names VALUES (NEW.id, NEW.login, NEW.node) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER name_worker AFTER INSERT ON workers FOR EACH ROW EXECUTE FUNCTION name_worker();

-- Logins that measured a job. A job that takes over results takes over who measured
-- them.
CREATE OR REPLACE FUNCTION measurers(campaign bigint, job bigint) RETURNS text[]
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT w.login ORDER BY w.login) FILTER (WHERE w.login IS NOT NULL), '{}')
    FROM job_workers w WHERE w.campaign_id = campaign AND w.job_id = job
$$;

-- The workers that measured a job, each once. No row if the database does not know
-- them, or the job took over what another campaign measured.
CREATE OR REPLACE VIEW job_workers AS
    SELECT d.campaign_id, m.job_id, d.worker_id, n.login, n.node, count(DISTINCT m.number) AS rounds,
           max(d.at) AS last_at
    FROM deliveries d
    CROSS JOIN LATERAL unnest(d.job_ids, d.numbers) AS m(job_id, number)
    LEFT JOIN worker_names n ON n.worker_id = d.worker_id
    GROUP BY d.campaign_id, m.job_id, d.worker_id, n.login, n.node;
