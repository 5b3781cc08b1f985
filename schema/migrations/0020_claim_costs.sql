-- A claim locks the bundles that it takes, and no others beside them. What
-- claimed jobs refer to is read as JSON: jsonb made decimals of each number.
-- oldest program: 0013

-- Claims up to `batch` jobs of one campaign. Bundles are looked at in order
-- from a place on that the caller had before (so it need not pass again what
-- was there once), and a bundle that cost a worker already is claimed alone,
-- so that what kills workers takes nobody with it. They are fetched, and thereby
-- locked, one by one: a loop over a query would lock ten at once.
CREATE OR REPLACE FUNCTION claim_bundles(claimer bigint, campaign bigint, from_state job_state,
                              solver_ids bigint[], last_round integer, batch integer,
                              lease double precision, token bigint, from_round integer,
                              from_position bigint)
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 8
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
    to_state job_state := CASE from_state WHEN 'ready' THEN 'building' ELSE 'evaluating' END;
    waiting CURSOR FOR
        SELECT * FROM bundles
        WHERE campaign_id = campaign AND state = from_state
          AND (round_no, position) >= (from_round, from_position)
          AND round_no <= last_round AND solver_id = ANY (solver_ids)
        ORDER BY round_no, position FOR UPDATE SKIP LOCKED;
    b bundles;
    taken bundles;
    wanted integer := batch;
BEGIN
    OPEN waiting;
    LOOP
        FETCH waiting INTO b;
        EXIT WHEN NOT FOUND OR (b.strikes > 0 AND wanted < batch);
        IF b.strikes > 0 THEN
            wanted := 1;
        END IF;
        IF cardinality(b.job_ids) <= wanted THEN
            UPDATE bundles
            SET state = to_state, fence = nextval('fences'), worker_id = claimer,
                claim_token = token, claimed_at = clock_timestamp(),
                progress_at = clock_timestamp(), lease_seconds = lease
            WHERE id = b.id RETURNING * INTO taken;
        ELSE
            UPDATE bundles SET job_ids = b.job_ids[wanted + 1:] WHERE id = b.id;
            INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids,
                                 strikes, is_partial, fence, worker_id, claim_token, claimed_at, progress_at,
                                 lease_seconds)
            VALUES (campaign, b.solver_id, to_state, b.round_no, b.position,
                    b.job_ids[1:wanted], b.strikes, b.is_partial, nextval('fences'), claimer, token,
                    clock_timestamp(), clock_timestamp(), lease)
            RETURNING * INTO taken;
        END IF;
        RETURN NEXT taken;
        wanted := wanted - cardinality(taken.job_ids);
        EXIT WHEN wanted <= 0;
    END LOOP;
    CLOSE waiting;
END $$;

DROP FUNCTION skipjack_work.problems(jsonb);
CREATE FUNCTION skipjack_work.problems(ids jsonb) RETURNS SETOF json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT row_to_json(p) FROM problems p
    WHERE id = ANY (ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e))
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
