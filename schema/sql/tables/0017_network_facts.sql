-- What is known of a network's version beside its layers.
-- oldest program: 0012

-- model_version: of the model or its framework. batch: the batch size that its layers are for.
-- source: where its layers are published. runs: how often it is run, on one scale for all networks.
CREATE TABLE network_facts (
    version_id    bigint PRIMARY KEY REFERENCES network_versions ON DELETE CASCADE,
    framework     text,
    model         text,
    model_version text,
    batch         bigint CHECK (batch > 0),
    source        text,
    runs          double precision CHECK (runs > 0 AND runs < 'infinity')
);
