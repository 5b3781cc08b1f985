-- A device that cannot compute ends jobs that it had before anybody knew. They go to
-- another device, once: one that fails on a second one, too, stays ended, and says on which
-- it did before. And what devices are proved with (the plain convolution, forward) is
-- found by nodes that build nothing, and kept for them, as judges are.
-- oldest program: 0038

CREATE TABLE job_faults (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    job_id      bigint NOT NULL,
    device      text NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (campaign_id, job_id, device)
);

-- "; before that on GPU-1", NULL where it never came back from any.
CREATE FUNCTION faulted_before(campaign bigint, job bigint) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN (SELECT '; before that it failed on ' || string_agg(f.device, ', ' ORDER BY f.at)
            FROM job_faults f WHERE f.campaign_id = campaign AND f.job_id = job);
END $$;

-- As before, and where a device is to blame (7, device fault; 8, run timeout) with those
-- before it; and every end says by whom, who takes quarantines of it back.
CREATE OR REPLACE FUNCTION fail_job(campaign bigint, job bigint, held_fence bigint, why smallint,
                                    words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'store the failure');
BEGIN
    IF b.id IS NULL THEN
        IF EXISTS (SELECT 1 FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = job
                   AND e.state = 'done') THEN
            PERFORM refuse_job(campaign, job, held_fence, 'store the failure');
        END IF;
        RETURN;
    END IF;
    IF why IN (7, 8) THEN
        words := concat(words, faulted_before(campaign, job));
    END IF;
    PERFORM take_jobs(b, b.job_ids);
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state, claimed_by)
    VALUES (campaign, job, 'failed', b.round_no, why, words, b.strikes, b.fence,
            CASE WHEN why = 13 THEN CASE WHEN b.state IN ('ready', 'building') THEN 'ready'
                                         ELSE 'built' END END::job_state, b.claimed_by);
    PERFORM settle_campaign(campaign, 0);
END $$;

CREATE OR REPLACE FUNCTION end_jobs(b bundles, ids bigint[], budget boolean, had_rounds integer)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, by_budget, fence,
                          claimed_by)
    SELECT b.campaign_id, e.id, CASE WHEN coalesce(worst.failure, 0) = 0 THEN 'done'
                                     ELSE 'failed' END::job_state,
           had_rounds, coalesce(worst.failure, 0),
           CASE WHEN worst.failure IN (7, 8)
                THEN concat(worst.words, faulted_before(b.campaign_id, e.id))
                ELSE worst.words END,
           budget, b.fence, b.claimed_by
    FROM unnest(ids) AS e(id)
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT 1 FROM outcomes o WHERE o.campaign_id = b.campaign_id AND o.job_id = e.id
        AND o.number < had_rounds AND o.failures && ARRAY[0, 16]::smallint[])) AS v(verified)
    LEFT JOIN LATERAL (
        SELECT f.failure, min(f.detail)
        FROM round_rows r, unnest(r.failures, r.details) AS f(failure, detail)
        WHERE NOT v.verified AND r.campaign_id = b.campaign_id AND r.job_id = e.id
          AND r.number < had_rounds AND f.failure <> 15
        GROUP BY f.failure ORDER BY count(*) DESC, f.failure LIMIT 1
    ) AS worst(failure, words) ON true;
END $$;

CREATE OR REPLACE FUNCTION end_verified_jobs(b bundles, ids bigint[], budget boolean,
                                             had_rounds integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, by_budget, fence,
                          claimed_by)
    SELECT b.campaign_id, job, 'done', had_rounds, 0, budget, b.fence, b.claimed_by
    FROM unnest(ids) AS job;
END $$;

-- Opens an ended job again. What it had is dropped from the first round on that holds
-- nothing verified after it.
CREATE FUNCTION reopen_job(campaign bigint, job bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    from_round integer;
BEGIN
    from_round := coalesce((SELECT max(o.number) + 1 FROM outcomes o
                            WHERE o.campaign_id = campaign AND o.job_id = job
                              AND NOT o.is_open AND o.failures && ARRAY[0, 16]::smallint[]), 0);
    DELETE FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = job;
    PERFORM drop_open_rounds(campaign, ARRAY[job], from_round);
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
    SELECT campaign, j.solver_id, 'ready', from_round, j.position, ARRAY[j.id]
    FROM jobs j WHERE j.campaign_id = campaign AND j.id = job;
    UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done';
END $$;

-- A job that ended by the faults of a device, which was found sick since: by whoever
-- ended it.
CREATE FUNCTION skipjack_work.return_job(campaign bigint, job bigint, saying bigint, its_device text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
    before text;
BEGIN
    PERFORM check_worker(saying);
    IF (length(its_device) BETWEEN 1 AND 200) IS NOT TRUE THEN
        PERFORM refuse_value('a device has a name of at most 200 characters');
    END IF;
    PERFORM 1 FROM campaigns c WHERE c.id = campaign AND c.state <> 'cancelled' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM 1 FROM job_ends e
    WHERE e.campaign_id = campaign AND e.job_id = job AND e.state = 'failed'
      AND e.failure IN (7, 8) AND (mine IS NULL OR e.claimed_by = ANY (mine))
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    before := faulted_before(campaign, job);
    INSERT INTO job_faults (campaign_id, job_id, device) VALUES (campaign, job, its_device)
    ON CONFLICT DO NOTHING;
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    VALUES (CASE WHEN before IS NULL THEN 'job returned' ELSE 'job stays failed' END, campaign,
            job, nullif(saying, 0), concat('it failed on ', its_device, ', which is sick', before));
    IF before IS NULL THEN
        PERFORM reopen_job(campaign, job);
        PERFORM wake_for(ARRAY[campaign]);
    END IF;
END $$;

CREATE INDEX kernels_of_proofs ON kernels (arch)
    WHERE file = 'conv_direct_naive.cl' AND entry = 'conv_naive_f';

CREATE FUNCTION skipjack_work.proof_kernels(its_arch text) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    UPDATE kernels k SET used_at = clock_timestamp()
    WHERE file = 'conv_direct_naive.cl' AND entry = 'conv_naive_f' AND arch = its_arch
      AND code_place IS NOT NULL AND failure = 0
    RETURNING kernel_json(k)
$$;

CREATE OR REPLACE FUNCTION begin_kernel_search() RETURNS timestamptz
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    CREATE TEMP TABLE IF NOT EXISTS kernel_search_tables (name oid PRIMARY KEY);
    CREATE TEMP TABLE IF NOT EXISTS kernel_search_needed (key text PRIMARY KEY);
    TRUNCATE pg_temp.kernel_search_tables, pg_temp.kernel_search_needed;
    INSERT INTO pg_temp.kernel_search_needed
    SELECT unnest(string_to_array(r.kernel_keys, ',')) FROM golden_rows r
    UNION
    SELECT unnest(string_to_array(p.kernel_keys, ',')) FROM golden_proposed p
    UNION
    SELECT key FROM kernels WHERE file = 'judge.cl' AND used_at > now() - interval '30 days'
    UNION
    SELECT key FROM kernels WHERE file = 'conv_direct_naive.cl' AND entry = 'conv_naive_f'
                              AND used_at > now() - interval '30 days';
    RETURN (SELECT least(min(claimed_at), now()) FROM bundles
            WHERE worker_id IS NOT NULL AND state = 'building');
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
