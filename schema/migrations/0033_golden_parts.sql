-- A version's rows are read a part at a time, by the jobs they came from: who
-- exports or compares versions holds a page of them, not all.
-- oldest program: 0012

CREATE INDEX golden_rows_jobs ON golden_rows (target, from_job);
CREATE INDEX golden_proposed_jobs ON golden_proposed (target, from_job);

-- Where a part of that many rows of the target's line ends, or a bit earlier;
-- NULL where no more are left.
CREATE FUNCTION golden_part_end(its_target text, after_job bigint, wanted integer) RETURNS bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT least((SELECT r.from_job FROM golden_rows r
                  WHERE r.target = its_target AND r.from_job > after_job
                  ORDER BY r.from_job LIMIT 1 OFFSET wanted - 1),
                 (SELECT p.from_job FROM golden_proposed p
                  WHERE p.target = its_target AND p.from_job > after_job
                  ORDER BY p.from_job LIMIT 1 OFFSET wanted - 1))
$$;

-- golden_content() of jobs in a range. What a proposal replaces is looked for
-- among all that it holds.
CREATE FUNCTION golden_content_part(its_target text, its_version integer, after_job bigint,
                                    last_job bigint) RETURNS SETOF golden_rows
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v golden_versions;
BEGIN
    IF its_version = 0 THEN
        RETURN;
    END IF;
    v := golden_version(its_target, its_version);
    IF v.approved_at IS NOT NULL THEN
        RETURN QUERY SELECT * FROM golden_rows r
                     WHERE r.target = its_target AND r.since <= its_version
                       AND (r.until IS NULL OR r.until > its_version)
                       AND r.from_job > after_job AND r.from_job <= last_job;
    ELSIF v.kind = 'rollback' THEN
        RETURN QUERY SELECT * FROM golden_content_part(its_target, v.restores, after_job, last_job);
    ELSE
        RETURN QUERY
            SELECT * FROM golden_content_part(its_target, v.base, after_job, last_job) AS r
            WHERE NOT EXISTS (SELECT 1 FROM golden_proposed p
                              WHERE p.target = its_target AND p.since = its_version
                                AND p.problem_id = r.problem_id AND p.solver = r.solver)
            UNION ALL
            SELECT * FROM golden_proposed p
            WHERE p.target = its_target AND p.since = its_version
              AND p.from_job > after_job AND p.from_job <= last_job;
    END IF;
END $$;

-- As list_golden_rows(), of jobs in a range, and among these of those named
-- (NULL for all).
CREATE FUNCTION list_golden_part(its_target text, its_version integer, wanted_stack text,
                                 of_network text, with_tag text, after_job bigint, last_job bigint,
                                 of_jobs bigint[]) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    RETURN QUERY
        SELECT jsonb_build_object('problem', to_jsonb(p),
            'result', to_jsonb(r) || jsonb_build_object('job_id', r.from_job),
            'solver', s.name, 'algorithm', s.algorithm, 'revision', s.revision,
            'dynamic', s.dynamic, 'tunable', s.tunable, 'multiplicity', r.multiplicity,
            'verified', true, 'campaign', r.from_campaign, 'since', r.since,
            'fits', stack_matches(wanted_stack, r.stack))
        FROM golden_content_part(its_target, its_version, after_job, last_job) AS r
        JOIN problems p ON p.id = r.problem_id JOIN solvers s ON s.id = r.solver_id
        WHERE (of_jobs IS NULL OR r.from_job = ANY (of_jobs))
          AND (of_network IS NULL OR r.problem_id IN (SELECT l.problem_id FROM network_layers l
                                                      WHERE l.network = of_network))
          AND (with_tag IS NULL OR r.problem_id IN (SELECT t.problem_id FROM problem_tags t
                                                    WHERE t.tag = with_tag));
END $$;

INSERT INTO entry_points (role, name)
SELECT 'skipjack_reader', n FROM unnest(ARRAY['golden_part_end', 'list_golden_part']) AS n;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
