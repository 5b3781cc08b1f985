-- Winners: the best known config for each problem, solver and target, from which a
-- search with the strategy prior begins.

-- solver: a name, for all of its revisions. time_ms: 0 if the config was never measured here.
-- origin: 0 for the golden version; 1 for the farm's own campaigns, of which the
-- fastest config counts, also after its campaign was dropped; -ID for a foreign
-- campaign, whose rows go with it.
-- likeness must be equal for two problems to be compared at all; sizes are
-- logarithms, and work is a sum of them.
CREATE TABLE winners (
    solver      text NOT NULL,
    target      text NOT NULL,
    problem_id  bigint NOT NULL,
    origin      bigint NOT NULL,
    config_text text NOT NULL,
    time_ms     double precision NOT NULL,
    likeness    text NOT NULL,
    work        real NOT NULL,
    sizes       real[] NOT NULL,
    PRIMARY KEY (solver, target, problem_id, origin)
);
CREATE INDEX winners_nearest ON winners (solver, likeness, work);
CREATE INDEX winners_foreign ON winners (origin) WHERE origin < 0;

-- How far a campaign was gathered: ends, how many of its jobs had ended; final, no
-- more jobs can end; solvers, the solvers gathered of a foreign campaign.
CREATE TABLE winner_marks (
    campaign_id bigint PRIMARY KEY,
    ends        bigint NOT NULL,
    final       boolean NOT NULL,
    solvers     text NOT NULL
);

-- The golden version of each target that was gathered last.
CREATE TABLE winner_versions (
    target  text PRIMARY KEY,
    version integer NOT NULL
);
