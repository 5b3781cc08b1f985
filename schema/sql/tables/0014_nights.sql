-- Nights: what `run nightly.json` does once a day. A night plans jobs, each for a reason, has workers
-- tune them, judges what changed, and releases and reports it.
-- oldest program: 0012

-- What a night is at: it has done everything before, and does this next or now. C has the same list
-- (NIGHT_STATES in schema/results/store_nights.h); night_may_move() has the moves.
CREATE TYPE night_state AS ENUM (
    'planning', 'tuning', 'gathering', 'judging', 'confirming', 'settling', 'proposing', 'exporting',
    'reporting', 'telling', 'done');

-- night: the local date on which the night began, 12 hours before its start.
-- description: the night's file, as it was read when the night began.
-- deadline: nothing is tuned after it; NULL for none.
-- empty: the plan had no job. begun_by: node and process that worked on it last.
-- findings: regressions and failed steps; the exit status is 1 if there are any.
-- summary: what `run --json` prints at the end.
CREATE TABLE nights (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    night       date NOT NULL,
    state       night_state NOT NULL DEFAULT 'planning',
    description jsonb NOT NULL,
    deadline    timestamptz,
    empty       boolean NOT NULL DEFAULT false,
    begun_at    timestamptz NOT NULL DEFAULT now(),
    ended_at    timestamptz,
    begun_by    text NOT NULL DEFAULT '',
    findings    integer NOT NULL DEFAULT 0,
    summary     jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT nights_once UNIQUE (name, night),
    CONSTRAINT night_is_fit CHECK (length(name) BETWEEN 1 AND 1000 AND length(begun_by) <= 1000)
);
CREATE INDEX nights_newest ON nights (night DESC, id DESC);

-- The targets of a night. baseline: the golden version that the night compares with, 0 for none.
-- plan: counts by reason, and the estimate that was made before the night.
-- judged: what the night found, as coordinator/nights/regressions.h makes it; {} before that.
CREATE TABLE night_targets (
    night_id bigint NOT NULL REFERENCES nights ON DELETE CASCADE,
    target   text NOT NULL,
    stack    text NOT NULL,
    baseline integer NOT NULL,
    plan     jsonb NOT NULL,
    judged   jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (night_id, target)
);

-- The campaigns of a night: for each target one, and one more of a lower priority for its backfill.
-- A campaign may have been dropped since.
CREATE TABLE night_campaigns (
    night_id    bigint NOT NULL REFERENCES nights ON DELETE CASCADE,
    target      text NOT NULL,
    backfill    boolean NOT NULL,
    campaign_id bigint NOT NULL UNIQUE,
    PRIMARY KEY (night_id, target, backfill)
);

-- The jobs that a night works on, and why: reason is a number of enum night_reason, detail says what
-- exactly ("ConvWinograd r3 -> r4").
-- fresh: the job takes over nothing that earlier campaigns measured.
-- again: the job takes over, and is then measured again.
-- ended: how the job ended in its campaign, noted when the night has tuned; NULL before that.
-- 'unfinished': the deadline cut it, and the next night goes on with it.
CREATE TABLE night_jobs (
    night_id    bigint NOT NULL REFERENCES nights ON DELETE CASCADE,
    target      text NOT NULL,
    problem_id  bigint NOT NULL,
    solver_id   bigint NOT NULL,
    campaign_id bigint NOT NULL,
    job_id      bigint NOT NULL,
    reason      smallint NOT NULL,
    fresh       boolean NOT NULL,
    again       boolean NOT NULL,
    ended       text CHECK (ended IN ('done', 'failed', 'unfinished')),
    detail      text NOT NULL,
    PRIMARY KEY (night_id, target, problem_id, solver_id)
);
CREATE INDEX night_jobs_campaign ON night_jobs (campaign_id, job_id);

-- How each step of a night went. A step has the name of the state in which it runs. tries: how often
-- it was begun. failed: it was given up; detail says why.
CREATE TABLE night_steps (
    night_id bigint NOT NULL REFERENCES nights ON DELETE CASCADE,
    step     night_state NOT NULL,
    tries    integer NOT NULL DEFAULT 1,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    failed   boolean NOT NULL DEFAULT false,
    detail   text NOT NULL DEFAULT '',
    PRIMARY KEY (night_id, step)
);

-- Who may measure a round that measures again. only_nodes: only workers of these nodes evaluate it;
-- empty for all. not_nodes: workers of these nodes do not. Both count until places_until: if no such
-- worker came by then, any may evaluate the round.
ALTER TABLE remeasures
    ADD COLUMN only_nodes text[] NOT NULL DEFAULT '{}',
    ADD COLUMN not_nodes text[] NOT NULL DEFAULT '{}',
    ADD COLUMN places_until timestamptz;
