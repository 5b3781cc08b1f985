-- What workers hand in: rounds, their outcomes, kept results, and what the devices
-- did meanwhile. One partition a campaign.

-- A round as it was proposed and built: one packed row. config_values holds the
-- configs one after another, config_counts how many values each has; the other
-- arrays have one element a config. failures: what building came to, pending for a
-- config that can be evaluated. fence: of the claim that built the round.
CREATE TABLE rounds (
    campaign_id   bigint NOT NULL,
    job_id        bigint NOT NULL,
    number        integer NOT NULL,
    fence         bigint NOT NULL,
    stack         text NOT NULL,
    config_counts smallint[] NOT NULL,
    config_values integer[] NOT NULL,
    kernel_keys   text[] NOT NULL,
    failures      smallint[] NOT NULL,
    details       text[] NOT NULL,
    build_seconds double precision[] NOT NULL,
    kernels       integer NOT NULL,
    evaluated     integer NOT NULL,
    pending       integer NOT NULL,
    total_build_seconds double precision NOT NULL,
    PRIMARY KEY (campaign_id, job_id, number)
) PARTITION BY LIST (campaign_id);

-- The outcome of each config of a round; is_open while some are not evaluated yet.
CREATE TABLE outcomes (
    campaign_id  bigint NOT NULL,
    job_id       bigint NOT NULL,
    number       integer NOT NULL,
    is_open      boolean NOT NULL,
    fence        bigint NOT NULL,
    stack        text NOT NULL,
    drift        double precision NOT NULL,
    failures     smallint[] NOT NULL,
    details      text[] NOT NULL,
    n            integer[] NOT NULL,
    min_ms       double precision[] NOT NULL,
    median_ms    double precision[] NOT NULL,
    spread       double precision[] NOT NULL,
    error        double precision[] NOT NULL,
    eval_seconds double precision[] NOT NULL,
    evaluated    integer NOT NULL,
    pending      integer NOT NULL,
    total_eval_seconds double precision NOT NULL,
    PRIMARY KEY (campaign_id, job_id, number)
) PARTITION BY LIST (campaign_id);

-- The configs of a job that are kept, rank 0 the best.
CREATE TABLE results (
    campaign_id     bigint NOT NULL,
    job_id          bigint NOT NULL,
    rank            integer NOT NULL,
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
    PRIMARY KEY (campaign_id, job_id, rank)
) PARTITION BY LIST (campaign_id);

-- Clocks, temperature and power while a round was measured; NULL for what the
-- vendor's library did not report. device: its UUID, or else its PCI address; the
-- last one if there were several. samples: one after each config that was timed.
-- temperature_c, power_w: the highest seen. throttle: bits of all samples, enum
-- throttle of conditions.h. locked_mhz: NULL if the driver chose the clocks at any time.
CREATE TABLE round_conditions (
    campaign_id    bigint NOT NULL,
    job_id         bigint NOT NULL,
    number         integer NOT NULL,
    device         text NOT NULL,
    samples        integer NOT NULL,
    sm_mhz_min     integer,
    sm_mhz_max     integer,
    memory_mhz_min integer,
    memory_mhz_max integer,
    temperature_c  integer,
    power_w        double precision,
    throttle       integer NOT NULL,
    locked_mhz     integer,
    PRIMARY KEY (campaign_id, job_id, number)
) PARTITION BY LIST (campaign_id);

-- The worker that handed in the outcomes of these jobs' rounds (job_ids and numbers
-- element by element). A round that came in parts, or was measured again, has several rows.
CREATE TABLE deliveries (
    campaign_id bigint NOT NULL,
    worker_id   bigint NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    job_ids     bigint[] NOT NULL,
    numbers     integer[] NOT NULL
) PARTITION BY LIST (campaign_id);

-- How long jobs held a device, and how long its kernels ran. fence: of the claim
-- under which they did; a report that is repeated counts once.
CREATE TABLE device_use (
    campaign_id  bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    job_id       bigint NOT NULL,
    fence        bigint NOT NULL,
    seconds      double precision NOT NULL CHECK (seconds >= 0 AND seconds < 1e9),
    busy_seconds double precision NOT NULL CHECK (busy_seconds >= 0 AND busy_seconds < 1e9),
    PRIMARY KEY (campaign_id, job_id, fence)
);
