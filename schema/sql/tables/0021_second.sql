-- The second measurement: when the search of a problem has ended, its best configs are measured once more, together.
-- Its result ships. functions/finals.sql has the rules.

-- final_seconds: device time for a problem's second measurement, 0 for none.
ALTER TABLE campaigns
    ADD COLUMN final_seconds double precision NOT NULL DEFAULT 0 CHECK (final_seconds >= 0 AND final_seconds <= 1e6);

-- low_ms, high_ms: the interval of the median, of a result that was measured a second time. wins: it won the second
-- measurement of its problem.
ALTER TABLE results
    ADD COLUMN low_ms double precision,
    ADD COLUMN high_ms double precision,
    ADD COLUMN wins boolean NOT NULL DEFAULT false;
ALTER TABLE golden_rows
    ADD COLUMN low_ms double precision,
    ADD COLUMN high_ms double precision,
    ADD COLUMN wins boolean NOT NULL DEFAULT false;
ALTER TABLE golden_proposed
    ADD COLUMN low_ms double precision,
    ADD COLUMN high_ms double precision,
    ADD COLUMN wins boolean NOT NULL DEFAULT false;

-- The second measurement of a campaign's problem: asked for, done, or given up (state). job_id, number: the job whose
-- bundle carries it, the one of the fastest config, and its round. entrants: an array of objects, the configs to measure:
-- job, solver_id, rounds (of the job), config, config_text, kernel_keys, is_default, former (yesterday's winner), the
-- kept median_ms (null if it is not kept), and workspace_bytes, packed_bytes, flops, build_seconds.
-- solvers: "name:revision:hash" of all entrants. attempt: 0, and 1 more each time that a config outside turned out
-- to be in reach of the winner. fence: of the claim that stored it. winner: place among the entrants.
CREATE TABLE finals (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    problem_id  bigint NOT NULL,
    job_id      bigint NOT NULL,
    number      integer NOT NULL,
    state       text NOT NULL CHECK (state IN ('asked', 'stored', 'given up')),
    entrants    jsonb NOT NULL,
    solvers     text[] NOT NULL,
    attempt     integer NOT NULL DEFAULT 0,
    at          timestamptz NOT NULL DEFAULT now(),
    fence       bigint NOT NULL DEFAULT 0,
    winner      integer,
    detail      text NOT NULL DEFAULT '',
    PRIMARY KEY (campaign_id, problem_id)
);
CREATE INDEX finals_jobs ON finals (campaign_id, job_id);

-- Who won a problem's last second measurement on a target, whatever became of its campaign.
CREATE TABLE last_winners (
    target      text NOT NULL REFERENCES targets,
    problem_id  bigint NOT NULL REFERENCES problems,
    solver      text NOT NULL,
    config_text text NOT NULL,
    campaign_id bigint NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (target, problem_id)
);

-- A bundle that measures again holds one job.
CREATE INDEX bundles_again ON bundles (campaign_id, (job_ids[1])) WHERE remeasures;
