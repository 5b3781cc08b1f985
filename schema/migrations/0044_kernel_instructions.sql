-- What else is known of a kernel: AMD's accumulation registers (of matrix units) and scalar
-- ones, and how often its code has which instruction that tells what it lives on, as
-- kernels/objects/instructions.h writes it ("ds_read_b128 8, total 412"). NULL where nobody said it.
-- oldest program: 0038

ALTER TABLE kernels
    ADD COLUMN accumulation_registers integer,
    ADD COLUMN scalar_registers       integer,
    ADD COLUMN instructions           text;

-- Older programs go on to call the one with fewer parameters.
CREATE FUNCTION skipjack_work.put_kernel_facts(
    k_key text, k_built_by bigint, k_registers integer, k_spills integer, k_scratch bigint,
    k_local bigint, k_accumulation integer, k_scalar integer, k_instructions text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM skipjack_work.put_kernel_facts(k_key, k_built_by, k_registers, k_spills, k_scratch,
                                           k_local);
    IF (k_accumulation >= -1 AND k_scalar >= -1) IS NOT TRUE THEN
        PERFORM refuse_value('a kernel needs less than nothing');
    END IF;
    IF length(k_instructions) > 8000
       OR k_instructions !~ '^[A-Za-z0-9_.]+ [0-9]{1,9}(, [A-Za-z0-9_.]+ [0-9]{1,9})*$' THEN
        PERFORM refuse_value('a kernel''s instructions are not names with counts');
    END IF;
    UPDATE kernels SET accumulation_registers = nullif(k_accumulation, -1),
        scalar_registers = nullif(k_scalar, -1), instructions = k_instructions
    WHERE key = k_key AND built_by = k_built_by AND failure = 0
      AND coalesce(accumulation_registers, scalar_registers) IS NULL AND instructions IS NULL;
END $$;

CREATE OR REPLACE FUNCTION kernel_json(k kernels) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('key', k.key, 'file', k.file, 'entry', k.entry,
        'options', k.options, 'arch', k.arch, 'toolchain', k.toolchain,
        'toolchain_version', k.toolchain_version, 'failure', k.failure, 'log', k.log,
        'seconds', k.seconds, 'code_sha256', k.code_sha256, 'built_by', k.built_by,
        'registers', coalesce(k.registers, -1), 'spills', coalesce(k.spills, -1),
        'scratch_bytes', coalesce(k.scratch_bytes, -1), 'local_bytes', coalesce(k.local_bytes, -1),
        'accumulation_registers', coalesce(k.accumulation_registers, -1),
        'scalar_registers', coalesce(k.scalar_registers, -1), 'instructions', k.instructions)
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
