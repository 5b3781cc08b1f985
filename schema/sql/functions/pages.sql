-- Pages: lists for people, a part at a time, as `serve` answers them. Each function takes the
-- question as an object: "limit" items at most, those after the cursor "after", and the
-- question's own members; a member that is missing restricts nothing. It returns the items
-- with their cursors. In an item the program (store_pages.c) writes a member whose name
-- begins with $ as text: "$problem" as its key, "$config" and "$failure" likewise.

CREATE OR REPLACE FUNCTION unix_of(at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT floor(extract(epoch FROM at))::bigint $$;

CREATE OR REPLACE FUNCTION page_limit(asked jsonb) RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT least(coalesce((asked->>'limit')::integer, 100), 100000) $$;

-- The id of the problem that an object of its columns describes; NULL if it is not stored.
CREATE OR REPLACE FUNCTION problem_id_of(columns jsonb) RETURNS bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT p.id FROM problems p, jsonb_populate_record(NULL::problems, columns) AS g
    WHERE (p.kind, p.direction, p.spatial_dim, p.n, p.c, p.k, p.groups, p.in_size, p.fil,
           p.out_size, p.pad, p.stride, p.dilation, p.types, p.casts, p.layouts, p.bias, p.epilogue,
           p.mode, p.strides)
        = (g.kind, g.direction, g.spatial_dim, g.n, g.c, g.k, g.groups, g.in_size, g.fil,
           g.out_size, g.pad, g.stride, g.dilation, g.types, g.casts, g.layouts, g.bias, g.epilogue,
           g.mode, g.strides)
$$;

-- ---- the event log ----

CREATE OR REPLACE FUNCTION log_item(e events) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('id', e.id, 'at_unix', unix_of(e.at), 'kind', e.kind,
        'campaign', e.campaign_id, 'job', e.job_id, 'worker', e.worker_id,
        'node', (SELECT w.node FROM worker_names w WHERE w.worker_id = e.worker_id),
        'detail', e.detail)
$$;

-- newer_than: lines behind this number, the oldest first, instead of the newest first.
CREATE OR REPLACE FUNCTION page_log(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    of_campaign bigint := (asked->>'campaign')::bigint;
    until timestamptz := to_timestamp((asked->>'before_unix')::double precision);
BEGIN
    IF asked ? 'newer_than' THEN
        RETURN QUERY
            SELECT e.id::text, log_item(e) FROM events e
            WHERE e.id > (asked->>'newer_than')::bigint ORDER BY e.id LIMIT page_limit(asked);
        RETURN;
    END IF;
    RETURN QUERY
        SELECT e.id::text, log_item(e) FROM events e
        WHERE (of_campaign IS NULL OR e.campaign_id = of_campaign)
          AND (asked->>'after' IS NULL OR e.id < (asked->>'after')::bigint)
          AND (until IS NULL OR e.at < until)
          AND (asked->>'kind' IS NULL OR e.kind = asked->>'kind')
        ORDER BY e.id DESC LIMIT page_limit(asked);
END $$;

-- ---- campaigns and jobs ----

-- A campaign's item without the numbers of its jobs.
CREATE OR REPLACE FUNCTION campaign_item(c campaigns) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('id', c.id, 'name', c.name, 'target', c.target,
        'state', CASE WHEN c.state = 'active' AND c.deadline <= clock_timestamp() THEN 'overdue'
                      ELSE c.state::text END,
        'strategy', c.strategy, 'build_only', c.build_only, 'priority', c.priority,
        'share', c.share, 'pool', c.pool, 'budget_seconds', c.budget_seconds,
        'spent_seconds', spent_seconds(c.id), 'deadline_unix', unix_of(c.deadline),
        'created_unix', unix_of(c.created_at), 'workers', NULL, 'eta_seconds', NULL)
$$;

CREATE OR REPLACE FUNCTION page_campaigns(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        SELECT c.id::text, campaign_item(c) || jsonb_build_object('jobs', n.jobs,
            'jobs_done', n.done, 'jobs_failed', n.failed, 'jobs_open', n.open)
        FROM (SELECT * FROM campaigns g
              WHERE (asked->>'after' IS NULL OR g.id < (asked->>'after')::bigint)
                AND (asked->>'id' IS NULL OR g.id = (asked->>'id')::bigint)
                AND (asked->>'target' IS NULL OR g.target = asked->>'target')
                AND (asked->>'search' IS NULL OR position(lower(asked->>'search') IN lower(g.name)) > 0)
                AND (asked->>'state' IS NULL OR asked->>'state' =
                     CASE WHEN g.state = 'active' AND g.deadline <= clock_timestamp() THEN 'overdue'
                          ELSE g.state::text END)
              ORDER BY g.id DESC LIMIT page_limit(asked)) AS c
        JOIN campaign_rows n ON n.id = c.id
        ORDER BY c.id DESC;
END $$;

-- Campaigns that are active or paused, without the numbers of their jobs.
CREATE OR REPLACE FUNCTION page_open_campaigns(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT c.id::text, campaign_item(c) FROM campaigns c
    WHERE c.state IN ('active', 'paused') ORDER BY c.id DESC
$$;

CREATE OR REPLACE FUNCTION job_item(j job_rows) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('id', j.id, 'campaign', j.campaign_id, '$problem', to_jsonb(p),
        'solver', s.name, 'revision', s.revision, 'state', j.state, 'rounds', j.round_no,
        'strikes', j.strikes, 'multiplicity', j.multiplicity, 'priority', j.priority,
        '$failure', nullif(j.failure, @FAILURE_NONE), 'detail', j.detail, 'reused', j.reused,
        'search_end', CASE WHEN j.by_budget THEN 'budget' ELSE j.search_end END)
    FROM problems p, solvers s WHERE p.id = j.problem_id AND s.id = j.solver_id
$$;

CREATE OR REPLACE FUNCTION page_jobs(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        SELECT j.id::text, job_item(j)
        FROM job_rows j
        WHERE j.campaign_id = (asked->>'id')::bigint
          AND (asked->>'after' IS NULL OR j.id > (asked->>'after')::bigint)
          AND (asked->>'job' IS NULL OR j.id = (asked->>'job')::bigint)
          AND (asked->>'state' IS NULL OR j.state::text = asked->>'state')
          AND (asked->>'solver' IS NULL OR j.solver_id IN (SELECT s.id FROM solvers s
                                                           WHERE s.name = asked->>'solver'))
          AND (asked->>'failure' IS NULL OR (j.failure = (asked->>'failure')::integer
                                             AND j.state = 'failed'))
        ORDER BY j.id LIMIT page_limit(asked);
END $$;

-- The configs of a round, as items. about: what is in each item that repeats a config.
CREATE OR REPLACE FUNCTION config_items(r round_rows, about jsonb) RETURNS TABLE (at bigint, item jsonb)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT v.at, jsonb_build_object('$config', to_jsonb(v.config), '$failure', r.failures[v.at],
        'detail', coalesce(r.details[v.at], ''), 'median_ms', nullif(r.median_ms[v.at], 0),
        'min_ms', nullif(r.min_ms[v.at], 0),
        'spread', CASE WHEN r.median_ms[v.at] > 0 THEN r.spread[v.at] END,
        'n', nullif(r.n[v.at], 0),
        'error', CASE WHEN r.median_ms[v.at] > 0 THEN r.error[v.at] END,
        'proof_runs', coalesce(r.proof_runs[v.at], 0), 'proof_kinds', coalesce(r.proof_kinds[v.at], 0),
        'build_seconds', coalesce(r.build_seconds[v.at], 0), 'eval_seconds', r.eval_seconds[v.at],
        '$replay', about || jsonb_build_object('config', v.config))
    FROM configs_of(r.config_counts, r.config_values) AS v
$$;

CREATE OR REPLACE FUNCTION conditions_item(c round_conditions) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT CASE WHEN c.device IS NULL THEN NULL ELSE
        to_jsonb(c) - '{campaign_id,job_id,number,throttle}'::text[]
        || jsonb_build_object('$throttle', c.throttle) END
$$;

CREATE OR REPLACE FUNCTION rounds_of_job(its_campaign bigint, its_job bigint, about jsonb)
RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('number', r.number, 'is_open', r.is_open,
        'stack', r.stack, 'drift', r.drift, 'cold', r.cold,
        'verified_share', r.verified_share, 'node', d.node, 'delivered_unix', unix_of(d.at),
        'conditions', conditions_item(c),
        'configs', (SELECT coalesce(jsonb_agg(i.item ORDER BY i.at), '[]') FROM config_items(r, about) AS i))
        ORDER BY r.number), '[]')
    FROM (SELECT * FROM round_rows o WHERE o.campaign_id = its_campaign AND o.job_id = its_job
          ORDER BY o.number DESC LIMIT 100) AS r
    LEFT JOIN round_conditions c ON c.campaign_id = its_campaign AND c.job_id = its_job
                                AND c.number = r.number
    LEFT JOIN LATERAL (SELECT w.node, v.at FROM deliveries v
                       LEFT JOIN worker_names w ON w.worker_id = v.worker_id
                       WHERE v.campaign_id = its_campaign AND its_job = ANY (v.job_ids)
                         AND r.number = v.numbers[array_position(v.job_ids, its_job)]
                       ORDER BY v.at DESC LIMIT 1) AS d ON true
$$;

CREATE OR REPLACE FUNCTION page_job(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    its_campaign bigint := (asked->>'id')::bigint;
    its_job bigint := (asked->>'job')::bigint;
BEGIN
    RETURN QUERY
        SELECT '', job_item(j) || jsonb_build_object(
            'kept', (SELECT coalesce(jsonb_agg(jsonb_build_object('rank', r.rank,
                            'config', r.config_text, 'median_ms', r.median_ms, 'min_ms', r.min_ms,
                            'spread', r.spread, 'n', r.n, 'error', r.error,
                            'proof_runs', coalesce(v.runs, 0), 'proof_kinds', coalesce(v.kinds, 0),
                            'workspace_bytes', r.workspace_bytes, 'pack_ms', r.pack_ms,
                            'packed_bytes', r.packed_bytes,
                            'gflops', CASE WHEN r.median_ms > 0 THEN r.flops / r.median_ms / 1e6 ELSE 0 END,
                            'is_default', r.is_default, 'stack', r.stack) ORDER BY r.rank), '[]')
                     FROM results r
                     LEFT JOIN LATERAL (SELECT c.runs, c.kinds FROM config_proofs c
                                        WHERE c.campaign_id = its_campaign AND c.job_id = its_job
                                          AND c.config = r.config
                                        ORDER BY c.runs DESC LIMIT 1) AS v ON true
                     WHERE r.campaign_id = its_campaign AND r.job_id = its_job),
            'rounds_of', rounds_of_job(its_campaign, its_job,
                jsonb_build_object('problem', to_jsonb(p), 'solver', s.name)),
            'faults', (SELECT coalesce(jsonb_agg(jsonb_build_object('device', f.device,
                              'at_unix', unix_of(f.at)) ORDER BY f.at), '[]')
                       FROM job_faults f WHERE f.campaign_id = its_campaign AND f.job_id = its_job))
        FROM job_rows j JOIN problems p ON p.id = j.problem_id JOIN solvers s ON s.id = j.solver_id
        WHERE j.campaign_id = its_campaign AND j.id = its_job;
END $$;

-- Configs that were refused: all but those that passed, were slow, or wait.
CREATE OR REPLACE FUNCTION page_rejections(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    of_campaign bigint := (asked->>'id')::bigint;
    behind bigint[] := string_to_array(asked->>'after', '.')::bigint[];
BEGIN
    RETURN QUERY
        SELECT concat_ws('.', r.job_id, r.number, v.at),
               jsonb_build_object('campaign', of_campaign, 'job', r.job_id, '$problem', to_jsonb(p),
                   'solver', s.name, 'round', r.number, '$config', to_jsonb(v.config),
                   '$failure', r.failures[v.at], 'detail', coalesce(r.details[v.at], ''),
                   '$replay', jsonb_build_object('problem', to_jsonb(p), 'solver', s.name,
                                                 'config', v.config))
        FROM round_rows r
        JOIN jobs j ON j.campaign_id = of_campaign AND j.id = r.job_id
        JOIN problems p ON p.id = j.problem_id JOIN solvers s ON s.id = j.solver_id
        CROSS JOIN LATERAL configs_of(r.config_counts, r.config_values) AS v
        WHERE r.campaign_id = of_campaign
          AND r.failures[v.at] NOT IN (@FAILURE_NONE, @FAILURE_SLOW, @FAILURE_PENDING)
          AND (asked->>'failure' IS NULL OR r.failures[v.at] = (asked->>'failure')::integer)
          AND (asked->>'solver' IS NULL OR s.name = asked->>'solver')
          AND (behind IS NULL OR (r.job_id, r.number, v.at) > (behind[1], behind[2], behind[3]))
        ORDER BY r.job_id, r.number, v.at LIMIT page_limit(asked);
END $$;

-- ---- nodes ----

-- The newest clocks and heat of each device, by its UUID or address, from rounds of the last
-- quarter of an hour, of campaigns that are active or among the newest ten.
CREATE OR REPLACE FUNCTION page_conditions(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT ON (c.device) c.device, jsonb_build_object('at_unix', unix_of(d.at),
            'conditions', conditions_item(c))
        FROM campaigns g
        CROSS JOIN LATERAL (SELECT v.* FROM deliveries v
                            WHERE v.campaign_id = g.id AND v.at > now() - interval '15 minutes'
                            ORDER BY v.at DESC LIMIT 1000) AS d
        JOIN round_conditions c ON c.campaign_id = g.id AND c.job_id = d.job_ids[1]
                               AND c.number = d.numbers[1]
        WHERE g.state = 'active' OR g.id > (SELECT max(n.id) - 10 FROM campaigns n)
        ORDER BY c.device, d.at DESC;
END $$;

CREATE OR REPLACE FUNCTION page_quarantine(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    skip bigint := coalesce((asked->>'after')::bigint, 0);
BEGIN
    RETURN QUERY
        SELECT (skip + row_number() OVER (ORDER BY q.since DESC, q.solver_id, q.problem_id, q.target, q.config))::text,
               jsonb_build_object('solver', s.name, 'revision', s.revision, '$problem', to_jsonb(p),
                   'target', q.target, '$config', to_jsonb(q.config), '$failure', q.failure,
                   'detail', q.detail, 'since_unix', unix_of(q.since), 'campaign', q.campaign_id,
                   'job', q.job_id, 'node', coalesce(w.node, ''), 'login', q.login)
        FROM (SELECT * FROM quarantine u
              WHERE (asked->>'target' IS NULL OR u.target = asked->>'target')
                AND (asked->>'solver' IS NULL OR u.solver_id IN (SELECT v.id FROM solvers v
                                                                 WHERE v.name = asked->>'solver'))
              ORDER BY u.since DESC, u.solver_id, u.problem_id, u.target, u.config
              OFFSET skip LIMIT page_limit(asked)) AS q
        JOIN problems p ON p.id = q.problem_id JOIN solvers s ON s.id = q.solver_id
        LEFT JOIN worker_names w ON w.worker_id = q.worker_id
        ORDER BY q.since DESC, q.solver_id, q.problem_id, q.target, q.config;
END $$;

-- ---- problems ----

CREATE OR REPLACE FUNCTION page_problems(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        SELECT p.id::text, jsonb_build_object('id', p.id, '$key', to_jsonb(p),
            'networks', (SELECT coalesce(jsonb_agg(DISTINCT n.name), '[]') FROM networks n
                         JOIN version_layers l ON l.version_id = n.current_id
                         WHERE l.problem_id = p.id),
            'tags', (SELECT coalesce(jsonb_agg(t.tag ORDER BY t.tag), '[]') FROM problem_tags t
                     WHERE t.problem_id = p.id))
        FROM problems p
        WHERE (asked->>'after' IS NULL OR p.id > (asked->>'after')::bigint)
          AND (asked->>'network' IS NULL OR p.id IN (SELECT l.problem_id FROM network_layers l
                                                     WHERE l.network = asked->>'network'))
          AND (asked->>'tag' IS NULL OR p.id IN (SELECT t.problem_id FROM problem_tags t
                                                 WHERE t.tag = asked->>'tag'))
        ORDER BY p.id LIMIT page_limit(asked);
END $$;

-- The newest job of a problem for each target and solver, with its best kept config.
CREATE OR REPLACE FUNCTION solver_items(its_problem bigint, its_target text) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        WITH newest AS (
            SELECT DISTINCT ON (c.target, s.name) c.target, s.name, s.revision, j.*
            FROM jobs j JOIN campaigns c ON c.id = j.campaign_id JOIN solvers s ON s.id = j.solver_id
            WHERE j.problem_id = its_problem AND (its_target IS NULL OR c.target = its_target)
            ORDER BY c.target, s.name, j.campaign_id DESC),
        kept AS (
            SELECT n.target, n.name, n.revision, n.campaign_id, n.id, r.config_text, r.median_ms,
                   r.spread, r.is_default, r.low_ms, r.high_ms, r.wins,
                   first_value(n.campaign_id) OVER (PARTITION BY n.target
                                                    ORDER BY r.median_ms NULLS LAST, n.name) AS fastest_of
            FROM newest n LEFT JOIN results r ON r.campaign_id = n.campaign_id AND r.job_id = n.id
                                             AND r.rank = 0),
        -- The fastest wins, or the one that a second measurement chose in the same campaign.
        judged AS (
            SELECT k.*, first_value(k.name) OVER w AS winner, first_value(k.median_ms) OVER w AS best
            FROM kept k
            WINDOW w AS (PARTITION BY k.target ORDER BY k.median_ms IS NULL,
                         (k.wins AND k.campaign_id = k.fastest_of) DESC, k.median_ms, k.name))
        SELECT jsonb_build_object('target', g.target, 'campaign', g.campaign_id, 'job', g.id,
            'solver', g.name, 'revision', g.revision, 'state', j.state,
            '$failure', nullif(j.failure, @FAILURE_NONE), 'detail', j.detail, 'rounds', j.round_no,
            'best_config', g.config_text, 'best_ms', g.median_ms, 'best_spread', g.spread,
            'best_low_ms', g.low_ms, 'best_high_ms', g.high_ms, 'is_second', g.low_ms IS NOT NULL,
            'is_default', g.is_default, 'is_winner', g.median_ms IS NOT NULL AND g.name = g.winner,
            'behind', g.median_ms / nullif(g.best, 0) - 1)
        FROM judged g JOIN job_rows j ON j.campaign_id = g.campaign_id AND j.id = g.id
        ORDER BY g.target, g.median_ms IS NULL, g.name <> g.winner, g.median_ms, g.name;
END $$;

-- The winner of a problem in the newest golden version of each target.
CREATE OR REPLACE FUNCTION golden_winners_of(its_problem bigint) RETURNS SETOF jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('target', g.target, 'version', g.version, 'solver', g.solver,
                              'config', g.config_text, 'median_ms', g.median_ms)
    FROM (SELECT DISTINCT ON (r.target) r.target, v.version, r.solver, r.config_text, r.median_ms
          FROM (SELECT target, max(version) AS version FROM golden_versions
                WHERE approved_at IS NOT NULL AND pruned_at IS NULL GROUP BY target) AS v
          JOIN golden_rows r ON r.target = v.target AND r.since <= v.version
                            AND (r.until IS NULL OR r.until > v.version)
          WHERE r.problem_id = its_problem
          ORDER BY r.target, r.wins DESC, r.median_ms) AS g
$$;

CREATE OR REPLACE FUNCTION page_problem(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    its_id bigint := problem_id_of(asked->'problem');
BEGIN
    RETURN QUERY
        SELECT '', jsonb_build_object('id', p.id, '$key', to_jsonb(p),
            'networks', (SELECT coalesce(jsonb_agg(jsonb_build_object('network', n.name,
                                'layer', l.name, 'multiplicity', l.multiplicity)
                                ORDER BY n.name, l.position), '[]')
                         FROM networks n JOIN version_layers l ON l.version_id = n.current_id
                         WHERE l.problem_id = its_id),
            'tags', (SELECT coalesce(jsonb_agg(t.tag ORDER BY t.tag), '[]') FROM problem_tags t
                     WHERE t.problem_id = its_id),
            'targets', (SELECT coalesce(jsonb_agg(DISTINCT c.target), '[]') FROM jobs j
                        JOIN campaigns c ON c.id = j.campaign_id WHERE j.problem_id = its_id),
            'solvers', (SELECT coalesce(jsonb_agg(s), '[]') FROM solver_items(its_id, asked->>'target') AS s),
            'golden', (SELECT coalesce(jsonb_agg(g), '[]') FROM golden_winners_of(its_id) AS g),
            'quarantined', (SELECT count(*) FROM quarantine q WHERE q.problem_id = its_id))
        FROM problems p WHERE p.id = its_id;
END $$;

-- Every config that was measured for a problem: of one campaign, or of each target's newest
-- one that has rounds of it.
CREATE OR REPLACE FUNCTION page_problem_configs(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    its_problem bigint := problem_id_of(asked->'problem');
    behind bigint[] := string_to_array(asked->>'after', '.')::bigint[];
BEGIN
    RETURN QUERY
        WITH of_campaigns AS (
            SELECT DISTINCT ON (c.target) c.id, c.target FROM campaigns c
            WHERE EXISTS (SELECT 1 FROM jobs j JOIN rounds r ON r.campaign_id = c.id AND r.job_id = j.id
                          WHERE j.campaign_id = c.id AND j.problem_id = its_problem)
              AND (asked->>'campaign' IS NULL OR c.id = (asked->>'campaign')::bigint)
              AND (asked->>'target' IS NULL OR c.target = asked->>'target')
            ORDER BY c.target, c.id DESC),
        own_jobs AS (
            SELECT g.id AS campaign_id, g.target, j.id, s.name,
                   (SELECT r.median_ms FROM results r JOIN jobs o ON o.campaign_id = g.id
                    AND o.id = r.job_id AND o.problem_id = its_problem
                    WHERE r.campaign_id = g.id ORDER BY r.wins DESC, r.median_ms LIMIT 1) AS best
            FROM of_campaigns g JOIN jobs j ON j.campaign_id = g.id AND j.problem_id = its_problem
            JOIN solvers s ON s.id = j.solver_id
            WHERE asked->>'solver' IS NULL OR s.name = asked->>'solver')
        SELECT concat_ws('.', r.job_id, r.number, i.at),
            (i.item - '{min_ms,error,proof_runs,proof_kinds,build_seconds,eval_seconds}'::text[]) || jsonb_build_object(
                'campaign', w.campaign_id, 'target', w.target, 'job', w.id, 'solver', w.name,
                'round', r.number, 'is_winner', coalesce((i.item->>'median_ms')::double precision = w.best, false),
                '$why', jsonb_build_object('failure', r.failures[i.at],
                    'ratio', (i.item->>'median_ms')::double precision / nullif(w.best, 0)))
        FROM own_jobs w
        JOIN round_rows r ON r.campaign_id = w.campaign_id AND r.job_id = w.id
        CROSS JOIN LATERAL config_items(r, jsonb_build_object('problem', asked->'problem',
                                                              'solver', w.name)) AS i
        WHERE behind IS NULL OR (r.job_id, r.number, i.at) > (behind[1], behind[2], behind[3])
        ORDER BY r.job_id, r.number, i.at LIMIT page_limit(asked);
END $$;

CREATE OR REPLACE FUNCTION page_targets(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT t.id, jsonb_build_object('id', t.id,
            'devices', (SELECT count(*) FROM worker_devices d JOIN workers w ON w.id = d.worker_id
                        WHERE d.target = t.id AND w.ended_at IS NULL),
            'campaigns', (SELECT count(*) FROM campaigns c WHERE c.target = t.id),
            'golden', (SELECT max(v.version) FROM golden_versions v
                       WHERE v.target = t.id AND v.approved_at IS NOT NULL))
        FROM targets t ORDER BY t.id;
END $$;

-- ---- a campaign against golden ----

-- For each problem of the campaign or the version: the winner of both. equal: within 0.1 %,
-- or the same config.
CREATE OR REPLACE FUNCTION page_campaign_golden(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    its_campaign bigint := (asked->>'id')::bigint;
BEGIN
    RETURN QUERY
        WITH new AS (
            SELECT DISTINCT ON (j.problem_id) j.problem_id, s.name AS solver, r.config_text,
                   r.median_ms, j.multiplicity
            FROM jobs j JOIN results r ON r.campaign_id = its_campaign AND r.job_id = j.id
            JOIN solvers s ON s.id = j.solver_id
            WHERE j.campaign_id = its_campaign ORDER BY j.problem_id, r.wins DESC, r.median_ms),
        old AS (
            SELECT DISTINCT ON (r.problem_id) r.problem_id, r.solver, r.config_text, r.median_ms,
                   r.multiplicity
            FROM golden_content(asked->>'target', (asked->>'version')::integer) AS r
            WHERE (asked->>'version')::integer > 0 ORDER BY r.problem_id, r.wins DESC, r.median_ms)
        SELECT '', jsonb_build_object('$problem', to_jsonb(p), 'change',
                CASE WHEN old.problem_id IS NULL THEN 'gained' WHEN new.problem_id IS NULL THEN 'lost'
                     WHEN (old.solver, old.config_text) = (new.solver, new.config_text)
                          AND abs(new.median_ms / old.median_ms - 1) < 0.01 THEN 'equal'
                     WHEN abs(new.median_ms / old.median_ms - 1) < 0.001 THEN 'equal'
                     WHEN new.median_ms < old.median_ms THEN 'faster' ELSE 'slower' END,
            'multiplicity', coalesce(new.multiplicity, old.multiplicity),
            'old_solver', old.solver, 'old_config', old.config_text, 'old_ms', old.median_ms,
            'new_solver', new.solver, 'new_config', new.config_text, 'new_ms', new.median_ms,
            'ratio', new.median_ms / nullif(old.median_ms, 0),
            'saved_ms', (old.median_ms - new.median_ms) * coalesce(new.multiplicity, old.multiplicity))
        FROM new FULL JOIN old ON old.problem_id = new.problem_id
        JOIN problems p ON p.id = coalesce(new.problem_id, old.problem_id);
END $$;

CREATE OR REPLACE FUNCTION page_golden_diff(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT '', (d - '{problem,old_drift,new_drift}'::text[]) || jsonb_build_object(
            '$problem', d->'problem', 'reason', coalesce(d->>'reason', ''),
            'ratio', (d->>'new_ms')::double precision / nullif((d->>'old_ms')::double precision, 0))
        FROM diff_golden(asked->>'target', (asked->>'from')::integer, (asked->>'to')::integer) AS d;
END $$;

-- ---- nights ----

CREATE OR REPLACE FUNCTION night_item(n night_rows) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('id', n.id, 'name', n.name, 'night', n.night::text, 'state', n.state,
        'begun_unix', n.begun, 'ended_unix', n.ended, 'deadline_unix', n.deadline_unix,
        'is_running', n.is_running, 'is_red', n.findings > 0, 'jobs', n.jobs, 'jobs_open', n.jobs_open,
        'jobs_done', n.jobs_done, 'jobs_failed', n.jobs_failed,
        'jobs_unfinished', n.jobs_unfinished, 'findings', n.findings)
$$;

CREATE OR REPLACE FUNCTION page_nights(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    skip bigint := coalesce((asked->>'after')::bigint, 0);
BEGIN
    RETURN QUERY
        SELECT (skip + row_number() OVER (ORDER BY n.night DESC, n.id DESC))::text, night_item(n)
        FROM night_rows n
        WHERE n.id IN (SELECT d.id FROM nights d
                       WHERE asked->>'name' IS NULL OR d.name = asked->>'name'
                       ORDER BY d.night DESC, d.id DESC OFFSET skip LIMIT page_limit(asked))
        ORDER BY n.night DESC, n.id DESC;
END $$;

CREATE OR REPLACE FUNCTION page_night(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    its_id bigint := (asked->>'night')::bigint;
BEGIN
    RETURN QUERY
        SELECT '', night_item(n) || jsonb_build_object(
            'by', n.begun_by,
            'targets', (SELECT coalesce(jsonb_agg(jsonb_build_object('target', t.target,
                               'stack', t.stack, 'baseline', t.baseline, 'plan', t.plan) ORDER BY t.target), '[]')
                        FROM night_targets t WHERE t.night_id = its_id),
            'reasons', (SELECT coalesce(jsonb_agg(jsonb_build_object('$reason', r.reason,
                               'target', r.target, 'jobs', r.jobs) ORDER BY r.target, r.reason), '[]')
                        FROM (SELECT j.reason, j.target, count(*) AS jobs FROM night_jobs j
                              WHERE j.night_id = its_id GROUP BY j.reason, j.target) AS r),
            'campaigns', (SELECT coalesce(jsonb_agg(jsonb_build_object('target', c.target,
                                 'campaign', c.campaign_id, 'backfill', c.backfill)
                                 ORDER BY c.target, c.backfill), '[]')
                          FROM night_campaigns c WHERE c.night_id = its_id),
            'steps', (SELECT coalesce(jsonb_agg(jsonb_build_object('step', s.step, 'tries', s.tries,
                             'begun_unix', unix_of(s.begun_at), 'ended_unix', unix_of(s.ended_at),
                             'failed', s.failed, 'detail', s.detail) ORDER BY s.step), '[]')
                      FROM night_steps s WHERE s.night_id = its_id),
            'summary', n.summary)
        FROM night_rows n WHERE n.id = its_id;
END $$;

CREATE OR REPLACE FUNCTION page_night_jobs(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        SELECT j.job_id::text, jsonb_build_object('target', j.target, '$problem', to_jsonb(p),
            'solver', j.solver, 'campaign', j.campaign_id, 'job', j.job_id, '$reason', j.reason,
            'detail', j.detail, 'state', j.state, 'backfill', coalesce(j.backfill, false))
        FROM night_job_rows j JOIN problems p ON p.id = j.problem_id
        WHERE j.night_id = (asked->>'night')::bigint
          AND (asked->>'after' IS NULL OR j.job_id > (asked->>'after')::bigint)
          AND (asked->>'target' IS NULL OR j.target = asked->>'target')
          AND (asked->>'reason' IS NULL OR j.reason = (asked->>'reason')::integer)
        ORDER BY j.job_id LIMIT page_limit(asked);
END $$;

-- The newest night of each name. failed: a step of it was given up.
CREATE OR REPLACE FUNCTION page_newest_nights(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT n.id::text, jsonb_build_object('name', n.name, 'state', n.state,
        'begun_unix', unix_of(n.begun_at), 'ended_unix', unix_of(n.ended_at),
        'deadline_unix', unix_of(n.deadline), 'findings', n.findings,
        'failed', EXISTS (SELECT FROM night_steps s WHERE s.night_id = n.id AND s.failed))
    FROM (SELECT DISTINCT ON (d.name) d.* FROM nights d ORDER BY d.name, d.night DESC, d.id DESC) AS n
    ORDER BY n.name LIMIT 100
$$;

-- ---- rates ----

-- Rates a second over the last hour, as far as samples are kept: a point each step_seconds, each
-- over the five minutes before it, as rates_sql of schema/farm/farm.c computes the present one.
CREATE OR REPLACE FUNCTION page_past_rates(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT '', jsonb_build_object('at_unix', unix_of(t.at),
        'jobs', greatest((l.jobs - f.jobs) / s.seconds, 0),
        'configs', greatest((l.configs - f.configs) / s.seconds, 0),
        'kernels', greatest((l.kernels - f.kernels) / s.seconds, 0),
        'working', NULL, 'idle', NULL, 'failed', NULL)
    FROM generate_series(now() - interval '1 hour', now() - make_interval(secs => (asked->>'step_seconds')::integer),
                         make_interval(secs => (asked->>'step_seconds')::integer)) AS t(at)
    CROSS JOIN LATERAL (SELECT * FROM farm_samples a WHERE a.at <= t.at ORDER BY a.at DESC LIMIT 1) AS l
    CROSS JOIN LATERAL (SELECT * FROM farm_samples b WHERE b.at >= t.at - interval '5 minutes'
                        ORDER BY b.at LIMIT 1) AS f
    CROSS JOIN LATERAL (SELECT extract(epoch FROM t.at - f.at)::double precision AS seconds) AS s
    WHERE l.at > f.at ORDER BY t.at
$$;

-- ---- webhooks ----

-- One item: messages that wait, the age of the oldest, and messages given up within a day.
CREATE OR REPLACE FUNCTION page_outbox(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT '', jsonb_build_object(
        'waiting', count(*) FILTER (WHERE o.state = 'waiting'),
        'failed', count(*) FILTER (WHERE o.state = 'failed' AND o.ended_at > now() - interval '1 day'),
        'oldest_seconds', coalesce(extract(epoch FROM now() - min(o.made_at)
                                           FILTER (WHERE o.state = 'waiting')), 0))
    FROM outbox o
$$;

-- A night's findings, as regressions_to_json() of coordinator/nights wrote them, the heaviest first.
CREATE OR REPLACE FUNCTION page_night_findings(asked jsonb) RETURNS TABLE (place text, item jsonb)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT (row_number() OVER w + coalesce((asked->>'after')::bigint, 0))::text,
           jsonb_build_object('target', f.target, '$problem', to_jsonb(p), 'solver', f.found->>'solver',
               'verdict', f.found->>'kind', 'state', f.found->>'state', 'against', f.found->>'against',
               'scope', f.found->>'scope', 'old_ms', f.found->'then_ms',
               'new_ms', nullif(f.found->'now'->'median_ms', '0'),
               'ratio', 1 + (f.found->>'percent')::double precision / 100,
               'low_percent', f.found->'low', 'high_percent', f.found->'high',
               'weight_ms', coalesce(f.found->'weight', '0'), 'node', f.found->'now'->>'node',
               'cause', coalesce(f.found->'causes'->0->>'cause', ''),
               'detail', (SELECT coalesce(string_agg(concat_ws(': ', one.cause->>'cause', one.cause->>'evidence'), '; '), '')
                          FROM jsonb_array_elements(f.found->'causes') AS one(cause)),
               'networks', (SELECT coalesce(jsonb_agg(jsonb_build_object('network', one.effect->>'network',
                                   'ms', one.effect->'ms', 'percent', one.effect->'percent')), '[]')
                            FROM jsonb_array_elements(f.found->'networks') AS one(effect)))
    FROM (SELECT t.target, e.found, e.place,
                 coalesce((e.found->>'weight')::double precision, 0) AS weight
          FROM night_targets t
          CROSS JOIN LATERAL jsonb_array_elements(coalesce(t.judged->'findings', '[]'))
                     WITH ORDINALITY AS e(found, place)
          WHERE t.night_id = (asked->>'night')::bigint
          ORDER BY weight DESC, t.target, e.place
          OFFSET coalesce((asked->>'after')::bigint, 0) LIMIT page_limit(asked)) AS f
    JOIN problems p ON p.id = (f.found->>'problem_id')::bigint
    WINDOW w AS (ORDER BY f.weight DESC, f.target, f.place)
    ORDER BY f.weight DESC, f.target, f.place
$$;
