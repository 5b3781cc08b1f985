-- Questions of a night's plan to the database, beside the history. They change nothing.

-- The row of each problem, in the order of the items; NULL for a problem that was never stored.
CREATE OR REPLACE FUNCTION find_problem_rows(items problems[]) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
        SELECT p.id
        FROM unnest(items) WITH ORDINALITY AS item(no_id, kind, direction, spatial_dim, n, c, k,
             groups, in_size, fil, out_size, pad, stride, dilation, types, casts, layouts, bias,
             epilogue, mode, strides, place)
        LEFT JOIN problems p USING (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                                    pad, stride, dilation, types, casts, layouts, bias, epilogue, mode,
                                    strides)
        ORDER BY item.place;
END $$;

-- The software of the workers that a campaign for the target would have: of builders (builds) and of
-- the devices that measure. A node counts by its running workers; a node without one, which may start its
-- workers at night, by the worker that was seen last, within three days. If no node has one, each node counts
-- by its last worker, however long ago it was seen.
-- wanted: constraints on the software; its_pool: '' for any worker. devices: how many devices of running
-- workers have that stack.
CREATE OR REPLACE FUNCTION night_stacks(its_target text, wanted text, its_pool text)
RETURNS TABLE (builds boolean, stack text, nodes text[], devices integer)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
#variable_conflict use_column
DECLARE
    since timestamptz := now() - interval '3 days';
BEGIN
    IF NOT EXISTS (SELECT FROM workers w WHERE w.target = its_target AND w.beat_at > since) THEN
        since := '-infinity';
    END IF;
    RETURN QUERY
        WITH admitted AS (
            SELECT w.*, w.ended_at IS NULL AND w.beat_at > now() - interval '2 minutes' AS runs
            FROM workers w
            WHERE w.beat_at > since AND (its_pool = '' OR its_pool = ANY (w.labels))
              AND (w.target IN (its_target, '') OR EXISTS (
                       SELECT FROM worker_devices d WHERE d.worker_id = w.id AND d.target = its_target))),
        counted AS MATERIALIZED (
            SELECT a.*, row_number() OVER (PARTITION BY a.node, a.target, a.builds
                                           ORDER BY a.runs DESC, a.beat_at DESC) AS place
            FROM admitted a),
        taken AS MATERIALIZED (SELECT c.* FROM counted c WHERE c.runs OR c.place = 1),
        present AS (
            SELECT true AS builds, t.stack, t.node, false AS runs FROM taken t
            WHERE t.builds AND t.target IN (its_target, '')
            UNION ALL
            SELECT false, coalesce(d.stack, t.stack), t.node, t.runs AND d.out_since IS NULL
            FROM taken t JOIN worker_devices d ON d.worker_id = t.id
            WHERE d.target = its_target)
        SELECT p.builds, p.stack, array_agg(DISTINCT p.node), (count(*) FILTER (WHERE p.runs))::integer
        FROM present p
        WHERE stack_lacks(stack_part(wanted, p.builds), p.stack) IS NULL
        GROUP BY p.builds, p.stack ORDER BY p.builds, p.stack;
END $$;

-- The times of configs on the target, by solver, in its newest campaigns: seconds of compiling for each
-- config that was built, and of verifying and timing for each that was evaluated. Results that were
-- taken over do not count.
CREATE OR REPLACE FUNCTION night_rates(its_target text, campaigns_most integer)
RETURNS TABLE (solver text, built bigint, build_seconds double precision,
               evaluated bigint, eval_seconds double precision)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    ids bigint[] := ARRAY(SELECT c.id FROM campaigns c
                          WHERE c.target = its_target AND NOT c.build_only AND c.strategy <> 'foreign'
                            AND EXISTS (SELECT FROM outcomes o WHERE o.campaign_id = c.id AND o.fence > 0)
                          ORDER BY c.id DESC LIMIT campaigns_most);
BEGIN
    RETURN QUERY
        WITH built AS (
            SELECT j.solver_id, sum(cardinality(r.config_counts))::bigint AS configs,
                   sum(r.total_build_seconds) AS seconds
            FROM rounds r JOIN jobs j ON j.campaign_id = r.campaign_id AND j.id = r.job_id
            WHERE r.campaign_id = ANY (ids) AND r.fence > 0 GROUP BY j.solver_id),
        measured AS (
            SELECT j.solver_id, sum(o.evaluated)::bigint AS configs, sum(o.total_eval_seconds) AS seconds
            FROM outcomes o JOIN jobs j ON j.campaign_id = o.campaign_id AND j.id = o.job_id
            WHERE o.campaign_id = ANY (ids) AND o.fence > 0 GROUP BY j.solver_id)
        SELECT s.name, coalesce(sum(b.configs), 0)::bigint, coalesce(sum(b.seconds), 0),
               coalesce(sum(m.configs), 0)::bigint, coalesce(sum(m.seconds), 0)
        FROM solvers s
        LEFT JOIN built b ON b.solver_id = s.id
        LEFT JOIN measured m ON m.solver_id = s.id
        WHERE b.solver_id IS NOT NULL OR m.solver_id IS NOT NULL
        GROUP BY s.name ORDER BY s.name;
END $$;

-- The targets that have a history, the nearest to the described one first (target_distance()).
CREATE OR REPLACE FUNCTION night_targets_near(described jsonb) RETURNS TABLE (target text, distance real)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
#variable_conflict use_column
DECLARE
    here targets := jsonb_populate_record(NULL::targets, described);
BEGIN
    -- One step of the index for each target: the table has a row for each problem and solver.
    RETURN QUERY
        WITH RECURSIVE each (name) AS (
            (SELECT s.target FROM history_series s ORDER BY s.target LIMIT 1)
            UNION ALL
            SELECT (SELECT s.target FROM history_series s WHERE s.target > e.name ORDER BY s.target LIMIT 1)
            FROM each e WHERE e.name IS NOT NULL)
        SELECT e.name, target_distance(here, t)
        FROM each e JOIN targets t ON t.id = e.name
        ORDER BY 2, 1;
END $$;
