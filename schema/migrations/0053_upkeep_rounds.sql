-- Upkeep looked up the rounds of every ended job for the few of workers given up: 0.8 s for 100,000
-- jobs, each time. The collector of before it goes: it knows nothing of golden versions, whose code
-- it would drop, and no program calls it any more.
-- oldest program: 0038

-- Of rounds that wait for their evaluation, those of jobs that were given up, whose workers may still
-- hand in what they evaluated, too; and of a build-only campaign all.
CREATE OR REPLACE FUNCTION note_kernels_of_rounds(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO pg_temp.kernel_search_needed
    SELECT unnest(string_to_array(keys, ','))
    FROM bundles b, unnest(b.job_ids) AS member(job_id), rounds r, unnest(r.kernel_keys) AS keys
    WHERE b.campaign_id = campaign AND b.state IN ('built', 'evaluating')
      AND r.campaign_id = campaign AND r.job_id = member.job_id AND r.number = b.round_no
    UNION ALL
    SELECT unnest(string_to_array(keys, ','))
    FROM job_ends e, rounds r, unnest(r.kernel_keys) AS keys
    WHERE e.campaign_id = campaign AND e.failure = 13
      AND r.campaign_id = campaign AND r.job_id = e.job_id AND r.number >= e.rounds
    ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT FROM campaigns c WHERE c.id = campaign AND c.build_only) THEN
        INSERT INTO pg_temp.kernel_search_needed
        SELECT unnest(string_to_array(keys, ','))
        FROM job_ends e, rounds r, unnest(r.kernel_keys) AS keys
        WHERE e.campaign_id = campaign AND e.state = 'done'
          AND r.campaign_id = campaign AND r.job_id = e.job_id
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

DROP FUNCTION collect_kernels();
DROP VIEW kernels_needed;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
