-- oldest program: 0020
-- The order of claims where time is limited: rounds that are expected to gain most for their time come first.

-- price: seconds of work for each ms that the bundle's next round is expected to save the network
-- (sql/functions/prospects.sql); 0 for first rounds, rounds that measure again, and jobs that were not rated yet; the
-- round's number in a campaign that does all its rounds.
ALTER TABLE bundles ADD COLUMN price double precision NOT NULL DEFAULT 0 CHECK (price >= 0);
UPDATE bundles SET price = round_no WHERE NOT remeasures;
DROP INDEX bundles_claim;
CREATE INDEX bundles_claim ON bundles (campaign_id, state, price, position);
