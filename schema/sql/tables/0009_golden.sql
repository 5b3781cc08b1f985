-- Golden versions: what a target ships with. Rows are copies, with a reference to no
-- campaign, so a campaign may be dropped.

-- base: the newest approved version when this one was proposed, 0 for none.
-- restores: the version whose content a rollback brings back.
-- asked: SHA-256 of the rows that were asked for. counts: entries, by what became of them.
CREATE TABLE golden_versions (
    target          text NOT NULL REFERENCES targets,
    version         integer NOT NULL CHECK (version > 0),
    kind            text NOT NULL CHECK (kind IN ('propose', 'rollback')),
    base            integer NOT NULL CHECK (base >= 0),
    restores        integer,
    campaign_id     bigint,
    campaign_name   text,
    campaign_stack  text,
    asked           text NOT NULL,
    counts          jsonb NOT NULL,
    note            text NOT NULL,
    proposed_by     text NOT NULL,
    proposed_login  text NOT NULL DEFAULT session_user,
    proposed_at     timestamptz NOT NULL DEFAULT now(),
    approved_by     text,
    approved_login  text,
    approved_at     timestamptz,
    withdrawn_by    text,
    withdrawn_login text,
    withdrawn_at    timestamptz,
    pruned_by       text,
    pruned_login    text,
    pruned_at       timestamptz,
    PRIMARY KEY (target, version),
    CHECK ((kind = 'rollback') = (restores IS NOT NULL)),
    CHECK (approved_at IS NULL OR withdrawn_at IS NULL)
);

-- The kept configs of a problem with a solver come and go together, as one entry.
-- from_job tells entries apart, also after the job was dropped. A row belongs to the
-- versions from since until the one before until (NULL: to all that follow).
-- measured_by: the logins whose workers measured it.
CREATE TABLE golden_rows (
    target          text NOT NULL,
    problem_id      bigint NOT NULL REFERENCES problems,
    solver          text NOT NULL,
    rank            integer NOT NULL,
    since           integer NOT NULL,
    until           integer,
    solver_id       bigint NOT NULL REFERENCES solvers,
    multiplicity    integer NOT NULL,
    from_campaign   bigint NOT NULL,
    from_job        bigint NOT NULL,
    reason          text NOT NULL,
    config          integer[] NOT NULL,
    config_text     text NOT NULL,
    kernel_keys     text NOT NULL,
    stack           text NOT NULL,
    n               integer NOT NULL,
    min_ms          double precision NOT NULL,
    median_ms       double precision NOT NULL,
    spread          double precision NOT NULL,
    error           double precision NOT NULL,
    build_seconds   double precision NOT NULL,
    eval_seconds    double precision NOT NULL,
    workspace_bytes bigint NOT NULL,
    flops           double precision NOT NULL,
    is_default      boolean NOT NULL,
    drift           double precision NOT NULL DEFAULT 0,
    measured_by     text[],
    PRIMARY KEY (target, problem_id, solver, rank, since),
    FOREIGN KEY (target, since) REFERENCES golden_versions (target, version),
    CHECK (until > since)
);

-- Rows of versions that are proposed and not yet approved.
CREATE TABLE golden_proposed (
    LIKE golden_rows INCLUDING INDEXES INCLUDING DEFAULTS,
    CHECK (until IS NULL)
);
CREATE INDEX golden_rows_jobs ON golden_rows (target, from_job);
CREATE INDEX golden_proposed_jobs ON golden_proposed (target, from_job);

-- Whether another person must approve: the newest row of a target counts, else the
-- newest row without a target, which is for the whole farm. Rows are never changed.
CREATE TABLE golden_policies (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target      text REFERENCES targets,
    two_persons boolean NOT NULL,
    set_by      text NOT NULL,
    set_login   text NOT NULL DEFAULT session_user,
    set_at      timestamptz NOT NULL DEFAULT now()
);

-- What a proposal asks for, in pieces, each stored by a transaction of its own.
-- as_rank: the rank that the row gets in the version, NULL to keep the campaign's.
CREATE SEQUENCE golden_asked_numbers;
CREATE TABLE golden_asked (
    number    bigint NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    job_id    bigint NOT NULL,
    rank      integer NOT NULL,
    median_ms double precision NOT NULL,
    reason    text NOT NULL,
    as_rank   integer
);
CREATE INDEX ON golden_asked (number, job_id);
