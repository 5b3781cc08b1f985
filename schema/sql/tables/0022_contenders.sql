-- oldest program: 0020
-- What a search begins with, beside the winners: the next configs of the same solver, problem and target.

-- The fastest configs of a solver for a problem on a target, at most ten, from the farm's own campaigns; kept
-- when a campaign is dropped. time_ms: the newest time of each.
CREATE TABLE contenders (
    solver      text NOT NULL,
    target      text NOT NULL,
    problem_id  bigint NOT NULL,
    config_text text NOT NULL,
    time_ms     double precision NOT NULL,
    PRIMARY KEY (solver, target, problem_id, config_text)
);
