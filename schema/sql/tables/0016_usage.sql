-- Sums of ended campaigns, from which usage is answered.
-- oldest program: 0012

-- A problem of an ended campaign: its solvers with their best times in ms, the fastest first.
-- The elements of solvers are solvers.id. A campaign that works again loses its rows.
CREATE TABLE usage_sums (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    problem_id  bigint NOT NULL,
    solvers     bigint[] NOT NULL,
    times_ms    double precision[] NOT NULL,
    PRIMARY KEY (campaign_id, problem_id),
    CHECK (cardinality(solvers) = cardinality(times_ms) AND cardinality(solvers) > 0)
);
CREATE INDEX usage_sums_problem ON usage_sums (problem_id);

-- Usage reads the best config of each entry of a golden version: from this index alone, once the table was vacuumed.
CREATE INDEX golden_rows_usage ON golden_rows (target, problem_id)
    INCLUDE (solver_id, multiplicity, median_ms, since, until) WHERE rank = 0;

-- The campaigns whose sums are complete.
CREATE TABLE usage_summed (
    campaign_id bigint PRIMARY KEY REFERENCES campaigns ON DELETE CASCADE,
    at          timestamptz NOT NULL DEFAULT now()
);
