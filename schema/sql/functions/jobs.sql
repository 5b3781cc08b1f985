-- The states of jobs: bundles of open jobs, and the ends of jobs.

CREATE OR REPLACE FUNCTION check_bundle_move() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT (OLD.state = NEW.state
            OR (OLD.state, NEW.state) IN (('ready', 'building'), ('building', 'ready'),
                                          ('built', 'evaluating'), ('evaluating', 'built'))) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('bundle %s cannot go from %s to %s', OLD.id, OLD.state, NEW.state);
    ELSIF NEW.fence < OLD.fence THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('the fence of bundle %s cannot go back', OLD.id);
    END IF;
    NEW.claimed_by := coalesce(NEW.worker_id, NEW.claimed_by);
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER check_move BEFORE UPDATE ON bundles
    FOR EACH ROW EXECUTE FUNCTION check_bundle_move();

CREATE OR REPLACE FUNCTION note_holder() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    NEW.claimed_by := NEW.worker_id;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER note_holder BEFORE INSERT ON bundles
    FOR EACH ROW WHEN (NEW.worker_id IS NOT NULL) EXECUTE FUNCTION note_holder();

-- Puts jobs that left a bundle into a bundle of their own, which no worker holds. The
-- new bundle keeps the fence and who claimed it last (claimed_by), so a repeated call is
-- recognized and a late result is accepted. It keeps the price, too: move_on() sets it anew.
CREATE OR REPLACE FUNCTION put_jobs(b bundles, ids bigint[], new_state job_state, round integer,
                                    new_strikes integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence, claimed_by, remeasures, price)
    VALUES (b.campaign_id, b.solver_id, new_state, round, b.position, ids, new_strikes,
            b.is_partial AND round = b.round_no, b.fence, b.claimed_by, b.remeasures, b.price);
END $$;

-- Takes jobs out of the locked bundle; b may show only some of its jobs. An empty
-- bundle is deleted.
CREATE OR REPLACE FUNCTION take_jobs(b bundles, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM bundles WHERE id = b.id AND job_ids <@ ids;
    IF NOT FOUND THEN
        UPDATE bundles SET progress_at = clock_timestamp(),
                           job_ids = ARRAY(SELECT j FROM unnest(job_ids) AS j
                                           WHERE j <> ALL (ids))
        WHERE id = b.id;
    END IF;
END $$;

-- The bundles that hold any of the jobs under this fence, locked; their job_ids show
-- only jobs of the call. Fences can be guessed, so a worker gets only bundles that it
-- claimed itself.
CREATE OR REPLACE FUNCTION held_bundles(campaign bigint, held_fence bigint, ids bigint[])
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 1
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    mine bigint[] := my_workers();
    b bundles;
    seen integer := 0;
BEGIN
    FOR attempt IN 1..2 LOOP
        FOR b IN SELECT * FROM bundles
                 WHERE campaign_id = campaign AND fence = held_fence AND job_ids && ids
                 ORDER BY id FOR UPDATE
        LOOP
            IF mine IS NOT NULL AND (b.claimed_by IS NULL OR b.claimed_by <> ALL (mine)) THEN
                RAISE EXCEPTION USING ERRCODE = 'SJ003',
                    MESSAGE = format('job %s was claimed by another worker', b.job_ids[1]);
            END IF;
            IF NOT ids @> b.job_ids THEN
                b.job_ids := ARRAY(SELECT j FROM unnest(b.job_ids) AS j WHERE j = ANY (ids));
            END IF;
            seen := seen + cardinality(b.job_ids);
            RETURN NEXT b;
        END LOOP;
        EXIT WHEN seen > 0;
        PERFORM revive_jobs(campaign, held_fence, ids);
    END LOOP;
END $$;

-- The bundle that holds the job under the fence, showing this job only; NULL if the job
-- ended under this fence. Refuses any other job; wish: what the caller wants, for the
-- message.
CREATE OR REPLACE FUNCTION held_job(campaign bigint, job bigint, held_fence bigint, wish text) RETURNS bundles
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles;
BEGIN
    SELECT * INTO b FROM held_bundles(campaign, held_fence, ARRAY[job]);
    IF NOT FOUND AND NOT EXISTS (SELECT 1 FROM job_ends e WHERE e.campaign_id = campaign
                                 AND e.job_id = job AND e.fence = held_fence) THEN
        PERFORM refuse_job(campaign, job, held_fence, wish);
    END IF;
    RETURN b;
END $$;

-- Opens jobs again that failed only because their worker was lost, by the fence of its
-- claim. The campaign is locked first, so no session cancels it before the jobs can be
-- seen.
CREATE OR REPLACE FUNCTION revive_jobs(campaign bigint, held_fence bigint, ids bigint[])
    RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_bitmapscan = off SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = ANY (ids)
                   AND e.failure = @FAILURE_WORKER_LOST AND e.fence = held_fence) THEN
        RETURN;
    END IF;
    PERFORM FROM campaigns c WHERE c.id = campaign AND c.state <> 'cancelled' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    WITH revived AS (
        DELETE FROM job_ends e
        WHERE e.campaign_id = campaign AND e.job_id = ANY (ids) AND e.failure = @FAILURE_WORKER_LOST
          AND e.fence = held_fence
        RETURNING e.*)
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence, claimed_by)
    SELECT campaign, j.solver_id, r.lost_state, r.rounds, j.position, ARRAY[r.job_id], r.strikes,
           true, held_fence, r.claimed_by
    FROM revived r JOIN jobs j ON j.campaign_id = campaign AND j.id = r.job_id;
    UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done';
END $$;

-- Returns true if a config that failed to build is reported as verified.
CREATE OR REPLACE FUNCTION revives(at_build smallint[], said smallint[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    FOR at IN 1..cardinality(at_build) LOOP
        IF at_build[at] <> @FAILURE_PENDING AND said[at] IN (@FAILURE_NONE, @FAILURE_SLOW) THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Raises the error that says why no bundle holds the job under this fence.
CREATE OR REPLACE FUNCTION refuse_job(campaign bigint, job bigint, held_fence bigint, wish text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    row job_rows;
BEGIN
    SELECT r.* INTO row FROM job_rows r JOIN campaigns c ON c.id = r.campaign_id
    WHERE r.campaign_id = campaign AND r.id = job;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001',
            MESSAGE = format('job %s does not exist any more', job);
    ELSIF row.state = 'cancelled' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format('job %s was cancelled', job);
    ELSIF row.fence <> held_fence THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ003',
            MESSAGE = format('job %s was claimed again: its fence is %s, this result has %s',
                             job, row.fence, held_fence);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'SJ002',
        MESSAGE = format('cannot %s of job %s: it is %s in round %s', wish, job, row.state,
                         row.round_no);
END $$;

-- Moves a bundle's jobs on after a round. Jobs that want more rounds go on unless the
-- budget is spent; in a campaign whose time is limited, jobs of like prices stay together.
-- A job whose round kept a result (verified) has a verified config. whys: what ended the searches of `jobs`
-- (job_ends.search_end), NULL for those that go on; the array is NULL in rounds of older programs.
CREATE OR REPLACE FUNCTION move_on(b bundles, eager bigint[], verified bigint[], spent boolean,
                                   jobs bigint[], whys text[])
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    f record;
    limited boolean := NOT spent AND (SELECT is_limited(c) FROM campaigns c WHERE c.id = b.campaign_id);
BEGIN
    IF b.remeasures THEN
        PERFORM end_remeasured(b, verified, spent);
        RETURN;
    END IF;
    FOR f IN
        SELECT job = ANY (eager) AS wishes_more, job = ANY (verified) AS verified,
               its.why, array_agg(job) AS ids
        FROM unnest(b.job_ids) AS job
        CROSS JOIN LATERAL (SELECT whys[array_position(jobs, job)] AS why) AS its
        CROSS JOIN LATERAL (
            SELECT CASE WHEN limited AND cardinality(b.job_ids) > 1 AND job = ANY (eager)
                   THEN price_of(b.campaign_id, ARRAY[job]) END AS price) AS own
        GROUP BY 1, 2, 3, CASE WHEN own.price < 'infinity' THEN round(ln(own.price)) ELSE own.price END
    LOOP
        IF f.wishes_more AND NOT spent THEN
            b.price := CASE WHEN limited THEN price_of(b.campaign_id, f.ids) ELSE b.round_no + 1 END;
            PERFORM put_jobs(b, f.ids, 'ready', b.round_no + 1, 0);
        ELSIF f.verified THEN
            PERFORM end_verified_jobs(b, f.ids, f.wishes_more, b.round_no + 1, f.why);
        ELSE
            PERFORM end_jobs(b, f.ids, f.wishes_more, b.round_no + 1, f.why);
        END IF;
    END LOOP;
END $$;

-- Ends jobs that no bundle holds any more, as end_bundles() does. had_rounds: how many rounds
-- each job had.
CREATE OR REPLACE FUNCTION end_jobs(b bundles, ids bigint[], budget boolean, had_rounds integer,
                                    why text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    b.job_ids := ids;
    b.round_no := had_rounds;
    PERFORM end_bundles(ARRAY[b], budget, why);
END $$;

-- Ends jobs with a verified config. Their rounds need not be read.
CREATE OR REPLACE FUNCTION end_verified_jobs(b bundles, ids bigint[], budget boolean,
                                             had_rounds integer, why text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, by_budget, fence,
                          claimed_by, search_end)
    SELECT b.campaign_id, job, 'done', had_rounds, @FAILURE_NONE, budget, b.fence, b.claimed_by, why
    FROM unnest(ids) AS job;
END $$;

-- Ends a job if none of its configs is verified that were measured again: with the
-- commonest failure of its last round, or as unstable.
CREATE OR REPLACE FUNCTION end_unconfirmed_job(b bundles, job bigint, budget boolean, why text)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    worst record;
BEGIN
    SELECT f.failure, min(f.detail) AS words INTO worst
    FROM outcomes o, unnest(o.failures, o.details) AS f(failure, detail)
    WHERE o.campaign_id = b.campaign_id AND o.job_id = job AND o.number = b.round_no
      AND f.failure BETWEEN @FAILURE_NOT_APPLICABLE AND @FAILURE_REFUSED_BY_CHECK
    GROUP BY f.failure ORDER BY count(*) DESC, f.failure LIMIT 1;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, by_budget, fence,
                          claimed_by, search_end)
    VALUES (b.campaign_id, job, 'failed', b.round_no + 1, coalesce(worst.failure, @FAILURE_UNSTABLE), worst.words,
            budget, b.fence, b.claimed_by, why);
END $$;

CREATE OR REPLACE FUNCTION drop_open_rounds(campaign bigint, ids bigint[], from_number integer)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_bitmapscan = off SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM rounds WHERE campaign_id = campaign AND job_id = ANY (ids) AND number >= from_number;
    DELETE FROM outcomes WHERE campaign_id = campaign AND job_id = ANY (ids)
                           AND number >= from_number;
    DELETE FROM round_conditions WHERE campaign_id = campaign AND job_id = ANY (ids)
                                   AND number >= from_number;
END $$;

-- Ends a job without configs left to propose. A solver proposes at least its default
-- config, so the first round always exists; a worker that may propose none of them
-- fails the job (fail_job()). why: what ended its search (job_ends.search_end).
CREATE OR REPLACE FUNCTION finish_job(campaign bigint, job bigint, held_fence bigint, why text)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'store the end');
BEGIN
    IF b.id IS NULL THEN
        RETURN;
    ELSIF b.state NOT IN ('building', 'ready') THEN
        PERFORM refuse_job(campaign, job, held_fence, 'store the end');
    ELSIF b.round_no = 0 THEN
        PERFORM refuse_handed(job, 'it cannot be done before its first round was evaluated');
    END IF;
    PERFORM take_jobs(b, b.job_ids);
    PERFORM end_jobs(b, b.job_ids, false, b.round_no, why);
    PERFORM settle_campaign(campaign, 0);
END $$;

-- Older programs say no why.
CREATE OR REPLACE FUNCTION skipjack_work.finish_job(campaign bigint, job bigint, held_fence bigint,
                                                    why text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM check_search_ends(ARRAY[why]); PERFORM finish_job(campaign, job, held_fence, why); END $$;

-- Fails a job. A device fault or a run timeout adds the devices that failed with the
-- job before. claimed_by says which worker may take back its quarantines.
CREATE OR REPLACE FUNCTION fail_job(campaign bigint, job bigint, held_fence bigint, why smallint,
                                    words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'store the failure');
BEGIN
    IF b.id IS NULL THEN
        IF EXISTS (SELECT 1 FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = job
                   AND e.state = 'done') THEN
            PERFORM refuse_job(campaign, job, held_fence, 'store the failure');
        END IF;
        RETURN;
    END IF;
    IF why IN (7, 8) THEN
        words := concat(words, faulted_before(campaign, job));
    END IF;
    PERFORM take_jobs(b, b.job_ids);
    IF b.remeasures THEN
        PERFORM give_up_remeasure(b, words);
        RETURN;
    END IF;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state, claimed_by)
    VALUES (campaign, job, 'failed', b.round_no, why, words, b.strikes, b.fence,
            CASE WHEN why = @FAILURE_WORKER_LOST THEN CASE WHEN b.state IN ('ready', 'building') THEN 'ready'
                                         ELSE 'built' END END::job_state, b.claimed_by);
    PERFORM settle_campaign(campaign, 0);
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.fail_job(campaign bigint, job bigint, held_fence bigint,
                                                  why smallint, words text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM check_failure(why); PERFORM fail_job(campaign, job, held_fence, why, words); END $$;

-- Gives one job of a bundle back without a strike.
CREATE OR REPLACE FUNCTION release_job(campaign bigint, job bigint, held_fence bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'give back');
BEGIN
    IF b.worker_id IS NOT NULL THEN
        PERFORM take_jobs(b, b.job_ids);
        PERFORM put_jobs(b, b.job_ids,
                         CASE b.state WHEN 'building' THEN 'ready' ELSE 'built' END::job_state,
                         b.round_no, b.strikes);
        PERFORM wake_for(ARRAY[campaign]);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.release_job(campaign bigint, job bigint, held_fence bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM release_job(campaign, job, held_fence); END $$;

-- Gives bundles back as they were, without a strike.
CREATE OR REPLACE FUNCTION release_bundles(ids bigint[]) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE bundles SET state = CASE state WHEN 'building' THEN 'ready' ELSE 'built' END::job_state,
                       worker_id = NULL, claim_token = NULL
    WHERE id = ANY (ids) AND worker_id IS NOT NULL
$$;

-- Takes a locked bundle from a worker that was lost. Each job gets a strike and a bundle
-- of its own. The third strike since the last stored round makes the job fail as worker
-- lost; a job that was measuring again stays as it ended before.
CREATE OR REPLACE FUNCTION lose_bundle(b bundles) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    back job_state := CASE b.state WHEN 'building' THEN 'ready' ELSE 'built' END;
    words text := format('worker lost three times, last in state %s', b.state);
BEGIN
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    SELECT 'lease lost', b.campaign_id, job, b.worker_id,
           format('%s, strike %s', b.state, b.strikes + 1)
    FROM unnest(b.job_ids) AS job;
    DELETE FROM bundles WHERE id = b.id;
    IF b.strikes < 2 THEN
        PERFORM put_jobs(b, ARRAY[job], back, b.round_no, b.strikes + 1)
        FROM unnest(b.job_ids) AS job;
        RETURN;
    ELSIF b.remeasures THEN
        PERFORM give_up_remeasure(b, words);
        RETURN;
    END IF;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state, claimed_by)
    SELECT b.campaign_id, job, 'failed', b.round_no, @FAILURE_WORKER_LOST, words, b.strikes + 1, b.fence,
           back, b.claimed_by
    FROM unnest(b.job_ids) AS job;
    PERFORM settle_campaign(b.campaign_id, 0);
END $$;

-- Takes bundles from workers whose last heartbeat is too old, and bundles without
-- progress for four hours, even if their worker sends heartbeats. While the server is
-- down no heartbeat arrives, so all leases begin anew when it starts.
CREATE OR REPLACE FUNCTION lose_expired() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    b bundles;
    touched bigint[] := '{}';
BEGIN
    FOR b IN SELECT h.* FROM bundles h JOIN workers w ON w.id = h.worker_id
             WHERE h.worker_id IS NOT NULL
               AND (greatest(w.beat_at, pg_postmaster_start_time())
                        + h.lease_seconds * interval '1 second' < clock_timestamp()
                    OR h.progress_at + interval '4 hours' < clock_timestamp())
             ORDER BY h.id FOR UPDATE OF h SKIP LOCKED
    LOOP
        PERFORM lose_bundle(b);
        touched := touched || b.campaign_id;
    END LOOP;
    PERFORM wake_for(touched);
END $$;

-- Returns jobs to be built again whose round waits for evaluation and has lost code.
-- Returns their number.
CREATE OR REPLACE FUNCTION rebuild_rounds() RETURNS bigint
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
                          WHERE c.failure = @FAILURE_PENDING AND k.code_place IS NULL));
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

-- The state of each job. A job that neither waits, is worked on nor has ended was
-- cancelled.
CREATE OR REPLACE VIEW job_rows AS
    SELECT j.campaign_id, j.id, j.problem_id, j.solver_id, j.position, j.priority, j.multiplicity,
           CASE WHEN b.remeasures THEN b.state
                ELSE coalesce(e.state, b.state, 'cancelled') END AS state,
           coalesce(e.rounds, b.round_no, 0) AS round_no,
           CASE WHEN b.remeasures THEN b.fence ELSE coalesce(e.fence, b.fence, 0) END AS fence,
           CASE WHEN b.remeasures THEN b.strikes::integer
                ELSE coalesce(e.strikes, b.strikes, 0) END AS strikes,
           b.worker_id,
           CASE WHEN b.remeasures THEN @FAILURE_NONE ELSE coalesce(e.failure, @FAILURE_NONE) END
               AS failure,
           CASE WHEN b.remeasures THEN NULL ELSE e.detail END AS detail,
           coalesce(e.reused, false) AS reused, coalesce(e.by_budget, false) AS by_budget,
           e.search_end
    FROM jobs j
    LEFT JOIN job_ends e ON e.campaign_id = j.campaign_id AND e.job_id = j.id
    LEFT JOIN (bundles b CROSS JOIN LATERAL unnest(b.job_ids) AS member(job_id))
         ON b.campaign_id = j.campaign_id AND member.job_id = j.id;

-- Each round with its outcomes so far.
CREATE OR REPLACE VIEW round_rows AS
    SELECT r.campaign_id, r.job_id, r.number, coalesce(o.is_open, true) AS is_open,
           coalesce(o.stack, r.stack) AS stack, coalesce(o.drift, 0) AS drift,
           r.config_counts, r.config_values, r.kernel_keys,
           coalesce(o.failures, r.failures) AS failures, o.n, o.min_ms, o.median_ms, o.spread,
           o.error, r.build_seconds, o.eval_seconds, coalesce(o.details, r.details) AS details,
           coalesce(o.evaluated, r.evaluated) AS evaluated,
           coalesce(o.pending, r.pending) AS pending, r.kernels, r.total_build_seconds,
           coalesce(o.total_eval_seconds, 0) AS total_eval_seconds, r.fence, o.pack_ms, o.cold,
           o.verified_share, o.proof_runs, o.proof_kinds
    FROM rounds r LEFT JOIN outcomes o USING (campaign_id, job_id, number);

-- The right configs that were proved, with the runs that were compared and the number of kinds of inputs.
CREATE OR REPLACE VIEW config_proofs AS
    SELECT o.campaign_id, o.job_id, o.number,
           b.config_values[before.size + 1:before.size + b.config_counts[p.at]] AS config, p.runs, p.kinds
    FROM outcomes o
    JOIN rounds b USING (campaign_id, job_id, number)
    CROSS JOIN LATERAL unnest(o.proof_runs, o.proof_kinds) WITH ORDINALITY AS p(runs, kinds, at)
    CROSS JOIN LATERAL (SELECT coalesce(sum(c), 0)::integer AS size
                        FROM unnest(b.config_counts[:p.at - 1]) AS c) AS before
    WHERE p.runs > 0 AND o.failures[p.at] = @FAILURE_NONE;
