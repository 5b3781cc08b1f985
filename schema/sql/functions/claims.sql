-- Claims: which campaign a worker gets jobs of, which bundles it takes, and why a worker
-- gets none.

-- Claims up to `batch` jobs for a worker, to be built (`build`) or to be evaluated. All of
-- them belong to one campaign: the first one, in the order below, that has such jobs.
--
-- Which campaigns. The campaign is active, its deadline has not passed, it is the wanted
-- one (wanted_campaign 0: any) for the wanted target (NULL: any), the worker has the label
-- of its pool, and the worker's software meets its constraints.
--
-- Their order. The highest priority comes first, then the least fair time. Fair time is
-- weighted fair queueing: it grows with the working time spent, divided by the campaign's
-- share, so a campaign with twice the share gets twice the working time. A campaign that
-- becomes active begins at the least fair time of its rivals (enter_competition()), so it
-- neither makes up for the time before nor pays for it. Fair time is only computed if
-- several campaigns are active.
--
-- Order of jobs. Bundles are claimed by price, then by position. First rounds, and rounds that
-- measure again, have the price 0: all jobs get their first round before any job gets its
-- second. Later rounds go by their number; in a campaign whose time is limited, by the seconds
-- that they take for each ms that they are expected to save (prospects.sql). Once the campaign's
-- budget is spent, each problem gets one verified config and no more: claims end the jobs that are
-- not needed for that (needless_jobs()), and take the others, and rounds that measure again.
--
-- Where the reading begins. The worker's last claim from this pool ended in known_campaign
-- at (from_round, from_position), and this claim goes on there, so it does not read the
-- first rounds claimed before. Later rounds are read from the cheapest one on. If it finds
-- nothing from there on, it reads the campaign once more from the front, to find bundles that
-- were released since.
--
-- A campaign without any open job is settled when a claim finds nothing in it.
CREATE OR REPLACE FUNCTION claim_jobs(claimer bigint, build boolean, wanted_campaign bigint,
                                      wanted_target text, carried text[], batch integer,
                                      lease double precision, token bigint, known_campaign bigint,
                                      from_round integer, from_position bigint)
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 8 SET search_path = skipjack, pg_temp AS $$
DECLARE
    from_state job_state := CASE WHEN build THEN 'ready' ELSE 'built' END;
    has_stack text;
    has_labels text[];
    several boolean := (SELECT count(*) > 1 FROM campaigns WHERE state = 'active');
    solver_ids bigint[];
    c campaigns;
    b bundles;
    claimed_campaign bigint;
    spent boolean;
    wanted integer := batch;
BEGIN
    UPDATE workers SET beat_at = clock_timestamp(), ended_at = NULL
    WHERE id = claimer RETURNING stack, labels INTO has_stack, has_labels;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', claimer);
    END IF;
    SELECT array_agg(id) INTO solver_ids FROM solvers
    WHERE carried IS NULL OR name || ':' || revision || ':' || hash = ANY (carried);
    FOR c IN SELECT * FROM campaigns AS active
             WHERE state = 'active' AND coalesce(deadline > clock_timestamp(), true)
               AND (wanted_campaign = 0 OR id = wanted_campaign)
               AND (wanted_target IS NULL OR target = wanted_target)
               AND (pool = '' OR pool = ANY (has_labels))
               AND worker_lacks(claimer, has_stack, build, target, stack) IS NULL
             ORDER BY priority DESC, CASE WHEN several THEN fair_time(active) END, id
    LOOP
        spent := is_spent(c);
        IF spent THEN
            PERFORM end_later_rounds(c);
        END IF;
        FOR b IN SELECT * FROM claim_bundles(claimer, c, from_state, solver_ids, spent,
                                             batch, lease, token,
                                             CASE c.id WHEN known_campaign THEN from_round ELSE 0 END,
                                             CASE c.id WHEN known_campaign THEN from_position ELSE 0 END)
        LOOP
            wanted := wanted - cardinality(b.job_ids);
            RETURN NEXT b;
        END LOOP;
        IF wanted = batch AND c.id = known_campaign THEN
            FOR b IN SELECT * FROM claim_bundles(claimer, c, from_state, solver_ids, spent,
                                                 batch, lease, token, 0, 0)
            LOOP
                wanted := wanted - cardinality(b.job_ids);
                RETURN NEXT b;
            END LOOP;
        END IF;
        claimed_campaign := CASE WHEN wanted < batch THEN c.id END;
        EXIT WHEN claimed_campaign IS NOT NULL;
        IF spent THEN
            PERFORM end_unclaimed_jobs(c, solver_ids);
        END IF;
        IF NOT has_open_jobs(c.id) THEN
            PERFORM settle_campaign(c.id, 0);
        END IF;
    END LOOP;
    PERFORM note_claim(claimer, build, wanted_campaign, wanted_target, claimed_campaign,
                       wanted > 0);
END $$;

-- Claims up to `batch` jobs of one campaign, in the order of price and position, beginning
-- at from_position of the first rounds, or with the later rounds (from_round > 0). Each bundle
-- that it takes gets a new fence. A bundle with more jobs than are still wanted is split; its
-- other jobs stay claimable.
--
-- Prices rise while a bundle waits: other solvers shorten the problem's best time, and there is less to
-- save. So a price is computed anew when its bundle would be claimed for building, and a
-- bundle that has become dearer goes back to its place. The claimed bundle is the cheapest, though
-- no other price was computed (Minoux, Accelerated greedy algorithms for maximizing submodular set
-- functions, 1978). If all bundles have become dearer, the first one in the new order is claimed. A
-- claim for building leaves later rounds that are not worth it now (worth_building()).
--
-- A bundle with strikes has lost a worker before. One job of it is claimed, and no other job
-- with it, so a job that kills workers takes no other job with it.
--
-- Once the budget is spent (spent), each bundle that is looked at is claimed, or its needless jobs
-- end: no bundle is looked at twice, so a claim takes as long as before. A claim that has ended jobs for
-- a second leaves the others to the next one. Before, no more rounds are built than the rest of the budget pays
-- for (rounds_payable()).
--
-- A bundle to be measured again is left out if the worker may not measure it (is_barred()).
--
-- Bundles are fetched, and so locked, one by one: a loop over a query would lock ten at once.
CREATE OR REPLACE FUNCTION claim_bundles(claimer bigint, c campaigns, from_state job_state,
                                         solver_ids bigint[], spent boolean, batch integer,
                                         lease double precision, token bigint, from_round integer,
                                         from_position bigint)
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 8
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_sort = off
SET enable_bitmapscan = off AS $$
DECLARE
    most_at_once CONSTANT integer := 2000;
    began CONSTANT timestamptz := clock_timestamp();
    campaign CONSTANT bigint := c.id;
    to_state job_state := CASE from_state WHEN 'ready' THEN 'building' ELSE 'evaluating' END;
    from_price double precision := CASE from_round WHEN 0 THEN 0 ELSE 1e-300 END;
    waiting CURSOR FOR
        SELECT * FROM bundles
        WHERE campaign_id = campaign AND state = from_state
          AND (price, position) >= (from_price, CASE from_round WHEN 0 THEN from_position ELSE 0 END)
          AND solver_id = ANY (solver_ids)
          AND NOT (remeasures AND from_state = 'built'
                   AND is_barred(claimer, campaign, job_ids[1], round_no))
        ORDER BY price, position FOR UPDATE SKIP LOCKED;
    b bundles;
    taken bundles;
    reprices boolean := from_state = 'ready' AND is_limited(c) AND NOT spent;
    payable bigint := CASE WHEN from_state = 'ready' AND NOT spent THEN rounds_payable(c, solver_ids) END;
    most CONSTANT integer := CASE WHEN payable < batch THEN greatest(payable, 1) ELSE batch END;
    wanted integer := most;
    needless bigint[];
    ending bundles[] := '{}';
    ended integer := 0;
    price_then double precision;
    repriced boolean := false;
    worth record;
    searched boolean;
BEGIN
    IF reprices THEN
        SELECT * INTO worth FROM worth_building(campaign, solver_ids);
    ELSE
        SELECT NULL::double precision AS times_cheapest, NULL::double precision AS most_price,
               NULL::bigint AS most INTO worth;
    END IF;
    OPEN waiting;
    LOOP
        FETCH waiting INTO b;
        searched := FOUND AND b.price > 0 AND NOT b.remeasures;
        IF NOT FOUND OR (searched AND (b.price > worth.most_price OR worth.most <= 0)) THEN
            EXIT WHEN NOT repriced OR wanted < most;
            CLOSE waiting;
            reprices := false;
            repriced := false;
            OPEN waiting;
            CONTINUE;
        END IF;
        IF spent AND NOT b.remeasures THEN
            needless := needless_jobs(c, b, solver_ids);
            IF needless <> '{}' THEN
                ending := array_append(ending, take_needless(b, needless));
                ended := ended + cardinality(needless);
                IF ended >= most_at_once THEN
                    PERFORM end_spent_bundles(ending);
                    ending := '{}';
                    ended := 0;
                    EXIT WHEN clock_timestamp() > began + interval '1 second';
                END IF;
                b.job_ids := ARRAY(SELECT j FROM unnest(b.job_ids) AS j WHERE j <> ALL (needless));
                CONTINUE WHEN b.job_ids = '{}';
            END IF;
        END IF;
        EXIT WHEN b.strikes > 0 AND wanted < most;
        EXIT WHEN payable <= 0 AND NOT b.remeasures;
        IF reprices THEN
            price_then := price_now(b);
            IF price_then > 1.05 * b.price THEN
                UPDATE bundles SET price = price_then WHERE id = b.id;
                repriced := true;
                CONTINUE;
            END IF;
        END IF;
        IF b.strikes > 0 THEN
            wanted := 1;
        END IF;
        IF cardinality(b.job_ids) <= wanted THEN
            UPDATE bundles
            SET state = to_state, fence = nextval('fences'), worker_id = claimer,
                claim_token = token, claimed_at = clock_timestamp(),
                progress_at = clock_timestamp(), lease_seconds = lease
            WHERE id = b.id RETURNING * INTO taken;
        ELSE
            UPDATE bundles SET job_ids = b.job_ids[wanted + 1:] WHERE id = b.id;
            INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids,
                                 strikes, is_partial, fence, worker_id, claim_token, claimed_at, progress_at,
                                 lease_seconds, remeasures, price)
            VALUES (campaign, b.solver_id, to_state, b.round_no, b.position,
                    b.job_ids[1:wanted], b.strikes, b.is_partial, nextval('fences'), claimer, token,
                    clock_timestamp(), clock_timestamp(), lease, b.remeasures, b.price)
            RETURNING * INTO taken;
        END IF;
        RETURN NEXT taken;
        wanted := wanted - cardinality(taken.job_ids);
        IF searched THEN
            worth.most := worth.most - cardinality(taken.job_ids);
            worth.most_price := least(worth.most_price, CASE WHEN b.price > 1e-200
                                                        THEN worth.times_cheapest * b.price END);
        END IF;
        EXIT WHEN wanted <= 0;
    END LOOP;
    CLOSE waiting;
    PERFORM end_spent_bundles(ending);
END $$;

-- Returns what a worker needs to know of the jobs that it claimed: quarantined configs
-- and stored rounds; for evaluation also the open round; and for all but a job's first build the
-- problem's best time in the campaign so far. That time is one look into results for each job, not a join: a
-- plan made before the planner has statistics of grown tables may read all of them in a
-- join.
CREATE OR REPLACE FUNCTION claimed_jobs(taken bundles[], build boolean)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined json, rounds json, wish json)
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
    has_remeasures boolean := EXISTS (SELECT FROM remeasures m WHERE m.campaign_id = campaign);
BEGIN
    IF build AND last_round = 0 AND for_target IS NULL AND NOT has_remeasures THEN
        RETURN QUERY
            SELECT campaign, b.solver_id, b.round_no, b.position, b.strikes, b.fence, j.id,
                   j.problem_id, NULL::double precision, NULL::json, NULL::json, NULL::json
            FROM unnest(taken) WITH ORDINALITY AS b CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
            CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                                AND o.id = of_it.id OFFSET 0) AS j
            ORDER BY b.ordinality, j.position;
        RETURN;
    END IF;
    RETURN QUERY
        SELECT campaign, b.solver_id, b.round_no, b.position, b.strikes, b.fence, j.id,
               j.problem_id,
               CASE WHEN NOT build OR b.round_no > 0 THEN
                   (SELECT min((SELECT k.median_ms FROM results k
                                WHERE k.campaign_id = campaign AND k.job_id = o.id AND k.rank = 0))
                    FROM jobs o
                    WHERE o.campaign_id = campaign AND o.problem_id = j.problem_id) END,
               CASE WHEN for_target IS NOT NULL THEN
                   (SELECT json_agg(q.config ORDER BY q.config) FROM quarantine q
                    WHERE q.solver_id = j.solver_id AND q.problem_id = j.problem_id
                    AND q.target = for_target) END,
               CASE WHEN b.round_no = 0 AND build THEN NULL
               WHEN b.remeasures AND final_wish(campaign, j.id, b.round_no) IS NOT NULL
               THEN final_round(campaign, j.id, b.round_no)
               WHEN b.round_no > 0 OR b.is_partial THEN
                   (SELECT json_agg(row_to_json(w) ORDER BY w.number)
                    FROM (SELECT r.number, coalesce(o.stack, r.stack) AS stack,
                                 coalesce(o.drift, 0) AS drift, r.config_counts,
                                 r.config_values, r.kernel_keys,
                                 coalesce(o.failures, r.failures) AS failures,
                                 coalesce(o.details, r.details) AS details, o.n, o.min_ms,
                                 o.median_ms, o.spread, o.error, r.build_seconds, o.eval_seconds, o.pack_ms, o.cold,
                                 o.verified_share, o.proof_runs, o.proof_kinds,
                                 has_remeasures AND EXISTS (
                                     SELECT FROM remeasures m WHERE m.campaign_id = campaign
                                     AND m.job_id = j.id AND m.number = r.number) AS remeasures,
                                 r.fence = -1 AS beyond_limit
                          FROM rounds r LEFT JOIN LATERAL (
                              SELECT * FROM outcomes c WHERE c.campaign_id = campaign
                              AND c.job_id = j.id AND c.number = r.number OFFSET 0) AS o ON true
                          WHERE r.campaign_id = campaign AND r.job_id = j.id
                          AND r.number < b.round_no + CASE WHEN build THEN 0 ELSE 1 END) AS w)
               ELSE
                   (SELECT json_build_array(row_to_json(w))
                    FROM (SELECT r.number, r.stack, r.config_counts, r.config_values,
                                 r.kernel_keys, r.failures, r.details, r.build_seconds,
                                 b.remeasures
                          FROM rounds r
                          WHERE r.campaign_id = campaign AND r.job_id = j.id
                          AND r.number = 0) AS w) END,
               CASE WHEN b.remeasures THEN coalesce(
                   (SELECT json_build_object('configs', m.configs, 'keeps_all', m.keeps_all)
                    FROM remeasures m WHERE m.campaign_id = campaign AND m.job_id = j.id
                    AND m.number = b.round_no), final_wish(campaign, j.id, b.round_no)) END
        FROM unnest(taken) WITH ORDINALITY AS b CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                            AND o.id = of_it.id OFFSET 0) AS j
        ORDER BY b.ordinality, j.position;
END $$;

-- Notes how a claim ended. A claim that found nothing leaves its worker idle. A claim
-- that took a whole batch probably left more, so it wakes two workers. Each of these
-- wakes two again, so the number at work doubles, and all workers never ask at once.
CREATE OR REPLACE FUNCTION note_claim(claimer bigint, for_build boolean, wanted_campaign bigint,
                                      wanted_target text, claimed_campaign bigint,
                                      took_all boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF claimed_campaign IS NULL THEN
        IF NOT EXISTS (SELECT 1 FROM idle_workers i
                       WHERE i.worker_id = claimer AND i.build = for_build) THEN
            INSERT INTO idle_workers VALUES (claimer, for_build, wanted_campaign, wanted_target)
            ON CONFLICT DO NOTHING;
        END IF;
        RETURN;
    END IF;
    PERFORM idle_no_more(claimer, for_build);
    IF NOT took_all THEN
        PERFORM wake_workers(claimed_campaign, for_build, 2);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.claim(claimer bigint, build boolean, wanted_campaign bigint,
                                               wanted_target text, carried jsonb, batch integer,
                                               lease double precision, token bigint, known_campaign bigint,
                                               from_round integer, from_position bigint)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined json, rounds json, wish json,
               deadline bigint, spent boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    taken bundles[];
    its_deadline bigint;
    is_over boolean;
BEGIN
    PERFORM check_worker(claimer);
    -- A lease lasts a day at most, also if the worker asks for NaN seconds.
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
    SELECT extract(epoch FROM c.deadline)::bigint, is_spent(c) INTO its_deadline, is_over
    FROM campaigns c WHERE c.id = taken[1].campaign_id;
    RETURN QUERY SELECT j.*, its_deadline, is_over FROM claimed_jobs(taken, build) AS j;
END $$;

-- Gives back the bundles of a claim whose answer was lost. Locking the worker's row
-- first waits for a claim that is still under way on a broken connection.
CREATE OR REPLACE FUNCTION release_claim(claimer bigint, token bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    ids bigint[];
BEGIN
    PERFORM 1 FROM workers WHERE id = claimer FOR UPDATE;
    ids := ARRAY(SELECT b.id FROM bundles b WHERE b.worker_id = claimer AND b.claim_token = token);
    PERFORM release_bundles(ids);
    PERFORM wake_for(ARRAY(SELECT b.campaign_id FROM bundles b WHERE b.id = ANY (ids)));
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.release_claim(claimer bigint, token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(claimer);
    PERFORM release_claim(claimer, token);
END $$;

-- Returns true for errors that the campaign cannot have caused: a lost connection, a
-- lock timeout, a full disk, a cancelled statement, a missing right, a refusal by our
-- own checks.
CREATE OR REPLACE FUNCTION is_anybodys_error(state text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT left(state, 2) IN ('08', '40', '53', '55', '57', '58', 'SJ') OR state = '42501'
$$;

CREATE OR REPLACE FUNCTION note_campaign_fault(campaign bigint, words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM campaign_faults f
                   WHERE f.campaign_id = campaign AND f.login = session_user
                     AND f.at > clock_timestamp() - interval '1 hour') THEN
        INSERT INTO events (kind, campaign_id, detail)
        VALUES ('campaign left out', campaign,
                format('no job of it can be claimed by %s: %s', session_user, left(words, 2000)));
    END IF;
    INSERT INTO campaign_faults VALUES (campaign, session_user, clock_timestamp(), left(words, 2000))
    ON CONFLICT (campaign_id, login) DO UPDATE SET at = EXCLUDED.at, reason = EXCLUDED.reason;
END $$;

-- Called after claim() failed. Returns a campaign from which claim() can claim jobs, 0 for
-- none. Each campaign is tried in a subtransaction of its own, so the campaign that causes
-- the error is found and left out. A try that claims jobs is rolled back: the caller claims
-- them. A campaign that failed for this login within the last minute is not tried.
CREATE OR REPLACE FUNCTION skipjack_work.claimable_campaign(
    claimer bigint, build boolean, wanted_campaign bigint, wanted_target text, carried jsonb,
    batch integer, known_campaign bigint, from_round integer, from_position bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    candidate bigint;
    state text;
    words text;
BEGIN
    PERFORM check_worker(claimer);
    FOR candidate IN
        SELECT a.id FROM campaigns a
        LEFT JOIN campaign_faults f ON f.campaign_id = a.id AND f.login = session_user
        WHERE a.state = 'active' AND wanted_campaign IN (0, a.id)
          AND (wanted_target IS NULL OR a.target = wanted_target)
          AND (f.at IS NULL OR f.at < clock_timestamp() - interval '1 minute')
        ORDER BY a.priority DESC, fair_time_or_last(a), a.id
    LOOP
        BEGIN
            PERFORM FROM skipjack_work.claim(claimer, build, candidate, wanted_target, carried, batch,
                                             60, 0, known_campaign, from_round, from_position);
            IF FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'SJ005';
            END IF;
        EXCEPTION
            WHEN SQLSTATE 'SJ005' THEN
                RETURN candidate;
            WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, words = MESSAGE_TEXT;
                IF is_anybodys_error(state) THEN
                    RAISE;
                END IF;
                PERFORM note_campaign_fault(candidate, words);
        END;
    END LOOP;
    -- The worker idles for what it asked for, not for the campaign tried last.
    DELETE FROM idle_workers i WHERE i.worker_id = claimer AND i.build = claimable_campaign.build;
    PERFORM note_claim(claimer, build, wanted_campaign, wanted_target, NULL, true);
    RETURN 0;
END $$;

-- Returns why the campaign does not admit the worker, NULL if it does. A builder builds
-- for any target.
CREATE OR REPLACE FUNCTION refusal(c campaigns, w workers) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    measures boolean := w.target = c.target OR EXISTS (
        SELECT 1 FROM worker_devices d WHERE d.worker_id = w.id AND d.target = c.target);
    to_build text := CASE WHEN w.builds THEN worker_lacks(w.id, w.stack, true, c.target, c.stack) END;
    to_measure text := CASE WHEN measures
                       THEN worker_lacks(w.id, w.stack, false, c.target, c.stack) END;
    example text;
BEGIN
    IF NOT measures AND NOT w.builds THEN
        RETURN format('its target is %s, the campaign is for %s',
                      coalesce(nullif(w.target, ''), 'none'), c.target);
    ELSIF c.pool <> '' AND c.pool <> ALL (w.labels) THEN
        RETURN format('it has no label %s, and the campaign is for that pool (worker --label %s)',
                      c.pool, c.pool);
    ELSIF coalesce(to_build, to_measure) IS NOT NULL THEN
        RETURN CASE WHEN measures AND w.builds
               THEN concat_ws('; ', 'to build, ' || to_build, 'to measure, ' || to_measure)
               ELSE coalesce(to_build, to_measure) END;
    ELSIF w.carried IS NULL OR EXISTS (
        SELECT 1 FROM bundles b JOIN solvers s ON s.id = b.solver_id
        WHERE b.campaign_id = c.id
          AND s.name || ':' || s.revision || ':' || s.hash = ANY (w.carried)) THEN
        RETURN NULL;
    END IF;
    SELECT format('%s at revision %s', s.name, s.revision) INTO example
    FROM bundles b JOIN solvers s ON s.id = b.solver_id WHERE b.campaign_id = c.id LIMIT 1;
    RETURN 'it carries no solver of the campaign as it was planned, such as ' || example;
END $$;

-- Returns refusal(), or why the worker's login could not claim from the campaign within
-- the last five minutes, or that the worker may not measure what waits.
CREATE OR REPLACE FUNCTION refusal_or_fault(c campaigns, w workers) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    reason text;
    state text;
    words text;
BEGIN
    BEGIN
        reason := refusal(c, w);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, words = MESSAGE_TEXT;
        IF is_anybodys_error(state) THEN
            RAISE;
        END IF;
        RETURN format('the campaign cannot be read: %s', words);
    END;
    RETURN coalesce(reason, (
        SELECT format('claiming from the campaign fails: %s', f.reason) FROM campaign_faults f
        WHERE f.campaign_id = c.id AND f.login = w.login
          AND f.at > clock_timestamp() - interval '5 minutes'),
        CASE WHEN waits_for_others(c, w) THEN why_barred(c.id, w) END);
END $$;

-- Refusals of running workers by active campaigns. of_worker, of_campaign: 0 for all. With
-- of_worker 0, workers whose last heartbeat is older than two minutes are left out. Workers
-- that are alike in everything that refusal() reads are asked about once; their node counts only
-- while a round waits for certain nodes.
CREATE OR REPLACE FUNCTION refusals(of_worker bigint, of_campaign bigint)
RETURNS TABLE (campaign_id bigint, worker_id bigint, node text, reason text)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    WITH running AS MATERIALIZED (
        SELECT w.id, w.node,
               min(w.id) OVER (PARTITION BY w.target, w.builds, w.labels, w.stack, w.carried,
                               w.login, d.kinds, CASE WHEN p.any_places THEN w.node END) AS kind
        FROM workers w
        CROSS JOIN (SELECT EXISTS (
            SELECT FROM bundles b JOIN remeasures m ON m.campaign_id = b.campaign_id
                                  AND m.job_id = b.job_ids[1] AND m.number = b.round_no
            WHERE b.remeasures AND m.places_until IS NOT NULL) AS any_places) AS p
        CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT ARRAY[o.target, o.stack]) AS kinds
            FROM worker_devices o WHERE o.worker_id = w.id) AS d
        WHERE w.ended_at IS NULL AND of_worker IN (0, w.id)
          AND (of_worker <> 0 OR w.beat_at > clock_timestamp() - interval '2 minutes')
    ), refused AS MATERIALIZED (
        SELECT c.id AS campaign, k.id AS kind, refusal_or_fault(c, k) AS reason
        FROM campaigns c CROSS JOIN workers k
        WHERE c.state = 'active' AND coalesce(c.deadline > clock_timestamp(), true)
          AND of_campaign IN (0, c.id)
          AND k.id IN (SELECT r.kind FROM running r)
    )
    SELECT f.campaign, r.id, r.node, f.reason
    FROM refused f JOIN running r ON r.kind = f.kind WHERE f.reason IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION skipjack_work.refusals(worker bigint, campaign bigint) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(worker);
    RETURN QUERY SELECT to_jsonb(r) FROM refusals(worker, campaign) AS r
                 ORDER BY r.campaign_id, r.reason, r.node, r.worker_id;
END $$;

-- Active campaigns with jobs to build that the worker's toolchains cannot build, and
-- why, in the form of refusals(). cannot_build: "name:revision:hash" of the solvers
-- whose kernels the toolchains do not compile.
CREATE OR REPLACE FUNCTION skipjack_work.left_unbuilt(builder bigint, campaign bigint, cannot_build jsonb)
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    pins text[] := ARRAY(SELECT jsonb_array_elements_text(cannot_build));
BEGIN
    PERFORM check_worker(builder);
    RETURN QUERY
        SELECT jsonb_build_object('campaign_id', c.id, 'worker_id', w.id, 'node', w.node, 'reason', l.reason)
        FROM campaigns c
        JOIN workers w ON w.id = builder AND (c.pool = '' OR c.pool = ANY (w.labels))
        CROSS JOIN LATERAL (SELECT coalesce(
            worker_lacks(w.id, w.stack, true, c.target, c.stack),
            (SELECT 'it has no assembler, and the kernels of ' || string_agg(DISTINCT s.name, ', ')
                    || ' are assembly'
             FROM bundles b JOIN solvers s ON s.id = b.solver_id
             WHERE b.campaign_id = c.id AND b.state = 'ready'
               AND s.name || ':' || s.revision || ':' || s.hash = ANY (pins))) AS reason) AS l
        WHERE c.state = 'active' AND coalesce(c.deadline > clock_timestamp(), true)
          AND campaign IN (0, c.id) AND l.reason IS NOT NULL
          AND EXISTS (SELECT FROM bundles b WHERE b.campaign_id = c.id AND b.state = 'ready')
        ORDER BY c.id;
END $$;

-- Returns true if everything that waits in the campaign must be measured by another
-- login than the worker's, or on another node.
CREATE OR REPLACE FUNCTION waits_for_others(c campaigns, w workers) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM bundles b WHERE b.campaign_id = c.id AND b.state = 'built' AND b.remeasures
                   AND is_barred(w.id, c.id, b.job_ids[1], b.round_no))
       AND NOT EXISTS (SELECT FROM bundles b WHERE b.campaign_id = c.id AND b.state IN ('ready', 'built')
                       AND NOT (b.remeasures AND b.state = 'built'
                                AND is_barred(w.id, c.id, b.job_ids[1], b.round_no)));
END $$;
