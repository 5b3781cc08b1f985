-- Networks, their versions, and the layers of each version.

-- current_id: the version that the network's name alone means: the last one imported.
CREATE TABLE networks (
    name       text PRIMARY KEY,
    current_id bigint
);

-- Equal layers are one version: hash is the SHA-256 of the layers in their
-- order. While a version is being filled, number and hash are NULL.
CREATE TABLE network_versions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network    text NOT NULL REFERENCES networks ON DELETE CASCADE,
    number     integer CHECK (number > 0),
    hash       bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (network, number),
    UNIQUE (network, hash)
);
ALTER TABLE networks ADD FOREIGN KEY (current_id) REFERENCES network_versions ON DELETE SET NULL;

CREATE TABLE version_layers (
    version_id   bigint NOT NULL REFERENCES network_versions ON DELETE CASCADE,
    position     integer NOT NULL,
    name         text NOT NULL,
    multiplicity integer NOT NULL CHECK (multiplicity > 0),
    problem_id   bigint NOT NULL REFERENCES problems,
    PRIMARY KEY (version_id, position)
);
