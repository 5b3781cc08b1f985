-- The part of a divided card (an instance of NVIDIA's MIG, AMD's compute and memory modes) belongs to a
-- target's identity: its id ends in it. Older programs cannot read such an id, and would fail the jobs that
-- they build for such a target: none may go on.

ALTER TABLE targets ADD COLUMN partition text; -- NULL: said by an older program, whose targets are whole cards
