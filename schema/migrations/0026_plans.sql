-- What every job passes through is planned once a connection, and reads by keys
-- alone. An SQL function with settings of its own is parsed and planned anew
-- whenever a statement calls it; PL/pgSQL keeps its plans. And of a campaign
-- that is a minute old the planner knows nothing yet: it would read its whole
-- partition, by the campaign's number, for fifty jobs of it. OFFSET 0 keeps a
-- look-up of one row what it is.
-- oldest program: 0013

CREATE OR REPLACE FUNCTION put_jobs(b bundles, ids bigint[], new_state job_state, round integer,
                                    new_strikes integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence, claimed_by)
    VALUES (b.campaign_id, b.solver_id, new_state, round, b.position, ids, new_strikes,
            b.is_partial AND round = b.round_no, b.fence, b.claimed_by);
END $$;

CREATE OR REPLACE FUNCTION end_verified_jobs(b bundles, ids bigint[], budget boolean,
                                             had_rounds integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, by_budget, fence)
    SELECT b.campaign_id, job, 'done', had_rounds, 0, budget, b.fence FROM unnest(ids) AS job;
END $$;

-- What lives longest stands last in each state's order: it is looked for from
-- the end, where it is found at once however many rows came before it.
CREATE OR REPLACE FUNCTION has_open_jobs(campaign bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    open_state job_state;
BEGIN
    FOREACH open_state IN ARRAY '{ready, built, building, evaluating}'::job_state[] LOOP
        PERFORM FROM bundles b WHERE b.campaign_id = campaign AND b.state = open_state
        ORDER BY b.round_no DESC, b.position DESC LIMIT 1;
        IF FOUND THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

CREATE OR REPLACE FUNCTION add_spent(campaign bigint, more_seconds double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF coalesce(more_seconds, 0) = 0 THEN
        RETURN;
    END IF;
    INSERT INTO campaign_spent AS s (campaign_id, part, seconds)
    SELECT c.id, pg_backend_pid() % 256, more_seconds FROM campaigns c WHERE c.id = campaign
    ON CONFLICT (campaign_id, part) DO UPDATE SET seconds = s.seconds + EXCLUDED.seconds;
END $$;

CREATE OR REPLACE FUNCTION spent_seconds(campaign bigint) RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(sum(s.seconds), 0) FROM campaign_spent s
            WHERE s.campaign_id = campaign);
END $$;

CREATE OR REPLACE FUNCTION stack_matches(wanted text, present text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ BEGIN RETURN wanted = '' OR stack_lacks(wanted, present) IS NULL; END $$;

CREATE OR REPLACE FUNCTION skipjack_work.problems(ids jsonb) RETURNS SETOF json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT row_to_json(p) FROM problems p
                 WHERE p.id = ANY (ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e));
END $$;

-- ---- what a claim tells ----

-- What a worker has to know of the jobs that it claimed, bundles of one
-- campaign: where they stand, the configs taken out and the stored rounds; for
-- evaluating also the round that is open, and the problem's best time in the
-- campaign so far (one look into results a job, not a join: planned before
-- statistics know how the tables grew, a join may go through all of them).
DROP FUNCTION skipjack_work.claim(bigint, boolean, bigint, text, jsonb, integer, double precision,
                                  bigint, bigint, integer, bigint);
DROP FUNCTION claimed_jobs(bundles, boolean);
CREATE FUNCTION claimed_jobs(taken bundles[], build boolean)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined json, rounds json)
LANGUAGE plpgsql ROWS 50
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    campaign bigint := taken[1].campaign_id;
    for_target text := (
        SELECT c.target FROM campaigns c
        WHERE c.id = campaign AND EXISTS (SELECT 1 FROM quarantine q WHERE q.target = c.target));
    last_round integer := (SELECT max(b.round_no) FROM unnest(taken) AS b);
BEGIN
    IF build AND last_round = 0 AND for_target IS NULL THEN
        RETURN QUERY
            SELECT campaign, b.solver_id, b.round_no, b.position, b.strikes, b.fence, j.id,
                   j.problem_id, NULL::double precision, NULL::json, NULL::json
            FROM unnest(taken) WITH ORDINALITY AS b CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
            CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                                AND o.id = of_it.id OFFSET 0) AS j
            ORDER BY b.ordinality, j.position;
        RETURN;
    END IF;
    RETURN QUERY
        SELECT campaign, b.solver_id, b.round_no, b.position, b.strikes, b.fence, j.id,
               j.problem_id,
               CASE WHEN NOT build THEN
                   (SELECT min((SELECT k.median_ms FROM results k
                                WHERE k.campaign_id = campaign AND k.job_id = o.id AND k.rank = 0))
                    FROM jobs o
                    WHERE o.campaign_id = campaign AND o.problem_id = j.problem_id) END,
               CASE WHEN for_target IS NOT NULL THEN
                   (SELECT json_agg(q.config ORDER BY q.config) FROM quarantine q
                    WHERE q.solver_id = j.solver_id AND q.problem_id = j.problem_id
                    AND q.target = for_target) END,
               CASE WHEN b.round_no = 0 AND build THEN NULL
               WHEN b.round_no > 0 OR b.is_partial THEN
                   (SELECT json_agg(row_to_json(w) ORDER BY w.number)
                    FROM (SELECT r.number, coalesce(o.stack, r.stack) AS stack,
                                 coalesce(o.drift, 0) AS drift, r.config_counts,
                                 r.config_values, r.kernel_keys,
                                 coalesce(o.failures, r.failures) AS failures,
                                 coalesce(o.details, r.details) AS details, o.n, o.min_ms,
                                 o.median_ms, o.spread, o.error, r.build_seconds, o.eval_seconds
                          FROM rounds r LEFT JOIN LATERAL (
                              SELECT * FROM outcomes c WHERE c.campaign_id = campaign
                              AND c.job_id = j.id AND c.number = r.number OFFSET 0) AS o ON true
                          WHERE r.campaign_id = campaign AND r.job_id = j.id
                          AND r.number < b.round_no + CASE WHEN build THEN 0 ELSE 1 END) AS w)
               ELSE
                   (SELECT json_build_array(row_to_json(w))
                    FROM (SELECT r.number, r.stack, r.config_counts, r.config_values,
                                 r.kernel_keys, r.failures, r.details, r.build_seconds
                          FROM rounds r
                          WHERE r.campaign_id = campaign AND r.job_id = j.id
                          AND r.number = 0) AS w) END
        FROM unnest(taken) WITH ORDINALITY AS b CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                            AND o.id = of_it.id OFFSET 0) AS j
        ORDER BY b.ordinality, j.position;
END $$;

CREATE FUNCTION skipjack_work.claim(
    claimer bigint, build boolean, wanted_campaign bigint, wanted_target text, carried jsonb,
    batch integer, lease double precision, token bigint, known_campaign bigint,
    from_round integer, from_position bigint)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined json, rounds json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    taken bundles[];
BEGIN
    PERFORM check_worker(claimer);
    -- A lease is not longer than a day, also where it is no number.
    taken := ARRAY(SELECT b FROM claim_jobs(
        claimer, build, wanted_campaign, wanted_target,
        ARRAY(SELECT jsonb_array_elements_text(carried)), batch,
        greatest(least(lease, 86400), 0), token, known_campaign, from_round, from_position) AS b);
    IF taken = '{}' THEN
        RETURN;
    END IF;
    IF NOT acts_for_all() THEN
        INSERT INTO claimed_campaigns VALUES (claimer, taken[1].campaign_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN QUERY SELECT * FROM claimed_jobs(taken, build);
END $$;

-- ---- by keys alone ----

CREATE INDEX quarantine_target ON quarantine (target);

-- Refuses a result that neither the round handed in has nor an earlier one of the job.
CREATE OR REPLACE FUNCTION check_measured(r rounds, o outcomes, k results) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF NOT round_has_result(r, o, k) AND NOT EXISTS (
        SELECT 1 FROM outcomes f
        CROSS JOIN LATERAL (SELECT s FROM rounds s
                            WHERE s.campaign_id = r.campaign_id AND s.job_id = k.job_id
                              AND s.number = f.number OFFSET 0) AS e(built)
        WHERE f.campaign_id = r.campaign_id AND f.job_id = k.job_id
          AND f.median_ms @> ARRAY[k.median_ms] AND round_has_result(e.built, f, k))
    THEN
        PERFORM refuse_handed(k.job_id, format(
            'config %s is to be kept, and no round of the job has it verified in %s ms',
            k.config_text, k.median_ms));
    END IF;
END $$;

-- A round is looked for by its job: one that is named twice could be checked
-- against the other's round.
CREATE FUNCTION check_named_once(jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF cardinality(jobs) > 1
       AND (SELECT count(DISTINCT j) FROM unnest(jobs) AS j) < cardinality(jobs) THEN
        PERFORM refuse_handed(jobs[1], 'a job of the call is named twice');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION store_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_named_once(ARRAY(SELECT i.job_id FROM unnest(items) AS i));
    -- Who has no right to the jobs any more is told that before what is wrong with them.
    PERFORM take_built(campaign, items);
    PERFORM check_handed_built(campaign, items);
END $$;

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

CREATE OR REPLACE FUNCTION store_rounds(campaign bigint, items outcomes[], kept results[],
                                        more boolean[], seconds double precision[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    jobs bigint[] := ARRAY(SELECT i.job_id FROM unnest(items) AS i);
BEGIN
    PERFORM check_named_once(jobs);
    PERFORM take_rounds(campaign, items, kept, more, seconds);
    IF (cardinality(more) = cardinality(items) AND cardinality(seconds) = cardinality(items)
        AND 0 <= ALL (seconds) AND 1e9 > ALL (seconds)) IS NOT TRUE THEN
        PERFORM refuse_handed(jobs[1], 'its working time cannot be');
    END IF;
    PERFORM check_handed_outcomes(items, true);
    PERFORM check_handed_results(jobs, kept);
    PERFORM check_measurements(campaign, jobs, items, kept);
    PERFORM check_results_possible(campaign, kept);
END $$;

-- Outcomes are of the configs that were built: as many, and none that failed
-- there comes to life; and each result to keep is one of them. The usual case
-- is seen without a call: all configs have as many values, and the result's
-- time stands once in the round handed in.
CREATE OR REPLACE FUNCTION check_measurements(campaign bigint, jobs bigint[], items outcomes[],
                                              kept results[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    numbers integer[] := ARRAY(SELECT i.number FROM unnest(items) AS i);
    owners bigint[] := ARRAY(SELECT k.job_id FROM unnest(kept) AS k);
    r rounds;
    o outcomes;
    k results;
    at integer;
    values_each integer;
    place integer;
    seen integer := 0;
BEGIN
    FOR r IN SELECT b.* FROM unnest(jobs, numbers) AS of_it(job, number)
             CROSS JOIN LATERAL (SELECT * FROM rounds s
                                 WHERE s.campaign_id = campaign AND s.job_id = of_it.job
                                   AND s.number = of_it.number OFFSET 0) AS b
    LOOP
        o := items[array_position(jobs, r.job_id)];
        IF (1e12 > ALL (o.min_ms)) IS NOT TRUE THEN
            PERFORM refuse_handed(r.job_id, 'a time is endless or no number');
        END IF;
        IF cardinality(o.failures) <> cardinality(r.failures)
           OR r.pending < cardinality(r.failures) AND revives(r.failures, o.failures) THEN
            PERFORM refuse_handed(r.job_id, 'the outcomes are not those of the configs that were built');
        END IF;
        seen := seen + 1;
        CONTINUE WHEN kept = '{}';
        values_each := r.config_counts[1];
        FOREACH at IN ARRAY array_positions(owners, r.job_id) LOOP
            k := kept[at];
            place := array_position(o.median_ms, k.median_ms);
            CONTINUE WHEN o.failures[place] = 0 AND o.min_ms[place] = k.min_ms
                AND o.n[place] = k.n AND r.kernel_keys[place] = k.kernel_keys
                AND values_each = ALL (r.config_counts)
                AND r.config_values[values_each * (place - 1) + 1:values_each * place] = k.config;
            PERFORM check_measured(r, o, k);
        END LOOP;
    END LOOP;
    IF kept <> '{}' AND seen < cardinality(jobs) THEN
        PERFORM refuse_handed(jobs[1], 'no such round was built');
    END IF;
END $$;

ALTER FUNCTION claim_bundles SET enable_bitmapscan = off;
ALTER FUNCTION held_bundles SET enable_bitmapscan = off;
ALTER FUNCTION former_results SET enable_bitmapscan = off;
ALTER FUNCTION former_results SET enable_seqscan = off;
ALTER FUNCTION forget_outcomes SET enable_bitmapscan = off;
ALTER FUNCTION forget_outcomes SET enable_seqscan = off;
ALTER FUNCTION drop_open_rounds SET enable_bitmapscan = off;
ALTER FUNCTION drop_open_rounds SET enable_seqscan = off;
ALTER FUNCTION revive_jobs SET enable_bitmapscan = off;
ALTER FUNCTION revive_jobs SET enable_seqscan = off;
ALTER FUNCTION end_jobs SET enable_bitmapscan = off;
ALTER FUNCTION end_jobs SET enable_seqscan = off;

-- Its id says what a target is; limits and peaks are what a device said last.
-- A program that does not know of types' peaks leaves them.
CREATE OR REPLACE FUNCTION put_target(described jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    INSERT INTO targets AS t SELECT * FROM jsonb_populate_record(NULL::targets, described)
    ON CONFLICT (id) DO UPDATE SET local_bytes = EXCLUDED.local_bytes,
        max_workgroup = EXCLUDED.max_workgroup, wave_size = EXCLUDED.wave_size,
        vector_bytes = EXCLUDED.vector_bytes, peak_flops = EXCLUDED.peak_flops,
        peak_bytes = EXCLUDED.peak_bytes, type_peaks = coalesce(EXCLUDED.type_peaks, t.type_peaks)
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
