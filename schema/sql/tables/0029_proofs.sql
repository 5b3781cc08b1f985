-- By how many runs a config was proved (worker/MEASURING.md, "How often").

-- proof_runs: the runs whose results were compared, one element a config, 0 for a config that was not proved.
-- proof_kinds: of the five kinds of inputs the first so many were used. Both NULL if no config of the round was proved.
ALTER TABLE outcomes
    ADD COLUMN proof_runs integer[],
    ADD COLUMN proof_kinds integer[];
