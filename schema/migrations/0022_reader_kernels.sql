-- A reader exports kernels too: asking for them keeps them from being
-- collected meanwhile, which is all that it changes.
-- oldest program: 0012
INSERT INTO entry_points VALUES ('skipjack_reader', 'skipjack_work.known_kernels')
ON CONFLICT DO NOTHING;
