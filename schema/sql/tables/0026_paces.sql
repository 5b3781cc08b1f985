-- oldest program: 0020
-- How long a round takes to build and to evaluate, by campaign: rounds are built ahead of the devices in this
-- proportion (sql/functions/prospects.sql).

-- rounds: how many were evaluated; what building and evaluating their configs took.
ALTER TABLE campaign_spent
    ADD COLUMN rounds bigint NOT NULL DEFAULT 0,
    ADD COLUMN build_seconds double precision NOT NULL DEFAULT 0,
    ADD COLUMN eval_seconds double precision NOT NULL DEFAULT 0;
