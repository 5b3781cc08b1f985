-- A campaign may have a deadline, a point of time after which no job of it is claimed, not even for its first round.
-- A budget is none: it is working time, and first rounds are measured beyond it. Jobs that are open at the
-- deadline stay as they are, so a later deadline lets the campaign go on where it was.
-- oldest program: 0038

ALTER TABLE campaigns ADD COLUMN deadline timestamptz; -- NULL: none

-- overdue: it would be active, but for its deadline.
CREATE OR REPLACE VIEW campaign_rows AS
    SELECT c.id, c.name, c.identity, c.target, c.stack, c.state, c.strategy, c.seed,
           c.configs_limit, c.round_configs, c.budget_seconds, c.build_only, c.created_at, c.pool,
           c.priority, c.share, extract(epoch FROM c.created_at)::bigint AS created,
           spent_seconds(c.id) AS spent_seconds, n.*, c.deadline,
           coalesce(c.state = 'active' AND c.deadline <= clock_timestamp(), false) AS overdue
    FROM campaigns c
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, count(*) FILTER (WHERE j.state = 'done') AS done,
               count(*) FILTER (WHERE j.state = 'failed') AS failed,
               count(*) FILTER (WHERE j.state IN ('ready', 'building', 'built', 'evaluating')) AS open
        FROM job_rows j WHERE j.campaign_id = c.id) AS n;

-- Of running workers and active campaigns; 0 for all of them. Whoever has not
-- beaten for two minutes does not run. Workers that are alike in all that
-- refusal() looks at are asked about once.
CREATE OR REPLACE FUNCTION refusals(of_worker bigint, of_campaign bigint)
RETURNS TABLE (campaign_id bigint, worker_id bigint, node text, reason text)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    WITH running AS MATERIALIZED (
        SELECT w.id, w.node,
               min(w.id) OVER (PARTITION BY w.target, w.builds, w.labels, w.stack, w.carried,
                               d.kinds) AS kind
        FROM workers w
        CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT ARRAY[o.target, o.stack]) AS kinds
            FROM worker_devices o WHERE o.worker_id = w.id) AS d
        WHERE w.ended_at IS NULL AND of_worker IN (0, w.id)
          AND (of_worker <> 0 OR w.beat_at > clock_timestamp() - interval '2 minutes')
    ), refused AS MATERIALIZED (
        SELECT c.id AS campaign, k.id AS kind, refusal(c, k) AS reason
        FROM campaigns c CROSS JOIN workers k
        WHERE c.state = 'active' AND coalesce(c.deadline > clock_timestamp(), true)
          AND of_campaign IN (0, c.id)
          AND k.id IN (SELECT r.kind FROM running r)
    )
    SELECT f.campaign, r.id, r.node, f.reason
    FROM refused f JOIN running r ON r.kind = f.kind WHERE f.reason IS NOT NULL
$$;

-- Wakes a few workers that idle in this pool and that the campaign suits, each
-- through a channel of its own. One that was woken in vain is left alone for
-- five seconds, so that nobody is woken over and over for what it cannot take;
-- a dead one would never answer. Commits that notify wait for each other, so
-- nothing is sent where nobody idles. Called last in a transaction: its locks
-- are waited for by the claims of those it wakes, and it waits for nobody.
CREATE OR REPLACE FUNCTION wake_workers(campaign bigint, for_build boolean, most integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    told integer;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM idle_workers i WHERE i.build = for_build) THEN
        RETURN;
    END IF;
    WITH picked AS MATERIALIZED (
        SELECT i.worker_id
        FROM idle_workers i
        JOIN workers w ON w.id = i.worker_id AND w.ended_at IS NULL
             AND w.beat_at > clock_timestamp() - interval '2 minutes'
        JOIN campaigns c ON c.id = campaign AND c.state = 'active'
             AND coalesce(c.deadline > clock_timestamp(), true)
        WHERE i.build = for_build AND i.woken_at < clock_timestamp() - interval '5 seconds'
          AND i.campaign_id IN (0, campaign) AND (i.target IS NULL OR i.target = c.target)
          AND (c.pool = '' OR c.pool = ANY (w.labels))
          AND worker_lacks(w.id, w.stack, for_build, c.target, c.stack) IS NULL
        LIMIT most FOR UPDATE OF i SKIP LOCKED
    ), woken AS (
        UPDATE idle_workers i SET woken_at = clock_timestamp() FROM picked p
        WHERE i.worker_id = p.worker_id AND i.build = for_build
        RETURNING i.worker_id)
    SELECT count(pg_notify('skipjack_worker_' || worker_id, '')) INTO told FROM woken;
END $$;

-- Claims jobs of one active campaign that has some for this worker: of those
-- with the highest priority the one with the least fair time.
-- known_campaign, from_round, from_position: where the last claim from this
-- pool ended, which is where this one begins.
CREATE OR REPLACE FUNCTION claim_jobs(claimer bigint, build boolean, wanted_campaign bigint,
                           wanted_target text, carried text[], batch integer,
                           lease double precision, token bigint, known_campaign bigint,
                           from_round integer, from_position bigint)
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 8 SET search_path = skipjack, pg_temp AS $$
DECLARE
    from_state job_state := CASE WHEN build THEN 'ready' ELSE 'built' END;
    has_stack text;
    has_labels text[];
    several boolean := (SELECT count(*) > 1 FROM campaigns WHERE state = 'active');
    solver_ids bigint[];
    c campaigns;
    b bundles;
    claimed_campaign bigint;
    last_round integer;
    wanted integer := batch;
BEGIN
    UPDATE workers SET beat_at = clock_timestamp(), ended_at = NULL
    WHERE id = claimer RETURNING stack, labels INTO has_stack, has_labels;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', claimer);
    END IF;
    SELECT array_agg(id) INTO solver_ids FROM solvers
    WHERE carried IS NULL OR name || ':' || revision || ':' || hash = ANY (carried);
    FOR c IN SELECT * FROM campaigns AS active
             WHERE state = 'active' AND coalesce(deadline > clock_timestamp(), true)
               AND (wanted_campaign = 0 OR id = wanted_campaign)
               AND (wanted_target IS NULL OR target = wanted_target)
               AND (pool = '' OR pool = ANY (has_labels))
               AND worker_lacks(claimer, has_stack, build, target, stack) IS NULL
             ORDER BY priority DESC, CASE WHEN several THEN fair_time(active) END, id
    LOOP
        last_round := 2147483647;
        IF c.budget_seconds > 0 AND spent_seconds(c.id) >= c.budget_seconds THEN
            PERFORM end_spent_jobs(c.id);
            last_round := 0;
        END IF;
        FOR b IN SELECT * FROM claim_bundles(claimer, c.id, from_state, solver_ids, last_round,
                                             batch, lease, token,
                                             CASE c.id WHEN known_campaign THEN from_round ELSE 0 END,
                                             CASE c.id WHEN known_campaign THEN from_position ELSE 0 END)
        LOOP
            wanted := wanted - cardinality(b.job_ids);
            RETURN NEXT b;
        END LOOP;
        IF wanted = batch AND c.id = known_campaign THEN
            FOR b IN SELECT * FROM claim_bundles(claimer, c.id, from_state, solver_ids, last_round,
                                                 batch, lease, token, 0, 0)
            LOOP
                wanted := wanted - cardinality(b.job_ids);
                RETURN NEXT b;
            END LOOP;
        END IF;
        claimed_campaign := CASE WHEN wanted < batch THEN c.id END;
        EXIT WHEN claimed_campaign IS NOT NULL;
        IF NOT has_open_jobs(c.id) THEN
            PERFORM settle_campaign(c.id, 0);
        END IF;
    END LOOP;
    PERFORM note_claim(claimer, build, wanted_campaign, wanted_target, claimed_campaign,
                       wanted > 0);
END $$;

-- Jobs are claimed with their campaign's deadline, so that a worker begins none of them later.
DROP FUNCTION skipjack_work.claim(bigint, boolean, bigint, text, jsonb, integer, double precision,
                                  bigint, bigint, integer, bigint);
CREATE FUNCTION skipjack_work.claim(claimer bigint, build boolean, wanted_campaign bigint,
                                    wanted_target text, carried jsonb, batch integer,
                                    lease double precision, token bigint, known_campaign bigint,
                                    from_round integer, from_position bigint)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined json, rounds json, wish json,
               deadline bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    taken bundles[];
    its_deadline bigint;
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
    its_deadline := (SELECT extract(epoch FROM c.deadline)::bigint FROM campaigns c
                     WHERE c.id = taken[1].campaign_id);
    RETURN QUERY SELECT j.*, its_deadline FROM claimed_jobs(taken, build) AS j;
END $$;

-- Sets what the object names of a campaign's name, budget_seconds (0: none), deadline (seconds since 1970,
-- null: none), priority, share and pool; all of it or nothing. What the old budget ended goes on.
CREATE FUNCTION set_campaign(campaign bigint, changes jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    now_state campaign_state;
    was_overdue boolean := (SELECT c.state = 'active' AND c.deadline <= clock_timestamp()
                            FROM campaigns c WHERE c.id = campaign);
BEGIN
    IF length(changes->>'name') NOT BETWEEN 1 AND 1000 THEN
        PERFORM refuse_value('a name has from 1 to 1000 characters');
    ELSIF ((changes->>'budget_seconds')::double precision BETWEEN 0 AND 1e12) IS FALSE
       OR ((changes->>'deadline')::double precision BETWEEN 0 AND 1e11) IS FALSE THEN
        PERFORM refuse_value('a budget or deadline is out of range');
    END IF;
    IF changes ? 'budget_seconds' THEN
        PERFORM extend_campaign(campaign, (changes->>'budget_seconds')::double precision);
    END IF;
    UPDATE campaigns c
    SET name = coalesce(changes->>'name', c.name),
        priority = coalesce((changes->>'priority')::integer, c.priority),
        share = coalesce((changes->>'share')::double precision, c.share),
        pool = coalesce(changes->>'pool', c.pool),
        deadline = CASE WHEN changes ? 'deadline'
                        THEN to_timestamp((changes->>'deadline')::double precision)
                        ELSE c.deadline END
    WHERE c.id = campaign RETURNING c.state INTO now_state;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    ELSIF now_state = 'cancelled' AND changes ? 'deadline' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot set the deadline of campaign %s: it is cancelled', campaign);
    END IF;
    -- It competes anew, as after a pause: its rivals worked meanwhile.
    IF was_overdue AND changes ? 'deadline' THEN
        UPDATE campaigns SET state = 'paused' WHERE id = campaign;
        UPDATE campaigns SET state = 'active' WHERE id = campaign;
    END IF;
    PERFORM wake_workers(campaign, true, 4);
    PERFORM wake_workers(campaign, false, 4);
END $$;

INSERT INTO entry_points (role, name) VALUES ('skipjack_coordinator', 'set_campaign');

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
