-- Jobs: what was planned, which jobs wait or are worked on, and how jobs ended.
-- Partitioned tables have one partition a campaign, so dropping a campaign drops
-- tables. No foreign key refers to a partitioned table or from one.

CREATE TYPE job_state AS ENUM (
    'ready', 'building', 'built', 'evaluating', 'done', 'failed', 'cancelled');

CREATE SEQUENCE job_ids;
CREATE SEQUENCE fences;

-- What was planned. position is the job's place in its campaign, 1 for the job
-- that matters most.
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

-- Jobs of one campaign and solver that wait or are worked on together: the rows
-- that change. A job that has neither ended nor been cancelled is in exactly one.
-- A claim gives a bundle a new fence, from a sequence that never goes back.
-- is_partial: some outcomes of the current round are stored already.
-- claimed_by: the worker that claimed the jobs last, kept after the jobs were lost
-- or given back: its results are accepted until another worker claims.
-- remeasures: the bundle measures again; such a bundle holds one job.
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
    claimed_by    bigint,
    remeasures    boolean NOT NULL DEFAULT false,
    CHECK ((worker_id IS NOT NULL) = (state IN ('building', 'evaluating')))
) WITH (fillfactor = 50);
CREATE INDEX bundles_claim ON bundles (campaign_id, state, round_no, position);
CREATE INDEX bundles_fence ON bundles (campaign_id, fence);
CREATE INDEX bundles_leases ON bundles (worker_id) WHERE worker_id IS NOT NULL;

-- How a job ended; an open job has no row. rounds: how many rounds the job had.
-- by_budget: the budget ended the job, and a larger budget opens it again.
-- fence: of the claim that ended the job, 0 if no claim did.
-- lost_state, claimed_by: set for a job that failed since its worker was lost three
-- times. A late result of that worker under this fence goes on from lost_state.
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
    claimed_by  bigint,
    PRIMARY KEY (campaign_id, job_id),
    CHECK ((failure <> @FAILURE_NONE) = (state = 'failed')),
    CHECK ((lost_state IS NOT NULL) = (failure = @FAILURE_WORKER_LOST)),
    CONSTRAINT end_is_fit CHECK (
        (failure BETWEEN @FAILURE_NONE AND @FAILURE_REFUSED_BY_CHECK OR failure = @FAILURE_OVER_LIMITS) AND coalesce(length(detail), 0) <= 65536)
) PARTITION BY LIST (campaign_id);

-- How much of a job's question earlier campaigns had answered when its campaign was
-- made: reason is a number of enum job_reason (job_reason.h), the closest match
-- found; source the campaign of that match; configs how many configs were taken over
-- one by one; drifted how many were not, since their device drifted meanwhile.
-- A job without a row has a problem that no campaign of the target had. Rounds that
-- hold configs taken over have fence 0, or -1 if they do not count for the limit of
-- configs. A campaign gets its partition when it has such jobs.
CREATE TABLE job_origins (
    campaign_id bigint NOT NULL,
    job_id      bigint NOT NULL,
    reason      smallint NOT NULL,
    source      bigint NOT NULL,
    configs     integer NOT NULL,
    drifted     integer NOT NULL,
    PRIMARY KEY (campaign_id, job_id)
) PARTITION BY LIST (campaign_id);

-- Devices that a job failed on, or was being measured on when the device failed.
-- worker_id, fence: of the claim under which the device failed.
CREATE TABLE job_faults (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    job_id      bigint NOT NULL,
    device      text NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    worker_id   bigint,
    fence       bigint,
    PRIMARY KEY (campaign_id, job_id, device)
);

-- The configs that a job's search begins with, as texts, the nearest first. A
-- job's row is made when its first round is claimed for building, and never changes:
-- whoever builds its rounds gets the same configs.
CREATE TABLE priors (
    campaign_id bigint NOT NULL,
    job_id      bigint NOT NULL,
    configs     text[] NOT NULL,
    PRIMARY KEY (campaign_id, job_id)
) PARTITION BY LIST (campaign_id);

-- Rounds that measure again, kept after they are done: configs (arrays of values)
-- are measured besides the default config, which shows drift.
-- keeps_all: all of them become kept results. not_by: workers of these logins may
-- build the round, but not evaluate it.
-- golden_solver, golden_since: a round that golden asked for is measured beside this
-- golden entry: its solver, and the version that it came with.
-- A campaign gets its partition with its first such round.
CREATE TABLE remeasures (
    campaign_id   bigint NOT NULL,
    job_id        bigint NOT NULL,
    number        integer NOT NULL,
    configs       jsonb NOT NULL,
    keeps_all     boolean NOT NULL,
    not_by        text[] NOT NULL DEFAULT '{}',
    asked_at      timestamptz NOT NULL DEFAULT now(),
    golden_solver text,
    golden_since  integer,
    PRIMARY KEY (campaign_id, job_id, number)
) PARTITION BY LIST (campaign_id);
