-- What packing the filter takes where a config's kernels want it in an order of their own: done once for each filter,
-- it is no part of a run's time.

-- pack_ms: the time of packing once, one element a config, 0 for a config that does not pack; NULL if none of them
-- packs.
ALTER TABLE outcomes
    ADD COLUMN pack_ms double precision[];

-- packed_bytes: the size of the packed filter. Both NULL for a config that does not pack.
ALTER TABLE results
    ADD COLUMN pack_ms double precision,
    ADD COLUMN packed_bytes bigint;
ALTER TABLE golden_rows
    ADD COLUMN pack_ms double precision,
    ADD COLUMN packed_bytes bigint;
ALTER TABLE golden_proposed
    ADD COLUMN pack_ms double precision,
    ADD COLUMN packed_bytes bigint;
