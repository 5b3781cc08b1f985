-- Campaigns, their working time, and who has worked on them.

CREATE TYPE campaign_state AS ENUM ('active', 'paused', 'done', 'cancelled');

-- The longest text of constraints on the software stack. A constraint of campaigns
-- calls this function, so it belongs to the table.
CREATE FUNCTION stack_most() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$ SELECT 1000 $$;

-- Rows change with every round stored, so pages keep space for HOT updates.
--
-- pool, priority and share say who works on a campaign, and when: only workers
-- with the pool's label ('' for any worker), the highest priority first, and among
-- equal priorities the campaign with the least working time for its share.
--
-- fair_at, fair_from: a campaign's fair time grows with its working time, slower
-- for a larger share. Fair time was fair_at when working time was fair_from.
-- Campaigns that compete (active, same target, same priority) are claimed from in
-- the order of their fair times. A campaign that joins them begins at the least fair
-- time among them: working time from before the competition counts for neither side.
--
-- deadline: NULL for none. workspace_limit: bytes, NULL for no limit.
-- solvers_asked: names and families of solvers, '' for all. trusted: logins whose
-- workers build code for the campaign's CPU workers.
-- has_origins: job_origins was filled; false for campaigns that only build.
CREATE TABLE campaigns (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            text NOT NULL,
    identity        text NOT NULL,
    target          text NOT NULL REFERENCES targets,
    stack           text NOT NULL,
    state           campaign_state NOT NULL DEFAULT 'active',
    strategy        text NOT NULL,
    seed            bigint NOT NULL,
    configs_limit   integer NOT NULL,
    round_configs   integer NOT NULL,
    budget_seconds  double precision NOT NULL,
    build_only      boolean NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    pool            text NOT NULL DEFAULT '',
    priority        integer NOT NULL DEFAULT 0,
    share           double precision NOT NULL DEFAULT 1 CHECK (share > 0),
    fair_at         double precision NOT NULL DEFAULT 0,
    fair_from       double precision NOT NULL DEFAULT 0,
    deadline        timestamptz,
    workspace_limit bigint CHECK (workspace_limit >= 0),
    dynamic_only    boolean NOT NULL DEFAULT false,
    deterministic   boolean NOT NULL DEFAULT false,
    tunable_only    boolean NOT NULL DEFAULT false,
    solvers_asked   text NOT NULL DEFAULT '',
    trusted         text[] NOT NULL DEFAULT '{}',
    has_origins     boolean NOT NULL DEFAULT false,
    CONSTRAINT foreign_is_done CHECK (strategy <> 'foreign' OR (state = 'done' AND NOT build_only)),
    CONSTRAINT campaign_is_fit CHECK (
        length(name) <= 1000 AND length(stack) <= stack_most() AND length(pool) <= 1000)
) WITH (fillfactor = 50);
CREATE INDEX ON campaigns (identity);
-- The same foreign files are imported once, whoever imports them at the same time.
CREATE UNIQUE INDEX foreign_once ON campaigns (identity) WHERE strategy = 'foreign';

-- Working time, in parts, so that two sessions seldom update the same row. A
-- session that finds a part locked adds another part.
CREATE TABLE campaign_spent (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    part        integer NOT NULL,
    seconds     double precision NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX campaign_spent_parts ON campaign_spent (campaign_id, part);

-- The campaigns that a worker ever had a job of: the worker may add to their
-- working time and to their event log. since is the worker's first claim of the
-- campaign; spent_seconds, what the worker reported, is bounded by the time since then.
CREATE TABLE claimed_campaigns (
    worker_id     bigint REFERENCES workers ON DELETE CASCADE,
    campaign_id   bigint REFERENCES campaigns ON DELETE CASCADE,
    since         timestamptz NOT NULL DEFAULT clock_timestamp(),
    spent_seconds double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (worker_id, campaign_id)
);
CREATE INDEX claimed_campaigns_campaign ON claimed_campaigns (campaign_id);

-- Campaigns that a claim failed on: the login that met the error, when it last
-- did, and the server's message.
CREATE TABLE campaign_faults (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    login       text NOT NULL,
    at          timestamptz NOT NULL,
    reason      text NOT NULL,
    PRIMARY KEY (campaign_id, login)
);

CREATE TABLE campaign_networks (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    version_id  bigint NOT NULL REFERENCES network_versions,
    PRIMARY KEY (campaign_id, version_id)
);
CREATE INDEX ON campaign_networks (version_id);
