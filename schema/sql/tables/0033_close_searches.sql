-- oldest program: 0020
-- A job whose best time is close to its problem's may try more configs. Older programs end it at configs_limit.

-- Most configs that such a job evaluates (solvers/search/searcher.h); 0: as any other job.
ALTER TABLE campaigns ADD COLUMN close_configs integer NOT NULL DEFAULT 0 CHECK (close_configs >= 0);
