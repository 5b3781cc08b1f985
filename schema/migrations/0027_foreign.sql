-- Foreign campaigns: what somebody else measured, read from their databases.
-- They are there to be looked at and compared with. They are never active and
-- have no partitions for jobs, so that nobody can claim one, nor for rounds and
-- results, so that nothing of them counts as verified; and they never change:
-- they are imported whole, or dropped.
-- oldest program: 0012

ALTER TABLE campaigns ADD CONSTRAINT foreign_is_done
    CHECK (strategy <> 'foreign' OR (state = 'done' AND NOT build_only));
-- The same files are imported once, whoever does it at the same time.
CREATE UNIQUE INDEX foreign_once ON campaigns (identity) WHERE strategy = 'foreign';

-- A solver's time for a problem. row_problem_id: the problem that stands for
-- all that share its perf-db row, itself where it is that one.
CREATE TABLE foreign_times (
    campaign_id     bigint NOT NULL,
    problem_id      bigint NOT NULL,
    row_problem_id  bigint NOT NULL,
    time_ms         double precision NOT NULL CHECK (time_ms > 0 AND time_ms < 1e12),
    workspace_bytes bigint NOT NULL CHECK (workspace_bytes >= 0),
    solver          text NOT NULL,
    algorithm       text NOT NULL,
    PRIMARY KEY (campaign_id, problem_id, solver)
);

-- A solver's perf config for the problem that stands for a perf-db row.
CREATE TABLE foreign_params (
    campaign_id bigint NOT NULL,
    problem_id  bigint NOT NULL,
    solver      text NOT NULL,
    params      text NOT NULL,
    PRIMARY KEY (campaign_id, problem_id, solver)
);

CREATE FUNCTION keep_foreign() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
        'campaign %s is foreign: it has nothing to work on and stays as it was imported', OLD.id);
END $$;
CREATE TRIGGER keep_foreign BEFORE UPDATE ON campaigns
    FOR EACH ROW WHEN (OLD.strategy = 'foreign' OR NEW.strategy = 'foreign')
    EXECUTE FUNCTION keep_foreign();

CREATE FUNCTION drop_foreign() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM foreign_times WHERE campaign_id = OLD.id;
    DELETE FROM foreign_params WHERE campaign_id = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER drop_foreign AFTER DELETE ON campaigns
    FOR EACH ROW WHEN (OLD.strategy = 'foreign') EXECUTE FUNCTION drop_foreign();

-- put_tagged_problems() for rows: each problem's row, in the order of the items;
-- they get the tag, NULL for none.
CREATE FUNCTION put_problem_rows(items problems[], its_tag text) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    ids bigint[];
BEGIN
    INSERT INTO problems (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                          pad, stride, dilation, types, casts, layouts, bias, epilogue)
    SELECT DISTINCT kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
           pad, stride, dilation, types, casts, layouts, bias, epilogue
    FROM unnest(items)
    ORDER BY kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
             pad, stride, dilation, types, casts, layouts, bias, epilogue
    ON CONFLICT ON CONSTRAINT problems_once DO NOTHING;

    ids := ARRAY(
        SELECT p.id
        FROM unnest(items) WITH ORDINALITY AS item(no_id, kind, direction, spatial_dim, n, c, k,
             groups, in_size, fil, out_size, pad, stride, dilation, types, casts, layouts, bias,
             epilogue, place)
        JOIN problems p USING (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                               pad, stride, dilation, types, casts, layouts, bias, epilogue)
        ORDER BY item.place);
    INSERT INTO problem_tags (tag, problem_id)
    SELECT DISTINCT its_tag, id FROM unnest(ids) AS id WHERE its_tag IS NOT NULL
    ORDER BY id ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT unnest(ids);
END $$;

-- The id of the new campaign, to be filled and committed together with it; NULL
-- where these files are a campaign already. plan is {name, identity, target}.
CREATE FUNCTION begin_foreign_campaign(plan jsonb) RETURNS bigint
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO campaigns (name, identity, target, stack, state, strategy, seed, configs_limit,
                           round_configs, budget_seconds, build_only)
    SELECT plan->>'name', plan->>'identity', plan->>'target', '', 'done', 'foreign', 0, 0, 0, 0, false
    WHERE NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE c.identity = plan->>'identity' AND c.strategy = 'foreign')
    ON CONFLICT (identity) WHERE strategy = 'foreign' DO NOTHING
    RETURNING id
$$;

CREATE FUNCTION check_foreign(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = campaign AND c.strategy = 'foreign'
                   AND c.created_at = now()) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'campaign %s is none that is being imported', campaign);
    END IF;
END $$;

-- Of a solver that comes twice for a problem the first counts. How many were new.
CREATE FUNCTION add_foreign_times(campaign bigint, items foreign_times[]) RETURNS bigint
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

CREATE FUNCTION add_foreign_params(campaign bigint, items foreign_params[]) RETURNS bigint
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

-- A page of a foreign campaign: the problems behind `after`, each with what is
-- known of its solvers; time_ms is null where only a perf config is. All by
-- keys: of rows that were just imported the planner knows nothing yet.
CREATE FUNCTION foreign_page(campaign bigint, after bigint, most integer)
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

INSERT INTO entry_points
SELECT 'skipjack_coordinator', n, true
FROM unnest(ARRAY['put_problem_rows', 'begin_foreign_campaign', 'add_foreign_times',
                  'add_foreign_params']) AS n
UNION ALL
SELECT 'skipjack_reader', 'foreign_page', true;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
