-- Measuring again: opening ended jobs for rounds of exactly the configs wished for.

-- Whether a round's times are doubtful because its device was throttled: by heat (2), a power brake (4) or a slowdown
-- of the hardware (8), THROTTLE_MARKED of conditions.h.
CREATE OR REPLACE FUNCTION is_throttled(campaign bigint, job bigint, its_number integer) RETURNS boolean
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT EXISTS (SELECT FROM round_conditions c WHERE c.campaign_id = campaign AND c.job_id = job
                   AND c.number = its_number AND c.throttle & 14 <> 0)
$$;

-- The configs of ended jobs that may be measured again, each once, with its kind: kept
-- results (winners and runners-up), default configs, and configs that were unstable when
-- measured last or whose newest time is from a round that drifted beyond the limit, or
-- whose device was throttled.
-- carried: "name:revision:hash" of solvers; jobs of other solvers are left out, and so are
-- failed jobs unless they failed as unstable.
CREATE OR REPLACE FUNCTION remeasurable(campaign bigint, kinds integer[], drift_limit double precision,
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
            WHERE e.campaign_id = campaign AND (e.state = 'done' OR e.failure = @FAILURE_UNSTABLE)
              AND s.name || ':' || s.revision || ':' || s.hash = ANY (carried)
              AND e.job_id NOT IN (SELECT unnest(b.job_ids) FROM bundles b
                                   WHERE b.campaign_id = campaign)),
        suspects AS MATERIALIZED (
            SELECT o.job_id AS id, min(o.number) AS number
            FROM outcomes o
            WHERE @REMEASURE_KIND_UNSTABLE = ANY (kinds) AND o.campaign_id = campaign AND NOT o.is_open
              AND (o.failures && ARRAY[@FAILURE_UNSTABLE]::smallint[] OR o.drift > drift_limit
                   OR (o.drift > 0 AND o.drift < 1 / drift_limit)
                   OR is_throttled(campaign, o.job_id, o.number))
            GROUP BY o.job_id),
        newest AS (
            SELECT DISTINCT ON (r.job_id, c.config) r.job_id AS id, c.config, f.failure,
                   o.drift > drift_limit OR (o.drift > 0 AND o.drift < 1 / drift_limit)
                       OR is_throttled(campaign, r.job_id, r.number) AS doubtful
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
            SELECT k.job_id AS id,
                   CASE WHEN k.is_default AND k.rank > 0 THEN @REMEASURE_KIND_DEFAULTS
                        ELSE @REMEASURE_KIND_WINNERS END AS kind, k.config
            FROM results k WHERE k.campaign_id = campaign AND @REMEASURE_KIND_WINNERS = ANY (kinds)
            UNION ALL
            SELECT k.job_id, @REMEASURE_KIND_DEFAULTS, k.config
            FROM results k WHERE k.campaign_id = campaign AND k.is_default
              AND @REMEASURE_KIND_DEFAULTS = ANY (kinds)
            UNION ALL
            SELECT n.id, @REMEASURE_KIND_UNSTABLE, n.config FROM newest n
            WHERE n.failure = @FAILURE_UNSTABLE OR (n.failure = @FAILURE_NONE AND n.doubtful))
        SELECT DISTINCT ON (w.id, w.config) w.id, e.rounds, w.kind, w.config
        FROM wished w JOIN ended e ON e.id = w.id
        WHERE w.kind = ANY (kinds)
        ORDER BY w.id, w.config, w.kind;
END $$;

-- Locks the campaign's row. Raises SJ001 for an unknown campaign, and SJ002 for one that
-- cannot be measured again: it was only built, is foreign or cancelled, or its deadline has
-- passed.
CREATE OR REPLACE FUNCTION hold_remeasured(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    c campaigns;
BEGIN
    SELECT * INTO c FROM campaigns k WHERE k.id = campaign FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF c.state = 'cancelled' OR c.build_only OR c.strategy = 'foreign'
          OR c.deadline <= clock_timestamp() THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'campaign %s cannot be measured again: %s', campaign,
            CASE WHEN c.build_only THEN 'it was only built'
                 WHEN c.strategy = 'foreign' THEN 'somebody else measured it'
                 WHEN c.state = 'cancelled' THEN 'it is cancelled'
                 ELSE 'its deadline has passed, campaign set --deadline gives it a later one' END);
    END IF;
END $$;

-- Opens the ended jobs for which this transaction asked for rounds that measure again, even
-- if the budget is spent: the user asked for them, and their time counts as spent.
CREATE OR REPLACE FUNCTION open_remeasures(campaign bigint) RETURNS void
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

CREATE OR REPLACE FUNCTION add_remeasure_partition(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF to_regclass('skipjack.remeasures_' || campaign) IS NULL THEN
        PERFORM add_partition(campaign, 'remeasures');
    END IF;
END $$;

-- Has a campaign's ended jobs measure configs of these kinds again (remeasurable()), in
-- rounds of up to 16 configs. While an earlier wish is under way nothing more is asked
-- for. Returns counts: jobs, rounds and configs by kind that are asked for (with
-- dry_run: that would be); under_way: jobs that are measuring again; at_work: jobs open
-- for another reason; other_revisions: done jobs whose solver is not carried.
CREATE OR REPLACE FUNCTION remeasure(campaign bigint, kinds jsonb, drift_limit double precision, carried jsonb,
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
               'winners', count(*) FILTER (WHERE w.kind = @REMEASURE_KIND_WINNERS),
               'defaults', count(*) FILTER (WHERE w.kind = @REMEASURE_KIND_DEFAULTS),
               'unstable', count(*) FILTER (WHERE w.kind = @REMEASURE_KIND_UNSTABLE))
    INTO counts FROM wished w;
    IF asks AND (counts->>'jobs')::bigint > 0 THEN
        PERFORM open_remeasures(campaign);
        INSERT INTO events (kind, campaign_id, detail) VALUES ('measured again', campaign,
            format('%s jobs: %s configs of winners and runners-up, %s defaults, %s unstable ones',
                   counts->>'jobs', counts->>'winners', counts->>'defaults', counts->>'unstable'));
    END IF;
    RETURN counts;
END $$;

-- Has chosen ended jobs of a campaign measure configs of these kinds again. items: {job, only_nodes,
-- not_nodes, configs}; each is measured in rounds of its own, and a job that is named several times is measured
-- one time after the other. Workers of other nodes than asked leave a round alone for wait_seconds; for
-- the second item of a job twice as long, since it begins later. After that any worker may measure it.
-- configs: up to 16 arrays of values to measure instead of configs of these kinds.
--
-- Returns counts as remeasure() does, and impossible: jobs that have no such config, whose solver is
-- not carried, or that failed. A job that is open is left alone.
CREATE OR REPLACE FUNCTION remeasure_jobs(campaign bigint, items jsonb, kinds jsonb, drift_limit double precision,
                                          carried jsonb, wait_seconds double precision) RETURNS jsonb
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    its_kinds integer[] := ARRAY(SELECT k::integer FROM jsonb_array_elements_text(kinds) AS k);
    its_solvers text[] := ARRAY(SELECT jsonb_array_elements_text(carried));
    its_jobs bigint[] := ARRAY(SELECT DISTINCT (i->>'job')::bigint FROM jsonb_array_elements(items) AS i);
    counts jsonb;
BEGIN
    PERFORM hold_remeasured(campaign);
    PERFORM add_remeasure_partition(campaign);
    counts := jsonb_build_object(
        'under_way', (SELECT count(*) FROM bundles b WHERE b.campaign_id = campaign AND b.remeasures
                      AND b.job_ids[1] = ANY (its_jobs)),
        'at_work', (SELECT count(*) FROM bundles b CROSS JOIN LATERAL unnest(b.job_ids) AS member(job)
                    WHERE b.campaign_id = campaign AND NOT b.remeasures AND member.job = ANY (its_jobs)));
    WITH asked AS MATERIALIZED (
        SELECT (i.value->>'job')::bigint AS job, i.ord,
               row_number() OVER (PARTITION BY i.value->>'job' ORDER BY i.ord) AS turn,
               nullif(i.value->'configs', '[]') AS configs,
               ARRAY(SELECT jsonb_array_elements_text(i.value->'only_nodes')) AS only_nodes,
               ARRAY(SELECT jsonb_array_elements_text(i.value->'not_nodes')) AS not_nodes
        FROM jsonb_array_elements(items) WITH ORDINALITY AS i(value, ord)),
    wished AS MATERIALIZED (
        SELECT w.*, ((row_number() OVER (PARTITION BY w.job_id ORDER BY w.kind, w.config) - 1) / 16) AS part
        FROM remeasurable(campaign, its_kinds, drift_limit, its_solvers) AS w
        WHERE w.job_id = ANY (its_jobs)),
    parts AS MATERIALIZED (
        SELECT a.job AS job_id, a.ord, w.rounds, w.part,
               jsonb_agg(to_jsonb(w.config) ORDER BY w.kind, w.config) AS configs
        FROM asked a JOIN wished w ON w.job_id = a.job WHERE a.configs IS NULL
        GROUP BY a.job, a.ord, w.rounds, w.part
        UNION ALL
        SELECT a.job, a.ord, e.rounds, 0, a.configs
        FROM asked a
        CROSS JOIN LATERAL (SELECT * FROM job_ends d WHERE d.campaign_id = campaign AND d.job_id = a.job
                            AND (d.state = 'done' OR d.failure <> @FAILURE_WORKER_LOST) OFFSET 0) AS e
        JOIN jobs j ON j.campaign_id = campaign AND j.id = a.job
        JOIN solvers s ON s.id = j.solver_id
             AND s.name || ':' || s.revision || ':' || s.hash = ANY (its_solvers)
        WHERE a.configs IS NOT NULL
          AND NOT EXISTS (SELECT FROM bundles b WHERE b.campaign_id = campaign AND a.job = ANY (b.job_ids))),
    added AS (
        INSERT INTO remeasures (campaign_id, job_id, number, configs, keeps_all, only_nodes, not_nodes,
                                places_until)
        SELECT campaign, a.job,
               p.rounds + (row_number() OVER (PARTITION BY a.job ORDER BY a.ord, p.part) - 1)::integer,
               p.configs, a.configs IS NOT NULL, a.only_nodes, a.not_nodes,
               CASE WHEN a.only_nodes <> '{}' OR a.not_nodes <> '{}' OR a.configs IS NOT NULL
                    THEN clock_timestamp() + a.turn * wait_seconds * interval '1 second' END
        FROM asked a JOIN parts p ON p.ord = a.ord
        RETURNING job_id)
    SELECT counts || jsonb_build_object(
               'jobs', (SELECT count(DISTINCT p.job_id) FROM parts p),
               'rounds', (SELECT count(*) FROM parts p),
               'winners', count(*) FILTER (WHERE w.kind = @REMEASURE_KIND_WINNERS),
               'defaults', count(*) FILTER (WHERE w.kind = @REMEASURE_KIND_DEFAULTS),
               'unstable', count(*) FILTER (WHERE w.kind = @REMEASURE_KIND_UNSTABLE),
               'impossible', cardinality(its_jobs) - (SELECT count(DISTINCT p.job_id) FROM parts p)
                             - (counts->>'under_way')::bigint - (counts->>'at_work')::bigint)
    INTO counts FROM wished w;
    IF (counts->>'jobs')::bigint > 0 THEN
        PERFORM open_remeasures(campaign);
        INSERT INTO events (kind, campaign_id, detail) VALUES ('measured again', campaign,
            format('%s chosen jobs in %s rounds', counts->>'jobs', counts->>'rounds'));
    END IF;
    RETURN counts;
END $$;

-- Returns true if the worker may not measure this round: its login may not, for now the round
-- waits for a worker of another node, or it is a final with a solver that the worker lacks.
CREATE OR REPLACE FUNCTION is_barred(worker bigint, campaign bigint, job bigint, its_number integer) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM remeasures m JOIN workers w ON w.id = worker
                   WHERE m.campaign_id = campaign AND m.job_id = job AND m.number = its_number
                     AND (w.login = ANY (m.not_by)
                          OR (m.places_until > clock_timestamp()
                              AND (w.node = ANY (m.not_nodes)
                                   OR (m.only_nodes <> '{}' AND w.node <> ALL (m.only_nodes))))))
        OR lacks_final_solver((SELECT w FROM workers w WHERE w.id = worker), campaign, job, its_number);
END $$;

-- Why the worker may not measure what waits in the campaign: of one of these rounds.
CREATE OR REPLACE FUNCTION why_barred(campaign bigint, w workers) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN coalesce((SELECT CASE
                WHEN w.login = ANY (m.not_by) THEN
                    format('its login %s measured what waits, another login is to confirm it for golden',
                           w.login)
                WHEN m.only_nodes <> '{}' THEN
                    format('what waits is to be measured on node %s; any node may from %s on',
                           array_to_string(m.only_nodes, ' or '), to_char(m.places_until, 'HH24:MI:SS'))
                ELSE format('what waits is to be measured on another node than %s; any node may from %s on',
                            array_to_string(m.not_nodes, ' or '), to_char(m.places_until, 'HH24:MI:SS'))
                END
            FROM bundles b JOIN remeasures m ON m.campaign_id = b.campaign_id AND m.job_id = b.job_ids[1]
                                            AND m.number = b.round_no
            WHERE b.campaign_id = campaign AND b.state = 'built' AND b.remeasures
              AND is_barred(w.id, campaign, b.job_ids[1], b.round_no)
            ORDER BY b.position LIMIT 1),
        (SELECT 'it lacks a solver of the problem that waits for its second measurement: '
                || array_to_string(f.solvers, ', ')
         FROM bundles b JOIN finals f ON f.campaign_id = b.campaign_id AND f.job_id = b.job_ids[1]
                                     AND f.number = b.round_no AND f.state = 'asked'
         WHERE b.campaign_id = campaign AND b.state = 'built' AND b.remeasures
           AND is_barred(w.id, campaign, b.job_ids[1], b.round_no)
         ORDER BY b.position LIMIT 1));
END $$;

-- Nodes whose workers can measure for the campaign now: they sent a heartbeat within ten minutes and
-- meet the campaign's pool, target and stack.
CREATE OR REPLACE FUNCTION measuring_nodes(campaign bigint) RETURNS SETOF text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT w.node FROM workers w JOIN campaigns c ON c.id = campaign
        WHERE w.ended_at IS NULL AND NOT w.drain AND w.beat_at > clock_timestamp() - interval '10 minutes'
          AND (c.pool = '' OR c.pool = ANY (w.labels))
          AND worker_lacks(w.id, w.stack, false, c.target, c.stack) IS NULL
        ORDER BY w.node;
END $$;

-- Returns true if the round measures again and its size fits: at most the configs wished
-- for and the default config. These may be more than a round of a search has.
CREATE OR REPLACE FUNCTION is_wished_round(campaign bigint, job bigint, its_number integer, size integer)
RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM remeasures m
                   WHERE m.campaign_id = campaign AND m.job_id = job AND m.number = its_number
                     AND size BETWEEN 1 AND jsonb_array_length(m.configs) + 1);
END $$;

-- Moves jobs on after a round that measured again: to the next wished round; else to the
-- search that the budget had cut short, if the budget is larger now; else the job ends, done
-- if it is among `verified`, or failed.
CREATE OR REPLACE FUNCTION end_remeasured(b bundles, verified bigint[], spent boolean) RETURNS void
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
                                      b.round_no + 1, former.search_end);
        ELSE
            PERFORM end_unconfirmed_job(b, job, coalesce(former.by_budget, false), former.search_end);
        END IF;
    END LOOP;
END $$;

-- Ends measuring again for jobs of a bundle that was taken away. Each job stays as it
-- ended; what was stored of its open round is deleted.
CREATE OR REPLACE FUNCTION give_up_remeasure(b bundles, words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    PERFORM drop_open_rounds(b.campaign_id, b.job_ids, b.round_no);
    DELETE FROM remeasures m WHERE m.campaign_id = b.campaign_id AND m.job_id = ANY (b.job_ids)
                               AND m.number >= b.round_no;
    PERFORM give_up_final(b.campaign_id, b.job_ids, words);
    -- The fence by which a repeated call is recognized.
    UPDATE job_ends e SET fence = b.fence, claimed_by = b.claimed_by
    WHERE e.campaign_id = b.campaign_id AND e.job_id = ANY (b.job_ids);
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    SELECT 'not measured again', b.campaign_id, job, b.claimed_by, words
    FROM unnest(b.job_ids) AS job;
    PERFORM reopen_carrier(b.campaign_id, b.job_ids);
    PERFORM settle_campaign(b.campaign_id, 0);
END $$;
