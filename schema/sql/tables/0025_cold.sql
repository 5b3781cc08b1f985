-- Whether runs were timed with cold caches.

-- cold: each timed run of the round found its operands out of the last-level cache; NULL for rounds of older programs,
-- and for rounds without a time.
ALTER TABLE outcomes
    ADD COLUMN cold boolean;
