-- Campaigns share from when they compete, and who is asked to drain hears of
-- it at once.

-- A campaign's fair time goes on with its working time, the slower the larger
-- its share: it was fair_at when its working time was fair_from. Campaigns
-- that compete (active, of one target and priority) are claimed from in its
-- order. One that comes to them begins where the least of them is: what either
-- side worked before, alone, is no debt and no credit. One that nobody works on
-- (no node suits it) is not asked, where there is another: it stays behind.
ALTER TABLE campaigns
    ADD COLUMN fair_at   double precision NOT NULL DEFAULT 0,
    ADD COLUMN fair_from double precision NOT NULL DEFAULT 0;

CREATE FUNCTION fair_time(c campaigns) RETURNS double precision
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS
$$ SELECT c.fair_at + (spent_seconds(c.id) - c.fair_from) / c.share $$;

CREATE FUNCTION enter_competition() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.priority = OLD.priority
       AND (NEW.state = OLD.state OR NEW.state <> 'active') THEN
        IF NEW.share <> OLD.share THEN
            NEW.fair_at := fair_time(OLD);
            NEW.fair_from := spent_seconds(NEW.id);
        END IF;
        RETURN NEW;
    END IF;
    NEW.fair_at := (
        SELECT coalesce(min(r.at) FILTER (WHERE r.is_worked_on), min(r.at), 0)
        FROM (SELECT fair_time(c) AS at,
                     EXISTS (SELECT 1 FROM bundles b
                             WHERE b.campaign_id = c.id
                               AND b.state IN ('building', 'evaluating')) AS is_worked_on
              FROM campaigns c
              WHERE c.state = 'active' AND c.target = NEW.target AND c.priority = NEW.priority
                AND c.id <> NEW.id) AS r);
    NEW.fair_from := spent_seconds(NEW.id);
    RETURN NEW;
END $$;
CREATE TRIGGER enter_competition BEFORE INSERT OR UPDATE OF state, priority, share ON campaigns
    FOR EACH ROW EXECUTE FUNCTION enter_competition();

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
             WHERE state = 'active' AND (wanted_campaign = 0 OR id = wanted_campaign)
               AND (wanted_target IS NULL OR target = wanted_target)
               AND (pool = '' OR pool = ANY (has_labels)) AND stack_matches(stack, has_stack)
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

-- Asks the running workers of a node to end; how many there are. Those that
-- listen hear of it at once, all with their next beat.
CREATE OR REPLACE FUNCTION drain_node(draining text) RETURNS bigint
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    WITH asked AS (
        UPDATE workers SET drain = true WHERE node = draining AND ended_at IS NULL RETURNING id)
    SELECT count(pg_notify('skipjack_worker_' || id, 'drain')) FROM asked
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
