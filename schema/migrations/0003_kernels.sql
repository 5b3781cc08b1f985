-- Code objects, compiled once in the whole fleet. They do not compress, so
-- their bytes are stored as they are; used_at is when a build last asked for
-- or delivered the kernel.
CREATE TABLE kernels (
    key               text PRIMARY KEY CHECK (length(key) = 64),
    file              text NOT NULL,
    entry             text NOT NULL,
    options           text NOT NULL,
    arch              text NOT NULL,
    toolchain         text NOT NULL,
    toolchain_version text NOT NULL,
    failure           smallint NOT NULL,
    log               text NOT NULL,
    seconds           double precision NOT NULL,
    code              bytea,
    code_sha256       text NOT NULL,
    built_by          bigint NOT NULL,
    built_at          timestamptz NOT NULL DEFAULT now(),
    used_at           timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
ALTER TABLE kernels ALTER COLUMN code SET STORAGE EXTERNAL;

-- Keys of the kernels whose code must stay: those of kept results, and those
-- of rounds that wait for their evaluation. Also a job that was given up may
-- still hand in what it evaluated.
CREATE VIEW kernels_needed AS
    SELECT unnest(string_to_array(kernel_keys, ',')) AS key FROM results
    UNION
    SELECT unnest(string_to_array(keys, ','))
    FROM rounds r
    JOIN jobs j ON j.id = r.job_id
         AND (j.state IN ('building', 'built', 'evaluating') OR was_given_up(j)),
    unnest(r.kernel_keys) AS keys
    WHERE r.is_open
    UNION
    SELECT unnest(string_to_array(keys, ','))
    FROM rounds r
    JOIN jobs j ON j.id = r.job_id AND j.state = 'done'
    JOIN campaigns c ON c.id = j.campaign_id AND c.build_only,
    unnest(r.kernel_keys) AS keys;

-- A kernel that was asked for since the oldest build claim of now, or since
-- this call began, may be part of a round that is not stored yet, so it stays.
CREATE FUNCTION collect_kernels() RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    building_since timestamptz;
    dropped integer;
BEGIN
    SELECT least(min(claimed_at), now()) INTO building_since
    FROM jobs WHERE worker_id IS NOT NULL AND state = 'building';
    UPDATE kernels k SET code = NULL
    WHERE code IS NOT NULL AND used_at < building_since
      AND NOT EXISTS (SELECT 1 FROM kernels_needed n WHERE n.key = k.key);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
