-- Schema skipjack_work holds the functions that workers call. It may be left from a
-- database whose schema skipjack was dropped.
DROP SCHEMA IF EXISTS skipjack_work CASCADE;
CREATE SCHEMA skipjack_work;

-- What can be tuned, and for what: problems with their tags, targets, solvers.
-- Texts name the values of enums (kinds, directions, data types), so a change of
-- an enum's numbers in the program leaves rows readable.

-- Three values a column are in the order D, H, W for sizes and x, w, y for
-- tensors. Kinds without a field keep it at its neutral value.
CREATE TABLE problems (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL,
    direction   text NOT NULL,
    spatial_dim smallint NOT NULL,
    n           bigint NOT NULL,
    c           bigint NOT NULL,
    k           bigint NOT NULL,
    groups      bigint NOT NULL,
    in_size     bigint[] NOT NULL CHECK (cardinality(in_size) = 3),
    fil         bigint[] NOT NULL CHECK (cardinality(fil) = 3),
    out_size    bigint[] NOT NULL CHECK (cardinality(out_size) = 3),
    pad         bigint[] NOT NULL CHECK (cardinality(pad) = 3),
    stride      bigint[] NOT NULL CHECK (cardinality(stride) = 3),
    dilation    bigint[] NOT NULL CHECK (cardinality(dilation) = 3),
    types       text[] NOT NULL CHECK (cardinality(types) = 3),
    casts       text[] NOT NULL CHECK (cardinality(casts) = 3),
    layouts     text[] NOT NULL CHECK (cardinality(layouts) = 3),
    bias        smallint NOT NULL,
    epilogue    text NOT NULL,
    CONSTRAINT problems_once UNIQUE (kind, direction, spatial_dim, n, c, k, groups, in_size, fil,
        out_size, pad, stride, dilation, types, casts, layouts, bias, epilogue)
);

CREATE TABLE problem_tags (
    tag        text NOT NULL,
    problem_id bigint NOT NULL REFERENCES problems,
    PRIMARY KEY (tag, problem_id)
);

-- type_peaks: operations a second that the target cannot exceed, by the name of
-- the data type; NULL if no program has reported them.
-- partition: NULL if an older program reported the target; its targets are whole cards.
CREATE TABLE targets (
    id            text PRIMARY KEY,
    vendor        text NOT NULL,
    arch          text NOT NULL,
    features      text NOT NULL,
    compute_units integer NOT NULL,
    memory_gib    integer NOT NULL,
    local_bytes   bigint NOT NULL,
    max_workgroup integer NOT NULL,
    wave_size     integer NOT NULL,
    vector_bytes  integer NOT NULL,
    peak_flops    double precision NOT NULL,
    peak_bytes    double precision NOT NULL,
    type_peaks    jsonb,
    partition     text
);

-- A solver at one revision with one hash of its sources: what a job pins.
-- searches: the solver brings its own search. That search replaces every strategy
-- of a campaign but 'exhaustive', and may end before the whole space was tried.
CREATE TABLE solvers (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider  text NOT NULL,
    name      text NOT NULL,
    revision  integer NOT NULL,
    hash      text NOT NULL,
    algorithm text NOT NULL,
    dynamic   boolean NOT NULL,
    tunable   boolean NOT NULL,
    searches  boolean NOT NULL DEFAULT false,
    UNIQUE (provider, name, revision, hash)
);
