-- The farm as a whole: event log, counts, upkeep, turns, and the database's home.

-- The farm's event log. A row stays when its campaign, job or worker is removed.
CREATE TABLE events (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    kind        text NOT NULL,
    campaign_id bigint,
    job_id      bigint,
    worker_id   bigint,
    detail      text NOT NULL,
    CONSTRAINT event_is_fit CHECK (length(kind) <= 200 AND length(detail) <= 65536)
);
CREATE INDEX ON events (campaign_id, id);

-- Sums over all workers: about one row in ten seconds, for an hour.
CREATE TABLE farm_samples (
    at      timestamptz NOT NULL,
    jobs    double precision NOT NULL,
    configs double precision NOT NULL,
    kernels double precision NOT NULL
);
CREATE INDEX farm_samples_at ON farm_samples (at);

-- One row: the farm's last complete upkeep, whichever process did it.
CREATE TABLE upkeep_state (
    begun_at    timestamptz,
    finished_at timestamptz,
    seconds     double precision,
    report      jsonb
);
INSERT INTO upkeep_state DEFAULT VALUES;

-- Work that one session at a time does, and the session that does it. A turn ends with its session.
CREATE TABLE turns (
    name          text PRIMARY KEY,
    pid           integer NOT NULL,
    session_since timestamptz,
    since         timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- place: the server that the database was on in that epoch. A database that finds
-- itself in another place was restored from a backup (functions/restore.sql).
CREATE TABLE homes (
    epoch integer PRIMARY KEY,
    place text NOT NULL,
    since timestamptz NOT NULL DEFAULT now()
);
