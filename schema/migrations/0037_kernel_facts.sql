-- What compilers say of a kernel is kept with it (registers and spilled ones of a
-- work-item, bytes of its scratch memory and of a workgroup's local memory; NULL
-- where they do not say), and what exceeds a target's limits never reaches a
-- device: failure 17, "over limits", comes of building. Older programs do not know
-- that number and would call its rows damaged, so this ends them.

ALTER TABLE kernels
    ADD COLUMN registers     integer,
    ADD COLUMN spills        integer,
    ADD COLUMN scratch_bytes bigint,
    ADD COLUMN local_bytes   bigint;

-- Who put the kernel says it, once; -1 stands for what is not known.
CREATE FUNCTION skipjack_work.put_kernel_facts(
    k_key text, k_built_by bigint, k_registers integer, k_spills integer, k_scratch bigint,
    k_local bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(k_built_by);
    IF (k_registers >= -1 AND k_spills >= -1 AND k_scratch >= -1 AND k_local >= -1) IS NOT TRUE THEN
        PERFORM refuse_value('a kernel needs less than nothing');
    END IF;
    UPDATE kernels SET registers = nullif(k_registers, -1), spills = nullif(k_spills, -1),
        scratch_bytes = nullif(k_scratch, -1), local_bytes = nullif(k_local, -1)
    WHERE key = k_key AND built_by = k_built_by AND failure = 0
      AND coalesce(registers, spills, scratch_bytes, local_bytes) IS NULL;
END $$;

CREATE OR REPLACE FUNCTION kernel_json(k kernels) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('key', k.key, 'file', k.file, 'entry', k.entry,
        'options', k.options, 'arch', k.arch, 'toolchain', k.toolchain,
        'toolchain_version', k.toolchain_version, 'failure', k.failure, 'log', k.log,
        'seconds', k.seconds, 'code_sha256', k.code_sha256, 'built_by', k.built_by,
        'registers', coalesce(k.registers, -1), 'spills', coalesce(k.spills, -1),
        'scratch_bytes', coalesce(k.scratch_bytes, -1), 'local_bytes', coalesce(k.local_bytes, -1))
$$;

-- ---- the failure ----

CREATE OR REPLACE FUNCTION check_failure(number integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF coalesce(number NOT BETWEEN 1 AND 14 AND number <> 17, true) THEN
        PERFORM refuse_value(format('%s is no failure', number));
    END IF;
END $$;

-- Failures 0, 13 and 16 (verified, worker lost, slow) come of no build, 15 is what
-- waits for evaluation.
CREATE OR REPLACE FUNCTION check_handed_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    most integer := (SELECT greatest(c.round_configs, 1) + 1 FROM campaigns c WHERE c.id = campaign);
    i rounds;
    size integer;
    why text;
BEGIN
    FOREACH i IN ARRAY items LOOP
        size := cardinality(i.config_counts);
        why := CASE
            WHEN (i.number >= 0 AND size BETWEEN 1 AND most) IS NOT TRUE
                THEN format('a round has 1 to %s configs, this one %s', most, size)
            WHEN (cardinality(i.kernel_keys) = size AND cardinality(i.failures) = size
                  AND cardinality(i.details) = size AND cardinality(i.build_seconds) = size) IS NOT TRUE
                THEN 'the arrays of its round differ in length'
            WHEN (0 <= ALL (i.config_counts) AND 16 >= ALL (i.config_counts)
                  AND array_position(i.config_values, NULL) IS NULL
                  AND cardinality(i.config_values) =
                      CASE WHEN i.config_counts[1] = ALL (i.config_counts)
                           THEN i.config_counts[1] * size ELSE sum_of(i.config_counts) END) IS NOT TRUE
                THEN 'the values of its configs are not as many as it says'
            WHEN (1 <= ALL (i.failures) AND 17 >= ALL (i.failures) AND 13 <> ALL (i.failures)
                  AND 16 <> ALL (i.failures)) IS NOT TRUE
                THEN 'building ends with no such failure'
            WHEN (array_position(i.kernel_keys, NULL) IS NULL
                  AND length(array_to_string(i.kernel_keys, '')) <= 390 * size
                  AND ('' = ALL (i.kernel_keys)
                       OR (length(array_to_string(array_remove(i.kernel_keys, ''), ',')) + 1) % 65 = 0))
                 IS NOT TRUE
                THEN 'a config has more than 6 kernels, or keys of another length'
            WHEN (0 <= ALL (i.build_seconds) AND 1e9 > ALL (i.build_seconds)
                  AND i.total_build_seconds >= 0 AND i.total_build_seconds < 1e12) IS NOT TRUE
                THEN 'a time is negative or endless'
            WHEN (i.evaluated >= 0 AND i.pending >= 0 AND i.evaluated + i.pending = size
                  AND i.kernels BETWEEN 0 AND 6 * size) IS NOT TRUE
                THEN 'its counts are not those of its configs'
            WHEN (length(i.stack) <= 4096 AND pg_column_size(i.details) <= 1024 + 4096 * size) IS NOT TRUE
                THEN 'its stack or its details are too long'
            END;
        IF why IS NOT NULL THEN
            PERFORM refuse_handed(i.job_id, why);
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION check_handed_outcomes(items outcomes[], whole boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    i outcomes;
    size integer;
    why text;
BEGIN
    FOREACH i IN ARRAY items LOOP
        size := cardinality(i.failures);
        why := CASE
            WHEN (cardinality(i.details) = size AND cardinality(i.n) = size
                  AND cardinality(i.min_ms) = size AND cardinality(i.median_ms) = size
                  AND cardinality(i.spread) = size AND cardinality(i.error) = size
                  AND cardinality(i.eval_seconds) = size) IS NOT TRUE
                THEN 'the arrays of its round differ in length'
            WHEN (0 <= ALL (i.failures) AND 17 >= ALL (i.failures) AND 13 <> ALL (i.failures)
                  AND (NOT whole OR 15 <> ALL (i.failures))) IS NOT TRUE
                THEN 'evaluating ends with no such failure'
            WHEN (0 <= ALL (i.n) AND 0 <= ALL (i.min_ms) AND 0 <= ALL (i.median_ms)
                  AND 1e12 > ALL (i.median_ms) AND 0 <= ALL (i.spread) AND 1e12 > ALL (i.spread)
                  AND 0 <= ALL (i.error) AND 1e13 > ALL (i.error) AND 0 <= ALL (i.eval_seconds)
                  AND 1e9 > ALL (i.eval_seconds) AND i.total_eval_seconds >= 0
                  AND i.total_eval_seconds < 1e12 AND i.drift >= 0 AND i.drift < 1e12) IS NOT TRUE
                THEN 'a time, a spread or an error is negative, endless or no number'
            WHEN (i.evaluated >= 0 AND i.pending >= 0 AND i.evaluated + i.pending = size) IS NOT TRUE
                THEN 'its counts are not those of its configs'
            WHEN (length(i.stack) <= 4096 AND pg_column_size(i.details) <= 1024 + 4096 * size) IS NOT TRUE
                THEN 'its stack or its details are too long'
            END;
        FOR at IN 1..size LOOP
            EXIT WHEN why IS NOT NULL;
            IF (i.failures[at] NOT IN (0, 16) OR i.n[at] > 0 AND i.min_ms[at] > 0
                AND i.median_ms[at] >= i.min_ms[at] AND i.error[at] <= 1) IS NOT TRUE THEN
                why := 'a config counts as verified without a time, or beyond its tolerance';
            END IF;
        END LOOP;
        IF why IS NOT NULL THEN
            PERFORM refuse_handed(i.job_id, why);
        END IF;
    END LOOP;
END $$;

-- A campaign's own table may hold the constraint as its own.
ALTER TABLE job_ends DROP CONSTRAINT end_is_fit;
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'job_ends'::regclass
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS end_is_fit', part);
    END LOOP;
END $$;
ALTER TABLE job_ends ADD CONSTRAINT end_is_fit CHECK (
    (failure BETWEEN 0 AND 14 OR failure = 17) AND coalesce(length(detail), 0) <= 65536) NOT VALID;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
