-- Campaigns: making, changing, extending and ending them, their working time and budget,
-- and the fair order among those that compete.

-- Makes a campaign without jobs, and its partitions. plan is {name, identity, ...}.
CREATE OR REPLACE FUNCTION begin_campaign(plan jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    new_id bigint;
BEGIN
    PERFORM check_stack(plan->>'stack');
    INSERT INTO campaigns (name, identity, target, stack, strategy, seed, configs_limit,
                           round_configs, budget_seconds, build_only, pool, priority, share,
                           workspace_limit, dynamic_only, deterministic, tunable_only, solvers_asked,
                           final_seconds, search_seconds, min_gain, close_configs)
    SELECT p.name, p.identity, p.target, p.stack, p.strategy, p.seed, p.configs_limit,
           p.round_configs, p.budget_seconds, p.build_only, p.pool, p.priority, p.share,
           p.workspace_limit, coalesce(p.dynamic_only, false), coalesce(p.deterministic, false),
           coalesce(p.tunable_only, false), coalesce(p.solvers_asked, ''), coalesce(p.final_seconds, 0),
           coalesce(p.search_seconds, 0), coalesce(p.min_gain, 0),
           coalesce(p.close_configs, 0)
    FROM jsonb_populate_record(NULL::campaigns, plan) AS p
    RETURNING id INTO new_id;
    PERFORM add_partitions(new_id);
    RETURN new_id;
END $$;

-- An item has a problem, a solver and its priority. Positions go on from `first` in the
-- order of the items.
CREATE OR REPLACE FUNCTION add_jobs(campaign bigint, first bigint, items jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO solvers (provider, name, revision, hash, algorithm, dynamic, tunable, searches)
    SELECT DISTINCT ON (provider, name, revision, hash)
           provider, name, revision, hash, algorithm, dynamic, tunable, searches
    FROM jsonb_populate_recordset(NULL::solvers, items)
    ORDER BY provider, name, revision, hash
    ON CONFLICT DO NOTHING;
    INSERT INTO jobs (campaign_id, problem_id, solver_id, position, priority, multiplicity)
    SELECT campaign, put.problem_id, s.id, first + put.ord - 1,
           (item.value->>'priority')::double precision, (item.value->>'multiplicity')::integer
    FROM put_problems(jsonb_path_query_array(items, '$[*].problem')) AS put
    JOIN jsonb_array_elements(items) WITH ORDINALITY AS item(value, ord) ON item.ord = put.ord
    JOIN solvers s ON s.provider = item.value->>'provider' AND s.name = item.value->>'name'
         AND s.revision = (item.value->>'revision')::integer AND s.hash = item.value->>'hash'
    ORDER BY put.ord
    ON CONFLICT DO NOTHING;
END $$;

-- Opens a campaign whose jobs are all stored: takes over what earlier campaigns
-- measured, and puts the other jobs into bundles of one solver each, with several jobs
-- a bundle in a large campaign. Returns how many jobs it took over.
CREATE OR REPLACE FUNCTION open_campaign(campaign bigint, drift_limit double precision) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    c campaigns;
    reused_count integer := 0;
    job_count bigint;
    bundle_jobs bigint;
BEGIN
    SELECT * INTO c FROM campaigns WHERE id = campaign;
    IF NOT c.build_only THEN
        reused_count := reuse_jobs(c);
        PERFORM find_origins(c, drift_limit);
        UPDATE campaigns SET has_origins = true WHERE id = campaign;
    END IF;
    SELECT count(*) INTO job_count FROM jobs WHERE campaign_id = campaign;
    bundle_jobs := least(greatest(job_count / 1024, 1), 64);
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, price)
    SELECT campaign, solver_id, 'ready', placed.round_no, min(position), array_agg(id ORDER BY position),
           CASE WHEN is_limited(c) THEN 0 ELSE placed.round_no END
    FROM (SELECT j.id, j.solver_id, j.position, had.round_no,
                 (row_number() OVER (PARTITION BY j.solver_id, had.round_no ORDER BY j.position) - 1)
                     / bundle_jobs AS part
          FROM jobs j LEFT JOIN job_ends e ON e.campaign_id = campaign AND e.job_id = j.id
          CROSS JOIN LATERAL (SELECT coalesce(max(r.number) + 1, 0) AS round_no FROM rounds r
                              WHERE r.campaign_id = campaign AND r.job_id = j.id) AS had
          WHERE j.campaign_id = campaign AND e.job_id IS NULL) AS placed
    GROUP BY solver_id, placed.round_no, part ORDER BY placed.round_no, min(position);
    PERFORM settle_campaign(campaign, 0);
    PERFORM wake_workers(campaign, true, 4);
    RETURN reused_count;
END $$;

-- Returns true if the jobs of two campaigns choose among the same configs. The other
-- limits leave out solvers, and so whole jobs.
CREATE OR REPLACE FUNCTION same_limits(c campaigns, o campaigns) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT c.workspace_limit IS NOT DISTINCT FROM o.workspace_limit $$;

CREATE OR REPLACE FUNCTION is_same_search(c campaigns, o campaigns) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT c.strategy = o.strategy AND c.seed = o.seed AND same_limits(c, o) $$;

CREATE OR REPLACE FUNCTION spent_seconds(campaign bigint) RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(sum(s.seconds), 0) FROM campaign_spent s
            WHERE s.campaign_id = campaign);
END $$;

-- Adds working time to a campaign, and what the rounds took of which it is the time. Does nothing for
-- a campaign that was dropped.
CREATE OR REPLACE FUNCTION add_spent(campaign bigint, more_seconds double precision,
                                     more_rounds bigint DEFAULT 0, built double precision DEFAULT 0,
                                     evaluated double precision DEFAULT 0) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    own_part CONSTANT integer := pg_backend_pid() % 256;
    free tid;
BEGIN
    IF coalesce(more_seconds, 0) = 0 THEN
        RETURN;
    END IF;
    SELECT s.ctid INTO free FROM campaign_spent s
    WHERE s.campaign_id = campaign AND s.part = own_part LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE campaign_spent s
        SET seconds = s.seconds + more_seconds, rounds = s.rounds + more_rounds,
            build_seconds = s.build_seconds + built, eval_seconds = s.eval_seconds + evaluated
        WHERE s.ctid = free;
    ELSE
        INSERT INTO campaign_spent (campaign_id, part, seconds, rounds, build_seconds, eval_seconds)
        SELECT c.id, own_part, more_seconds, more_rounds, built, evaluated
        FROM campaigns c WHERE c.id = campaign;
    END IF;
END $$;

-- Limits the working time that this session's worker reports for a campaign: returns the
-- reported seconds, all lowered by one factor if their sum is impossible. Since the
-- worker's first claim from the campaign, each of its devices (64 at most), and all its
-- builds together, can have worked one second a second. One minute more allows for clocks
-- and rounding; it is one minute a worker, because the worker itself reports how many
-- devices it has.
CREATE OR REPLACE FUNCTION possible_seconds(campaign bigint, said double precision[])
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

CREATE OR REPLACE FUNCTION skipjack_work.add_spent(campaign bigint, seconds double precision)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_claimed_campaign(campaign);
    PERFORM check_seconds(ARRAY[seconds]);
    PERFORM add_spent(campaign, (possible_seconds(campaign, ARRAY[seconds]))[1]);
END $$;

-- overdue: the campaign is active, and its deadline has passed.
CREATE OR REPLACE VIEW campaign_rows AS
    SELECT c.*, extract(epoch FROM c.created_at)::bigint AS created,
           spent_seconds(c.id) AS spent_seconds, n.*,
           coalesce(c.state = 'active' AND c.deadline <= clock_timestamp(), false) AS overdue
    FROM campaigns c
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, count(*) FILTER (WHERE j.state = 'done') AS done,
               count(*) FILTER (WHERE j.state = 'failed') AS failed,
               count(*) FILTER (WHERE j.state IN ('ready', 'building', 'built', 'evaluating')) AS open
        FROM job_rows j WHERE j.campaign_id = c.id) AS n;

CREATE OR REPLACE FUNCTION skipjack_work.campaign(its_id bigint) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS
$$ BEGIN RETURN QUERY SELECT to_jsonb(c) FROM campaign_rows c WHERE c.id = its_id; END $$;

CREATE OR REPLACE FUNCTION skipjack_work.campaigns(ids jsonb) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(c) FROM campaigns c
    WHERE id = ANY (ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e))
$$;

-- Changes those of name, budget_seconds (0: none), deadline (seconds since 1970, NULL:
-- none), priority, share and pool that the object has; all of them or none. A larger
-- budget opens the jobs again that the old one ended.
CREATE OR REPLACE FUNCTION set_campaign(campaign bigint, changes jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
    was_overdue boolean := (SELECT c.state = 'active' AND c.deadline <= clock_timestamp()
                            FROM campaigns c WHERE c.id = campaign);
BEGIN
    IF length(changes->>'name') NOT BETWEEN 1 AND 1000 THEN
        PERFORM refuse_value('a name has from 1 to 1000 characters');
    ELSIF ((changes->>'budget_seconds')::double precision BETWEEN 0 AND 1e12) IS FALSE
       OR ((changes->>'deadline')::double precision BETWEEN 0 AND 1e11) IS FALSE THEN
        PERFORM refuse_value('a budget or deadline is out of range');
    ELSIF ((changes->>'final_seconds')::double precision BETWEEN 0 AND 1e6) IS FALSE THEN
        PERFORM refuse_value('the time of second measurements is out of range');
    END IF;
    IF changes ? 'budget_seconds' THEN
        PERFORM extend_campaign(campaign, (changes->>'budget_seconds')::double precision);
    END IF;
    UPDATE campaigns c
    SET name = coalesce(changes->>'name', c.name),
        priority = coalesce((changes->>'priority')::integer, c.priority),
        share = coalesce((changes->>'share')::double precision, c.share),
        pool = coalesce(changes->>'pool', c.pool),
        deadline = CASE WHEN changes ? 'deadline'
                        THEN to_timestamp((changes->>'deadline')::double precision)
                        ELSE c.deadline END
    WHERE c.id = campaign RETURNING c.state INTO now_state;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF now_state = 'cancelled' AND changes ? 'deadline' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot set the deadline of campaign %s: it is cancelled', campaign);
    END IF;
    IF changes ? 'deadline' THEN
        PERFORM rate_anew(campaign);
    END IF;
    IF changes ? 'final_seconds' THEN
        PERFORM set_final_seconds(campaign, (changes->>'final_seconds')::double precision);
    END IF;
    -- It joins its rivals anew, as after a pause: they worked meanwhile.
    IF was_overdue AND changes ? 'deadline' THEN
        UPDATE campaigns SET state = 'paused' WHERE id = campaign;
        UPDATE campaigns SET state = 'active' WHERE id = campaign;
    END IF;
    PERFORM wake_workers(campaign, true, 4);
    PERFORM wake_workers(campaign, false, 4);
END $$;

-- Lets the campaign's CPUs run code that workers of these logins built, besides code of
-- a worker's own login.
CREATE OR REPLACE FUNCTION trust_logins(campaign bigint, logins jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    names text[] := ARRAY(SELECT DISTINCT l FROM jsonb_array_elements_text(logins) AS l ORDER BY 1);
    missing text := (SELECT min(n) FROM unnest(names) AS n
                     WHERE n NOT IN (SELECT rolname FROM pg_roles WHERE rolcanlogin));
BEGIN
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot trust "%s": the database has no such login', left(missing, 100));
    END IF;
    UPDATE campaigns SET trusted = names WHERE id = campaign;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    END IF;
END $$;

-- Sets the campaign's whole budget (0 for none), and opens again the jobs that the old budget
-- ended.
CREATE OR REPLACE FUNCTION extend_campaign(campaign bigint, new_budget double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
BEGIN
    PERFORM 1 FROM bundles WHERE campaign_id = campaign ORDER BY id FOR UPDATE;
    UPDATE campaigns SET budget_seconds = new_budget WHERE id = campaign
    RETURNING state INTO now_state;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF now_state = 'cancelled' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot extend campaign %s: it is cancelled', campaign);
    END IF;
    PERFORM rate_anew(campaign);
    IF new_budget = 0 OR new_budget > spent_seconds(campaign) THEN
        PERFORM reopen_jobs(campaign, false);
        PERFORM wake_workers(campaign, true, 4);
    END IF;
END $$;

-- Locks the campaign's row as weakly as the change allows, because a claim under way
-- refers to the row.
CREATE OR REPLACE FUNCTION change_campaign(campaign bigint, verb text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
BEGIN
    IF verb IN ('cancel', 'drop') THEN
        PERFORM delete_bundles(campaign);
    ELSIF verb = 'retry' THEN
        PERFORM 1 FROM bundles WHERE campaign_id = campaign ORDER BY id FOR UPDATE;
    END IF;
    IF verb = 'drop' THEN
        SELECT state INTO now_state FROM campaigns WHERE id = campaign FOR UPDATE;
    ELSE
        SELECT state INTO now_state FROM campaigns WHERE id = campaign FOR NO KEY UPDATE;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    END IF;
    IF verb = 'pause' AND now_state = 'active' THEN
        UPDATE campaigns SET state = 'paused' WHERE id = campaign;
    ELSIF verb = 'resume' AND now_state = 'paused' THEN
        UPDATE campaigns SET state = 'active' WHERE id = campaign;
    ELSIF verb = 'cancel' AND now_state IN ('active', 'paused') THEN
        PERFORM delete_bundles(campaign);
        UPDATE campaigns SET state = 'cancelled' WHERE id = campaign;
    ELSIF verb = 'retry' AND now_state <> 'cancelled' THEN
        PERFORM reopen_jobs(campaign, true);
    ELSIF verb = 'drop' THEN
        PERFORM delete_bundles(campaign);
        PERFORM gather_rest_of_history(campaign);
        DELETE FROM campaigns WHERE id = campaign;
    ELSE
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot %s campaign %s: it is %s', verb, campaign, now_state);
    END IF;
    IF verb IN ('resume', 'retry') THEN
        PERFORM wake_workers(campaign, true, 4);
        PERFORM wake_workers(campaign, false, 4);
    END IF;
END $$;

-- Opens failed jobs again, or the jobs that the budget ended. Jobs that are measuring
-- again stay as they are.
CREATE OR REPLACE FUNCTION reopen_jobs(campaign bigint, failed boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ids bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM job_ends e
        WHERE e.campaign_id = campaign
          AND CASE WHEN failed THEN e.state = 'failed' ELSE e.by_budget END
          AND e.job_id NOT IN (SELECT unnest(b.job_ids) FROM bundles b
                               WHERE b.campaign_id = campaign AND b.remeasures)
        RETURNING e.job_id, e.rounds),
    cleared AS (
        DELETE FROM rounds r USING gone g
        WHERE r.campaign_id = campaign AND r.job_id = g.job_id AND r.number >= g.rounds),
    cleared_outcomes AS (
        DELETE FROM outcomes o USING gone g
        WHERE o.campaign_id = campaign AND o.job_id = g.job_id AND o.number >= g.rounds),
    cleared_conditions AS (
        DELETE FROM round_conditions c USING gone g
        WHERE c.campaign_id = campaign AND c.job_id = g.job_id AND c.number >= g.rounds),
    opened AS (
        INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
        SELECT campaign, j.solver_id, 'ready', g.rounds, j.position, ARRAY[j.id]
        FROM gone g JOIN jobs j ON j.campaign_id = campaign AND j.id = g.job_id)
    SELECT array_agg(job_id) INTO ids FROM gone;
    UPDATE campaigns SET state = 'active'
    WHERE id = campaign AND state = 'done' AND ids IS NOT NULL;
END $$;

-- The jobs that stay open longest are last in each state's order, so the search begins
-- at the end: it finds one at once, however many rows were there before.
CREATE OR REPLACE FUNCTION has_open_jobs(campaign bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    open_state job_state;
BEGIN
    FOREACH open_state IN ARRAY '{ready, built, building, evaluating}'::job_state[] LOOP
        PERFORM FROM bundles b WHERE b.campaign_id = campaign AND b.state = open_state
        ORDER BY b.price DESC, b.position DESC LIMIT 1;
        IF FOUND THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Locks the campaign's row for its end. If another session holds the row for longer
-- than a second, the next claim ends the campaign.
CREATE OR REPLACE FUNCTION hold_campaign_end(campaign bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET lock_timeout = '1s' AS $$
BEGIN
    PERFORM 1 FROM campaigns WHERE id = campaign FOR NO KEY UPDATE;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Adds working time, and ends a campaign without open jobs. The row is locked before
-- the look at the jobs, so of two last jobs the later one sees both ended. While jobs
-- are open no lock is taken, since commits would wait for each other. If two last jobs
-- miss each other, the next claim ends the campaign.
CREATE OR REPLACE FUNCTION settle_campaign(campaign bigint, seconds double precision,
                                           rounds bigint DEFAULT 0, built double precision DEFAULT 0,
                                           evaluated double precision DEFAULT 0) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM add_spent(campaign, seconds, rounds, built, evaluated);
    IF has_open_jobs(campaign) THEN
        RETURN;
    END IF;
    IF hold_campaign_end(campaign) AND NOT has_open_jobs(campaign) THEN
        PERFORM open_next_leaders(campaign, NULL)
        FROM campaigns c WHERE c.id = campaign AND c.budget_seconds > 0 AND c.state <> 'cancelled';
        PERFORM ask_missing_finals(campaign);
        IF has_open_jobs(campaign) THEN
            RETURN;
        END IF;
        UPDATE campaigns SET state = 'done' WHERE id = campaign AND state IN ('active', 'paused');
    END IF;
END $$;

-- Ends the jobs of bundles that were deleted, all of one campaign, after the rounds
-- before round_no. A job with a verified config, also a slow one, is done. Any other job
-- fails with the commonest failure of its configs, or as refused by check if no config
-- has an outcome. why: what ended the search (job_ends.search_end), NULL if it is not known or the budget ended it.
CREATE OR REPLACE FUNCTION end_bundles(ending bundles[], budget boolean, why text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    campaign bigint := ending[1].campaign_id;
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, by_budget, fence,
                          claimed_by, search_end)
    SELECT campaign, e.id, CASE WHEN v.verified THEN 'done' ELSE 'failed' END::job_state,
           b.round_no, CASE WHEN v.verified THEN @FAILURE_NONE
                             ELSE coalesce(worst.failure, @FAILURE_REFUSED_BY_CHECK) END,
           CASE WHEN worst.failure IN (@FAILURE_DEVICE_FAULT, @FAILURE_RUN_TIMEOUT)
                THEN concat(worst.words, faulted_before(campaign, e.id))
                WHEN v.verified OR worst.failure IS NOT NULL THEN worst.words
                ELSE 'it ended without an outcome of any config' END,
           budget, b.fence, b.claimed_by, why
    FROM unnest(ending) AS b CROSS JOIN LATERAL unnest(b.job_ids) AS e(id)
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT 1 FROM outcomes o WHERE o.campaign_id = campaign AND o.job_id = e.id
        AND o.number < b.round_no AND o.failures && ARRAY[@FAILURE_NONE, @FAILURE_SLOW]::smallint[]))
        AS v(verified)
    LEFT JOIN LATERAL (
        SELECT f.failure, min(f.detail)
        FROM round_rows r, unnest(r.failures, r.details) AS f(failure, detail)
        WHERE NOT v.verified AND r.campaign_id = campaign AND r.job_id = e.id
          AND r.number < b.round_no AND f.failure <> @FAILURE_PENDING
        GROUP BY f.failure ORDER BY count(*) DESC, f.failure LIMIT 1
    ) AS worst(failure, words) ON true;
END $$;

-- Deletes a cancelled campaign's bundles. A job that was measuring again stays as it
-- ended before.
CREATE OR REPLACE FUNCTION delete_bundles(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    b bundles;
BEGIN
    WHILE EXISTS (SELECT FROM bundles g WHERE g.campaign_id = campaign) LOOP
        PERFORM FROM bundles g WHERE g.campaign_id = campaign ORDER BY g.id FOR UPDATE;
        FOR b IN DELETE FROM bundles g WHERE g.campaign_id = campaign RETURNING * LOOP
            CONTINUE WHEN NOT b.remeasures;
            PERFORM drop_open_rounds(campaign, b.job_ids, b.round_no);
            DELETE FROM remeasures m WHERE m.campaign_id = campaign
                AND m.job_id = ANY (b.job_ids) AND m.number >= b.round_no;
            PERFORM give_up_final(campaign, b.job_ids, 'the campaign was cancelled');
        END LOOP;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION fair_time(c campaigns) RETURNS double precision
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS
$$ SELECT c.fair_at + (spent_seconds(c.id) - c.fair_from) / c.share $$;

-- Returns fair_time(), or a time after all others if it cannot be computed.
CREATE OR REPLACE FUNCTION fair_time_or_last(c campaigns) RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN fair_time(c);
EXCEPTION WHEN data_exception THEN
    RETURN 'infinity';
END $$;

CREATE OR REPLACE FUNCTION enter_competition() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.priority = OLD.priority
       AND (NEW.state = OLD.state OR NEW.state <> 'active') THEN
        IF NEW.share <> OLD.share THEN
            NEW.fair_at := fair_time(OLD);
            NEW.fair_from := spent_seconds(NEW.id);
        END IF;
        RETURN NEW;
    END IF;
    NEW.fair_at := (
        SELECT coalesce(min(r.at) FILTER (WHERE r.is_worked_on), min(r.at), 0)
        FROM (SELECT fair_time(c) AS at,
                     EXISTS (SELECT 1 FROM bundles b
                             WHERE b.campaign_id = c.id
                               AND b.state IN ('building', 'evaluating')) AS is_worked_on
              FROM campaigns c
              WHERE c.state = 'active' AND c.target = NEW.target AND c.priority = NEW.priority
                AND c.id <> NEW.id) AS r);
    NEW.fair_from := spent_seconds(NEW.id);
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER enter_competition BEFORE INSERT OR UPDATE OF state, priority, share ON campaigns
    FOR EACH ROW EXECUTE FUNCTION enter_competition();
