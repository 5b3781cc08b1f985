-- oldest program: 0020
-- When the search of a job ends: beside the most configs (configs_limit), by the device's time and by the expected gain.
-- Older programs go on up to the limit of configs.

-- search_seconds: device time that the search of one job may take, 0 for no limit. min_gain: a search ends when its next
-- tries are expected to make the job's best time shorter by less than so many per cent, 0 for no limit
-- (solvers/search/expected_gain.h).
ALTER TABLE campaigns
    ADD COLUMN search_seconds double precision NOT NULL DEFAULT 0 CHECK (search_seconds >= 0 AND search_seconds <= 1e9),
    ADD COLUMN min_gain double precision NOT NULL DEFAULT 0 CHECK (min_gain >= 0 AND min_gain <= 100);

-- search_end: why the job's search ended (solvers/search/searcher.h). NULL for a job that something else ended, and for
-- jobs of older programs.
ALTER TABLE job_ends
    ADD COLUMN search_end text CHECK (search_end IN ('tries', 'seconds', 'space', 'gain'));
