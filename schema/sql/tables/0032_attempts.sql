-- oldest program: 0020
-- What a search learns from, beside the configs that it begins with: how those did that were tried before.

-- The configs of a solver that the farm's own campaigns tried for a problem on a target, whatever the revision and the
-- software, each once, the newest last: the 80 fastest, and of the others the newest, 160 in all; kept when a campaign is
-- dropped. times_ms: the newest time of each, Infinity for one that failed.
CREATE TABLE attempts (
    solver       text NOT NULL,
    target       text NOT NULL,
    problem_id   bigint NOT NULL,
    config_texts text[] NOT NULL,
    times_ms     real[] NOT NULL CHECK (cardinality(times_ms) = cardinality(config_texts)),
    PRIMARY KEY (solver, target, problem_id)
);
