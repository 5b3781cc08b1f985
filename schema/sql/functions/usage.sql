-- Usage: sums of ended campaigns, and the views for people's own questions (schema/VIEWS.md).

-- Sums one ended campaign that has no sums yet, and returns its id; NULL if every ended campaign has sums.
-- The lock keeps the campaign from working again before its sums can be seen, and another session from
-- making the same sums.
CREATE OR REPLACE FUNCTION sum_usage() RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ended bigint;
BEGIN
    SELECT c.id INTO ended FROM campaigns c
    WHERE c.state IN ('done', 'cancelled') AND NOT c.build_only AND c.strategy <> 'foreign'
      AND NOT EXISTS (SELECT 1 FROM usage_summed u WHERE u.campaign_id = c.id)
    ORDER BY c.id LIMIT 1 FOR NO KEY UPDATE OF c SKIP LOCKED;
    IF ended IS NOT NULL THEN
        DELETE FROM usage_sums u WHERE u.campaign_id = ended;
        INSERT INTO usage_sums (campaign_id, problem_id, solvers, times_ms)
        SELECT ended, j.problem_id, array_agg(j.solver_id ORDER BY r.wins DESC, r.median_ms, j.solver_id),
               array_agg(r.median_ms ORDER BY r.wins DESC, r.median_ms, j.solver_id)
        FROM results r JOIN jobs j ON j.campaign_id = ended AND j.id = r.job_id
        WHERE r.campaign_id = ended AND r.rank = 0
        GROUP BY j.problem_id ORDER BY j.problem_id;
        INSERT INTO usage_summed (campaign_id) VALUES (ended) ON CONFLICT DO NOTHING;
    END IF;
    RETURN ended;
END $$;

CREATE OR REPLACE FUNCTION forget_usage() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM usage_summed u WHERE u.campaign_id = NEW.id;
    DELETE FROM usage_sums u WHERE u.campaign_id = NEW.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER forget_usage AFTER UPDATE OF state ON campaigns
    FOR EACH ROW WHEN (OLD.state IN ('done', 'cancelled') AND NEW.state NOT IN ('done', 'cancelled'))
    EXECUTE FUNCTION forget_usage();

-- A row for each problem of a campaign: its solvers with their best times, the fastest first. Ended
-- campaigns are read from their sums, others from their results.
CREATE OR REPLACE VIEW usage_times AS
    SELECT u.campaign_id, u.problem_id, u.solvers, u.times_ms
    FROM usage_sums u
    UNION ALL
    SELECT c.id, live.problem_id, live.solvers, live.times_ms
    FROM campaigns c
    CROSS JOIN LATERAL (
        SELECT j.problem_id, array_agg(j.solver_id ORDER BY r.wins DESC, r.median_ms, j.solver_id) AS solvers,
               array_agg(r.median_ms ORDER BY r.wins DESC, r.median_ms, j.solver_id) AS times_ms
        FROM results r JOIN jobs j ON j.campaign_id = c.id AND j.id = r.job_id
        WHERE r.campaign_id = c.id AND r.rank = 0
        GROUP BY j.problem_id) AS live
    WHERE NOT EXISTS (SELECT 1 FROM usage_summed s WHERE s.campaign_id = c.id)
      AND c.strategy <> 'foreign' AND NOT c.build_only;

-- The times of a campaign without sums, in the form of usage_sums. ids: only these problems, NULL for all.
CREATE OR REPLACE FUNCTION usage_unsummed(campaign bigint, ids bigint[])
RETURNS TABLE (problem_id bigint, solvers bigint[], times_ms double precision[])
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT j.problem_id, array_agg(j.solver_id), array_agg(r.median_ms)
                 FROM results r JOIN jobs j ON j.campaign_id = campaign AND j.id = r.job_id
                 WHERE r.campaign_id = campaign AND r.rank = 0
                   AND (ids IS NULL OR j.problem_id = ANY (ids))
                 GROUP BY j.problem_id;
END $$;

-- The entries of a golden version: the best config of each problem and solver. ids: only these problems,
-- NULL for all. Approved versions are read from the index golden_rows_usage.
CREATE OR REPLACE FUNCTION usage_golden(its_target text, its_version integer, ids bigint[])
RETURNS TABLE (problem_id bigint, solver_id bigint, multiplicity integer, time_ms double precision)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT 1 FROM golden_versions v WHERE v.target = its_target AND v.version = its_version
               AND v.approved_at IS NOT NULL) THEN
        RETURN QUERY SELECT r.problem_id, r.solver_id, r.multiplicity, r.median_ms FROM golden_rows r
                     WHERE r.target = its_target AND r.since <= its_version
                       AND (r.until IS NULL OR r.until > its_version) AND r.rank = 0
                       AND (ids IS NULL OR r.problem_id = ANY (ids));
    ELSE
        RETURN QUERY SELECT r.problem_id, r.solver_id, r.multiplicity, r.median_ms
                     FROM golden_content(its_target, its_version) AS r
                     WHERE r.rank = 0 AND (ids IS NULL OR r.problem_id = ANY (ids));
    END IF;
END $$;

-- The kernels of entries of a golden version: ids of problems and solvers, element by element.
CREATE OR REPLACE FUNCTION usage_golden_kernels(its_target text, its_version integer, ids bigint[], its_solvers bigint[])
RETURNS TABLE (problem_id bigint, solver_id bigint, kernel_keys text)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT 1 FROM golden_versions v WHERE v.target = its_target AND v.version = its_version
               AND v.approved_at IS NOT NULL) THEN
        RETURN QUERY SELECT r.problem_id, r.solver_id, r.kernel_keys
                     FROM unnest(ids, its_solvers) AS u(problem, solver)
                     JOIN solvers s ON s.id = u.solver
                     JOIN golden_rows r ON r.target = its_target AND r.problem_id = u.problem
                          AND r.solver = s.name AND r.rank = 0 AND r.solver_id = u.solver
                     WHERE r.since <= its_version AND (r.until IS NULL OR r.until > its_version);
    ELSE
        RETURN QUERY SELECT r.problem_id, r.solver_id, r.kernel_keys
                     FROM golden_content(its_target, its_version) AS r
                     WHERE r.rank = 0
                       AND (r.problem_id, r.solver_id) IN (SELECT * FROM unnest(ids, its_solvers));
    END IF;
END $$;

-- Problems with a column for each field.
CREATE OR REPLACE VIEW usage_problems AS
    SELECT p.id AS problem_id, p.kind, p.direction, p.types[1] AS data_type, p.layouts[1] AS layout,
           p.spatial_dim, p.n, p.c, p.k, p.groups,
           p.in_size[1] AS in_d, p.in_size[2] AS in_h, p.in_size[3] AS in_w,
           p.fil[1] AS fil_d, p.fil[2] AS fil_h, p.fil[3] AS fil_w,
           p.out_size[1] AS out_d, p.out_size[2] AS out_h, p.out_size[3] AS out_w,
           p.pad[1] AS pad_d, p.pad[2] AS pad_h, p.pad[3] AS pad_w,
           p.stride[1] AS stride_d, p.stride[2] AS stride_h, p.stride[3] AS stride_w,
           p.dilation[1] AS dilation_d, p.dilation[2] AS dilation_h, p.dilation[3] AS dilation_w,
           p.bias, p.epilogue, p.types, p.layouts, p.mode, p.strides
    FROM problems p;

-- A row for each kept result of a campaign, each row of a golden version, and each time of a foreign
-- campaign. source is 'campaign', 'golden' or 'foreign'; source_id the campaign or the version.
CREATE OR REPLACE VIEW usage_results AS
    SELECT 'campaign' AS source, c.id AS source_id, c.target, p.*, s.name AS solver, s.revision, s.dynamic,
           r.rank, r.median_ms AS time_ms, r.config_text AS config, r.workspace_bytes, r.stack, r.kernel_keys,
           r.pack_ms, r.packed_bytes
    FROM campaigns c
    JOIN jobs j ON j.campaign_id = c.id
    JOIN results r ON r.campaign_id = c.id AND r.job_id = j.id
    JOIN solvers s ON s.id = j.solver_id
    JOIN usage_problems p ON p.problem_id = j.problem_id
    UNION ALL
    SELECT 'golden', v.version, g.target, p.*, s.name, s.revision, s.dynamic, g.rank, g.median_ms,
           g.config_text, g.workspace_bytes, g.stack, g.kernel_keys, g.pack_ms, g.packed_bytes
    FROM golden_versions v
    JOIN golden_rows g ON g.target = v.target AND g.since <= v.version
         AND (g.until IS NULL OR g.until > v.version)
    JOIN solvers s ON s.id = g.solver_id
    JOIN usage_problems p ON p.problem_id = g.problem_id
    WHERE v.approved_at IS NOT NULL
    UNION ALL
    SELECT 'foreign', c.id, c.target, p.*, f.solver, NULL, NULL, 0, f.time_ms, NULL, f.workspace_bytes, '', NULL,
           NULL, NULL
    FROM campaigns c
    JOIN foreign_times f ON f.campaign_id = c.id
    JOIN usage_problems p ON p.problem_id = f.problem_id
    WHERE c.strategy = 'foreign';

-- The winner of each problem of a campaign, and the runner-up, NULL without one.
CREATE OR REPLACE VIEW usage_winners AS
    SELECT t.campaign_id, c.name AS campaign, c.target, p.*, s.name AS solver, s.revision, s.dynamic,
           t.times_ms[1] AS time_ms, o.name AS next_solver, t.times_ms[2] AS next_ms,
           cardinality(t.solvers) AS solvers
    FROM usage_times t
    JOIN campaigns c ON c.id = t.campaign_id
    JOIN solvers s ON s.id = t.solvers[1]
    LEFT JOIN solvers o ON o.id = t.solvers[2]
    JOIN usage_problems p ON p.problem_id = t.problem_id;

-- The layers of every version of every network.
CREATE OR REPLACE VIEW usage_networks AS
    SELECT v.network, v.number AS version, v.id = n.current_id AS is_current, l.position, l.name AS layer,
           l.multiplicity, p.*
    FROM networks n
    JOIN network_versions v ON v.network = n.name AND v.number IS NOT NULL
    JOIN version_layers l ON l.version_id = v.id
    JOIN usage_problems p ON p.problem_id = l.problem_id;

-- The kernels of each job's best result: what a program compiles before it can run the problem with
-- that solver. bytes is NULL for a kernel whose code was collected.
CREATE OR REPLACE VIEW usage_kernels AS
    SELECT c.id AS campaign_id, c.target, j.problem_id, s.name AS solver, s.revision, s.dynamic,
           r.median_ms AS time_ms, k.key AS kernel, k.file, k.entry, k.toolchain, k.toolchain_version,
           k.seconds AS compile_seconds, CASE WHEN k.code_place IS NOT NULL THEN k.code_bytes END AS bytes
    FROM campaigns c
    JOIN jobs j ON j.campaign_id = c.id
    JOIN results r ON r.campaign_id = c.id AND r.job_id = j.id AND r.rank = 0
    JOIN solvers s ON s.id = j.solver_id
    CROSS JOIN LATERAL unnest(string_to_array(r.kernel_keys, ',')) AS of_it(key)
    JOIN kernels k ON k.key = of_it.key;
