-- Configs that crashed or hung, for a solver revision, a problem and a target.
-- campaign_id, job_id, worker_id, login: where it happened, and who reported it.
CREATE TABLE quarantine (
    solver_id   bigint NOT NULL REFERENCES solvers,
    problem_id  bigint NOT NULL REFERENCES problems,
    target      text NOT NULL,
    config      integer[] NOT NULL,
    failure     smallint NOT NULL,
    detail      text NOT NULL,
    since       timestamptz NOT NULL DEFAULT now(),
    campaign_id bigint,
    job_id      bigint,
    worker_id   bigint,
    login       text NOT NULL DEFAULT '',
    PRIMARY KEY (solver_id, problem_id, target, config),
    CONSTRAINT quarantine_is_fit CHECK (
        failure BETWEEN @FAILURE_NOT_APPLICABLE AND @FAILURE_REFUSED_BY_CHECK AND cardinality(config) <= 16 AND length(detail) <= 65536)
);
CREATE INDEX quarantine_target ON quarantine (target);
