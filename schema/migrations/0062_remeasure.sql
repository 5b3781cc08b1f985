-- Measuring again what was measured: a job that has ended is opened for rounds of the configs that are
-- wished, goes through both pools as in any round, and its results then are of the newest measurement.
-- Its row in job_ends stays meanwhile, so a worker that dies, a job that fails and a campaign that is
-- cancelled leave it as it was. An older worker would search where it is to measure again, so this
-- ends them.

-- A round that measures again, until it is done and after: of these configs (arrays of values), besides
-- the default one, which shows drift. keeps_all: all of them become kept results. not_by: workers of these
-- logins may build the round, but not measure it.
-- A campaign gets its partition when it is first asked for.
CREATE TABLE remeasures (
    campaign_id bigint NOT NULL,
    job_id      bigint NOT NULL,
    number      integer NOT NULL,
    configs     jsonb NOT NULL,
    keeps_all   boolean NOT NULL,
    not_by      text[] NOT NULL DEFAULT '{}',
    asked_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (campaign_id, job_id, number)
) PARTITION BY LIST (campaign_id);

-- Such bundles hold one job each.
ALTER TABLE bundles ADD COLUMN remeasures boolean NOT NULL DEFAULT false;

CREATE OR REPLACE VIEW dropped_partitions AS
    SELECT parent.relname AS parent, child.relname AS child,
           coalesce(i.inhdetachpending, false) AS pending, i.inhrelid IS NULL AS detached
    FROM pg_class child
    JOIN pg_class parent ON parent.relkind = 'p' AND parent.relnamespace = child.relnamespace
         AND parent.relname = regexp_replace(child.relname, '_[0-9]+$', '')
    LEFT JOIN pg_inherits i ON i.inhrelid = child.oid
    WHERE child.relkind = 'r' AND child.relnamespace = 'skipjack'::regnamespace
      AND parent.relname IN ('jobs', 'job_ends', 'rounds', 'outcomes', 'results', 'priors',
                             'round_conditions', 'remeasures')
      AND NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE child.relname = parent.relname || '_' || c.id);

-- Where each job stands. What neither waits, works nor ended was cancelled.
CREATE OR REPLACE VIEW job_rows AS
    SELECT j.campaign_id, j.id, j.problem_id, j.solver_id, j.position, j.priority, j.multiplicity,
           CASE WHEN b.remeasures THEN b.state
                ELSE coalesce(e.state, b.state, 'cancelled') END AS state,
           coalesce(e.rounds, b.round_no, 0) AS round_no,
           CASE WHEN b.remeasures THEN b.fence ELSE coalesce(e.fence, b.fence, 0) END AS fence,
           CASE WHEN b.remeasures THEN b.strikes::integer
                ELSE coalesce(e.strikes, b.strikes, 0) END AS strikes,
           b.worker_id,
           CASE WHEN b.remeasures THEN 0 ELSE coalesce(e.failure, 0) END AS failure,
           CASE WHEN b.remeasures THEN NULL ELSE e.detail END AS detail,
           coalesce(e.reused, false) AS reused, coalesce(e.by_budget, false) AS by_budget
    FROM jobs j
    LEFT JOIN job_ends e ON e.campaign_id = j.campaign_id AND e.job_id = j.id
    LEFT JOIN (bundles b CROSS JOIN LATERAL unnest(b.job_ids) AS member(job_id))
         ON b.campaign_id = j.campaign_id AND member.job_id = j.id;

-- ---- asking ----

-- The configs of ended jobs that may be measured again, each once: 1 what was kept (winners and their
-- runners-up), 2 default configs, 3 what was unstable when it was measured last, or has its newest time
-- from a round that drifted beyond the limit. carried: "name:revision:hash" of solvers; jobs of others
-- are left out. Jobs that failed are of use where they failed as unstable (12).
CREATE FUNCTION remeasurable(campaign bigint, kinds integer[], drift_limit double precision,
                             carried text[])
RETURNS TABLE (job_id bigint, rounds integer, kind integer, config integer[])
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        WITH ended AS MATERIALIZED (
            SELECT e.job_id AS id, e.rounds
            FROM job_ends e
            JOIN jobs j ON j.campaign_id = campaign AND j.id = e.job_id
            JOIN solvers s ON s.id = j.solver_id
            WHERE e.campaign_id = campaign AND (e.state = 'done' OR e.failure = 12)
              AND s.name || ':' || s.revision || ':' || s.hash = ANY (carried)
              AND e.job_id NOT IN (SELECT unnest(b.job_ids) FROM bundles b
                                   WHERE b.campaign_id = campaign)),
        suspects AS MATERIALIZED (
            SELECT o.job_id AS id, min(o.number) AS number
            FROM outcomes o
            WHERE 3 = ANY (kinds) AND o.campaign_id = campaign AND NOT o.is_open
              AND (o.failures && ARRAY[12]::smallint[] OR o.drift > drift_limit
                   OR (o.drift > 0 AND o.drift < 1 / drift_limit))
            GROUP BY o.job_id),
        newest AS (
            SELECT DISTINCT ON (r.job_id, c.config) r.job_id AS id, c.config, f.failure,
                   o.drift > drift_limit OR (o.drift > 0 AND o.drift < 1 / drift_limit) AS drifted
            FROM suspects s
            JOIN rounds r ON r.campaign_id = campaign AND r.job_id = s.id AND r.number >= s.number
            JOIN outcomes o ON o.campaign_id = campaign AND o.job_id = s.id
                 AND o.number = r.number AND NOT o.is_open
            CROSS JOIN LATERAL unnest(o.failures, r.config_counts)
                       WITH ORDINALITY AS f(failure, size, at)
            CROSS JOIN LATERAL (SELECT coalesce(sum(n), 0)::integer AS values
                                FROM unnest(r.config_counts[:f.at - 1]) AS n) AS before
            CROSS JOIN LATERAL (SELECT r.config_values[before.values + 1:before.values + f.size]
                                       AS config) AS c
            ORDER BY r.job_id, c.config, r.number DESC),
        wished AS (
            SELECT k.job_id AS id, CASE WHEN k.is_default AND k.rank > 0 THEN 2 ELSE 1 END AS kind,
                   k.config
            FROM results k WHERE k.campaign_id = campaign AND 1 = ANY (kinds)
            UNION ALL
            SELECT k.job_id, 2, k.config
            FROM results k WHERE k.campaign_id = campaign AND k.is_default AND 2 = ANY (kinds)
            UNION ALL
            SELECT n.id, 3, n.config FROM newest n
            WHERE n.failure = 12 OR (n.failure = 0 AND n.drifted))
        SELECT DISTINCT ON (w.id, w.config) w.id, e.rounds, w.kind, w.config
        FROM wished w JOIN ended e ON e.id = w.id
        WHERE w.kind = ANY (kinds)
        ORDER BY w.id, w.config, w.kind;
END $$;

CREATE FUNCTION hold_remeasured(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    c campaigns;
BEGIN
    SELECT * INTO c FROM campaigns k WHERE k.id = campaign FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF c.state = 'cancelled' OR c.build_only OR c.strategy = 'foreign' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'campaign %s cannot be measured again: %s', campaign,
            CASE WHEN c.build_only THEN 'it was only built'
                 WHEN c.strategy = 'foreign' THEN 'somebody else measured it'
                 ELSE 'it is cancelled' END);
    END IF;
END $$;

-- Opens the ended jobs whose next round is to measure again. It is done also where the budget is spent:
-- whoever asks wants it, and its time counts.
CREATE FUNCTION open_remeasures(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, remeasures)
    SELECT campaign, j.solver_id, 'ready', m.number, j.position, ARRAY[j.id], true
    FROM (SELECT r.job_id, min(r.number) AS number FROM remeasures r
          WHERE r.campaign_id = campaign AND r.asked_at = now() GROUP BY r.job_id) AS m
    JOIN jobs j ON j.campaign_id = campaign AND j.id = m.job_id
    ORDER BY j.position;
    UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done';
    PERFORM wake_workers(campaign, true, 4);
END $$;

CREATE FUNCTION add_remeasure_partition(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF to_regclass('skipjack.remeasures_' || campaign) IS NULL THEN
        PERFORM add_partition(campaign, 'remeasures');
    END IF;
END $$;

-- Has a campaign's ended jobs measure configs of these kinds again, see remeasurable(), in rounds of up to
-- 16. While an earlier wish is under way nothing more is asked. Gives counts: of jobs, rounds and configs
-- by kind that are asked for, or with dry_run would be; under_way and at_work: jobs that measure again, and
-- that are open otherwise; other_revisions: ended jobs of solvers that are not carried.
CREATE FUNCTION remeasure(campaign bigint, kinds jsonb, drift_limit double precision, carried jsonb,
                          dry_run boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    its_kinds integer[] := ARRAY(SELECT k::integer FROM jsonb_array_elements_text(kinds) AS k);
    its_solvers text[] := ARRAY(SELECT jsonb_array_elements_text(carried));
    counts jsonb;
    asks boolean;
BEGIN
    PERFORM hold_remeasured(campaign);
    counts := jsonb_build_object(
        'under_way', (SELECT count(*) FROM bundles b WHERE b.campaign_id = campaign AND b.remeasures),
        'at_work', (SELECT coalesce(sum(cardinality(b.job_ids)), 0) FROM bundles b
                    WHERE b.campaign_id = campaign AND NOT b.remeasures),
        'other_revisions', (SELECT count(*) FROM job_ends e
                            JOIN jobs j ON j.campaign_id = campaign AND j.id = e.job_id
                            JOIN solvers s ON s.id = j.solver_id
                            WHERE e.campaign_id = campaign AND e.state = 'done'
                              AND s.name || ':' || s.revision || ':' || s.hash
                                  <> ALL (its_solvers)));
    asks := NOT dry_run AND (counts->>'under_way')::bigint = 0;
    IF asks THEN
        PERFORM add_remeasure_partition(campaign);
    ELSIF NOT dry_run THEN
        RETURN counts;
    END IF;
    WITH wished AS MATERIALIZED (
        SELECT w.*, ((row_number() OVER (PARTITION BY w.job_id ORDER BY w.kind, w.config) - 1) / 16)
                    ::integer AS place
        FROM remeasurable(campaign, its_kinds, drift_limit, its_solvers) AS w),
    asked AS (
        INSERT INTO remeasures (campaign_id, job_id, number, configs, keeps_all)
        SELECT campaign, w.job_id, w.rounds + w.place, jsonb_agg(to_jsonb(w.config)
                                                                 ORDER BY w.kind, w.config), false
        FROM wished w WHERE asks GROUP BY w.job_id, w.rounds, w.place)
    SELECT counts || jsonb_build_object(
               'jobs', count(DISTINCT w.job_id), 'rounds', count(DISTINCT (w.job_id, w.place)),
               'winners', count(*) FILTER (WHERE w.kind = 1),
               'defaults', count(*) FILTER (WHERE w.kind = 2),
               'unstable', count(*) FILTER (WHERE w.kind = 3))
    INTO counts FROM wished w;
    IF asks AND (counts->>'jobs')::bigint > 0 THEN
        PERFORM open_remeasures(campaign);
        INSERT INTO events (kind, campaign_id, detail) VALUES ('measured again', campaign,
            format('%s jobs: %s configs of winners and runners-up, %s defaults, %s unstable ones',
                   counts->>'jobs', counts->>'winners', counts->>'defaults', counts->>'unstable'));
    END IF;
    RETURN counts;
END $$;

-- ---- claiming ----

CREATE OR REPLACE FUNCTION put_jobs(b bundles, ids bigint[], new_state job_state, round integer,
                                    new_strikes integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence, claimed_by, remeasures)
    VALUES (b.campaign_id, b.solver_id, new_state, round, b.position, ids, new_strikes,
            b.is_partial AND round = b.round_no, b.fence, b.claimed_by, b.remeasures);
END $$;

-- Whether the worker's login may not measure this round.
CREATE FUNCTION is_barred(worker bigint, campaign bigint, job bigint, its_number integer) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM remeasures m JOIN workers w ON w.id = worker
                   WHERE m.campaign_id = campaign AND m.job_id = job AND m.number = its_number
                     AND w.login = ANY (m.not_by));
END $$;

-- Claims up to `batch` jobs of one campaign. Bundles are looked at in order from a place on that the
-- caller had before (so it need not pass again what was there once), and a bundle that cost a worker
-- already is claimed alone, so that what kills workers takes nobody with it. They are fetched, and thereby
-- locked, one by one: a loop over a query would lock ten at once. What measures again is claimed beyond
-- last_round, too.
CREATE OR REPLACE FUNCTION claim_bundles(claimer bigint, campaign bigint, from_state job_state,
                              solver_ids bigint[], last_round integer, batch integer,
                              lease double precision, token bigint, from_round integer,
                              from_position bigint)
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 8
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_sort = off
SET enable_bitmapscan = off AS $$
DECLARE
    to_state job_state := CASE from_state WHEN 'ready' THEN 'building' ELSE 'evaluating' END;
    waiting CURSOR FOR
        SELECT * FROM bundles
        WHERE campaign_id = campaign AND state = from_state
          AND (round_no, position) >= (from_round, from_position)
          AND (round_no <= last_round OR remeasures) AND solver_id = ANY (solver_ids)
          AND NOT (remeasures AND from_state = 'built'
                   AND is_barred(claimer, campaign, job_ids[1], round_no))
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
                                 lease_seconds, remeasures)
            VALUES (campaign, b.solver_id, to_state, b.round_no, b.position,
                    b.job_ids[1:wanted], b.strikes, b.is_partial, nextval('fences'), claimer, token,
                    clock_timestamp(), clock_timestamp(), lease, b.remeasures)
            RETURNING * INTO taken;
        END IF;
        RETURN NEXT taken;
        wanted := wanted - cardinality(taken.job_ids);
        EXIT WHEN wanted <= 0;
    END LOOP;
    CLOSE waiting;
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
               AND NOT remeasures
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

-- What a worker has to know of the jobs that it claimed, bundles of one
-- campaign: where they stand, the configs taken out and the stored rounds; for
-- evaluating also the round that is open, and the problem's best time in the
-- campaign so far (one look into results a job, not a join: planned before
-- statistics know how the tables grew, a join may go through all of them). wish: the
-- configs that the round at hand measures again, NULL where it is another one.
DROP FUNCTION skipjack_work.claim(bigint, boolean, bigint, text, jsonb, integer, double precision,
                                  bigint, bigint, integer, bigint);
DROP FUNCTION claimed_jobs(bundles[], boolean);
CREATE FUNCTION claimed_jobs(taken bundles[], build boolean)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined json, rounds json, wish json)
LANGUAGE plpgsql ROWS 50
SET search_path = skipjack, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    campaign bigint := taken[1].campaign_id;
    for_target text := (
        SELECT c.target FROM campaigns c
        WHERE c.id = campaign AND EXISTS (SELECT 1 FROM quarantine q WHERE q.target = c.target));
    last_round integer := (SELECT max(b.round_no) FROM unnest(taken) AS b);
    has_remeasures boolean := EXISTS (SELECT FROM remeasures m WHERE m.campaign_id = campaign);
BEGIN
    IF build AND last_round = 0 AND for_target IS NULL AND NOT has_remeasures THEN
        RETURN QUERY
            SELECT campaign, b.solver_id, b.round_no, b.position, b.strikes, b.fence, j.id,
                   j.problem_id, NULL::double precision, NULL::json, NULL::json, NULL::json
            FROM unnest(taken) WITH ORDINALITY AS b CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
            CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                                AND o.id = of_it.id OFFSET 0) AS j
            ORDER BY b.ordinality, j.position;
        RETURN;
    END IF;
    RETURN QUERY
        SELECT campaign, b.solver_id, b.round_no, b.position, b.strikes, b.fence, j.id,
               j.problem_id,
               CASE WHEN NOT build THEN
                   (SELECT min((SELECT k.median_ms FROM results k
                                WHERE k.campaign_id = campaign AND k.job_id = o.id AND k.rank = 0))
                    FROM jobs o
                    WHERE o.campaign_id = campaign AND o.problem_id = j.problem_id) END,
               CASE WHEN for_target IS NOT NULL THEN
                   (SELECT json_agg(q.config ORDER BY q.config) FROM quarantine q
                    WHERE q.solver_id = j.solver_id AND q.problem_id = j.problem_id
                    AND q.target = for_target) END,
               CASE WHEN b.round_no = 0 AND build THEN NULL
               WHEN b.round_no > 0 OR b.is_partial THEN
                   (SELECT json_agg(row_to_json(w) ORDER BY w.number)
                    FROM (SELECT r.number, coalesce(o.stack, r.stack) AS stack,
                                 coalesce(o.drift, 0) AS drift, r.config_counts,
                                 r.config_values, r.kernel_keys,
                                 coalesce(o.failures, r.failures) AS failures,
                                 coalesce(o.details, r.details) AS details, o.n, o.min_ms,
                                 o.median_ms, o.spread, o.error, r.build_seconds, o.eval_seconds,
                                 has_remeasures AND EXISTS (
                                     SELECT FROM remeasures m WHERE m.campaign_id = campaign
                                     AND m.job_id = j.id AND m.number = r.number) AS remeasures
                          FROM rounds r LEFT JOIN LATERAL (
                              SELECT * FROM outcomes c WHERE c.campaign_id = campaign
                              AND c.job_id = j.id AND c.number = r.number OFFSET 0) AS o ON true
                          WHERE r.campaign_id = campaign AND r.job_id = j.id
                          AND r.number < b.round_no + CASE WHEN build THEN 0 ELSE 1 END) AS w)
               ELSE
                   (SELECT json_build_array(row_to_json(w))
                    FROM (SELECT r.number, r.stack, r.config_counts, r.config_values,
                                 r.kernel_keys, r.failures, r.details, r.build_seconds,
                                 b.remeasures
                          FROM rounds r
                          WHERE r.campaign_id = campaign AND r.job_id = j.id
                          AND r.number = 0) AS w) END,
               CASE WHEN b.remeasures THEN
                   (SELECT json_build_object('configs', m.configs, 'keeps_all', m.keeps_all)
                    FROM remeasures m WHERE m.campaign_id = campaign AND m.job_id = j.id
                    AND m.number = b.round_no) END
        FROM unnest(taken) WITH ORDINALITY AS b CROSS JOIN LATERAL unnest(b.job_ids) AS of_it(id)
        CROSS JOIN LATERAL (SELECT * FROM jobs o WHERE o.campaign_id = campaign
                            AND o.id = of_it.id OFFSET 0) AS j
        ORDER BY b.ordinality, j.position;
END $$;

CREATE FUNCTION skipjack_work.claim(
    claimer bigint, build boolean, wanted_campaign bigint, wanted_target text, carried jsonb,
    batch integer, lease double precision, token bigint, known_campaign bigint,
    from_round integer, from_position bigint)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined json, rounds json, wish json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    taken bundles[];
BEGIN
    PERFORM check_worker(claimer);
    -- A lease is not longer than a day, also where it is no number.
    taken := ARRAY(SELECT b FROM claim_jobs(
        claimer, build, wanted_campaign, wanted_target,
        ARRAY(SELECT jsonb_array_elements_text(carried)), batch,
        greatest(least(lease, 86400), 0), token, known_campaign, from_round, from_position) AS b);
    IF taken = '{}' THEN
        RETURN;
    END IF;
    IF NOT acts_for_all() THEN
        INSERT INTO claimed_campaigns VALUES (claimer, taken[1].campaign_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN QUERY SELECT * FROM claimed_jobs(taken, build);
END $$;

-- ---- handing in ----

-- The round's configs may be more than a search tries in one where it measures again: those that were
-- wished, and the default one.
CREATE FUNCTION is_wished_round(campaign bigint, job bigint, its_number integer, size integer)
RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM remeasures m
                   WHERE m.campaign_id = campaign AND m.job_id = job AND m.number = its_number
                     AND size BETWEEN 1 AND jsonb_array_length(m.configs) + 1);
END $$;

CREATE OR REPLACE FUNCTION check_handed_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    most integer := (SELECT greatest(c.round_configs, 1) + 1 FROM campaigns c WHERE c.id = campaign);
    i rounds;
    size integer;
    why text;
BEGIN
    FOREACH i IN ARRAY items LOOP
        size := cardinality(i.config_counts);
        why := CASE
            WHEN (i.number >= 0 AND (size BETWEEN 1 AND most
                                     OR is_wished_round(campaign, i.job_id, i.number, size)))
                 IS NOT TRUE
                THEN format('a round has 1 to %s configs, this one %s', most, size)
            WHEN (cardinality(i.kernel_keys) = size AND cardinality(i.failures) = size
                  AND cardinality(i.details) = size AND cardinality(i.build_seconds) = size) IS NOT TRUE
                THEN 'the arrays of its round differ in length'
            WHEN (0 <= ALL (i.config_counts) AND 16 >= ALL (i.config_counts)
                  AND array_position(i.config_values, NULL) IS NULL
                  AND cardinality(i.config_values) =
                      CASE WHEN i.config_counts[1] = ALL (i.config_counts)
                           THEN i.config_counts[1] * size ELSE sum_of(i.config_counts) END) IS NOT TRUE
                THEN 'the values of its configs are not as many as it says'
            WHEN (1 <= ALL (i.failures) AND 17 >= ALL (i.failures) AND 13 <> ALL (i.failures)
                  AND 16 <> ALL (i.failures)) IS NOT TRUE
                THEN 'building ends with no such failure'
            WHEN (array_position(i.kernel_keys, NULL) IS NULL
                  AND length(array_to_string(i.kernel_keys, '')) <= 390 * size
                  AND ('' = ALL (i.kernel_keys)
                       OR (length(array_to_string(array_remove(i.kernel_keys, ''), ',')) + 1) % 65 = 0))
                 IS NOT TRUE
                THEN 'a config has more than 6 kernels, or keys of another length'
            WHEN (0 <= ALL (i.build_seconds) AND 1e9 > ALL (i.build_seconds)
                  AND i.total_build_seconds >= 0 AND i.total_build_seconds < 1e12) IS NOT TRUE
                THEN 'a time is negative or endless'
            WHEN (i.evaluated >= 0 AND i.pending >= 0 AND i.evaluated + i.pending = size
                  AND i.kernels BETWEEN 0 AND 6 * size) IS NOT TRUE
                THEN 'its counts are not those of its configs'
            WHEN (length(i.stack) <= 4096 AND pg_column_size(i.details) <= 1024 + 4096 * size) IS NOT TRUE
                THEN 'its stack or its details are too long'
            END;
        IF why IS NOT NULL THEN
            PERFORM refuse_handed(i.job_id, why);
        END IF;
    END LOOP;
END $$;

-- Ends a job of which no config that was measured again is verified: by the commonest failure of its last
-- round, or as unstable (12).
CREATE FUNCTION end_unconfirmed_job(b bundles, job bigint, budget boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    worst record;
BEGIN
    SELECT f.failure, min(f.detail) AS words INTO worst
    FROM outcomes o, unnest(o.failures, o.details) AS f(failure, detail)
    WHERE o.campaign_id = b.campaign_id AND o.job_id = job AND o.number = b.round_no
      AND f.failure BETWEEN 1 AND 14
    GROUP BY f.failure ORDER BY count(*) DESC, f.failure LIMIT 1;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, by_budget, fence,
                          claimed_by)
    VALUES (b.campaign_id, job, 'failed', b.round_no + 1, coalesce(worst.failure, 12), worst.words,
            budget, b.fence, b.claimed_by);
END $$;

-- What becomes of jobs after a round that measured again: the next one that is wished, what the budget cut
-- short where it is larger by now, or the end, as before.
CREATE FUNCTION end_remeasured(b bundles, verified bigint[], spent boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    job bigint;
    former job_ends;
    searching bundles := b;
BEGIN
    searching.remeasures := false;
    FOREACH job IN ARRAY b.job_ids LOOP
        IF EXISTS (SELECT FROM remeasures m WHERE m.campaign_id = b.campaign_id AND m.job_id = job
                   AND m.number = b.round_no + 1) THEN
            UPDATE job_ends e SET rounds = b.round_no + 1
            WHERE e.campaign_id = b.campaign_id AND e.job_id = job;
            PERFORM put_jobs(b, ARRAY[job], 'ready', b.round_no + 1, 0);
            PERFORM wake_workers(b.campaign_id, true, 1);
            CONTINUE;
        END IF;
        former := NULL;
        DELETE FROM job_ends e WHERE e.campaign_id = b.campaign_id AND e.job_id = job
        RETURNING * INTO former;
        IF former.by_budget AND NOT spent THEN
            PERFORM put_jobs(searching, ARRAY[job], 'ready', b.round_no + 1, 0);
            PERFORM wake_workers(b.campaign_id, true, 1);
        ELSIF job = ANY (verified) THEN
            PERFORM end_verified_jobs(b, ARRAY[job], coalesce(former.by_budget, false),
                                      b.round_no + 1);
        ELSE
            PERFORM end_unconfirmed_job(b, job, coalesce(former.by_budget, false));
        END IF;
    END LOOP;
END $$;

-- What becomes of a bundle's jobs after a round: those that want more go on
-- unless the time is spent. A job whose round kept a result (verified) has
-- something verified.
CREATE OR REPLACE FUNCTION move_on(b bundles, eager bigint[], verified bigint[], spent boolean)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    f record;
BEGIN
    IF b.remeasures THEN
        PERFORM end_remeasured(b, verified, spent);
        RETURN;
    END IF;
    FOR f IN
        SELECT job = ANY (eager) AS wishes_more, job = ANY (verified) AS verified,
               array_agg(job) AS ids
        FROM unnest(b.job_ids) AS job GROUP BY 1, 2
    LOOP
        IF f.wishes_more AND NOT spent THEN
            PERFORM put_jobs(b, f.ids, 'ready', b.round_no + 1, 0);
        ELSIF f.verified THEN
            PERFORM end_verified_jobs(b, f.ids, f.wishes_more, b.round_no + 1);
        ELSE
            PERFORM end_jobs(b, f.ids, f.wishes_more, b.round_no + 1);
        END IF;
    END LOOP;
END $$;

-- ---- what comes to nothing ----

-- Jobs of a bundle that was taken away stay as they ended; what was stored of their open round goes.
CREATE FUNCTION give_up_remeasure(b bundles, words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    PERFORM drop_open_rounds(b.campaign_id, b.job_ids, b.round_no);
    DELETE FROM remeasures m WHERE m.campaign_id = b.campaign_id AND m.job_id = ANY (b.job_ids)
                               AND m.number >= b.round_no;
    -- So a repeated call is known.
    UPDATE job_ends e SET fence = b.fence, claimed_by = b.claimed_by
    WHERE e.campaign_id = b.campaign_id AND e.job_id = ANY (b.job_ids);
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    SELECT 'not measured again', b.campaign_id, job, b.claimed_by, words
    FROM unnest(b.job_ids) AS job;
    PERFORM settle_campaign(b.campaign_id, 0);
END $$;

CREATE OR REPLACE FUNCTION lose_bundle(b bundles) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    back job_state := CASE b.state WHEN 'building' THEN 'ready' ELSE 'built' END;
    words text := format('worker lost three times, last in state %s', b.state);
BEGIN
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    SELECT 'lease lost', b.campaign_id, job, b.worker_id,
           format('%s, strike %s', b.state, b.strikes + 1)
    FROM unnest(b.job_ids) AS job;
    DELETE FROM bundles WHERE id = b.id;
    IF b.strikes < 2 THEN
        PERFORM put_jobs(b, ARRAY[job], back, b.round_no, b.strikes + 1)
        FROM unnest(b.job_ids) AS job;
        RETURN;
    ELSIF b.remeasures THEN
        PERFORM give_up_remeasure(b, words);
        RETURN;
    END IF;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state, claimed_by)
    SELECT b.campaign_id, job, 'failed', b.round_no, 13, words, b.strikes + 1, b.fence,
           back, b.claimed_by
    FROM unnest(b.job_ids) AS job;
    PERFORM settle_campaign(b.campaign_id, 0);
END $$;

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
    IF b.remeasures THEN
        PERFORM give_up_remeasure(b, words);
        RETURN;
    END IF;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state, claimed_by)
    VALUES (campaign, job, 'failed', b.round_no, why, words, b.strikes, b.fence,
            CASE WHEN why = 13 THEN CASE WHEN b.state IN ('ready', 'building') THEN 'ready'
                                         ELSE 'built' END END::job_state, b.claimed_by);
    PERFORM settle_campaign(campaign, 0);
END $$;

-- What measured again when a campaign is cancelled leaves its job as it ended.
CREATE OR REPLACE FUNCTION delete_bundles(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    b bundles;
BEGIN
    WHILE EXISTS (SELECT FROM bundles g WHERE g.campaign_id = campaign) LOOP
        PERFORM FROM bundles g WHERE g.campaign_id = campaign ORDER BY g.id FOR UPDATE;
        FOR b IN DELETE FROM bundles g WHERE g.campaign_id = campaign RETURNING * LOOP
            CONTINUE WHEN NOT b.remeasures;
            PERFORM drop_open_rounds(campaign, b.job_ids, b.round_no);
            DELETE FROM remeasures m WHERE m.campaign_id = campaign
                AND m.job_id = ANY (b.job_ids) AND m.number >= b.round_no;
        END LOOP;
    END LOOP;
END $$;

-- Opens ended jobs again: those that failed, or those that the budget ended. What measures again just now
-- is left to that.
CREATE OR REPLACE FUNCTION reopen_jobs(campaign bigint, failed boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ids bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM job_ends e
        WHERE e.campaign_id = campaign
          AND CASE WHEN failed THEN e.state = 'failed' ELSE e.by_budget END
          AND e.job_id NOT IN (SELECT unnest(b.job_ids) FROM bundles b
                               WHERE b.campaign_id = campaign AND b.remeasures)
        RETURNING e.job_id, e.rounds),
    cleared AS (
        DELETE FROM rounds r USING gone g
        WHERE r.campaign_id = campaign AND r.job_id = g.job_id AND r.number >= g.rounds),
    cleared_outcomes AS (
        DELETE FROM outcomes o USING gone g
        WHERE o.campaign_id = campaign AND o.job_id = g.job_id AND o.number >= g.rounds),
    cleared_conditions AS (
        DELETE FROM round_conditions c USING gone g
        WHERE c.campaign_id = campaign AND c.job_id = g.job_id AND c.number >= g.rounds),
    opened AS (
        INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)
        SELECT campaign, j.solver_id, 'ready', g.rounds, j.position, ARRAY[j.id]
        FROM gone g JOIN jobs j ON j.campaign_id = campaign AND j.id = g.job_id)
    SELECT array_agg(job_id) INTO ids FROM gone;
    UPDATE campaigns SET state = 'active'
    WHERE id = campaign AND state = 'done' AND ids IS NOT NULL;
END $$;

-- ---- what others take over ----

-- A config that won once and was measured again since keeps its newer time.
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
    RETURN last;
END $$;

INSERT INTO entry_points (role, name) VALUES ('skipjack_coordinator', 'remeasure');

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
