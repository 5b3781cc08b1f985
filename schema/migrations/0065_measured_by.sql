-- Who measured what. Outcomes and results said nothing of the worker that handed them in, so forged
-- times could not be traced, and a farm could not tell which results rest on one login alone. Each call
-- that hands in outcomes now leaves a row: one for a whole batch of jobs. The worker's node and login are
-- kept for ever, since the worker's own row goes some months after it ended.
-- oldest program: 0062

CREATE TABLE worker_names (
    worker_id bigint PRIMARY KEY,
    login     text NOT NULL,
    node      text NOT NULL
);
INSERT INTO worker_names SELECT w.id, w.login, w.node FROM workers w;

CREATE FUNCTION name_worker() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO worker_names VALUES (NEW.id, NEW.login, NEW.node) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER name_worker AFTER INSERT ON workers FOR EACH ROW EXECUTE FUNCTION name_worker();

-- Outcomes of these jobs' rounds (element by element) came from that worker; again when a round came in
-- parts or was measured again.
CREATE TABLE deliveries (
    campaign_id bigint NOT NULL,
    worker_id   bigint NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    job_ids     bigint[] NOT NULL,
    numbers     integer[] NOT NULL
) PARTITION BY LIST (campaign_id);

CREATE OR REPLACE FUNCTION add_partitions(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    c campaigns;
    parents text[] := ARRAY['jobs', 'job_ends', 'rounds', 'outcomes', 'results', 'deliveries'];
    parent text;
BEGIN
    SELECT * INTO c FROM campaigns WHERE id = campaign;
    IF c.strategy = 'prior' THEN
        parents := parents || 'priors'::text;
    END IF;
    IF c.target NOT LIKE 'cpu-%' THEN
        parents := parents || 'round_conditions'::text;
    END IF;
    FOREACH parent IN ARRAY parents LOOP
        PERFORM add_partition(campaign, parent);
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'skipjack_coordinator') THEN
        EXECUTE format('GRANT SELECT ON %I TO skipjack_coordinator', 'results_' || campaign);
    END IF;
END $$;

SELECT add_partition(c.id, 'deliveries') FROM campaigns c
WHERE to_regclass('jobs_' || c.id) IS NOT NULL;

CREATE OR REPLACE VIEW dropped_partitions AS
    SELECT parent.relname AS parent, child.relname AS child,
           coalesce(i.inhdetachpending, false) AS pending, i.inhrelid IS NULL AS detached
    FROM pg_class child
    JOIN pg_class parent ON parent.relkind = 'p' AND parent.relnamespace = child.relnamespace
         AND parent.relname = regexp_replace(child.relname, '_[0-9]+$', '')
    LEFT JOIN pg_inherits i ON i.inhrelid = child.oid
    WHERE child.relkind = 'r' AND child.relnamespace = 'skipjack'::regnamespace
      AND parent.relname IN ('jobs', 'job_ends', 'rounds', 'outcomes', 'results', 'priors',
                             'round_conditions', 'remeasures', 'deliveries')
      AND NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE child.relname = parent.relname || '_' || c.id);

-- Called before the outcomes are stored, while the jobs are still in the bundles that were claimed. A call
-- that is refused leaves no row: both are one transaction.
CREATE FUNCTION note_delivery(campaign bigint, items outcomes[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO deliveries (campaign_id, worker_id, job_ids, numbers)
    SELECT campaign, held.worker, array_agg(i.job_id), array_agg(i.number)
    FROM unnest(items) AS i
    CROSS JOIN LATERAL (
        SELECT coalesce(
            (SELECT b.claimed_by FROM bundles b
             WHERE b.campaign_id = campaign AND b.fence = i.fence LIMIT 1),
            (SELECT e.claimed_by FROM job_ends e
             WHERE e.campaign_id = campaign AND e.job_id = i.job_id), 0)) AS held(worker)
    WHERE held.worker <> 0
    GROUP BY held.worker;
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.store_partial(campaign bigint, items outcomes[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM note_delivery(campaign, items);
    PERFORM store_partial(campaign, items);
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.store_rounds(campaign bigint, items outcomes[],
                                                      kept results[], more boolean[],
                                                      seconds double precision[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_seconds(seconds);
    PERFORM note_delivery(campaign, items);
    PERFORM store_rounds(campaign, items, kept, more, possible_seconds(campaign, seconds));
END $$;

-- The workers that measured a job, each once; none where that was before this migration, or the job took over
-- what another campaign had measured.
CREATE VIEW job_workers AS
    SELECT d.campaign_id, m.job_id, d.worker_id, n.login, n.node, count(DISTINCT m.number) AS rounds,
           max(d.at) AS last_at
    FROM deliveries d
    CROSS JOIN LATERAL unnest(d.job_ids, d.numbers) AS m(job_id, number)
    LEFT JOIN worker_names n ON n.worker_id = d.worker_id
    GROUP BY d.campaign_id, m.job_id, d.worker_id, n.login, n.node;

-- A job that takes over results takes over who measured them.
CREATE FUNCTION measurers(campaign bigint, job bigint) RETURNS text[]
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT w.login ORDER BY w.login) FILTER (WHERE w.login IS NOT NULL), '{}')
    FROM job_workers w WHERE w.campaign_id = campaign AND w.job_id = job
$$;

-- What ships remembers whose workers measured it, also when its campaign is dropped.
ALTER TABLE golden_rows ADD COLUMN measured_by text[];
ALTER TABLE golden_proposed ADD COLUMN measured_by text[];
CREATE FUNCTION name_measurers() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NEW.measured_by IS NULL THEN
        NEW.measured_by := measurers(NEW.from_campaign, NEW.from_job);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER name_measurers BEFORE INSERT ON golden_proposed
    FOR EACH ROW EXECUTE FUNCTION name_measurers();

-- ---- times that cannot be ----

-- Operations that any algorithm needs at the least. A direct sum takes two for each tap of each output;
-- Winograd's and FFT's algorithms save at most as many of them as the filter has taps. What the worker says
-- of its solution's operations is not believed here: one that says 0 could hand in any time.
CREATE FUNCTION fewest_flops(p problems) RETURNS double precision
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT 2.0 * p.n * p.k * (p.c / p.groups) *
           least(p.out_size[1]::double precision * p.out_size[2] * p.out_size[3],
                 p.in_size[1]::double precision * p.in_size[2] * p.in_size[3])
$$;

CREATE OR REPLACE FUNCTION check_results_possible(campaign bigint, kept results[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    peaks jsonb;
    k record;
BEGIN
    SELECT t.type_peaks INTO peaks FROM campaigns c JOIN targets t ON t.id = c.target
    WHERE c.id = campaign;
    IF peaks IS NULL THEN
        RETURN;
    END IF;
    FOR k IN
        SELECT r.job_id, r.config_text, r.median_ms, need.ms
        FROM (SELECT u.job_id, array_agg(u) AS rows FROM unnest(kept) AS u GROUP BY u.job_id) AS g
        CROSS JOIN LATERAL ( -- looked up once a job, by its key: OFFSET keeps it apart
            SELECT (peaks->>(p.types[1]))::double precision AS peak, fewest_flops(p) AS fewest
            FROM jobs j JOIN problems p ON p.id = j.problem_id
            WHERE j.campaign_id = campaign AND j.id = g.job_id OFFSET 0) AS its
        CROSS JOIN LATERAL unnest(g.rows) AS r
        CROSS JOIN LATERAL (
            SELECT CASE WHEN its.peak > 0
                        THEN greatest(r.flops, its.fewest) / its.peak * 1e3 ELSE 0 END AS ms) AS need
        WHERE r.median_ms < need.ms LIMIT 1
    LOOP
        PERFORM refuse_handed(k.job_id, format(
            'config %s took %s ms, the target needs %s ms for its operations', k.config_text,
            k.median_ms, k.ms));
    END LOOP;
END $$;

INSERT INTO entry_points (role, name) VALUES ('skipjack_reader', 'measurers');

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
