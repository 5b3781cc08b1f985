-- Campaigns, their jobs, the workers that hold them, and what came out.

CREATE TYPE campaign_state AS ENUM ('active', 'paused', 'done', 'cancelled');

-- Rows change with every round stored, so pages keep room for HOT updates.
CREATE TABLE campaigns (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           text NOT NULL,
    identity       text NOT NULL,
    target         text NOT NULL REFERENCES targets,
    stack          text NOT NULL,
    state          campaign_state NOT NULL DEFAULT 'active',
    strategy       text NOT NULL,
    seed           bigint NOT NULL,
    configs_limit  integer NOT NULL,
    round_configs  integer NOT NULL,
    budget_seconds double precision NOT NULL,
    build_only     boolean NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX ON campaigns (identity);

-- Working time, in parts: whoever adds to the same row waits for the other's
-- commit, so each connection adds to one of its own.
CREATE TABLE campaign_spent (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    part        integer NOT NULL,
    seconds     double precision NOT NULL,
    PRIMARY KEY (campaign_id, part)
) WITH (fillfactor = 50);

-- A worker is one process on a node. Its beat renews all of its leases: a
-- lease ends when the worker has not been heard of for the job's lease_seconds.
CREATE TABLE workers (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node     text NOT NULL,
    process  text NOT NULL,
    target   text NOT NULL,
    stack    text NOT NULL,
    beat_at  timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    UNIQUE (node, process)
) WITH (fillfactor = 50);

CREATE TYPE job_state AS ENUM (
    'ready', 'building', 'built', 'evaluating', 'done', 'failed', 'cancelled');

-- round_no is the round to build or evaluate next, failure a number of
-- failure.h, ended_by_budget what a larger budget opens again.
CREATE TABLE jobs (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id     bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    problem_id      bigint NOT NULL REFERENCES problems,
    solver_id       bigint NOT NULL REFERENCES solvers,
    priority        double precision NOT NULL,
    multiplicity    integer NOT NULL,
    state           job_state NOT NULL DEFAULT 'ready',
    round_no        integer NOT NULL DEFAULT 0,
    fence           bigint NOT NULL DEFAULT 0,
    strikes         smallint NOT NULL DEFAULT 0,
    worker_id       bigint,
    claim_token     bigint,
    claimed_at      timestamptz,
    progress_at     timestamptz,
    lease_seconds   double precision,
    failure         smallint NOT NULL DEFAULT 0,
    detail          text,
    reused          boolean NOT NULL DEFAULT false,
    ended_by_budget boolean NOT NULL DEFAULT false,
    UNIQUE (campaign_id, problem_id, solver_id),
    CHECK ((worker_id IS NOT NULL) = (state IN ('building', 'evaluating'))),
    CHECK ((failure <> 0) = (state = 'failed'))
) WITH (fillfactor = 70);
CREATE INDEX jobs_claim ON jobs (campaign_id, state, round_no, priority DESC, id);
CREATE INDEX jobs_leases ON jobs (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX jobs_reuse ON jobs (problem_id, solver_id) WHERE state = 'done';

-- The moves of a job. Beside the picture in README.md: a result that comes
-- after its lease was lost moves on from where the loss left the job.
CREATE TABLE job_moves (
    old job_state NOT NULL,
    new job_state NOT NULL,
    PRIMARY KEY (old, new)
);
INSERT INTO job_moves VALUES
    ('ready', 'building'), ('building', 'built'), ('built', 'evaluating'),
    ('evaluating', 'ready'), ('evaluating', 'done'),
    ('building', 'ready'), ('evaluating', 'built'),                     -- lost or released
    ('building', 'done'), ('ready', 'done'), ('built', 'done'),         -- nothing left, no budget
    ('ready', 'failed'), ('building', 'failed'), ('built', 'failed'), ('evaluating', 'failed'),
    ('ready', 'cancelled'), ('building', 'cancelled'), ('built', 'cancelled'),
    ('evaluating', 'cancelled'),
    ('failed', 'ready'), ('done', 'ready'),                             -- retry, more budget
    ('ready', 'built'), ('built', 'ready'), ('failed', 'built'), ('failed', 'done'); -- late results

CREATE FUNCTION check_job_move() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM job_moves m WHERE m.old = OLD.state AND m.new = NEW.state) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('job %s cannot go from %s to %s', OLD.id, OLD.state, NEW.state);
    END IF;
    IF NEW.fence < OLD.fence THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('the fence of job %s cannot go back', OLD.id);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER check_move BEFORE UPDATE OF state, fence ON jobs
    FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.fence <> NEW.fence)
    EXECUTE FUNCTION check_job_move();

-- The move check lets a row keep its state.
INSERT INTO job_moves SELECT s, s FROM unnest(enum_range(NULL::job_state)) AS s;

-- One packed row a round. config_values holds the configs one after another,
-- config_counts how many values each has; the other arrays have one element a
-- config. The last five columns sum up what progress reports need.
CREATE TABLE rounds (
    job_id        bigint NOT NULL REFERENCES jobs ON DELETE CASCADE,
    number        integer NOT NULL,
    is_open       boolean NOT NULL,
    stack         text NOT NULL,
    drift         double precision NOT NULL,
    config_counts smallint[] NOT NULL,
    config_values integer[] NOT NULL,
    kernel_keys   text[] NOT NULL,
    failures      smallint[] NOT NULL,
    n             integer[] NOT NULL,
    min_ms        double precision[] NOT NULL,
    median_ms     double precision[] NOT NULL,
    spread        double precision[] NOT NULL,
    error         double precision[] NOT NULL,
    build_seconds double precision[] NOT NULL,
    eval_seconds  double precision[] NOT NULL,
    details       text[] NOT NULL,
    evaluated     integer NOT NULL,
    pending       integer NOT NULL,
    kernels       integer NOT NULL,
    total_build_seconds double precision NOT NULL,
    total_eval_seconds  double precision NOT NULL,
    PRIMARY KEY (job_id, number)
);

-- The configs worth keeping of a job, rank 0 the best.
CREATE TABLE results (
    job_id          bigint NOT NULL REFERENCES jobs ON DELETE CASCADE,
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
    PRIMARY KEY (job_id, rank)
);

-- Configs that crashed or hung, for a solver revision, a problem and a target.
CREATE TABLE quarantine (
    solver_id  bigint NOT NULL REFERENCES solvers,
    problem_id bigint NOT NULL REFERENCES problems,
    target     text NOT NULL,
    config     integer[] NOT NULL,
    failure    smallint NOT NULL,
    detail     text NOT NULL,
    since      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (solver_id, problem_id, target, config)
);

-- The farm's diary. It outlives what it speaks of.
CREATE TABLE events (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    kind        text NOT NULL,
    campaign_id bigint,
    job_id      bigint,
    worker_id   bigint,
    detail      text NOT NULL
);
CREATE INDEX ON events (campaign_id, id);

-- A job that failed only because its worker was given up may still be saved by
-- the result that comes late: the fence decides.
CREATE FUNCTION was_given_up(job jobs) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT job.state = 'failed' AND job.failure = 13 $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
