-- What can be asked for and of whom: problems with their tags and networks,
-- targets, and solvers. Names are stored, never the numbers of an enum.

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

CREATE TABLE networks (
    name text PRIMARY KEY
);

CREATE TABLE network_layers (
    network      text NOT NULL REFERENCES networks ON DELETE CASCADE,
    position     integer NOT NULL,
    name         text NOT NULL,
    multiplicity integer NOT NULL CHECK (multiplicity > 0),
    problem_id   bigint NOT NULL REFERENCES problems,
    PRIMARY KEY (network, position)
);

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
    peak_bytes    double precision NOT NULL
);

-- A solver at one revision with one hash of its sources: what a job pins.
CREATE TABLE solvers (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider  text NOT NULL,
    name      text NOT NULL,
    revision  integer NOT NULL,
    hash      text NOT NULL,
    algorithm text NOT NULL,
    dynamic   boolean NOT NULL,
    tunable   boolean NOT NULL,
    UNIQUE (provider, name, revision, hash)
);

-- Inserts the problems that are new, in one order whoever calls, so that two
-- callers never wait for each other in a circle. Gives every item's row.
CREATE FUNCTION put_problems(items jsonb)
RETURNS TABLE (ord bigint, problem_id bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO problems (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                          pad, stride, dilation, types, casts, layouts, bias, epilogue)
    SELECT DISTINCT kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
           pad, stride, dilation, types, casts, layouts, bias, epilogue
    FROM jsonb_populate_recordset(NULL::problems, items)
    ORDER BY kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
             pad, stride, dilation, types, casts, layouts, bias, epilogue
    ON CONFLICT ON CONSTRAINT problems_once DO NOTHING;

    RETURN QUERY
        SELECT item.ordinality, p.id
        FROM jsonb_populate_recordset(NULL::problems, items) WITH ORDINALITY AS item
        JOIN problems p USING (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                               pad, stride, dilation, types, casts, layouts, bias, epilogue)
        ORDER BY item.ordinality;
END $$;

-- Replaces the network's layers. An item is {"name", "multiplicity", "problem"}.
CREATE FUNCTION put_network(network_name text, items jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    INSERT INTO networks (name) VALUES (network_name) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM networks WHERE name = network_name FOR UPDATE;
    DELETE FROM network_layers WHERE network = network_name;
    INSERT INTO network_layers (network, position, name, multiplicity, problem_id)
    SELECT network_name, put.ord - 1, item.value->>'name', (item.value->>'multiplicity')::integer,
           put.problem_id
    FROM put_problems(jsonb_path_query_array(items, '$[*].problem')) AS put
    JOIN jsonb_array_elements(items) WITH ORDINALITY AS item(value, ord) ON item.ord = put.ord;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
