-- Kernels: their rows, and their code where it is in the database.

-- own: a worker of the session's login built the kernel. The builders of kernels older
-- than worker_names are unknown; a login that may act for all workers needs no
-- protection from them.
CREATE OR REPLACE FUNCTION kernel_json(k kernels) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('key', k.key, 'file', k.file, 'entry', k.entry,
        'options', k.options, 'arch', k.arch, 'toolchain', k.toolchain,
        'toolchain_version', k.toolchain_version, 'failure', k.failure, 'log', k.log,
        'seconds', k.seconds, 'code_sha256', k.code_sha256, 'built_by', k.built_by,
        'registers', coalesce(k.registers, -1), 'spills', coalesce(k.spills, -1),
        'scratch_bytes', coalesce(k.scratch_bytes, -1), 'local_bytes', coalesce(k.local_bytes, -1),
        'accumulation_registers', coalesce(k.accumulation_registers, -1),
        'scalar_registers', coalesce(k.scalar_registers, -1), 'instructions', k.instructions,
        'builder_login', coalesce(b.login, ''), 'builder_node', coalesce(b.node, ''),
        'own', coalesce(b.login = session_user, acts_for_all()))
    FROM (SELECT 1) AS one LEFT JOIN worker_names b ON b.worker_id = k.built_by
$$;

CREATE OR REPLACE FUNCTION skipjack_work.known_kernels(keys jsonb) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT kernel_json(k) FROM ask_for_kernels(ARRAY(SELECT jsonb_array_elements_text(keys))) AS k
$$;

CREATE OR REPLACE FUNCTION skipjack_work.kernel(its_key text) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT kernel_json(k) || jsonb_build_object('url', p.url, 'code_name', k.code_name,
        'code_place', k.code_place, 'code_bytes', k.code_bytes)
    FROM kernels k LEFT JOIN blob_places p ON p.id = k.code_place WHERE k.key = its_key
$$;

-- Returns kernel() of the key, and whether the campaign's workers of this login may run its code on
-- a CPU.
CREATE OR REPLACE FUNCTION skipjack_work.campaign_kernel(its_key text, campaign bigint) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT k || jsonb_build_object('trusted', (k->>'own')::boolean OR EXISTS (
        SELECT FROM campaigns c WHERE c.id = campaign AND k->>'builder_login' = ANY (c.trusted)))
    FROM skipjack_work.kernel(its_key) AS k
$$;

CREATE OR REPLACE FUNCTION skipjack_work.kernel_code(its_key text) RETURNS SETOF bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ SELECT k.code FROM kernels k WHERE k.key = its_key AND k.code IS NOT NULL $$;

-- Stores a kernel. A row of a compile timeout or a compiler crash is replaced by a
-- better result. A collected kernel gets its code back. Any other row stays, marked as
-- used now. Returns false if the code is not at the current place, or its upload was
-- given up; the caller then uploads it there.
CREATE OR REPLACE FUNCTION take_kernel(
    k_key text, k_file text, k_entry text, k_options text, k_arch text, k_toolchain text,
    k_version text, k_failure smallint, k_log text, k_seconds double precision, k_code bytea,
    k_sha256 text, k_built_by bigint, k_place smallint, k_name text, k_bytes bigint)
RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    won boolean;
BEGIN
    IF k_place IS NOT NULL THEN
        PERFORM lock_blob_place(false);
        IF NOT (SELECT is_current FROM blob_places WHERE id = k_place) THEN
            UPDATE blob_loose SET is_upload = false WHERE place = k_place AND name = k_name;
            RETURN false;
        END IF;
    END IF;
    IF k_name IS NOT NULL AND NOT end_upload(k_place, k_name) THEN
        RETURN false;
    END IF;
    INSERT INTO kernels AS k (key, file, entry, options, arch, toolchain, toolchain_version,
        failure, log, seconds, code, code_sha256, built_by, code_place, code_name, code_bytes)
    VALUES (k_key, k_file, k_entry, k_options, k_arch, k_toolchain, k_version, k_failure, k_log,
        k_seconds, k_code, k_sha256, k_built_by, k_place, k_name, k_bytes)
    ON CONFLICT (key) DO UPDATE SET used_at = clock_timestamp(),
        (failure, log, seconds, code, code_sha256, built_by, code_place, code_name, code_bytes) =
        (SELECT n.* FROM (
            SELECT EXCLUDED.failure, EXCLUDED.log, EXCLUDED.seconds, EXCLUDED.code,
                   EXCLUDED.code_sha256, EXCLUDED.built_by, EXCLUDED.code_place,
                   EXCLUDED.code_name, EXCLUDED.code_bytes
            WHERE (k.code_place IS NULL AND k.failure = @FAILURE_NONE AND EXCLUDED.code_place IS NOT NULL)
               OR (k.failure IN (@FAILURE_COMPILE_TIMEOUT, @FAILURE_COMPILER_CRASH)
                   AND EXCLUDED.failure IN (@FAILURE_NONE, @FAILURE_COMPILE_ERROR))
            UNION ALL
            SELECT k.failure, k.log, k.seconds, k.code, k.code_sha256, k.built_by, k.code_place,
                   k.code_name, k.code_bytes
            LIMIT 1) AS n)
    RETURNING k.code_name IS NOT DISTINCT FROM k_name INTO won;
    IF k_name IS NOT NULL AND NOT won THEN
        INSERT INTO blob_loose (place, name, is_upload) VALUES (k_place, k_name, false);
    END IF;
    RETURN true;
END $$;

-- Checks a kernel that was handed in, then stores it by take_kernel().
CREATE OR REPLACE FUNCTION put_kernel(
    k_key text, k_file text, k_entry text, k_options text, k_arch text, k_toolchain text,
    k_version text, k_failure smallint, k_log text, k_seconds double precision, k_code bytea,
    k_sha256 text, k_built_by bigint, k_place smallint, k_name text, k_bytes bigint)
RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_handed_kernel(k_key, k_options, k_failure, k_log, k_seconds, k_code, k_sha256);
    RETURN take_kernel(k_key, k_file, k_entry, k_options, k_arch, k_toolchain, k_version, k_failure,
                       k_log, k_seconds, k_code, k_sha256, k_built_by, k_place, k_name, k_bytes);
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.put_kernel(
    k_key text, k_file text, k_entry text, k_options text, k_arch text, k_toolchain text,
    k_version text, k_failure smallint, k_log text, k_seconds double precision, k_code bytea,
    k_sha256 text, k_built_by bigint, k_place smallint, k_name text, k_bytes bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(k_built_by);
    IF k_failure <> @FAILURE_NONE THEN
        PERFORM check_failure(k_failure);
    END IF;
    RETURN put_kernel(k_key, k_file, k_entry, k_options, k_arch, k_toolchain, k_version, k_failure,
                      k_log, k_seconds, k_code, k_sha256, k_built_by, k_place, k_name, k_bytes);
END $$;

-- Stores what the compiler reported, once, from the worker that put the kernel. An
-- unknown number is -1.
CREATE OR REPLACE FUNCTION skipjack_work.put_kernel_facts(
    k_key text, k_built_by bigint, k_registers integer, k_spills integer, k_scratch bigint,
    k_local bigint, k_accumulation integer, k_scalar integer, k_instructions text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(k_built_by);
    IF (k_registers >= -1 AND k_spills >= -1 AND k_scratch >= -1 AND k_local >= -1
        AND k_accumulation >= -1 AND k_scalar >= -1) IS NOT TRUE THEN
        PERFORM refuse_value('a kernel needs less than nothing');
    END IF;
    IF length(k_instructions) > 8000
       OR k_instructions !~ '^[A-Za-z0-9_.]+ [0-9]{1,9}(, [A-Za-z0-9_.]+ [0-9]{1,9})*$' THEN
        PERFORM refuse_value('a kernel''s instructions are not names with counts');
    END IF;
    UPDATE kernels SET registers = nullif(k_registers, -1), spills = nullif(k_spills, -1),
        scratch_bytes = nullif(k_scratch, -1), local_bytes = nullif(k_local, -1)
    WHERE key = k_key AND built_by = k_built_by AND failure = @FAILURE_NONE
      AND coalesce(registers, spills, scratch_bytes, local_bytes) IS NULL;
    UPDATE kernels SET accumulation_registers = nullif(k_accumulation, -1),
        scalar_registers = nullif(k_scalar, -1), instructions = k_instructions
    WHERE key = k_key AND built_by = k_built_by AND failure = @FAILURE_NONE
      AND coalesce(accumulation_registers, scalar_registers) IS NULL AND instructions IS NULL;
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.judge_kernels(its_arch text) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT kernel_json(k) FROM ask_for_kernels(ARRAY(
        SELECT j.key FROM kernels j
        WHERE j.file = 'judge.cl' AND j.arch = its_arch AND j.code_place IS NOT NULL
          AND j.failure = @FAILURE_NONE)) AS k
$$;

CREATE OR REPLACE FUNCTION skipjack_work.proof_kernels(its_arch text) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT kernel_json(k) FROM ask_for_kernels(ARRAY(
        SELECT p.key FROM kernels p
        WHERE p.file = 'conv_direct_naive.cl' AND p.entry = 'conv_naive_f' AND p.arch = its_arch
          AND p.code_place IS NOT NULL AND p.failure = @FAILURE_NONE)) AS k
$$;

-- Returns true if the worker holds a claim to measure a job with that kernel.
CREATE OR REPLACE FUNCTION measures_kernel(worker bigint, its_key text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM bundles b
        CROSS JOIN LATERAL unnest(b.job_ids) AS j(id)
        JOIN rounds r ON r.campaign_id = b.campaign_id AND r.job_id = j.id AND r.number = b.round_no
        CROSS JOIN LATERAL unnest(r.kernel_keys) AS joined
        WHERE b.worker_id = worker AND b.state = 'evaluating'
          AND its_key = ANY (string_to_array(joined, ',')))
$$;

-- Called before put_kernel() in the same statement: removes code that another worker put,
-- so that this worker's own build of the kernel takes its place. Returns false, and
-- changes nothing, unless this worker holds a claim to measure a job with the kernel.
CREATE OR REPLACE FUNCTION skipjack_work.displace_kernel(its_key text, worker bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    k kernels;
    its_login text;
BEGIN
    PERFORM check_worker(worker);
    -- Checked before the row is locked, so a worker cannot hold rows of kernels that others use.
    IF NOT measures_kernel(worker, its_key) THEN
        RETURN false;
    END IF;
    SELECT * INTO k FROM kernels WHERE key = its_key AND code_place IS NOT NULL FOR UPDATE;
    IF NOT FOUND OR k.built_by = worker THEN
        RETURN false;
    END IF;
    SELECT n.login INTO its_login FROM worker_names n WHERE n.worker_id = k.built_by;
    PERFORM move_kernel(its_key, k.code_place, k.code_name, NULL, NULL, NULL);
    UPDATE kernels SET registers = NULL, spills = NULL, scratch_bytes = NULL, local_bytes = NULL,
        accumulation_registers = NULL, scalar_registers = NULL, instructions = NULL
    WHERE key = its_key;
    INSERT INTO events (kind, worker_id, detail)
    VALUES ('code replaced', worker, format(
        'kernel %s: the code of worker %s, login %s (sha256 %s) makes room for what this worker built',
        its_key, k.built_by, coalesce(its_login, 'unknown'), k.code_sha256));
    RETURN true;
END $$;

-- Marks code that a round waits for as used. Code may have been dropped while no worker
-- held the round's jobs. A round that lacks code is refused, and its jobs are built
-- again.
CREATE OR REPLACE FUNCTION ask_for_code(b bundles, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    lacking bigint;
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT DISTINCT i.job_id, one.key
        FROM unnest(items) AS i, unnest(i.kernel_keys, i.failures) AS c(keys, failure),
             unnest(string_to_array(c.keys, ',')) AS one(key)
        WHERE i.fence = b.fence AND i.job_id = ANY (b.job_ids) AND c.failure = @FAILURE_PENDING
    ), asked AS (
        UPDATE kernels k SET used_at = clock_timestamp()
        WHERE k.key IN (SELECT w.key FROM wanted w) RETURNING k.key, k.code_place)
    SELECT w.job_id INTO lacking FROM wanted w JOIN asked a USING (key)
    WHERE a.code_place IS NULL LIMIT 1;
    IF FOUND THEN
        PERFORM refuse_job(b.campaign_id, lacking, b.fence, 'store a round without its code');
    END IF;
END $$;

-- Returns the wanted kernels that have code or do not compile, and marks them as used now.
-- A kernel whose row another session holds is returned unmarked, if it was used within the
-- last 30 minutes. A kernel that upkeep is about to drop is not returned: only upkeep
-- holds rows against key locks.
CREATE OR REPLACE FUNCTION ask_for_kernels(wanted text[]) RETURNS SETOF kernels
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    noted text[];
    others text[] := '{}';
BEGIN
    noted := ARRAY(SELECT k.key FROM kernels k
                   WHERE k.key = ANY (wanted) AND (k.code_place IS NOT NULL OR k.failure = @FAILURE_COMPILE_ERROR)
                   FOR NO KEY UPDATE SKIP LOCKED);
    UPDATE kernels k SET used_at = clock_timestamp() WHERE k.key = ANY (noted);
    IF cardinality(noted) < cardinality(wanted) THEN
        others := ARRAY(SELECT k.key FROM kernels k
                        WHERE k.key = ANY (wanted) AND k.key <> ALL (noted)
                          AND (k.code_place IS NOT NULL OR k.failure = @FAILURE_COMPILE_ERROR)
                          AND k.used_at > clock_timestamp() - interval '30 minutes'
                        FOR KEY SHARE SKIP LOCKED);
    END IF;
    RETURN QUERY SELECT * FROM kernels k WHERE k.key = ANY (noted || others);
END $$;

-- Records that a kernel's code is now at to_place (NULL: nowhere), unless the code was
-- moved or collected meanwhile.
CREATE OR REPLACE FUNCTION move_kernel(
    k_key text, from_place smallint, from_name text, to_place smallint, to_name text,
    to_code bytea)
RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    moved boolean;
BEGIN
    IF to_name IS NOT NULL AND NOT end_upload(to_place, to_name) THEN
        RETURN false;
    END IF;
    UPDATE kernels SET code = to_code, code_place = to_place, code_name = to_name
    WHERE key = k_key AND code_place = from_place AND code_name IS NOT DISTINCT FROM from_name;
    moved := found;
    INSERT INTO blob_loose (place, name, is_upload)
    SELECT o.place, o.name, false
    FROM (VALUES (to_place, to_name, NOT moved), (from_place, from_name, moved))
         AS o(place, name, is_loose)
    WHERE o.name IS NOT NULL AND o.is_loose;
    RETURN moved;
END $$;
