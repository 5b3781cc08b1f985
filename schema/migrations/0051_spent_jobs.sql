-- Jobs whose budget is spent end many at a time: one after the other, 10,000 kept the claim that met
-- them for 30 s, and a million for longer than a statement may take.
-- oldest program: 0038

-- Ends the jobs of bundles that are gone, all of one campaign, after the rounds before round_no.
CREATE FUNCTION end_bundles(ending bundles[], budget boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    campaign bigint := ending[1].campaign_id;
BEGIN
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, by_budget, fence,
                          claimed_by)
    SELECT campaign, e.id, CASE WHEN coalesce(worst.failure, 0) = 0 THEN 'done'
                                ELSE 'failed' END::job_state,
           b.round_no, coalesce(worst.failure, 0),
           CASE WHEN worst.failure IN (7, 8)
                THEN concat(worst.words, faulted_before(campaign, e.id)) ELSE worst.words END,
           budget, b.fence, b.claimed_by
    FROM unnest(ending) AS b CROSS JOIN LATERAL unnest(b.job_ids) AS e(id)
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT 1 FROM outcomes o WHERE o.campaign_id = campaign AND o.job_id = e.id
        AND o.number < b.round_no AND o.failures && ARRAY[0, 16]::smallint[])) AS v(verified)
    LEFT JOIN LATERAL (
        SELECT f.failure, min(f.detail)
        FROM round_rows r, unnest(r.failures, r.details) AS f(failure, detail)
        WHERE NOT v.verified AND r.campaign_id = campaign AND r.job_id = e.id
          AND r.number < b.round_no AND f.failure <> 15
        GROUP BY f.failure ORDER BY count(*) DESC, f.failure LIMIT 1
    ) AS worst(failure, words) ON true;
END $$;

CREATE OR REPLACE FUNCTION end_jobs(b bundles, ids bigint[], budget boolean, had_rounds integer)
    RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    b.job_ids := ids;
    b.round_no := had_rounds;
    PERFORM end_bundles(ARRAY[b], budget);
END $$;

CREATE FUNCTION end_spent_bundles(ending bundles[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM bundles b WHERE b.id = ANY (ARRAY(SELECT e.id FROM unnest(ending) AS e));
    PERFORM drop_open_rounds(ending[1].campaign_id, array_agg(job), e.round_no)
    FROM unnest(ending) AS e CROSS JOIN LATERAL unnest(e.job_ids) AS job GROUP BY e.round_no;
    PERFORM end_bundles(ending, true);
END $$;

-- Nobody waits any more for what had its first round: the budget is spent.
CREATE OR REPLACE FUNCTION end_spent_jobs(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    at_once CONSTANT integer := 1000;
    b bundles;
    ending bundles[] := '{}';
    ended boolean := false;
BEGIN
    FOR b IN SELECT * FROM bundles
             WHERE campaign_id = campaign AND state IN ('ready', 'built') AND round_no > 0
             FOR UPDATE SKIP LOCKED
    LOOP
        ended := true;
        ending := array_append(ending, b);
        IF cardinality(ending) = at_once THEN
            PERFORM end_spent_bundles(ending);
            ending := '{}';
        END IF;
    END LOOP;
    IF ending <> '{}' THEN
        PERFORM end_spent_bundles(ending);
    END IF;
    IF ended THEN
        PERFORM settle_campaign(campaign, 0);
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
