-- oldest program: 0012
-- History: what each solver reached for each problem and target, night by night. It refers to no
-- campaign's partition, so that dropping a campaign loses nothing, and it is narrow, so that
-- it can be kept for years: schema/LOAD.md has its size.

-- A series is the points of one solver, in all its revisions, for a problem and a target.
CREATE TABLE history_series (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target     text NOT NULL,
    problem_id bigint NOT NULL REFERENCES problems,
    solver     text NOT NULL,
    UNIQUE (target, problem_id, solver)
);
CREATE INDEX history_series_problems ON history_series (problem_id);

-- Revisions of solvers, by a number as narrow as a point needs.
CREATE TABLE history_versions (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    solver_id bigint NOT NULL UNIQUE REFERENCES solvers
);

-- Configs, stacks and nodes: each text once. A stack may be longer than a row of a B-tree.
CREATE TABLE history_texts (
    id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    text text NOT NULL,
    EXCLUDE USING hash (text WITH =)
);

-- A point: a series in one night. The columns stand in the order of their widths, so that a row
-- has no padding, and none is NULL, so that it has no bitmap. Vacuum comes early, so that new nights
-- fill the space of those that were thinned.
--
-- campaign_id: the campaign, which may be dropped. version: a row of history_versions.
-- config, stack, node: rows of history_texts.
-- median_ms, spread, n: of the config that won its job; 0 if the job failed. n is at most 32767.
-- fastest_ms, slowest_ms: the extremes of the medians of all nights that the point stands for.
-- nights: how many these are. 1, until thinning folds later points of the same state into it.
-- drift, sm_mhz_min, sm_mhz_max, throttle: of the round that measured the config; 0 if unknown.
-- failure: why the job failed, @FAILURE_NONE if it did not.
-- wins: that night the solver was the problem's winner, by the newest points of all solvers.
-- older: the time is from before this night, since the job took the config over or
-- did not measure it again.
CREATE TABLE history (
    series      integer NOT NULL,
    night       date NOT NULL,
    campaign_id integer NOT NULL,
    version     integer NOT NULL,
    config      integer NOT NULL,
    stack       integer NOT NULL,
    node        integer NOT NULL,
    median_ms   real NOT NULL,
    spread      real NOT NULL,
    fastest_ms  real NOT NULL,
    slowest_ms  real NOT NULL,
    drift       real NOT NULL,
    n           smallint NOT NULL,
    nights      smallint NOT NULL DEFAULT 1,
    sm_mhz_min  smallint NOT NULL,
    sm_mhz_max  smallint NOT NULL,
    throttle    smallint NOT NULL,
    failure     smallint NOT NULL,
    wins        boolean NOT NULL DEFAULT false,
    older       boolean NOT NULL,
    PRIMARY KEY (series, night)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- The night to which a campaign's measurements since a time belong. Without a row they belong to the
-- day that was 12 hours before.
CREATE TABLE history_nights (
    campaign_id bigint NOT NULL,
    since       timestamptz NOT NULL,
    night       date NOT NULL,
    PRIMARY KEY (campaign_id, since)
);

-- How far a campaign was gathered. progress: its ended jobs and their rounds; final: nothing can
-- be added, unless the campaign becomes active again; whole: it was gathered to its last job at
-- least once.
CREATE TABLE history_marks (
    campaign_id bigint PRIMARY KEY,
    progress    bigint NOT NULL,
    final       boolean NOT NULL,
    whole       boolean NOT NULL
);

-- One row: how points are thinned by age. Each night stays for dense_days; then the first night
-- of each week stays until weekly_days; then the first of each month, for ever. weeks_done,
-- months_done: points before these days were thinned.
CREATE TABLE history_retention (
    dense_days  integer NOT NULL DEFAULT 90 CHECK (dense_days BETWEEN 7 AND 36500),
    weekly_days integer NOT NULL DEFAULT 730 CHECK (weekly_days BETWEEN dense_days AND 36500),
    weeks_done  date NOT NULL DEFAULT '-infinity',
    months_done date NOT NULL DEFAULT '-infinity'
);
INSERT INTO history_retention DEFAULT VALUES;
