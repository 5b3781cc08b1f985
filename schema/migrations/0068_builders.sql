-- Whose code runs. Code objects lay under known keys for all, whoever built them, so a worker's login could have
-- native code run on other nodes' CPUs, and when it faulted, the configs and the node that measured were
-- blamed. Kernels now tell who built them, a campaign says which logins' code its workers may run on CPUs
-- beside their own, and a worker that built a kernel again replaces the code by what it measures.
-- oldest program: 0066

ALTER TABLE campaigns ADD COLUMN trusted text[] NOT NULL DEFAULT '{}'; -- logins

-- With the columns that campaigns have by now.
DROP VIEW campaign_rows;
CREATE VIEW campaign_rows AS
    SELECT c.*, extract(epoch FROM c.created_at)::bigint AS created,
           spent_seconds(c.id) AS spent_seconds, n.*,
           coalesce(c.state = 'active' AND c.deadline <= clock_timestamp(), false) AS overdue
    FROM campaigns c
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, count(*) FILTER (WHERE j.state = 'done') AS done,
               count(*) FILTER (WHERE j.state = 'failed') AS failed,
               count(*) FILTER (WHERE j.state IN ('ready', 'building', 'built', 'evaluating')) AS open
        FROM job_rows j WHERE j.campaign_id = c.id) AS n;

-- The code of these logins' workers may run on the campaign's CPUs, beside that of a worker's own login.
CREATE FUNCTION trust_logins(campaign bigint, logins jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    names text[] := ARRAY(SELECT DISTINCT l FROM jsonb_array_elements_text(logins) AS l ORDER BY 1);
    missing text := (SELECT min(n) FROM unnest(names) AS n
                     WHERE n NOT IN (SELECT rolname FROM pg_roles WHERE rolcanlogin));
BEGIN
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('cannot trust "%s": the database has no such login', left(missing, 100));
    END IF;
    UPDATE campaigns SET trusted = names WHERE id = campaign;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    END IF;
END $$;
INSERT INTO entry_points (role, name) VALUES ('skipjack_coordinator', 'trust_logins');

-- own: a worker of the session's login built it. Nobody knows who built kernels older than worker_names;
-- whoever may act for all workers need not be protected from them.
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

-- kernel(), and whether the campaign's workers of this login may run its code on a CPU.
CREATE FUNCTION skipjack_work.campaign_kernel(its_key text, campaign bigint) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT k || jsonb_build_object('trusted', (k->>'own')::boolean OR EXISTS (
        SELECT FROM campaigns c WHERE c.id = campaign AND k->>'builder_login' = ANY (c.trusted)))
    FROM skipjack_work.kernel(its_key) AS k
$$;

INSERT INTO entry_points (role, name) VALUES ('skipjack_reader', 'skipjack_work.campaign_kernel');

-- Whether the worker holds a claim to measure a job with that kernel.
CREATE FUNCTION measures_kernel(worker bigint, its_key text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM bundles b
        CROSS JOIN LATERAL unnest(b.job_ids) AS j(id)
        JOIN rounds r ON r.campaign_id = b.campaign_id AND r.job_id = j.id AND r.number = b.round_no
        CROSS JOIN LATERAL unnest(r.kernel_keys) AS joined
        WHERE b.worker_id = worker AND b.state = 'evaluating'
          AND its_key = ANY (string_to_array(joined, ',')))
$$;

-- Before put_kernel() in the same statement: the code that another login's worker put makes room for what the
-- worker has built itself and measures, and no other worker's claim is enough for that.
CREATE FUNCTION skipjack_work.displace_kernel(its_key text, worker bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    k kernels;
    its_login text;
BEGIN
    PERFORM check_worker(worker);
    -- Before the row is locked: it is no kernel that others build or measure.
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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
