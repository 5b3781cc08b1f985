-- Making campaigns and changing them as a whole.

-- A campaign without jobs, and its partitions. plan is {name, identity, ...}.
CREATE FUNCTION begin_campaign(plan jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    new_id bigint;
BEGIN
    PERFORM check_stack(plan->>'stack');
    INSERT INTO campaigns (name, identity, target, stack, strategy, seed, configs_limit,
                           round_configs, budget_seconds, build_only, pool, priority, share)
    SELECT p.name, p.identity, p.target, p.stack, p.strategy, p.seed, p.configs_limit,
           p.round_configs, p.budget_seconds, p.build_only, p.pool, p.priority, p.share
    FROM jsonb_populate_record(NULL::campaigns, plan) AS p
    RETURNING id INTO new_id;
    PERFORM add_partitions(new_id);
    RETURN new_id;
END $$;

-- An item has a problem, a solver and how much it matters. Positions go on
-- from `first` in the order of the items.
CREATE FUNCTION add_jobs(campaign bigint, first bigint, items jsonb) RETURNS void
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

-- Each round after the first begins with the default config again.
CREATE FUNCTION configs_tried(campaign bigint, job bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce(sum(cardinality(o.failures)), 0) - greatest(count(*) - 1, 0)
    FROM outcomes o WHERE o.campaign_id = campaign AND o.job_id = job AND NOT o.is_open
$$;

-- Takes over what finished jobs of the old campaign answer: their rounds and
-- results are copied, so that each campaign owns what it reports and may be
-- dropped alone. Jobs that a budget cut short are no answer; one that had
-- nothing left to try within its limit answers for every seed, and for every
-- strategy too, unless its solver's own search ended it: that knows nothing of
-- the rest of the space, which 'exhaustive' asks for.
CREATE FUNCTION reuse_jobs_of(c campaigns, o campaigns) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    same boolean := o.strategy = c.strategy AND o.seed = c.seed
                    AND o.configs_limit = c.configs_limit;
    whole boolean := o.strategy = 'exhaustive' OR c.strategy <> 'exhaustive';
    reused_count integer;
BEGIN
    WITH pairs AS MATERIALIZED (
        SELECT fresh.id AS fresh_id, old.id AS old_id, e.rounds
        FROM jobs fresh
        JOIN solvers s ON s.id = fresh.solver_id
        JOIN jobs old ON old.campaign_id = o.id AND old.problem_id = fresh.problem_id
             AND old.solver_id = fresh.solver_id
        JOIN job_ends e ON e.campaign_id = o.id AND e.job_id = old.id AND e.state = 'done'
             AND NOT e.by_budget
        LEFT JOIN job_ends has ON has.campaign_id = c.id AND has.job_id = fresh.id
        WHERE fresh.campaign_id = c.id AND has.job_id IS NULL
          AND (same OR ((NOT s.searches OR whole)
                        AND (o.configs_limit = 0 OR configs_tried(o.id, old.id) < o.configs_limit)
                        AND (c.configs_limit = 0
                             OR configs_tried(o.id, old.id) <= c.configs_limit)))
    ), ends AS (
        INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, reused, fence)
        SELECT c.id, fresh_id, 'done', rounds, 0, true, 0 FROM pairs
    ), built AS (
        INSERT INTO rounds
        SELECT c.id, p.fresh_id, r.number, 0, r.stack, r.config_counts, r.config_values,
               r.kernel_keys, r.failures, r.details, r.build_seconds, r.kernels, r.evaluated,
               r.pending, r.total_build_seconds
        FROM pairs p JOIN rounds r ON r.campaign_id = o.id AND r.job_id = p.old_id
                                      AND r.number < p.rounds
    ), measured AS (
        INSERT INTO outcomes
        SELECT c.id, p.fresh_id, m.number, m.is_open, 0, m.stack, m.drift, m.failures, m.details,
               m.n, m.min_ms, m.median_ms, m.spread, m.error, m.eval_seconds, m.evaluated,
               m.pending, m.total_eval_seconds
        FROM pairs p JOIN outcomes m ON m.campaign_id = o.id AND m.job_id = p.old_id
                                        AND m.number < p.rounds
    ), kept AS (
        INSERT INTO results
        SELECT c.id, p.fresh_id, k.rank, k.config, k.config_text, k.kernel_keys, k.stack, k.n,
               k.min_ms, k.median_ms, k.spread, k.error, k.build_seconds, k.eval_seconds,
               k.workspace_bytes, k.flops, k.is_default
        FROM pairs p JOIN results k ON k.campaign_id = o.id AND k.job_id = p.old_id
    )
    SELECT count(*) INTO reused_count FROM pairs;
    RETURN reused_count;
END $$;

-- All jobs are there: what is known is taken over, newest first, and the rest
-- goes into bundles of one solver, of more jobs where there are many. Gives
-- how many were taken over.
CREATE FUNCTION open_campaign(campaign bigint) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    c campaigns;
    o campaigns;
    reused_count integer := 0;
    job_count bigint;
    bundle_jobs bigint;
BEGIN
    SELECT * INTO c FROM campaigns WHERE id = campaign;
    IF NOT c.build_only THEN
        FOR o IN SELECT * FROM campaigns p
                 WHERE p.id <> c.id AND NOT p.build_only AND p.target = c.target
                   AND p.stack = c.stack
                 ORDER BY p.id DESC
        LOOP
            reused_count := reused_count + reuse_jobs_of(c, o);
        END LOOP;
    END IF;
    SELECT count(*) INTO job_count FROM jobs WHERE campaign_id = campaign;
    bundle_jobs := least(greatest(job_count / 1024, 1), 64);
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
    SELECT campaign, solver_id, 'ready', 0, min(position), array_agg(id ORDER BY position)
    FROM (SELECT j.id, j.solver_id, j.position,
                 (row_number() OVER (PARTITION BY j.solver_id ORDER BY j.position) - 1)
                     / bundle_jobs AS part
          FROM jobs j LEFT JOIN job_ends e ON e.campaign_id = campaign AND e.job_id = j.id
          WHERE j.campaign_id = campaign AND e.job_id IS NULL) AS placed
    GROUP BY solver_id, part ORDER BY min(position);
    PERFORM settle_campaign(campaign, 0);
    PERFORM wake_workers(campaign, true, 4);
    RETURN reused_count;
END $$;

-- Opens jobs again that came to an end, failed or by the budget, and the
-- campaign with them. Outcomes of a round that was never completed go: the
-- round is proposed anew, under no fence that was given out before.
CREATE FUNCTION reopen_jobs(campaign bigint, failed boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ids bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM job_ends e
        WHERE e.campaign_id = campaign
          AND CASE WHEN failed THEN e.state = 'failed' ELSE e.by_budget END
        RETURNING e.job_id, e.rounds),
    cleared AS (
        DELETE FROM rounds r USING gone g
        WHERE r.campaign_id = campaign AND r.job_id = g.job_id AND r.number >= g.rounds),
    cleared_outcomes AS (
        DELETE FROM outcomes o USING gone g
        WHERE o.campaign_id = campaign AND o.job_id = g.job_id AND o.number >= g.rounds),
    opened AS (
        INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
        SELECT campaign, j.solver_id, 'ready', g.rounds, j.position, ARRAY[j.id]
        FROM gone g JOIN jobs j ON j.campaign_id = campaign AND j.id = g.job_id)
    SELECT array_agg(job_id) INTO ids FROM gone;
    UPDATE campaigns SET state = 'active'
    WHERE id = campaign AND state = 'done' AND ids IS NOT NULL;
END $$;

-- verb: pause, resume, cancel, retry or drop. The bundles are locked first, in
-- one order, then the campaign. A dropped campaign leaves its partitions to
-- whoever detaches them.
CREATE FUNCTION change_campaign(campaign bigint, verb text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
BEGIN
    IF verb IN ('cancel', 'retry', 'drop') THEN
        PERFORM 1 FROM bundles WHERE campaign_id = campaign ORDER BY id FOR UPDATE;
    END IF;
    SELECT state INTO now_state FROM campaigns WHERE id = campaign FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    END IF;
    IF verb = 'pause' AND now_state = 'active' THEN
        UPDATE campaigns SET state = 'paused' WHERE id = campaign;
    ELSIF verb = 'resume' AND now_state = 'paused' THEN
        UPDATE campaigns SET state = 'active' WHERE id = campaign;
    ELSIF verb = 'cancel' AND now_state IN ('active', 'paused') THEN
        DELETE FROM bundles WHERE campaign_id = campaign;
        UPDATE campaigns SET state = 'cancelled' WHERE id = campaign;
    ELSIF verb = 'retry' AND now_state <> 'cancelled' THEN
        PERFORM reopen_jobs(campaign, true);
    ELSIF verb = 'drop' THEN
        DELETE FROM bundles WHERE campaign_id = campaign;
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

-- Sets the whole budget (0 for none); what the old one ended goes on.
CREATE FUNCTION extend_campaign(campaign bigint, new_budget double precision) RETURNS void
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
    ELSIF new_budget = 0 OR new_budget > spent_seconds(campaign) THEN
        PERFORM reopen_jobs(campaign, false);
        PERFORM wake_workers(campaign, true, 4);
    END IF;
END $$;

-- Partitions of campaigns that were dropped, and whether someone began to
-- detach them. They may be detached and dropped at leisure.
CREATE VIEW dropped_partitions AS
    SELECT parent.relname AS parent, child.relname AS child, i.inhdetachpending AS pending
    FROM pg_inherits i
    JOIN pg_class parent ON parent.oid = i.inhparent AND parent.relkind = 'p'
         AND parent.relnamespace = 'skipjack'::regnamespace
    JOIN pg_class child ON child.oid = i.inhrelid
    WHERE parent.relname IN ('jobs', 'job_ends', 'rounds', 'outcomes', 'results')
      AND NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE child.relname = parent.relname || '_' || c.id);

-- Keys of the kernels whose code must stay: those of kept results, and those
-- of rounds that wait for their evaluation. Also a job that was given up may
-- still hand in what it evaluated.
CREATE VIEW kernels_needed AS
    SELECT unnest(string_to_array(kernel_keys, ',')) AS key FROM results
    UNION
    SELECT unnest(string_to_array(keys, ','))
    FROM bundles b, unnest(b.job_ids) AS member(job_id), rounds r, unnest(r.kernel_keys) AS keys
    WHERE b.state IN ('built', 'evaluating') AND r.campaign_id = b.campaign_id
      AND r.job_id = member.job_id AND r.number = b.round_no
    UNION
    SELECT unnest(string_to_array(keys, ','))
    FROM job_ends e
    JOIN campaigns c ON c.id = e.campaign_id
    JOIN rounds r ON r.campaign_id = e.campaign_id AND r.job_id = e.job_id,
    unnest(r.kernel_keys) AS keys
    WHERE (e.failure = 13 AND r.number >= e.rounds) OR (c.build_only AND e.state = 'done');

-- A kernel that was asked for since the oldest build claim of now, or since
-- this call began, may be part of a round that is not stored yet, so it stays.
CREATE FUNCTION collect_kernels() RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    building_since timestamptz;
    dropped integer;
BEGIN
    SELECT least(min(claimed_at), now()) INTO building_since
    FROM bundles WHERE worker_id IS NOT NULL AND state = 'building';
    UPDATE kernels k SET code = NULL
    WHERE code IS NOT NULL AND used_at < building_since
      AND NOT EXISTS (SELECT 1 FROM kernels_needed n WHERE n.key = k.key);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
