-- How much of a result was compared when it was verified.

-- verified_share: the share of the output's elements that were compared with the reference, in the configs of the
-- round that compared the least; NULL for rounds of older programs, and for rounds without a verified config.
ALTER TABLE outcomes
    ADD COLUMN verified_share double precision;
