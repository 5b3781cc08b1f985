-- Workers: who they are, which devices they have, and which of them are idle.

-- A worker is one process on a node. Its heartbeat renews all of its leases: a
-- lease ends when the worker's last heartbeat is older than the lease_seconds of
-- the bundle. Rows change with every heartbeat, so pages keep space for HOT updates.
-- carried: "name:revision:hash" of each solver that the worker has, NULL for any.
-- drain: the worker was asked to end.
-- login: the database login that registered the worker; only the same login may
-- declare the worker dead.
-- counts: "jobs", "configs", "kernels" and "failures" (a failure's number to how
-- many configs) since the worker began.
CREATE TABLE workers (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node     text NOT NULL,
    process  text NOT NULL,
    target   text NOT NULL,
    stack    text NOT NULL,
    beat_at  timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    labels   text[] NOT NULL DEFAULT '{}',
    builds   boolean NOT NULL DEFAULT true,
    carried  text[],
    drain    boolean NOT NULL DEFAULT false,
    login    text NOT NULL DEFAULT '',
    counts   jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT workers_login_process_key UNIQUE (login, node, process),
    CONSTRAINT worker_is_fit CHECK (
        length(node) <= 1000 AND length(process) <= 1000 AND length(target) <= 63
        AND length(stack) <= 4096)
) WITH (fillfactor = 50);

-- The hash of the secret that a worker's process made when it registered. Its
-- sessions present the secret as the setting skipjack.secret.
CREATE TABLE worker_secrets (
    worker_id bigint PRIMARY KEY REFERENCES workers ON DELETE CASCADE,
    sha256    bytea NOT NULL
);
CREATE INDEX worker_secrets_sha256 ON worker_secrets (sha256);

-- Login and node of each worker, kept after the worker's row was removed.
CREATE TABLE worker_names (
    worker_id bigint PRIMARY KEY,
    login     text NOT NULL,
    node      text NOT NULL
);

-- The devices that a worker measures on. place counts the worker's devices from 0.
-- device is the name that the worker was started with, name the vendor's. uuid,
-- address and partition are '' if the driver does not report them.
-- out_since: when the device went out of service; NULL while it is in service.
-- stack: the device's runtime and driver; NULL if the worker's program does not
-- report them, and the worker's stack counts then.
CREATE TABLE worker_devices (
    worker_id  bigint NOT NULL REFERENCES workers ON DELETE CASCADE,
    place      integer NOT NULL,
    device     text NOT NULL,
    name       text NOT NULL,
    target     text NOT NULL,
    uuid       text NOT NULL,
    address    text NOT NULL,
    partition  text NOT NULL,
    out_since  timestamptz,
    out_reason text NOT NULL DEFAULT '',
    stack      text,
    PRIMARY KEY (worker_id, place)
);

-- Workers whose last claim found no job, one row for each pool: what they asked
-- for, and when they were last woken. A worker listens on its channel, and polls slowly.
CREATE TABLE idle_workers (
    worker_id   bigint NOT NULL REFERENCES workers ON DELETE CASCADE,
    build       boolean NOT NULL,
    campaign_id bigint NOT NULL,
    target      text,
    woken_at    timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (worker_id, build)
) WITH (fillfactor = 50);

-- One row: looked_at is when expired leases were last looked for, watched_at when
-- blocking sessions were. One heartbeat a second of the whole farm does each,
-- however many nodes there are.
-- open_seconds: how long a worker's session may keep a transaction open.
CREATE TABLE lease_watch (
    looked_at    timestamptz NOT NULL,
    watched_at   timestamptz NOT NULL DEFAULT '-infinity',
    open_seconds double precision NOT NULL DEFAULT 10 CHECK (open_seconds > 0)
);
INSERT INTO lease_watch (looked_at) VALUES ('-infinity');
