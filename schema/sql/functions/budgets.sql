-- Once a campaign's budget is spent, each of its problems needs one verified config and no more.
--
-- The first open job of a problem, in the order of positions, leads it, since its solver was estimated best. All other jobs that
-- nobody works on end: they are done, by_budget, and a larger budget opens them again. If a leader ends without a verified
-- config, the next job of its problem is opened in its place (open_next_leaders()).

-- Whether the campaign's budget is spent. A campaign that only builds has one round a job, and does all of them.
CREATE OR REPLACE FUNCTION is_spent(c campaigns) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN c.budget_seconds > 0 AND NOT c.build_only AND spent_seconds(c.id) >= c.budget_seconds;
END $$;

-- Whether a job of the campaign has a verified config for the problem: one look into results for each job of the problem. A
-- join that was planned before the planner had statistics of a grown table may read all results (OFFSET 0).
CREATE OR REPLACE FUNCTION has_winner(campaign bigint, problem bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    RETURN EXISTS (SELECT FROM jobs o WHERE o.campaign_id = campaign AND o.problem_id = problem
                   AND EXISTS (SELECT FROM results r WHERE r.campaign_id = campaign AND r.job_id = o.id
                               AND r.rank = 0 OFFSET 0));
END $$;

-- Whether a worker that is alive and that the campaign admits carries the solver.
CREATE OR REPLACE FUNCTION is_carried(c campaigns, solver bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM workers w, solvers s
                   WHERE s.id = solver AND w.ended_at IS NULL
                     AND w.beat_at > clock_timestamp() - interval '2 minutes'
                     AND (c.pool = '' OR c.pool = ANY (w.labels))
                     AND worker_lacks(w.id, w.stack, true, c.target, c.stack) IS NULL
                     AND (w.carried IS NULL OR s.name || ':' || s.revision || ':' || s.hash = ANY (w.carried)));
END $$;

-- Returns the bundle's jobs that the campaign does not need, now that its budget is spent: those past their first round, those
-- whose problem has a verified config, and those that another open job of the problem leads. solver_ids: of the worker that
-- asks. A job that no worker can do leads no problem.
--
-- The bundle is locked, and c is what the claim read before. If the budget has changed since, no job is needless:
-- extend_campaign(), which locks all bundles first, has already opened again the jobs that the old budget ended, and
-- would not open those that end now.
CREATE OR REPLACE FUNCTION needless_jobs(c campaigns, b bundles, solver_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    IF c.budget_seconds <> (SELECT r.budget_seconds FROM campaigns r WHERE r.id = c.id) THEN
        RETURN '{}';
    ELSIF b.round_no > 0 THEN
        RETURN b.job_ids;
    END IF;
    RETURN ARRAY(
        SELECT j.id FROM unnest(b.job_ids) AS its(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = c.id AND o.id = its.id OFFSET 0) AS j
        WHERE has_winner(c.id, j.problem_id)
           OR EXISTS (SELECT FROM jobs o
                      WHERE o.campaign_id = c.id AND o.problem_id = j.problem_id AND o.position < j.position
                        AND NOT EXISTS (SELECT FROM job_ends e WHERE e.campaign_id = c.id AND e.job_id = o.id
                                        OFFSET 0)
                        AND CASE WHEN o.solver_id = ANY (solver_ids) THEN true ELSE is_carried(c, o.solver_id) END)
        ORDER BY j.position);
END $$;

-- Takes needless jobs out of the locked bundle. Returns the bundle with these jobs alone, for end_spent_bundles().
CREATE OR REPLACE FUNCTION take_needless(b bundles, needless bigint[]) RETURNS bundles
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM take_jobs(b, needless);
    b.job_ids := needless;
    RETURN b;
END $$;

-- Ends the jobs of bundles that were taken away, all of one campaign, since its budget is spent. Outcomes of their open
-- rounds are dropped. Many at a time: one by one, a claim in a large campaign would take too long.
CREATE OR REPLACE FUNCTION end_spent_bundles(ending bundles[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    tried bundles[] := ARRAY(SELECT e FROM unnest(ending) AS e WHERE e.round_no > 0);
BEGIN
    IF ending = '{}' THEN
        RETURN;
    END IF;
    PERFORM drop_open_rounds(ending[1].campaign_id, array_agg(job), e.round_no)
    FROM unnest(ending) AS e CROSS JOIN LATERAL unnest(e.job_ids) AS job GROUP BY e.round_no;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, by_budget, fence, claimed_by)
    SELECT e.campaign_id, job, 'done', 0, @FAILURE_NONE, true, e.fence, e.claimed_by
    FROM unnest(ending) AS e CROSS JOIN LATERAL unnest(e.job_ids) AS job WHERE e.round_no = 0;
    IF tried <> '{}' THEN
        PERFORM end_bundles(tried, true);
    END IF;
END $$;

-- Ends jobs that wait for a later round of their search, or for its evaluation: these have a price.
CREATE OR REPLACE FUNCTION end_later_rounds(c campaigns) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_sort = off
SET enable_bitmapscan = off AS $$
DECLARE
    most CONSTANT integer := 1000;
    from_state job_state;
    b bundles;
    needless bigint[];
    ending bundles[] := '{}';
BEGIN
    FOREACH from_state IN ARRAY '{ready, built}'::job_state[] LOOP
        FOR b IN SELECT * FROM bundles o
                 WHERE o.campaign_id = c.id AND o.state = from_state AND o.price > 0 AND NOT o.remeasures
                 ORDER BY o.price DESC, o.position DESC LIMIT most FOR UPDATE SKIP LOCKED
        LOOP
            needless := needless_jobs(c, b, '{}');
            IF needless <> '{}' THEN
                ending := array_append(ending, take_needless(b, needless));
            END IF;
        END LOOP;
    END LOOP;
    PERFORM end_spent_bundles(ending);
END $$;

-- Ends needless jobs that the asking worker could not claim, such as those of solvers that it lacks. The least promising are
-- looked at first, and not many in one claim: the next claim goes on. A job among them that is still needed hands over if no
-- living worker can do it.
CREATE OR REPLACE FUNCTION end_unclaimed_jobs(c campaigns, solver_ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_sort = off
SET enable_bitmapscan = off AS $$
DECLARE
    most_looked_at CONSTANT integer := 500;
    from_state job_state;
    b bundles;
    needless bigint[];
    looked_at integer;
    ending bundles[] := '{}';
    stuck bigint[] := '{}';
BEGIN
    FOREACH from_state IN ARRAY '{ready, built}'::job_state[] LOOP
        looked_at := 0;
        FOR b IN SELECT * FROM bundles o WHERE o.campaign_id = c.id AND o.state = from_state
                 ORDER BY o.price DESC, o.position DESC LIMIT most_looked_at FOR UPDATE SKIP LOCKED
        LOOP
            EXIT WHEN looked_at >= most_looked_at;
            looked_at := looked_at + cardinality(b.job_ids);
            CONTINUE WHEN b.remeasures;
            needless := needless_jobs(c, b, solver_ids);
            IF needless <> '{}' THEN
                ending := array_append(ending, take_needless(b, needless));
            ELSIF b.solver_id <> ALL (solver_ids) AND NOT is_carried(c, b.solver_id) THEN
                stuck := stuck || b.job_ids;
            END IF;
        END LOOP;
    END LOOP;
    PERFORM end_spent_bundles(ending);
    IF stuck <> '{}' THEN
        PERFORM open_next_leaders(c.id, ARRAY(
            SELECT DISTINCT j.problem_id FROM jobs j WHERE j.campaign_id = c.id AND j.id = ANY (stuck)));
    END IF;
END $$;

-- Opens a job whose bundle carried a final or measured again, if the budget had ended the job and is larger now: while
-- it had that bundle, extend_campaign() left it as it was.
CREATE OR REPLACE FUNCTION reopen_carrier(campaign bigint, carriers bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = ANY (carriers) AND e.by_budget)
       AND EXISTS (SELECT FROM campaigns c WHERE c.id = campaign AND c.state <> 'cancelled' AND NOT is_spent(c))
    THEN
        PERFORM reopen_jobs(campaign, false);
        PERFORM wake_workers(campaign, true, 4);
    END IF;
END $$;

-- Opens the next leader of each of these problems (NULL: of all) that has neither a verified config nor an open job that a
-- living worker can do: the first of its jobs that the budget ended before their first round and that a living worker can
-- do. If no living worker can do any of them, and the problem has no open job, it is the first job
-- that the budget ended.
CREATE OR REPLACE FUNCTION open_next_leaders(campaign bigint, problems bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    waiting bigint[] := ARRAY(
        SELECT DISTINCT j.problem_id FROM job_ends e
        JOIN jobs j ON j.campaign_id = campaign AND j.id = e.job_id
        WHERE e.campaign_id = campaign AND e.by_budget AND e.rounds = 0
          AND (problems IS NULL OR j.problem_id = ANY (problems)));
    c campaigns := (SELECT r FROM campaigns r WHERE r.id = campaign);
    carried bigint[];
    opened bigint[];
BEGIN
    IF problems IS NULL THEN
        waiting := ARRAY(SELECT unnest(waiting) EXCEPT
                         SELECT j.problem_id FROM results r
                         JOIN jobs j ON j.campaign_id = campaign AND j.id = r.job_id
                         WHERE r.campaign_id = campaign AND r.rank = 0);
    END IF;
    IF waiting = '{}' THEN
        RETURN;
    END IF;
    carried := ARRAY(SELECT s.id FROM solvers s
                     WHERE s.id IN (SELECT j.solver_id FROM jobs j
                                    WHERE j.campaign_id = campaign AND j.problem_id = ANY (waiting))
                       AND is_carried(c, s.id));
    WITH next AS MATERIALIZED (
        SELECT DISTINCT ON (j.problem_id) j.*
        FROM jobs j JOIN job_ends e ON e.campaign_id = campaign AND e.job_id = j.id
        WHERE j.campaign_id = campaign AND j.problem_id = ANY (waiting) AND e.by_budget AND e.rounds = 0
          AND NOT has_winner(campaign, j.problem_id)
          AND NOT EXISTS (SELECT FROM jobs o WHERE o.campaign_id = campaign AND o.problem_id = j.problem_id
                          AND (o.solver_id = ANY (carried) OR j.solver_id <> ALL (carried))
                          AND NOT EXISTS (SELECT FROM job_ends d WHERE d.campaign_id = campaign AND d.job_id = o.id))
        ORDER BY j.problem_id, j.solver_id <> ALL (carried), j.position),
    gone AS (
        DELETE FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id IN (SELECT n.id FROM next n)
        RETURNING e.job_id),
    added AS (
        INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
        SELECT campaign, n.solver_id, 'ready', 0, n.position, ARRAY[n.id]
        FROM next n JOIN gone g ON g.job_id = n.id ORDER BY n.position)
    SELECT array_agg(g.job_id) INTO opened FROM gone g;
    IF opened IS NOT NULL THEN
        PERFORM wake_workers(campaign, true, 4);
    END IF;
END $$;

-- A job that ended without a verified config hands over to the next one of its problem, if the budget had ended that. Two
-- jobs that end at the same time do not see each other: settle_campaign() finds what is missing.
CREATE OR REPLACE FUNCTION hand_over() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    campaign bigint := (SELECT c.id FROM campaigns c
                        WHERE c.id = (SELECT e.campaign_id FROM ended e WHERE e.state = 'failed' LIMIT 1)
                          AND c.budget_seconds > 0 AND NOT c.build_only);
BEGIN
    IF campaign IS NOT NULL THEN
        PERFORM open_next_leaders(campaign, ARRAY(
            SELECT DISTINCT j.problem_id FROM ended e
            JOIN jobs j ON j.campaign_id = campaign AND j.id = e.job_id WHERE e.state = 'failed'));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER hand_over AFTER INSERT ON job_ends
    REFERENCING NEW TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION hand_over();
