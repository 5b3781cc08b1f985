-- Making campaigns and changing them as a whole.

CREATE FUNCTION configs_tried(job bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    -- Each round after the first begins with the default config again.
    SELECT coalesce(sum(cardinality(r.failures)), 0) - greatest(count(*) - 1, 0)
    FROM rounds r WHERE r.job_id = job AND NOT r.is_open
$$;

-- Finished jobs that asked the same question: their rounds and results are
-- copied, so that each campaign owns what it reports and may be dropped alone.
-- Jobs that a budget cut short are no answer; one that tried its whole space
-- within its limit answers for every strategy and seed.
CREATE FUNCTION reuse_jobs(campaign bigint) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    reused_count integer := 0;
    pair record;
BEGIN
    FOR pair IN
        SELECT DISTINCT ON (fresh.id) fresh.id AS fresh_id, old.id AS old_id, old.round_no
        FROM campaigns c
        JOIN jobs fresh ON fresh.campaign_id = c.id
        JOIN jobs old ON old.problem_id = fresh.problem_id AND old.solver_id = fresh.solver_id
             AND old.state = 'done' AND NOT old.ended_by_budget
        JOIN campaigns o ON o.id = old.campaign_id AND o.id <> c.id
        WHERE c.id = campaign AND NOT c.build_only AND NOT o.build_only
          AND o.target = c.target AND o.stack = c.stack
          AND ((o.strategy = c.strategy AND o.seed = c.seed AND o.configs_limit = c.configs_limit)
               OR ((o.configs_limit = 0 OR configs_tried(old.id) < o.configs_limit)
                   AND (c.configs_limit = 0 OR configs_tried(old.id) <= c.configs_limit)))
        ORDER BY fresh.id, old.id DESC
    LOOP
        INSERT INTO rounds
        SELECT copy.* FROM rounds r, jsonb_populate_record(
            NULL::rounds, to_jsonb(r) || jsonb_build_object('job_id', pair.fresh_id)) AS copy
        WHERE r.job_id = pair.old_id AND NOT r.is_open;
        INSERT INTO results
        SELECT copy.* FROM results r, jsonb_populate_record(
            NULL::results, to_jsonb(r) || jsonb_build_object('job_id', pair.fresh_id)) AS copy
        WHERE r.job_id = pair.old_id;
        UPDATE jobs SET state = 'done', reused = true, round_no = pair.round_no
        WHERE id = pair.fresh_id;
        reused_count := reused_count + 1;
    END LOOP;
    RETURN reused_count;
END $$;

-- plan is {name, identity, ...}; an item of jobs has a problem, a solver and
-- how much it matters.
CREATE FUNCTION create_campaign(plan jsonb, items jsonb)
RETURNS TABLE (campaign_id bigint, reused integer)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
#variable_conflict use_column
DECLARE
    new_id bigint;
    reused_count integer;
BEGIN
    INSERT INTO campaigns (name, identity, target, stack, strategy, seed, configs_limit,
                           round_configs, budget_seconds, build_only)
    SELECT p.name, p.identity, p.target, p.stack, p.strategy, p.seed, p.configs_limit,
           p.round_configs, p.budget_seconds, p.build_only
    FROM jsonb_populate_record(NULL::campaigns, plan) AS p
    RETURNING id INTO new_id;
    INSERT INTO solvers (provider, name, revision, hash, algorithm, dynamic, tunable)
    SELECT DISTINCT ON (provider, name, revision, hash)
           provider, name, revision, hash, algorithm, dynamic, tunable
    FROM jsonb_populate_recordset(NULL::solvers, items)
    ORDER BY provider, name, revision, hash
    ON CONFLICT DO NOTHING;
    INSERT INTO jobs (campaign_id, problem_id, solver_id, priority, multiplicity)
    SELECT new_id, put.problem_id, s.id, (item.value->>'priority')::double precision,
           (item.value->>'multiplicity')::integer
    FROM put_problems(jsonb_path_query_array(items, '$[*].problem')) AS put
    JOIN jsonb_array_elements(items) WITH ORDINALITY AS item(value, ord) ON item.ord = put.ord
    JOIN solvers s ON s.provider = item.value->>'provider' AND s.name = item.value->>'name'
         AND s.revision = (item.value->>'revision')::integer AND s.hash = item.value->>'hash'
    ORDER BY put.ord
    ON CONFLICT DO NOTHING;
    reused_count := reuse_jobs(new_id);
    PERFORM settle_campaign(new_id, 0);
    RETURN QUERY SELECT new_id, reused_count;
END $$;

-- Opens jobs again that came to an end, and the campaign with them. Outcomes of
-- a round that was never completed go: the round is proposed anew.
CREATE FUNCTION reopen_jobs(campaign bigint, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM rounds WHERE job_id = ANY (ids) AND is_open;
    UPDATE jobs SET state = 'ready', failure = 0, detail = NULL, strikes = 0, ended_by_budget = false
    WHERE id = ANY (ids);
    UPDATE campaigns SET state = 'active'
    WHERE id = campaign AND state = 'done' AND cardinality(ids) > 0;
END $$;

-- verb: pause, resume, cancel, retry or drop. The jobs are locked first, in
-- one order, then the campaign.
CREATE FUNCTION change_campaign(campaign bigint, verb text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
    failed bigint[];
BEGIN
    IF verb IN ('cancel', 'retry', 'drop') THEN
        PERFORM 1 FROM jobs WHERE campaign_id = campaign ORDER BY id FOR UPDATE;
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
        UPDATE jobs SET state = 'cancelled', worker_id = NULL, claim_token = NULL
        WHERE campaign_id = campaign AND state IN ('ready', 'building', 'built', 'evaluating');
        UPDATE campaigns SET state = 'cancelled' WHERE id = campaign;
    ELSIF verb = 'retry' AND now_state <> 'cancelled' THEN
        SELECT coalesce(array_agg(id), '{}') INTO failed
        FROM jobs WHERE campaign_id = campaign AND state = 'failed';
        PERFORM reopen_jobs(campaign, failed);
    ELSIF verb = 'drop' THEN
        DELETE FROM campaigns WHERE id = campaign;
    ELSE
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot %s campaign %s: it is %s', verb, campaign, now_state);
    END IF;
END $$;

-- Sets the whole budget (0 for none); what the old one ended goes on.
CREATE FUNCTION extend_campaign(campaign bigint, new_budget double precision) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
    ended bigint[];
BEGIN
    PERFORM 1 FROM jobs WHERE campaign_id = campaign ORDER BY id FOR UPDATE;
    UPDATE campaigns SET budget_seconds = new_budget WHERE id = campaign RETURNING state INTO now_state;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF now_state = 'cancelled' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot extend campaign %s: it is cancelled', campaign);
    ELSIF new_budget = 0 OR new_budget > spent_seconds(campaign) THEN
        SELECT coalesce(array_agg(id), '{}') INTO ended
        FROM jobs WHERE campaign_id = campaign AND ended_by_budget;
        PERFORM reopen_jobs(campaign, ended);
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
