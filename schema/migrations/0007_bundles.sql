-- The queue moves bundles of jobs, not jobs, so that a job leaves no trail of
-- dead rows behind: what is planned, proposed, measured and ended is inserted
-- once, in tables with a partition a campaign, and only the few rows that say
-- who waits and who works change. What lay in the former tables is moved.

DROP VIEW kernels_needed;
DROP FUNCTION collect_kernels(), reuse_jobs(bigint), create_campaign(jsonb, jsonb),
    reopen_jobs(bigint, bigint[]), change_campaign(bigint, text),
    extend_campaign(bigint, double precision), configs_tried(bigint), release_job(bigint, bigint),
    finish_job(bigint, bigint), fail_job(bigint, bigint, smallint, text),
    store_round(bigint, bigint, jsonb, jsonb, boolean, double precision),
    replace_results(bigint, jsonb, text), store_partial(bigint, bigint, jsonb),
    store_built(bigint, bigint, jsonb), write_round(bigint, jsonb, boolean),
    end_worker(bigint, boolean), heartbeat(bigint), lose_jobs(bigint[]),
    release_claim(bigint, bigint), release_jobs(bigint[]),
    claim_jobs(bigint, boolean, bigint, text, text[], integer, double precision, bigint),
    end_spent_jobs(bigint), end_job(bigint, boolean, integer),
    settle_campaign(bigint, double precision), has_open_jobs(bigint, integer),
    refuse_state(jobs, text), lock_job(bigint, bigint), was_given_up(jobs);
DROP TRIGGER check_move ON jobs;
DROP FUNCTION check_job_move();
DROP TABLE job_moves;
ALTER TABLE jobs RENAME TO former_jobs;
ALTER TABLE rounds RENAME TO former_rounds;
ALTER TABLE results RENAME TO former_results;
DO $$
DECLARE
    named record;
BEGIN
    FOR named IN SELECT c.relname FROM pg_class c
                 WHERE c.relnamespace = 'skipjack'::regnamespace AND c.relkind = 'i'
                   AND c.relname ~ '^(jobs|rounds|results)_'
    LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', named.relname, 'former_' || named.relname);
    END LOOP;
END $$;

-- What says who works on a campaign, and when: only workers with the pool's
-- label, '' for any; the highest priority first; among equal ones the least
-- working time for its share.
ALTER TABLE campaigns
    ADD COLUMN pool     text NOT NULL DEFAULT '',
    ADD COLUMN priority integer NOT NULL DEFAULT 0,
    ADD COLUMN share    double precision NOT NULL DEFAULT 1 CHECK (share > 0);

-- carried: "name:revision:hash" of its solvers, NULL for any.
ALTER TABLE workers
    ADD COLUMN labels  text[] NOT NULL DEFAULT '{}',
    ADD COLUMN builds  boolean NOT NULL DEFAULT true,
    ADD COLUMN carried text[],
    ADD COLUMN drain   boolean NOT NULL DEFAULT false; -- it was asked to end

CREATE SEQUENCE job_ids;
CREATE SEQUENCE fences;

-- What was planned. position is the job's place in its campaign, 1 for what
-- matters most.
CREATE TABLE jobs (
    campaign_id  bigint NOT NULL,
    id           bigint NOT NULL DEFAULT nextval('job_ids'),
    problem_id   bigint NOT NULL,
    solver_id    bigint NOT NULL,
    position     bigint NOT NULL,
    priority     double precision NOT NULL,
    multiplicity integer NOT NULL,
    PRIMARY KEY (campaign_id, id),
    UNIQUE (campaign_id, problem_id, solver_id)
) PARTITION BY LIST (campaign_id);

-- How a job came to its end; a job has no row while it goes round. rounds:
-- those it had. failure is a number of failure.h, by_budget what a larger
-- budget opens again. fence is of the claim that ended it, 0 where none did;
-- lost_state where the worker was lost three times: its result, should it come
-- late under this fence, goes on from there.
CREATE TABLE job_ends (
    campaign_id bigint NOT NULL,
    job_id      bigint NOT NULL,
    state       job_state NOT NULL CHECK (state IN ('done', 'failed')),
    rounds      integer NOT NULL,
    failure     smallint NOT NULL,
    detail      text,
    by_budget   boolean NOT NULL DEFAULT false,
    reused      boolean NOT NULL DEFAULT false,
    strikes     smallint NOT NULL DEFAULT 0,
    fence       bigint NOT NULL,
    lost_state  job_state,
    PRIMARY KEY (campaign_id, job_id),
    CHECK ((failure <> 0) = (state = 'failed')),
    CHECK ((lost_state IS NOT NULL) = (failure = 13))
) PARTITION BY LIST (campaign_id);

-- A round as it was proposed and built: one packed row. config_values holds
-- the configs one after another, config_counts how many values each has; other
-- arrays have one element a config. failures: what building said of it, 15
-- (pending) where it can be evaluated. fence is of the claim that built it.
CREATE TABLE rounds (
    campaign_id   bigint NOT NULL,
    job_id        bigint NOT NULL,
    number        integer NOT NULL,
    fence         bigint NOT NULL,
    stack         text NOT NULL,
    config_counts smallint[] NOT NULL,
    config_values integer[] NOT NULL,
    kernel_keys   text[] NOT NULL,
    failures      smallint[] NOT NULL,
    details       text[] NOT NULL,
    build_seconds double precision[] NOT NULL,
    kernels       integer NOT NULL,
    evaluated     integer NOT NULL,
    pending       integer NOT NULL,
    total_build_seconds double precision NOT NULL,
    PRIMARY KEY (campaign_id, job_id, number)
) PARTITION BY LIST (campaign_id);

-- What came of a round's configs; is_open while some are not evaluated yet.
CREATE TABLE outcomes (
    campaign_id  bigint NOT NULL,
    job_id       bigint NOT NULL,
    number       integer NOT NULL,
    is_open      boolean NOT NULL,
    fence        bigint NOT NULL,
    stack        text NOT NULL,
    drift        double precision NOT NULL,
    failures     smallint[] NOT NULL,
    details      text[] NOT NULL,
    n            integer[] NOT NULL,
    min_ms       double precision[] NOT NULL,
    median_ms    double precision[] NOT NULL,
    spread       double precision[] NOT NULL,
    error        double precision[] NOT NULL,
    eval_seconds double precision[] NOT NULL,
    evaluated    integer NOT NULL,
    pending      integer NOT NULL,
    total_eval_seconds double precision NOT NULL,
    PRIMARY KEY (campaign_id, job_id, number)
) PARTITION BY LIST (campaign_id);

-- The configs worth keeping of a job, rank 0 the best.
CREATE TABLE results (
    campaign_id     bigint NOT NULL,
    job_id          bigint NOT NULL,
    rank            integer NOT NULL,
    config          integer[] NOT NULL,
    config_text     text NOT NULL,
    kernel_keys     text NOT NULL,
    stack           text NOT NULL,
    n               integer NOT NULL,
    min_ms          double precision NOT NULL,
    median_ms       double precision NOT NULL,
    spread          double precision NOT NULL,
    error           double precision NOT NULL,
    build_seconds   double precision NOT NULL,
    eval_seconds    double precision NOT NULL,
    workspace_bytes bigint NOT NULL,
    flops           double precision NOT NULL,
    is_default      boolean NOT NULL,
    PRIMARY KEY (campaign_id, job_id, rank)
) PARTITION BY LIST (campaign_id);

-- Jobs of one campaign and solver that wait or are worked on together: the
-- rows that change. A job that is not ended or cancelled is in exactly one.
-- A claim gives a bundle a new fence, from a sequence that never goes back.
-- is_partial: some of its rounds have outcomes already.
CREATE TABLE bundles (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id   bigint NOT NULL,
    solver_id     bigint NOT NULL,
    state         job_state NOT NULL CHECK (state IN ('ready', 'building', 'built', 'evaluating')),
    round_no      integer NOT NULL,
    position      bigint NOT NULL,
    job_ids       bigint[] NOT NULL CHECK (cardinality(job_ids) > 0),
    strikes       smallint NOT NULL DEFAULT 0,
    is_partial    boolean NOT NULL DEFAULT false,
    fence         bigint NOT NULL DEFAULT 0,
    worker_id     bigint,
    claim_token   bigint,
    claimed_at    timestamptz,
    progress_at   timestamptz,
    lease_seconds double precision,
    CHECK ((worker_id IS NOT NULL) = (state IN ('building', 'evaluating')))
) WITH (fillfactor = 50);
CREATE INDEX bundles_claim ON bundles (campaign_id, state, round_no, position);
CREATE INDEX bundles_fence ON bundles (campaign_id, fence);
CREATE INDEX bundles_leases ON bundles (worker_id) WHERE worker_id IS NOT NULL;

-- Gives a campaign its partitions. Attached ones are made beside their parent,
-- which does not stop those who work in others.
CREATE FUNCTION add_partitions(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['jobs', 'job_ends', 'rounds', 'outcomes', 'results']
    LOOP
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL, CHECK (campaign_id = %s))',
                       parent || '_' || campaign, parent, campaign);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%s)',
                       parent, parent || '_' || campaign, campaign);
    END LOOP;
END $$;

-- A round with what came of it so far.
CREATE VIEW round_rows AS
    SELECT r.campaign_id, r.job_id, r.number, coalesce(o.is_open, true) AS is_open,
           coalesce(o.stack, r.stack) AS stack, coalesce(o.drift, 0) AS drift,
           r.config_counts, r.config_values, r.kernel_keys,
           coalesce(o.failures, r.failures) AS failures, o.n, o.min_ms, o.median_ms, o.spread,
           o.error, r.build_seconds, o.eval_seconds, coalesce(o.details, r.details) AS details,
           coalesce(o.evaluated, r.evaluated) AS evaluated,
           coalesce(o.pending, r.pending) AS pending, r.kernels, r.total_build_seconds,
           coalesce(o.total_eval_seconds, 0) AS total_eval_seconds
    FROM rounds r LEFT JOIN outcomes o USING (campaign_id, job_id, number);

-- Where each job stands. What neither waits, works nor ended was cancelled.
CREATE VIEW job_rows AS
    SELECT j.campaign_id, j.id, j.problem_id, j.solver_id, j.position, j.priority, j.multiplicity,
           coalesce(e.state, b.state, 'cancelled') AS state,
           coalesce(e.rounds, b.round_no, 0) AS round_no, coalesce(e.fence, b.fence, 0) AS fence,
           coalesce(e.strikes, b.strikes, 0) AS strikes, b.worker_id,
           coalesce(e.failure, 0) AS failure, e.detail, coalesce(e.reused, false) AS reused,
           coalesce(e.by_budget, false) AS by_budget
    FROM jobs j
    LEFT JOIN job_ends e ON e.campaign_id = j.campaign_id AND e.job_id = j.id
    LEFT JOIN (bundles b CROSS JOIN LATERAL unnest(b.job_ids) AS member(job_id))
         ON b.campaign_id = j.campaign_id AND member.job_id = j.id;

-- What the former tables held.
SELECT add_partitions(id) FROM campaigns ORDER BY id;
INSERT INTO jobs (campaign_id, id, problem_id, solver_id, position, priority, multiplicity)
SELECT campaign_id, id, problem_id, solver_id,
       row_number() OVER (PARTITION BY campaign_id ORDER BY priority DESC, id), priority, multiplicity
FROM former_jobs;
INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, by_budget, reused,
                      strikes, fence, lost_state)
SELECT campaign_id, id, state, round_no, failure, detail, ended_by_budget, reused, strikes, fence,
       CASE WHEN failure = 13 THEN CASE WHEN EXISTS (
           SELECT 1 FROM former_rounds r WHERE r.job_id = former_jobs.id AND r.is_open)
           THEN 'built' ELSE 'ready' END END::job_state
FROM former_jobs WHERE state IN ('done', 'failed');
INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                     is_partial, fence, worker_id, claim_token, claimed_at, progress_at, lease_seconds)
SELECT f.campaign_id, f.solver_id, f.state, f.round_no, j.position, ARRAY[f.id], f.strikes,
       f.state IN ('built', 'evaluating'), f.fence, f.worker_id, f.claim_token, f.claimed_at, f.progress_at, f.lease_seconds
FROM former_jobs f JOIN jobs j ON j.campaign_id = f.campaign_id AND j.id = f.id
WHERE f.state IN ('ready', 'building', 'built', 'evaluating');
INSERT INTO rounds (campaign_id, job_id, number, fence, stack, config_counts, config_values,
                    kernel_keys, failures, details, build_seconds, kernels, evaluated, pending,
                    total_build_seconds)
SELECT j.campaign_id, r.job_id, r.number, j.fence, r.stack, r.config_counts, r.config_values,
       r.kernel_keys, r.failures, r.details, r.build_seconds, r.kernels, r.evaluated, r.pending,
       r.total_build_seconds
FROM former_rounds r JOIN former_jobs j ON j.id = r.job_id;
INSERT INTO outcomes (campaign_id, job_id, number, is_open, fence, stack, drift, failures, details,
                      n, min_ms, median_ms, spread, error, eval_seconds, evaluated, pending,
                      total_eval_seconds)
SELECT j.campaign_id, r.job_id, r.number, r.is_open, j.fence, r.stack, r.drift, r.failures,
       r.details, r.n, r.min_ms, r.median_ms, r.spread, r.error, r.eval_seconds, r.evaluated,
       r.pending, r.total_eval_seconds
FROM former_rounds r JOIN former_jobs j ON j.id = r.job_id
WHERE NOT r.is_open OR r.evaluated > 0;
INSERT INTO results
SELECT j.campaign_id, r.* FROM former_results r JOIN former_jobs j ON j.id = r.job_id;
SELECT setval('job_ids', greatest((SELECT max(id) FROM former_jobs), 1));
SELECT setval('fences', greatest((SELECT max(fence) FROM former_jobs), 1));
DROP TABLE former_results, former_rounds, former_jobs;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
