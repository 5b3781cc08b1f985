-- Winners: gathering the best configs, and the priors that a search begins with.

-- A text that is equal for problems that may be compared: solvers differ by data types,
-- layouts and directions.
CREATE OR REPLACE FUNCTION likeness(p problems) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN concat_ws(' ', p.kind, p.direction, p.spatial_dim, array_to_string(p.types, ','),
                     array_to_string(p.layouts, ','));
END $$;

CREATE OR REPLACE FUNCTION sizes_of(p problems) RETURNS real[]
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN ARRAY(
        SELECT (ln(greatest(s.size, 1)::double precision) / ln(2::double precision))::real
        FROM unnest(ARRAY[p.n, p.c, p.k, p.groups] || p.in_size || p.fil || p.stride || p.dilation
                    || ARRAY[p.pad[1] + 1, p.pad[2] + 1, p.pad[3] + 1])
             WITH ORDINALITY AS s(size, place)
        ORDER BY s.place);
END $$;

-- About the logarithm of the multiply-adds. Two problems differ at least by the
-- difference of their work, since each size counts once.
CREATE OR REPLACE FUNCTION work_of(sizes real[]) RETURNS real
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN sizes[1] + sizes[2] + sizes[3] - sizes[4] + sizes[5] + sizes[6] + sizes[7] + sizes[8]
           + sizes[9] + sizes[10];
END $$;

-- The distance of two targets, in powers of two of one size: 0 for the same target, 2
-- for another number of units or memory, 4 for the same family (gfx90a and gfx942,
-- sm_90 and sm_91, znver4 and znver3), 6 for the same vendor, 8 for all others.
CREATE OR REPLACE FUNCTION target_distance(a targets, b targets) RETURNS real
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN CASE WHEN a.id = b.id THEN 0
                WHEN a.vendor <> b.vendor THEN 8
                WHEN a.arch = b.arch THEN 2
                WHEN regexp_replace(a.arch, '^(gfx[0-9a-f]*)[0-9a-f]{2}$|[0-9]$', '\1')
                     = regexp_replace(b.arch, '^(gfx[0-9a-f]*)[0-9a-f]{2}$|[0-9]$', '\1') THEN 4
                ELSE 6 END;
END $$;

-- The configs of a solver that won, or were close to winning, nearest to the problem on the target, each
-- once, at most 16. It looks at a hundred problems that are as large or larger, and at a hundred
-- smaller ones. Each place behind the winner counts as one more of distance, that is as twice of one size.
CREATE OR REPLACE FUNCTION nearest_winners(its_solver text, p problems, its_target text) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    its_likeness text := likeness(p);
    its_sizes real[] := sizes_of(p);
    its_work real := work_of(its_sizes);
    here targets;
BEGIN
    SELECT * INTO here FROM targets t WHERE t.id = its_target;
    RETURN ARRAY(
        WITH t AS MATERIALIZED (SELECT o.id, target_distance(here, o) AS distance FROM targets o)
        SELECT k.config_text
        FROM ((SELECT * FROM winners w
               WHERE w.solver = its_solver AND w.likeness = its_likeness AND w.work >= its_work
               ORDER BY w.work LIMIT 100)
              UNION ALL
              (SELECT * FROM winners w
               WHERE w.solver = its_solver AND w.likeness = its_likeness AND w.work < its_work
               ORDER BY w.work DESC LIMIT 100)) AS n
        JOIN t ON t.id = n.target
        CROSS JOIN LATERAL (SELECT sum(abs(u.a - u.b)) AS distance
                            FROM unnest(n.sizes, its_sizes) AS u(a, b)) AS s
        CROSS JOIN LATERAL (
            SELECT n.config_text, 0 AS place
            UNION ALL
            SELECT a.config_text, row_number() OVER (ORDER BY a.time_ms, a.config_text COLLATE "C")
            FROM contenders a
            WHERE n.origin = 1 AND a.solver = n.solver AND a.target = n.target
              AND a.problem_id = n.problem_id AND a.config_text <> n.config_text) AS k
        WHERE n.origin >= 0 OR EXISTS (SELECT 1 FROM campaigns c WHERE c.id = -n.origin)
        GROUP BY k.config_text
        ORDER BY min(t.distance + s.distance + k.place), bool_or(n.problem_id = p.id) DESC,
                 k.config_text COLLATE "C"
        LIMIT 16);
END $$;

-- How the solver's configs did that were tried for the problem on the target before, as texts "CONFIG@MS", "CONFIG@Infinity"
-- for failed ones, the newest last.
CREATE OR REPLACE FUNCTION earlier_attempts(its_solver text, problem bigint, its_target text) RETURNS text[]
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce(array_agg(u.config_text || '@' || u.ms ORDER BY u.at), '{}')
    FROM attempts a CROSS JOIN LATERAL unnest(a.config_texts, a.times_ms) WITH ORDINALITY AS u(config_text, ms, at)
    WHERE a.solver = its_solver AND a.target = its_target AND a.problem_id = problem
$$;

-- Returns the priors, unless empty, of jobs that the worker is building, if their campaign
-- begins searches with priors and their solver uses them. A job without a prior gets one
-- here, unless a worker built a round of it; rounds that it took over do not count.
CREATE OR REPLACE FUNCTION skipjack_work.priors(claimer bigint, campaign bigint, ids jsonb)
RETURNS TABLE (job_id bigint, configs json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    asked bigint[] := ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e);
    f record;
    given text[];
BEGIN
    PERFORM check_worker(claimer);
    FOR f IN SELECT j.id, s.name, c.target, b.round_no, p AS problem
             FROM bundles b
             CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
             JOIN campaigns c ON c.id = campaign AND c.strategy = 'prior'
             JOIN solvers s ON s.id = b.solver_id AND s.tunable AND NOT s.searches
             CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                                 AND o.id = of_it.id OFFSET 0) AS j
             JOIN problems p ON p.id = j.problem_id
             WHERE b.worker_id = claimer AND b.campaign_id = campaign AND b.state = 'building'
               AND of_it.id = ANY (asked)
    LOOP
        IF NOT EXISTS (SELECT 1 FROM priors g WHERE g.campaign_id = campaign AND g.job_id = f.id)
           AND NOT EXISTS (SELECT 1 FROM rounds r WHERE r.campaign_id = campaign
                           AND r.job_id = f.id AND r.fence > 0) THEN
            INSERT INTO priors VALUES (campaign, f.id,
                                       nearest_winners(f.name, f.problem, f.target)
                                       || earlier_attempts(f.name, (f.problem).id, f.target))
            ON CONFLICT DO NOTHING;
        END IF;
        SELECT g.configs INTO given FROM priors g
        WHERE g.campaign_id = campaign AND g.job_id = f.id;
        IF given <> '{}' THEN
            job_id := f.id;
            configs := to_json(given);
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION gather_again() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    UPDATE winner_marks SET final = false, ends = -1 WHERE campaign_id = NEW.id;
    UPDATE history_marks SET final = false, progress = -1 WHERE campaign_id = NEW.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER gather_again AFTER UPDATE OF state ON campaigns
    FOR EACH ROW WHEN (OLD.state <> 'active' AND NEW.state = 'active')
    EXECUTE FUNCTION gather_again();

-- Campaigns with results that were not gathered yet; ends is how many of their jobs had
-- ended. solvers: the names that the caller takes from foreign campaigns, as one text.
-- most: campaigns with more ended jobs are left to upkeep, 0 for none.
CREATE OR REPLACE FUNCTION campaigns_to_gather(its_solvers text, most bigint)
RETURNS TABLE (campaign_id bigint, is_foreign boolean, ends bigint)
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    FOR c IN SELECT a.id, a.strategy = 'foreign' AS of_others, m.ends AS seen, m.solvers
             FROM campaigns a LEFT JOIN winner_marks m ON m.campaign_id = a.id
             WHERE NOT a.build_only AND CASE WHEN a.strategy = 'foreign'
                THEN m.solvers IS DISTINCT FROM its_solvers ELSE m.final IS NOT TRUE END
             ORDER BY a.id
    LOOP
        campaign_id := c.id;
        is_foreign := c.of_others;
        ends := (SELECT count(*) FROM job_ends e WHERE e.campaign_id = c.id);
        IF is_foreign OR (ends IS DISTINCT FROM c.seen AND (most = 0 OR ends <= most)) THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- Gathers the ten fastest configs of each of the campaign's jobs with ids over `after` and up to `last`, from all of
-- their rounds. The ten fastest configs of each solver, problem and target are kept; a config's newest time counts.
CREATE OR REPLACE FUNCTION gather_contenders(campaign bigint, after bigint, last bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    WITH tried AS (
        SELECT j.id AS job_id, j.solver_id, j.problem_id, v.config,
               (array_agg(t.ms ORDER BY r.number DESC))[1] AS ms
        FROM (SELECT * FROM jobs a WHERE a.campaign_id = campaign AND a.id > after AND a.id <= last OFFSET 0) AS j
        CROSS JOIN LATERAL (SELECT * FROM rounds q WHERE q.campaign_id = campaign AND q.job_id = j.id OFFSET 0) AS r
        CROSS JOIN LATERAL (SELECT * FROM outcomes q WHERE q.campaign_id = campaign AND q.job_id = j.id
                            AND q.number = r.number AND NOT q.is_open OFFSET 0) AS o
        CROSS JOIN LATERAL unnest(o.failures, o.median_ms) WITH ORDINALITY AS t(failure, ms, at)
        JOIN LATERAL configs_of(r.config_counts, r.config_values) AS v ON v.at = t.at
        WHERE t.failure = @FAILURE_NONE AND t.ms > 0 AND cardinality(v.config) > 0
        GROUP BY j.id, j.solver_id, j.problem_id, v.config
    ), best AS (
        SELECT *, row_number() OVER (PARTITION BY job_id ORDER BY ms, config) AS place FROM tried
    )
    INSERT INTO contenders AS k
    SELECT DISTINCT ON (s.name, c.target, b.problem_id, array_to_string(b.config, ','))
           s.name, c.target, b.problem_id, array_to_string(b.config, ','), b.ms
    FROM best b
    JOIN campaigns c ON c.id = campaign
    JOIN solvers s ON s.id = b.solver_id
    WHERE b.place <= 10
    ORDER BY s.name, c.target, b.problem_id, array_to_string(b.config, ','), b.ms
    ON CONFLICT (solver, target, problem_id, config_text) DO UPDATE SET time_ms = EXCLUDED.time_ms;

    DELETE FROM contenders k USING (
        SELECT DISTINCT s.name, c.target, j.problem_id
        FROM jobs j
        JOIN campaigns c ON c.id = campaign
        JOIN solvers s ON s.id = j.solver_id
        WHERE j.campaign_id = campaign AND j.id > after AND j.id <= last) AS g,
        LATERAL (SELECT a.config_text, row_number() OVER (ORDER BY a.time_ms, a.config_text COLLATE "C") AS place
                 FROM contenders a WHERE a.solver = g.name AND a.target = g.target
                 AND a.problem_id = g.problem_id) AS o
    WHERE k.solver = g.name AND k.target = g.target AND k.problem_id = g.problem_id
      AND k.config_text = o.config_text AND o.place > 10;
END $$;

-- Gathers how each config did that the campaign's jobs with ids over `after` and up to `last` tried. Failures that another
-- attempt may not have are left out. A config's newest time counts, and a success before a failure.
CREATE OR REPLACE FUNCTION gather_attempts(campaign bigint, after bigint, last bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO attempts AS k
    WITH tried AS MATERIALIZED (
        SELECT DISTINCT ON (s.name, j.problem_id, array_to_string(v.config, ','))
               s.name AS solver, c.target, j.problem_id, array_to_string(v.config, ',') AS config_text,
               CASE WHEN t.failure IN (@FAILURE_NONE, @FAILURE_SLOW) THEN t.ms ELSE 'Infinity' END::real AS ms,
               r.number * 100000 + t.at AS place
        FROM (SELECT * FROM jobs a WHERE a.campaign_id = campaign AND a.id > after AND a.id <= last OFFSET 0) AS j
        JOIN campaigns c ON c.id = campaign
        JOIN solvers s ON s.id = j.solver_id
        CROSS JOIN LATERAL (SELECT * FROM rounds q WHERE q.campaign_id = campaign AND q.job_id = j.id OFFSET 0) AS r
        CROSS JOIN LATERAL (SELECT * FROM outcomes q WHERE q.campaign_id = campaign AND q.job_id = j.id
                            AND q.number = r.number AND NOT q.is_open OFFSET 0) AS o
        CROSS JOIN LATERAL unnest(o.failures, o.median_ms) WITH ORDINALITY AS t(failure, ms, at)
        JOIN LATERAL configs_of(r.config_counts, r.config_values) AS v ON v.at = t.at
        WHERE cardinality(v.config) > 0
          AND (t.failure IN (@FAILURE_NONE, @FAILURE_SLOW) AND t.ms > 0
               OR t.failure IN (@FAILURE_NOT_APPLICABLE, @FAILURE_COMPILE_ERROR, @FAILURE_WRONG_RESULT,
                                @FAILURE_OUT_OF_BOUNDS, @FAILURE_OVER_LIMITS))
        ORDER BY s.name, j.problem_id, array_to_string(v.config, ','),
                 t.failure IN (@FAILURE_NONE, @FAILURE_SLOW) DESC, r.number DESC
    ), everything AS (
        SELECT t.*, true AS is_new FROM tried t
        UNION ALL
        SELECT g.solver, g.target, g.problem_id, u.config_text, u.ms, u.at, false
        FROM (SELECT DISTINCT t.solver, t.target, t.problem_id FROM tried t) AS g
        JOIN attempts a ON a.solver = g.solver AND a.target = g.target AND a.problem_id = g.problem_id
        CROSS JOIN LATERAL unnest(a.config_texts, a.times_ms) WITH ORDINALITY AS u(config_text, ms, at)
        WHERE NOT EXISTS (SELECT 1 FROM tried t WHERE t.solver = g.solver AND t.problem_id = g.problem_id
                          AND t.config_text = u.config_text)
    ), ranked AS (
        SELECT e.*, row_number() OVER (PARTITION BY e.solver, e.target, e.problem_id
                                       ORDER BY e.ms, e.config_text COLLATE "C") AS rank
        FROM everything e
    ), kept AS (
        SELECT r.*, row_number() OVER (PARTITION BY r.solver, r.target, r.problem_id
                                       ORDER BY r.rank <= 80 DESC, r.is_new DESC, r.place DESC) AS number
        FROM ranked r
    )
    SELECT n.solver, n.target, n.problem_id, array_agg(n.config_text ORDER BY n.is_new, n.place),
           array_agg(n.ms ORDER BY n.is_new, n.place)
    FROM kept n WHERE n.number <= 160
    GROUP BY n.solver, n.target, n.problem_id
    ON CONFLICT (solver, target, problem_id)
        DO UPDATE SET config_texts = EXCLUDED.config_texts, times_ms = EXCLUDED.times_ms;
END $$;

-- Gathers a campaign's winners, contenders and attempts. A config that won before and was measured again keeps
-- its newer time.
CREATE OR REPLACE FUNCTION gather_winners(campaign bigint, after bigint, batch integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    last bigint := (SELECT max(page.id) FROM (SELECT j.id FROM jobs j WHERE j.campaign_id = campaign
                                              AND j.id > after ORDER BY j.id LIMIT batch) AS page);
BEGIN
    INSERT INTO winners AS w
    SELECT s.name, c.target, p.id, 1, k.config_text, k.median_ms, likeness(p),
           work_of(z.sizes), z.sizes
    FROM campaigns c
    CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign AND o.id > after
                        AND o.id <= last OFFSET 0) AS j
    CROSS JOIN LATERAL (SELECT * FROM results r WHERE r.campaign_id = campaign
                        AND r.job_id = j.id AND r.rank = 0 AND r.config_text <> '' OFFSET 0) AS k
    JOIN solvers s ON s.id = j.solver_id
    JOIN problems p ON p.id = j.problem_id
    CROSS JOIN LATERAL (SELECT sizes_of(p) AS sizes OFFSET 0) AS z
    WHERE c.id = campaign
    ORDER BY s.name, p.id
    ON CONFLICT (solver, target, problem_id, origin) DO UPDATE
        SET config_text = EXCLUDED.config_text, time_ms = EXCLUDED.time_ms
        WHERE EXCLUDED.time_ms < w.time_ms OR EXCLUDED.config_text = w.config_text;
    PERFORM gather_contenders(campaign, after, last);
    PERFORM gather_attempts(campaign, after, last);
    RETURN last;
END $$;

-- Gathers the winners of a foreign campaign for these solvers. Its params may be any
-- text but one with '@', which marks attempts: whoever gets one as a prior checks that it is a valid config.
CREATE OR REPLACE FUNCTION gather_foreign_winners(campaign bigint, after bigint, batch integer, names jsonb)
RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    last bigint := (SELECT max(page.id) FROM (
        SELECT DISTINCT f.problem_id AS id FROM foreign_params f
        WHERE f.campaign_id = campaign AND f.problem_id > after ORDER BY 1 LIMIT batch) AS page);
BEGIN
    INSERT INTO winners
    SELECT f.solver, c.target, p.id, -campaign, f.params, 0, likeness(p),
           work_of(z.sizes), z.sizes
    FROM campaigns c
    CROSS JOIN LATERAL (SELECT * FROM foreign_params o WHERE o.campaign_id = campaign
                        AND o.problem_id > after AND o.problem_id <= last
                        AND o.solver = ANY (ARRAY(SELECT jsonb_array_elements_text(names)))
                        AND length(o.params) BETWEEN 1 AND 200
                        AND strpos(o.params, '@') = 0 OFFSET 0) AS f
    JOIN problems p ON p.id = f.problem_id
    CROSS JOIN LATERAL (SELECT sizes_of(p) AS sizes OFFSET 0) AS z
    WHERE c.id = campaign
    ON CONFLICT DO NOTHING;
    RETURN last;
END $$;

-- Gathers the newest golden version of each target, if it is not the version gathered
-- last.
CREATE OR REPLACE FUNCTION gather_golden_winners() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    g record;
BEGIN
    FOR g IN SELECT n.target, n.version FROM (
                 SELECT v.target, max(v.version) AS version FROM golden_versions v
                 WHERE v.approved_at IS NOT NULL GROUP BY v.target) AS n
             LEFT JOIN winner_versions w ON w.target = n.target
             WHERE w.version IS DISTINCT FROM n.version ORDER BY n.target
    LOOP
        INSERT INTO winner_versions VALUES (g.target, g.version)
        ON CONFLICT (target) DO UPDATE SET version = EXCLUDED.version;
        DELETE FROM winners w WHERE w.origin = 0 AND w.target = g.target;
        INSERT INTO winners
        SELECT r.solver, g.target, p.id, 0, r.config_text, 0, likeness(p), work_of(z.sizes),
               z.sizes
        FROM golden_rows r JOIN problems p ON p.id = r.problem_id
        CROSS JOIN LATERAL (SELECT sizes_of(p) AS sizes OFFSET 0) AS z
        WHERE r.target = g.target AND r.until IS NULL AND r.rank = 0 AND r.config_text <> ''
        ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION mark_gathered(campaign bigint, its_ends bigint, its_solvers text)
RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO winner_marks
    SELECT c.id, its_ends,
           c.state IN ('done', 'cancelled')
           AND its_ends = (SELECT count(*) FROM job_ends e WHERE e.campaign_id = c.id),
           its_solvers
    FROM campaigns c WHERE c.id = campaign
    ON CONFLICT (campaign_id) DO UPDATE
        SET ends = EXCLUDED.ends, final = EXCLUDED.final, solvers = EXCLUDED.solvers
$$;

-- Forgets winners of foreign campaigns that were dropped. Returns false if none is
-- left.
CREATE OR REPLACE FUNCTION forget_winners(batch integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off AS $$
DECLARE
    gone bigint := (SELECT m.campaign_id FROM winner_marks m
                    WHERE NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = m.campaign_id) LIMIT 1);
    forgotten integer;
BEGIN
    DELETE FROM winners w WHERE w.ctid = ANY (ARRAY(
        SELECT g.ctid FROM winners g WHERE g.origin = -gone AND g.origin < 0 LIMIT batch));
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    IF forgotten < batch THEN
        DELETE FROM winner_marks m WHERE m.campaign_id = gone;
    END IF;
    RETURN gone IS NOT NULL;
END $$;
