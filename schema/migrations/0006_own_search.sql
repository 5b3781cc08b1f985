-- A solver may bring its own search, which replaces every strategy of a
-- campaign but 'exhaustive' and may end before the whole space was tried.
ALTER TABLE solvers ADD COLUMN searches boolean NOT NULL DEFAULT false;

-- Finished jobs that asked the same question: their rounds and results are
-- copied, so that each campaign owns what it reports and may be dropped alone.
-- Jobs that a budget cut short are no answer; one that had nothing left to try
-- within its limit answers for every seed, and for every strategy too, unless
-- its solver's own search ended it: that knows nothing of the rest of the
-- space, which 'exhaustive' asks for.
CREATE OR REPLACE FUNCTION reuse_jobs(campaign bigint) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    reused_count integer := 0;
    pair record;
BEGIN
    FOR pair IN
        SELECT DISTINCT ON (fresh.id) fresh.id AS fresh_id, old.id AS old_id, old.round_no
        FROM campaigns c
        JOIN jobs fresh ON fresh.campaign_id = c.id
        JOIN solvers s ON s.id = fresh.solver_id
        JOIN jobs old ON old.problem_id = fresh.problem_id AND old.solver_id = fresh.solver_id
             AND old.state = 'done' AND NOT old.ended_by_budget
        JOIN campaigns o ON o.id = old.campaign_id AND o.id <> c.id
        WHERE c.id = campaign AND NOT c.build_only AND NOT o.build_only
          AND o.target = c.target AND o.stack = c.stack
          AND ((o.strategy = c.strategy AND o.seed = c.seed AND o.configs_limit = c.configs_limit)
               OR ((NOT s.searches OR o.strategy = 'exhaustive' OR c.strategy <> 'exhaustive')
                   AND (o.configs_limit = 0 OR configs_tried(old.id) < o.configs_limit)
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
CREATE OR REPLACE FUNCTION create_campaign(plan jsonb, items jsonb)
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
    INSERT INTO solvers (provider, name, revision, hash, algorithm, dynamic, tunable, searches)
    SELECT DISTINCT ON (provider, name, revision, hash)
           provider, name, revision, hash, algorithm, dynamic, tunable, searches
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
