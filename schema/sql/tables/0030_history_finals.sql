-- History knows second measurements.

-- low_ms, high_ms: the interval of the median, if the config was measured a second time; else 0. chosen: it won the
-- second measurement of its problem in its campaign.
ALTER TABLE history
    ADD COLUMN low_ms real NOT NULL DEFAULT 0,
    ADD COLUMN high_ms real NOT NULL DEFAULT 0,
    ADD COLUMN chosen boolean NOT NULL DEFAULT false;
