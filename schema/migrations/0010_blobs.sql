-- Where the bytes of code objects are: in kernels.code (place 0), or in an
-- object store under a name that is given out once and never again. So an
-- object has one owner, and removing one can never hit what somebody else has
-- just put there.
CREATE TABLE blob_places (
    id         smallint PRIMARY KEY,
    url        text NOT NULL UNIQUE,
    is_current boolean NOT NULL
);
CREATE UNIQUE INDEX blob_places_current ON blob_places (is_current) WHERE is_current;
INSERT INTO blob_places VALUES (0, 'database', true);

-- Objects that no kernel names: uploads under way, and what is to be removed.
CREATE TABLE blob_loose (
    place     smallint NOT NULL,
    name      text NOT NULL,
    is_upload boolean NOT NULL,
    since     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (place, name)
);

-- code_place is NULL where there is no code: not built, or collected.
ALTER TABLE kernels
    ADD COLUMN code_place smallint,
    ADD COLUMN code_name  text,
    ADD COLUMN code_bytes bigint;
UPDATE kernels SET code_place = 0, code_bytes = octet_length(code),
                   code_sha256 = encode(sha256(code), 'hex')
WHERE code IS NOT NULL;
ALTER TABLE kernels ADD CHECK (
    CASE WHEN code_place IS NULL THEN code IS NULL AND code_name IS NULL
         WHEN code_place = 0 THEN code IS NOT NULL AND code_name IS NULL
         ELSE code IS NULL AND code_name IS NOT NULL END);
ALTER TABLE kernels ADD CHECK (code_place IS NULL OR code_bytes IS NOT NULL);

-- Whoever stores code holds the lock shared; whoever changes the place holds
-- it alone, and then no call under way still goes by the former one.
CREATE FUNCTION lock_blob_place(alone boolean) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    SELECT CASE WHEN alone THEN pg_advisory_xact_lock(7453010313431182188)
                ELSE pg_advisory_xact_lock_shared(7453010313431182188) END
$$;

-- The place where new code goes, by its number.
CREATE FUNCTION use_blob_place(place_url text) RETURNS smallint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    chosen smallint;
BEGIN
    PERFORM lock_blob_place(true);
    INSERT INTO blob_places (id, url, is_current)
    SELECT max(id) + 1, place_url, false FROM blob_places
    ON CONFLICT (url) DO NOTHING;
    UPDATE blob_places SET is_current = false WHERE is_current AND url <> place_url;
    UPDATE blob_places SET is_current = true WHERE url = place_url RETURNING id INTO chosen;
    RETURN chosen;
END $$;

-- A name for the upload of an object with this hash to the current place;
-- none where that is the database.
CREATE FUNCTION begin_upload(sha256_hex text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    here blob_places;
    fresh text;
BEGIN
    SELECT * INTO STRICT here FROM blob_places WHERE is_current;
    IF here.id <> 0 THEN
        fresh := left(sha256_hex, 2) || '/' || sha256_hex || '-'
                 || left(replace(gen_random_uuid()::text, '-', ''), 16);
        INSERT INTO blob_loose (place, name, is_upload) VALUES (here.id, fresh, true);
    END IF;
    RETURN jsonb_build_object('place', here.id, 'url', here.url, 'name', fresh);
END $$;

-- An upload ends once: as its kernel's object, or given up and to be removed.
CREATE FUNCTION end_upload(at smallint, asked text) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM blob_loose WHERE place = at AND name = asked AND is_upload;
    RETURN found;
END $$;

-- 3 and 4 are a timeout and a crash: whoever does better replaces them. A
-- collected kernel gets its code back. Else the row stays, and only says that
-- somebody needs it. False where the code is not at the current place, or its
-- upload was given up: then it is to be put there again.
CREATE FUNCTION put_kernel(
    k_key text, k_file text, k_entry text, k_options text, k_arch text, k_toolchain text,
    k_version text, k_failure smallint, k_log text, k_seconds double precision, k_code bytea,
    k_sha256 text, k_built_by bigint, k_place smallint, k_name text, k_bytes bigint)
RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    won boolean;
BEGIN
    IF k_place IS NOT NULL THEN
        PERFORM lock_blob_place(false);
        IF NOT (SELECT is_current FROM blob_places WHERE id = k_place) THEN
            UPDATE blob_loose SET is_upload = false WHERE place = k_place AND name = k_name;
            RETURN false;
        END IF;
    END IF;
    IF k_name IS NOT NULL AND NOT end_upload(k_place, k_name) THEN
        RETURN false;
    END IF;
    INSERT INTO kernels AS k (key, file, entry, options, arch, toolchain, toolchain_version,
        failure, log, seconds, code, code_sha256, built_by, code_place, code_name, code_bytes)
    VALUES (k_key, k_file, k_entry, k_options, k_arch, k_toolchain, k_version, k_failure, k_log,
        k_seconds, k_code, k_sha256, k_built_by, k_place, k_name, k_bytes)
    ON CONFLICT (key) DO UPDATE SET used_at = clock_timestamp(),
        (failure, log, seconds, code, code_sha256, built_by, code_place, code_name, code_bytes) =
        (SELECT n.* FROM (
            SELECT EXCLUDED.failure, EXCLUDED.log, EXCLUDED.seconds, EXCLUDED.code,
                   EXCLUDED.code_sha256, EXCLUDED.built_by, EXCLUDED.code_place,
                   EXCLUDED.code_name, EXCLUDED.code_bytes
            WHERE (k.code_place IS NULL AND k.failure = 0 AND EXCLUDED.code_place IS NOT NULL)
               OR (k.failure IN (3, 4) AND EXCLUDED.failure IN (0, 2))
            UNION ALL
            SELECT k.failure, k.log, k.seconds, k.code, k.code_sha256, k.built_by, k.code_place,
                   k.code_name, k.code_bytes
            LIMIT 1) AS n)
    RETURNING k.code_name IS NOT DISTINCT FROM k_name INTO won;
    IF k_name IS NOT NULL AND NOT won THEN
        INSERT INTO blob_loose (place, name, is_upload) VALUES (k_place, k_name, false);
    END IF;
    RETURN true;
END $$;

-- A kernel's code is now elsewhere (nowhere, where to_place is NULL), unless it
-- was moved or collected meanwhile.
CREATE FUNCTION move_kernel(
    k_key text, from_place smallint, from_name text, to_place smallint, to_name text,
    to_code bytea)
RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    moved boolean;
BEGIN
    IF to_name IS NOT NULL AND NOT end_upload(to_place, to_name) THEN
        RETURN false;
    END IF;
    UPDATE kernels SET code = to_code, code_place = to_place, code_name = to_name
    WHERE key = k_key AND code_place = from_place AND code_name IS NOT DISTINCT FROM from_name;
    moved := found;
    INSERT INTO blob_loose (place, name, is_upload)
    SELECT o.place, o.name, false
    FROM (VALUES (to_place, to_name, NOT moved), (from_place, from_name, moved))
         AS o(place, name, is_loose)
    WHERE o.name IS NOT NULL AND o.is_loose;
    RETURN moved;
END $$;

-- A kernel that was asked for since the oldest build claim of now, or since
-- this call began, may be part of a round that is not stored yet, so it stays.
CREATE OR REPLACE FUNCTION collect_kernels() RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    building_since timestamptz;
    dropped integer;
BEGIN
    SELECT least(min(claimed_at), now()) INTO building_since
    FROM bundles WHERE worker_id IS NOT NULL AND state = 'building';
    WITH needless AS (
        SELECT k.key, k.code_place, k.code_name FROM kernels k
        WHERE k.code_place IS NOT NULL AND k.used_at < building_since
          AND NOT EXISTS (SELECT 1 FROM kernels_needed n WHERE n.key = k.key)
        FOR UPDATE
    ), emptied AS (
        UPDATE kernels k SET code = NULL, code_place = NULL, code_name = NULL
        FROM needless n WHERE k.key = n.key
    ), loose AS (
        INSERT INTO blob_loose (place, name, is_upload)
        SELECT code_place, code_name, false FROM needless WHERE code_name IS NOT NULL
    )
    SELECT count(*) INTO dropped FROM needless;
    RETURN dropped;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
