-- Foreign campaigns: what other programs measured, as read from their files.

-- A solver's time for a problem. row_problem_id: the problem that stands for all
-- problems of one perf-db row; equal to problem_id for that problem itself.
CREATE TABLE foreign_times (
    campaign_id     bigint NOT NULL,
    problem_id      bigint NOT NULL,
    row_problem_id  bigint NOT NULL,
    time_ms         double precision NOT NULL CHECK (time_ms > 0 AND time_ms < 1e12),
    workspace_bytes bigint NOT NULL CHECK (workspace_bytes >= 0),
    solver          text NOT NULL,
    algorithm       text NOT NULL,
    PRIMARY KEY (campaign_id, problem_id, solver)
);

-- A solver's perf config for the problem that stands for a perf-db row.
CREATE TABLE foreign_params (
    campaign_id bigint NOT NULL,
    problem_id  bigint NOT NULL,
    solver      text NOT NULL,
    params      text NOT NULL,
    PRIMARY KEY (campaign_id, problem_id, solver)
);
