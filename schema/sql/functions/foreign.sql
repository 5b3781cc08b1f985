-- Foreign campaigns: storing and reading what other programs measured.

CREATE OR REPLACE FUNCTION keep_foreign() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
        'campaign %s is foreign: it has nothing to work on and stays as it was imported', OLD.id);
END $$;

CREATE OR REPLACE TRIGGER keep_foreign BEFORE UPDATE ON campaigns
    FOR EACH ROW WHEN (OLD.strategy = 'foreign' OR NEW.strategy = 'foreign')
    EXECUTE FUNCTION keep_foreign();

CREATE OR REPLACE FUNCTION drop_foreign() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM foreign_times WHERE campaign_id = OLD.id;
    DELETE FROM foreign_params WHERE campaign_id = OLD.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER drop_foreign AFTER DELETE ON campaigns
    FOR EACH ROW WHEN (OLD.strategy = 'foreign') EXECUTE FUNCTION drop_foreign();

-- Makes a campaign, to be filled in the same transaction. Returns its id; NULL if the
-- same files are a campaign already. plan is {name, identity, target}.
CREATE OR REPLACE FUNCTION begin_foreign_campaign(plan jsonb) RETURNS bigint
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO campaigns (name, identity, target, stack, state, strategy, seed, configs_limit,
                           round_configs, budget_seconds, build_only)
    SELECT plan->>'name', plan->>'identity', plan->>'target', '', 'done', 'foreign', 0, 0, 0, 0, false
    WHERE NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE c.identity = plan->>'identity' AND c.strategy = 'foreign')
    ON CONFLICT (identity) WHERE strategy = 'foreign' DO NOTHING
    RETURNING id
$$;

CREATE OR REPLACE FUNCTION check_foreign(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = campaign AND c.strategy = 'foreign'
                   AND c.created_at = now()) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'campaign %s is none that is being imported', campaign);
    END IF;
END $$;

-- Adds times. If a solver has several for a problem, the first counts. Returns how many
-- were new.
CREATE OR REPLACE FUNCTION add_foreign_times(campaign bigint, items foreign_times[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    added bigint;
BEGIN
    PERFORM check_foreign(campaign);
    INSERT INTO foreign_times
    SELECT campaign, i.problem_id, i.row_problem_id, i.time_ms, i.workspace_bytes, i.solver,
           i.algorithm
    FROM unnest(items) AS i
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END $$;

CREATE OR REPLACE FUNCTION add_foreign_params(campaign bigint, items foreign_params[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    added bigint;
BEGIN
    PERFORM check_foreign(campaign);
    INSERT INTO foreign_params
    SELECT campaign, i.problem_id, i.solver, i.params FROM unnest(items) AS i
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END $$;

-- One page of a foreign campaign: the problems after `after`, each with what is known
-- of its solvers. time_ms is NULL if only a perf config is known. All tables are read
-- by keys, because the planner has no statistics of rows that were just imported.
CREATE OR REPLACE FUNCTION foreign_page(campaign bigint, after bigint, most integer)
RETURNS TABLE (problem_id bigint, found jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    last bigint := (SELECT max(page.id) FROM (
        SELECT u.id FROM (
            (SELECT DISTINCT t.problem_id FROM foreign_times t
             WHERE t.campaign_id = campaign AND t.problem_id > after ORDER BY 1 LIMIT most)
            UNION
            (SELECT DISTINCT f.problem_id FROM foreign_params f
             WHERE f.campaign_id = campaign AND f.problem_id > after ORDER BY 1 LIMIT most)
        ) AS u(id) ORDER BY 1 LIMIT most) AS page);
BEGIN
    RETURN QUERY
        WITH timed AS (
            SELECT t.problem_id AS id, t.solver, t.algorithm, t.time_ms, t.workspace_bytes,
                   (SELECT f.params FROM foreign_params f WHERE f.campaign_id = campaign
                    AND f.problem_id = t.row_problem_id AND f.solver = t.solver) AS params
            FROM foreign_times t
            WHERE t.campaign_id = campaign AND t.problem_id > after AND t.problem_id <= last
        ), entries AS (
            SELECT * FROM timed
            UNION ALL
            SELECT f.problem_id, f.solver, '', NULL, 0, f.params
            FROM foreign_params f
            WHERE f.campaign_id = campaign AND f.problem_id > after AND f.problem_id <= last
              AND NOT EXISTS (SELECT 1 FROM foreign_times t WHERE t.campaign_id = campaign
                              AND t.problem_id = f.problem_id AND t.solver = f.solver OFFSET 0)
        ), grouped AS (
            SELECT e.id, jsonb_agg(jsonb_build_object('solver', e.solver, 'algorithm', e.algorithm,
                       'time_ms', e.time_ms, 'workspace_bytes', e.workspace_bytes,
                       'params', e.params) ORDER BY e.time_ms, e.solver COLLATE "C") AS entries
            FROM entries e GROUP BY e.id)
        SELECT g.id, jsonb_build_object('problem', (SELECT to_jsonb(p) FROM problems p WHERE p.id = g.id),
                                        'entries', g.entries)
        FROM grouped g ORDER BY g.id;
END $$;
