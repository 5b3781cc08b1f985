-- Kernels: code objects, compiled once in the whole fleet, and where their bytes are.

-- Code objects do not compress, so their bytes are stored as they are.
-- used_at: when a build last asked for the kernel or delivered it.
-- code_place: a row of blob_places; NULL for a kernel without code, which failed
-- to build or was collected.
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
    used_at           timestamptz NOT NULL DEFAULT now(),
    code_place        smallint,
    code_name         text,
    code_bytes        bigint,
    registers         integer,
    spills            integer,
    scratch_bytes     bigint,
    local_bytes       bigint,
    accumulation_registers integer,
    scalar_registers  integer,
    instructions      text,
    CHECK (CASE WHEN code_place IS NULL THEN code IS NULL AND code_name IS NULL
                WHEN code_place = 0 THEN code IS NOT NULL AND code_name IS NULL
                ELSE code IS NULL AND code_name IS NOT NULL END),
    CHECK (code_place IS NULL OR code_bytes IS NOT NULL)
) WITH (fillfactor = 80);
ALTER TABLE kernels ALTER COLUMN code SET STORAGE EXTERNAL;
-- Upkeep reads kernels with code by key, and kernels without code by age.
CREATE INDEX kernels_with_code ON kernels (key) WHERE code_place IS NOT NULL;
CREATE INDEX kernels_without_code ON kernels (built_at) WHERE code_place IS NULL;
-- The kernels that prove a device: the judge that compares outputs, and the plain convolution.
CREATE INDEX kernels_of_judges ON kernels (arch) WHERE file = 'judge.cl';
CREATE INDEX kernels_of_proofs ON kernels (arch)
    WHERE file = 'conv_direct_naive.cl' AND entry = 'conv_naive_f';

-- Where the bytes of code objects are: in kernels.code (place 0), or in an object
-- store. An object's name is given out once and never again, so each object has one
-- owner, and removing an object never removes what another session has just stored.
CREATE TABLE blob_places (
    id         smallint PRIMARY KEY,
    url        text NOT NULL UNIQUE,
    is_current boolean NOT NULL
);
CREATE UNIQUE INDEX blob_places_current ON blob_places (is_current) WHERE is_current;
INSERT INTO blob_places VALUES (0, 'database', true);

-- Objects that no kernel names: uploads under way, and objects to be removed.
CREATE TABLE blob_loose (
    place     smallint NOT NULL,
    name      text NOT NULL,
    is_upload boolean NOT NULL,
    since     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (place, name)
);
