-- Who may do what. Beside the owner, who migrates, there are three roles:
-- skipjack_reader sees everything but secrets, skipjack_worker calls the
-- functions of schema skipjack_work, skipjack_coordinator does both and calls
-- the functions that entry_points names. All of these run with the owner's
-- rights, so nobody else needs a right to a table. Roles belong to the whole
-- server and may come later: set_privileges() gives them what they may do here.
-- Programs of before it work on, as the owner.
-- oldest program: 0012

DROP SCHEMA IF EXISTS skipjack_work CASCADE;
CREATE SCHEMA skipjack_work;

-- ---- who speaks ----

-- A worker's login is kept to tell who may bury it.
ALTER TABLE workers ADD COLUMN login text NOT NULL DEFAULT '';

-- What a worker's process made up when it registered, hashed. Its sessions
-- present it as the setting skipjack.secret.
CREATE TABLE worker_secrets (
    worker_id bigint PRIMARY KEY REFERENCES workers ON DELETE CASCADE,
    sha256    bytea NOT NULL
);
CREATE INDEX worker_secrets_sha256 ON worker_secrets (sha256);

-- Campaigns that a worker ever had a job of: it may add to their working time
-- and to their diary.
CREATE TABLE claimed_campaigns (
    worker_id   bigint REFERENCES workers ON DELETE CASCADE,
    campaign_id bigint REFERENCES campaigns ON DELETE CASCADE,
    PRIMARY KEY (worker_id, campaign_id)
);
CREATE INDEX claimed_campaigns_campaign ON claimed_campaigns (campaign_id);

-- Who claimed the jobs last, also when they were lost or given back since: its
-- results are awaited until somebody else claims.
ALTER TABLE bundles ADD COLUMN claimed_by bigint;
ALTER TABLE job_ends ADD COLUMN claimed_by bigint; -- where lost_state is set
UPDATE bundles SET claimed_by = worker_id WHERE worker_id IS NOT NULL;

-- Whoever may change campaigns may act for every worker: the owner, the
-- coordinator, and so a laptop's only user.
CREATE FUNCTION acts_for_all() RETURNS boolean
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT has_function_privilege(session_user, 'change_campaign(bigint, text)'::regprocedure,
                                  'EXECUTE')
$$;

-- The workers whose secret this session presents; NULL where it acts for all.
CREATE FUNCTION my_workers() RETURNS bigint[]
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT CASE WHEN NOT acts_for_all() THEN
        ARRAY(SELECT s.worker_id FROM worker_secrets s
              WHERE s.sha256 = sha256(convert_to(current_setting('skipjack.secret', true), 'UTF8')))
    END
$$;

CREATE FUNCTION check_worker(worker bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    mine bigint[] := my_workers();
BEGIN
    IF mine IS NOT NULL AND coalesce(worker <> ALL (mine), true) THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = format('this session does not act for worker %s: it has not its secret',
                             worker);
    END IF;
END $$;

-- One that was dropped meanwhile passes: what follows finds nothing.
CREATE FUNCTION check_claimed_campaign(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    mine bigint[] := my_workers();
BEGIN
    IF mine IS NOT NULL AND NOT EXISTS (SELECT 1 FROM claimed_campaigns c
                                        WHERE c.worker_id = ANY (mine)
                                          AND c.campaign_id = campaign)
       AND EXISTS (SELECT 1 FROM campaigns c WHERE c.id = campaign) THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = format('this worker never had a job of campaign %s', campaign);
    END IF;
END $$;

-- ---- what a worker says ----

-- Others read it, and sums are made of it: it is bounded before it is stored.
CREATE FUNCTION refuse_value(words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS
$$ BEGIN RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = words; END $$;

-- Working time of one call; a year is more than any.
CREATE FUNCTION check_seconds(said double precision[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT (0 <= ALL (said) AND 31536000 >= ALL (said)) THEN
        PERFORM refuse_value('working time is from 0 to a year');
    END IF;
END $$;

-- Why a job, a config or a kernel came to nothing: the numbers of failure.h
-- that say so.
CREATE FUNCTION check_failure(number integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF coalesce(number NOT BETWEEN 1 AND 14, true) THEN
        PERFORM refuse_value(format('%s is no failure', number));
    END IF;
END $$;

-- ---- a bundle's holder ----

CREATE OR REPLACE FUNCTION check_bundle_move() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT (OLD.state = NEW.state
            OR (OLD.state, NEW.state) IN (('ready', 'building'), ('building', 'ready'),
                                          ('built', 'evaluating'), ('evaluating', 'built'))) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('bundle %s cannot go from %s to %s', OLD.id, OLD.state, NEW.state);
    ELSIF NEW.fence < OLD.fence THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('the fence of bundle %s cannot go back', OLD.id);
    END IF;
    NEW.claimed_by := coalesce(NEW.worker_id, NEW.claimed_by);
    RETURN NEW;
END $$;

CREATE FUNCTION note_holder() RETURNS trigger
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    NEW.claimed_by := NEW.worker_id;
    RETURN NEW;
END $$;
CREATE TRIGGER note_holder BEFORE INSERT ON bundles
    FOR EACH ROW WHEN (NEW.worker_id IS NOT NULL) EXECUTE FUNCTION note_holder();

-- Puts jobs of a bundle, which left it, into one of their own, that nobody
-- holds. It keeps fence and holder, so that what was stored under it is known
-- again and what comes late is taken.
CREATE OR REPLACE FUNCTION put_jobs(b bundles, ids bigint[], new_state job_state, round integer,
                                    new_strikes integer) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence, claimed_by)
    VALUES (b.campaign_id, b.solver_id, new_state, round, b.position, ids, new_strikes,
            b.is_partial AND round = b.round_no, b.fence, b.claimed_by)
$$;

-- Jobs that failed only since their worker was lost three times are open again
-- for the result that comes late: the fence decides.
CREATE OR REPLACE FUNCTION revive_jobs(campaign bigint, held_fence bigint, ids bigint[])
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    WITH revived AS (
        DELETE FROM job_ends e
        WHERE e.campaign_id = campaign AND e.job_id = ANY (ids) AND e.failure = 13
          AND e.fence = held_fence
        RETURNING e.*)
    INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, strikes,
                         is_partial, fence, claimed_by)
    SELECT campaign, j.solver_id, r.lost_state, r.rounds, j.position, ARRAY[r.job_id], r.strikes,
           true, held_fence, r.claimed_by
    FROM revived r JOIN jobs j ON j.campaign_id = campaign AND j.id = r.job_id;
    IF FOUND THEN
        UPDATE campaigns SET state = 'active' WHERE id = campaign AND state = 'done';
    END IF;
END $$;

-- The bundles that hold any of the jobs under this fence, locked, with only
-- those of the jobs among their job_ids. Fences can be guessed: a worker gets
-- those alone that it claimed itself.
CREATE OR REPLACE FUNCTION held_bundles(campaign bigint, held_fence bigint, ids bigint[])
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 1
SET search_path = skipjack, pg_temp SET enable_seqscan = off AS $$
DECLARE
    mine bigint[] := my_workers();
    b bundles;
    seen integer := 0;
BEGIN
    FOR attempt IN 1..2 LOOP
        FOR b IN SELECT * FROM bundles
                 WHERE campaign_id = campaign AND fence = held_fence AND job_ids && ids
                 ORDER BY id FOR UPDATE
        LOOP
            IF mine IS NOT NULL AND (b.claimed_by IS NULL OR b.claimed_by <> ALL (mine)) THEN
                RAISE EXCEPTION USING ERRCODE = 'SJ003',
                    MESSAGE = format('job %s was claimed by another worker', b.job_ids[1]);
            END IF;
            IF NOT ids @> b.job_ids THEN
                b.job_ids := ARRAY(SELECT j FROM unnest(b.job_ids) AS j WHERE j = ANY (ids));
            END IF;
            seen := seen + cardinality(b.job_ids);
            RETURN NEXT b;
        END LOOP;
        EXIT WHEN seen > 0;
        PERFORM revive_jobs(campaign, held_fence, ids);
    END LOOP;
END $$;

-- Takes a locked bundle from a worker that was lost: a strike for each job,
-- which go on one by one, and the third since the last stored round makes a
-- failure (13, worker lost).
CREATE OR REPLACE FUNCTION lose_bundle(b bundles) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    back job_state := CASE b.state WHEN 'building' THEN 'ready' ELSE 'built' END;
BEGIN
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    SELECT 'lease lost', b.campaign_id, job, b.worker_id,
           format('%s, strike %s', b.state, b.strikes + 1)
    FROM unnest(b.job_ids) AS job;
    DELETE FROM bundles WHERE id = b.id;
    IF b.strikes < 2 THEN
        PERFORM put_jobs(b, ARRAY[job], back, b.round_no, b.strikes + 1)
        FROM unnest(b.job_ids) AS job;
        RETURN;
    END IF;
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state, claimed_by)
    SELECT b.campaign_id, job, 'failed', b.round_no, 13,
           format('worker lost three times, last in state %s', b.state), b.strikes + 1, b.fence,
           back, b.claimed_by
    FROM unnest(b.job_ids) AS job;
    PERFORM settle_campaign(b.campaign_id, 0);
END $$;

CREATE OR REPLACE FUNCTION fail_job(campaign bigint, job bigint, held_fence bigint, why smallint,
                                    words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b bundles := held_job(campaign, job, held_fence, 'store the failure');
BEGIN
    IF b.id IS NULL THEN
        IF EXISTS (SELECT 1 FROM job_ends e WHERE e.campaign_id = campaign AND e.job_id = job
                   AND e.state = 'done') THEN
            PERFORM refuse_job(campaign, job, held_fence, 'store the failure');
        END IF;
        RETURN;
    END IF;
    PERFORM take_jobs(b, b.job_ids);
    INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, strikes, fence,
                          lost_state, claimed_by)
    VALUES (campaign, job, 'failed', b.round_no, why, words, b.strikes, b.fence,
            CASE WHEN why = 13 THEN CASE WHEN b.state IN ('ready', 'building') THEN 'ready'
                                         ELSE 'built' END END::job_state, b.claimed_by);
    PERFORM settle_campaign(campaign, 0);
END $$;

-- ---- a worker's row ----

CREATE FUNCTION skipjack_work.migrations()
RETURNS TABLE (number integer, name text, sha256 text, oldest integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT m.number, m.name, m.sha256, coalesce((to_jsonb(m)->>'oldest')::integer, m.number)
    FROM schema_migrations m ORDER BY m.number
$$;

-- Enters a process of a node, or changes what it is. Entered again, which a
-- lost answer makes happen, it must present the secret that it had.
CREATE FUNCTION skipjack_work.register_worker(
    its_node text, its_process text, its_target text, its_stack text, it_builds boolean,
    its_labels jsonb, it_carries jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    secret text := coalesce(current_setting('skipjack.secret', true), '');
    mine bigint[] := my_workers();
    entered bigint;
BEGIN
    IF length(secret) < 32 THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = 'a worker presents a secret of at least 32 characters (skipjack.secret)';
    ELSIF length(its_node || its_process || its_target) > 1000 OR length(its_stack) > 4000
          OR pg_column_size(its_labels) > 4000 THEN
        PERFORM refuse_value('a worker describes itself in less words');
    END IF;
    INSERT INTO workers AS w (node, process, target, stack, builds, labels, carried, login)
    VALUES (its_node, its_process, its_target, its_stack, it_builds,
            ARRAY(SELECT jsonb_array_elements_text(its_labels)),
            CASE jsonb_typeof(it_carries)
                 WHEN 'array' THEN ARRAY(SELECT jsonb_array_elements_text(it_carries)) END,
            session_user)
    ON CONFLICT (node, process) DO UPDATE
    SET target = EXCLUDED.target, stack = EXCLUDED.stack, builds = EXCLUDED.builds,
        labels = EXCLUDED.labels, carried = EXCLUDED.carried, login = EXCLUDED.login,
        beat_at = clock_timestamp(), ended_at = NULL
    WHERE mine IS NULL OR w.id = ANY (mine)
    RETURNING id INTO entered;
    IF entered IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = format('process %s of node %s has registered with another secret',
                             its_process, its_node);
    END IF;
    INSERT INTO worker_secrets VALUES (entered, sha256(convert_to(secret, 'UTF8')))
    ON CONFLICT (worker_id) DO UPDATE SET sha256 = EXCLUDED.sha256;
    RETURN entered;
END $$;

CREATE FUNCTION skipjack_work.heartbeat(worker bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(worker);
    RETURN heartbeat(worker);
END $$;

-- A worker ends itself. It may also declare another one dead: of its own node,
-- since nobody else sees that the process is gone, and of its own login, so
-- that naming a node is not enough to take what it holds.
CREATE FUNCTION skipjack_work.end_worker(ending bigint, was_lost boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT was_lost OR NOT EXISTS (
        SELECT 1 FROM workers dead JOIN workers own ON own.node = dead.node
        WHERE dead.id = ending AND own.id = ANY (my_workers())
          AND dead.login = session_user AND own.login = session_user) THEN
        PERFORM check_worker(ending);
    END IF;
    PERFORM end_worker(ending, was_lost);
END $$;

CREATE FUNCTION skipjack_work.list_workers(of_node text) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(w) || jsonb_build_object('ended', w.ended_at IS NOT NULL,
        'age', greatest(extract(epoch FROM clock_timestamp() - w.beat_at), 0)::float8,
        'leases', (SELECT coalesce(sum(cardinality(b.job_ids)), 0) FROM bundles b
                   WHERE b.worker_id = w.id))
    FROM workers w WHERE of_node IS NULL OR w.node = of_node
    ORDER BY w.ended_at IS NOT NULL, w.node, w.id DESC
$$;

CREATE FUNCTION skipjack_work.refusals(worker bigint, campaign bigint) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(worker);
    RETURN QUERY SELECT to_jsonb(r) FROM refusals(worker, campaign) AS r
                 ORDER BY r.campaign_id, r.reason, r.node, r.worker_id;
END $$;

-- ---- a worker's jobs ----

CREATE FUNCTION skipjack_work.claim(
    claimer bigint, build boolean, wanted_campaign bigint, wanted_target text, carried jsonb,
    batch integer, lease double precision, token bigint, known_campaign bigint,
    from_round integer, from_position bigint)
RETURNS TABLE (campaign_id bigint, solver_id bigint, round_no integer, "position" bigint,
               strikes smallint, fence bigint, job_id bigint, problem_id bigint,
               best_ms double precision, quarantined jsonb, rounds jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_worker(claimer);
    -- A lease is not longer than a day, also where it is no number.
    RETURN QUERY
        SELECT b.campaign_id, b.solver_id, b.round_no, b.position, b.strikes, b.fence,
               j.job_id, j.problem_id, j.best_ms, j.quarantined, j.rounds
        FROM claim_jobs(claimer, build, wanted_campaign, wanted_target,
                        ARRAY(SELECT jsonb_array_elements_text(carried)), batch,
                        greatest(least(lease, 86400), 0), token, known_campaign,
                        from_round, from_position) AS b
        CROSS JOIN LATERAL claimed_jobs(b, build) AS j;
    IF NOT acts_for_all() THEN
        INSERT INTO claimed_campaigns
        SELECT DISTINCT claimer, b.campaign_id FROM bundles b
        WHERE b.worker_id = claimer AND b.claim_token = token
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

CREATE FUNCTION skipjack_work.release_claim(claimer bigint, token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(claimer);
    PERFORM release_claim(claimer, token);
END $$;

-- What claimed jobs refer to.
CREATE FUNCTION skipjack_work.problems(ids jsonb) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(p) FROM problems p
    WHERE id = ANY (ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e))
$$;

CREATE FUNCTION skipjack_work.solvers(ids jsonb) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(s) FROM solvers s
    WHERE id = ANY (ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e))
$$;

CREATE FUNCTION skipjack_work.campaigns(ids jsonb) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(c) FROM campaigns c
    WHERE id = ANY (ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e))
$$;

CREATE FUNCTION skipjack_work.target(named text) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ SELECT to_jsonb(t) FROM targets t WHERE id = named $$;

-- Handing in: held_bundles() knows whose jobs these are.
CREATE FUNCTION skipjack_work.row_types(OUT rounds oid, OUT outcomes oid, OUT results oid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ SELECT 'rounds'::regtype::oid, 'outcomes'::regtype::oid, 'results'::regtype::oid $$;

CREATE FUNCTION skipjack_work.store_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM store_built(campaign, items); END $$;

CREATE FUNCTION skipjack_work.store_partial(campaign bigint, items outcomes[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM store_partial(campaign, items); END $$;

CREATE FUNCTION skipjack_work.store_rounds(campaign bigint, items outcomes[], kept results[],
                                           more boolean[], seconds double precision[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_seconds(seconds);
    PERFORM store_rounds(campaign, items, kept, more, seconds);
END $$;

CREATE FUNCTION skipjack_work.fail_job(campaign bigint, job bigint, held_fence bigint,
                                       why smallint, words text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM check_failure(why); PERFORM fail_job(campaign, job, held_fence, why, words); END $$;

CREATE FUNCTION skipjack_work.finish_job(campaign bigint, job bigint, held_fence bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM finish_job(campaign, job, held_fence); END $$;

CREATE FUNCTION skipjack_work.release_job(campaign bigint, job bigint, held_fence bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN PERFORM release_job(campaign, job, held_fence); END $$;

CREATE FUNCTION skipjack_work.add_spent(campaign bigint, seconds double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_claimed_campaign(campaign);
    PERFORM check_seconds(ARRAY[seconds]);
    PERFORM add_spent(campaign, seconds);
END $$;

-- A config is taken out by whoever claimed its job last.
CREATE FUNCTION skipjack_work.quarantine(campaign bigint, job bigint, values_of jsonb,
                                         why smallint, words text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
    said integer[] := ARRAY(SELECT v::integer FROM jsonb_array_elements_text(values_of)
                            WITH ORDINALITY AS e(v, n) ORDER BY n);
BEGIN
    IF mine IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM bundles b
        WHERE b.campaign_id = campaign AND b.job_ids @> ARRAY[job] AND b.claimed_by = ANY (mine)
        UNION ALL
        SELECT 1 FROM job_ends e
        WHERE e.campaign_id = campaign AND e.job_id = job AND e.claimed_by = ANY (mine)) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ003',
            MESSAGE = format('job %s was claimed by another worker', job);
    END IF;
    PERFORM check_failure(why);
    IF cardinality(said) > 16 OR array_position(said, NULL) IS NOT NULL THEN
        PERFORM refuse_value('a config has up to 16 values');
    END IF;
    INSERT INTO quarantine (solver_id, problem_id, target, config, failure, detail)
    SELECT j.solver_id, j.problem_id, c.target, said, why, words
    FROM jobs j JOIN campaigns c ON c.id = j.campaign_id
    WHERE j.campaign_id = campaign AND j.id = job ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION skipjack_work.list_quarantine() RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(q) || jsonb_build_object('problem', to_jsonb(p), 'solver', s.name,
        'revision', s.revision, 'hash', s.hash, 'since_unix', extract(epoch FROM q.since)::bigint)
    FROM quarantine q JOIN problems p ON p.id = q.problem_id
    JOIN solvers s ON s.id = q.solver_id
    ORDER BY q.target, s.name, q.problem_id, q.config
$$;

-- A worker writes of itself, and of campaigns that it had jobs of; 0 for
-- none. What it says before it registered goes by its login.
CREATE FUNCTION skipjack_work.add_event(what text, of_campaign bigint, of_job bigint,
                                        of_worker bigint, words text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    named text := words;
BEGIN
    IF acts_for_all() THEN
        NULL;
    ELSIF of_campaign = 0 AND of_job = 0 AND of_worker = 0 THEN
        named := session_user || ': ' || words;
    ELSE
        PERFORM check_worker(of_worker);
        IF of_campaign <> 0 OR of_job <> 0 THEN
            PERFORM check_claimed_campaign(of_campaign);
        END IF;
    END IF;
    INSERT INTO events (kind, campaign_id, job_id, worker_id, detail)
    VALUES (what, nullif(of_campaign, 0), nullif(of_job, 0), nullif(of_worker, 0), named);
END $$;

-- ---- kernels ----

CREATE FUNCTION kernel_json(k kernels) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('key', k.key, 'file', k.file, 'entry', k.entry,
        'options', k.options, 'arch', k.arch, 'toolchain', k.toolchain,
        'toolchain_version', k.toolchain_version, 'failure', k.failure, 'log', k.log,
        'seconds', k.seconds, 'code_sha256', k.code_sha256, 'built_by', k.built_by)
$$;

CREATE FUNCTION skipjack_work.known_kernels(keys jsonb) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    UPDATE kernels k SET used_at = clock_timestamp()
    WHERE key = ANY (ARRAY(SELECT jsonb_array_elements_text(keys)))
      AND (code_place IS NOT NULL OR failure = 2)
    RETURNING kernel_json(k)
$$;

CREATE FUNCTION skipjack_work.kernel(its_key text) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT kernel_json(k) || jsonb_build_object('url', p.url, 'code_name', k.code_name,
        'code_place', k.code_place, 'code_bytes', k.code_bytes)
    FROM kernels k LEFT JOIN blob_places p ON p.id = k.code_place WHERE k.key = its_key
$$;

CREATE FUNCTION skipjack_work.kernel_code(its_key text) RETURNS SETOF bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ SELECT k.code FROM kernels k WHERE k.key = its_key AND k.code IS NOT NULL $$;

CREATE FUNCTION skipjack_work.put_kernel(
    k_key text, k_file text, k_entry text, k_options text, k_arch text, k_toolchain text,
    k_version text, k_failure smallint, k_log text, k_seconds double precision, k_code bytea,
    k_sha256 text, k_built_by bigint, k_place smallint, k_name text, k_bytes bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(k_built_by);
    IF k_failure <> 0 THEN
        PERFORM check_failure(k_failure);
    END IF;
    RETURN put_kernel(k_key, k_file, k_entry, k_options, k_arch, k_toolchain, k_version, k_failure,
                      k_log, k_seconds, k_code, k_sha256, k_built_by, k_place, k_name, k_bytes);
END $$;

-- Uploads are known by names that nobody else is told.
CREATE FUNCTION skipjack_work.begin_upload(sha256_hex text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN RETURN begin_upload(sha256_hex); END $$;

CREATE FUNCTION skipjack_work.give_up_upload(at smallint, asked text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ UPDATE blob_loose SET is_upload = false WHERE place = at AND name = asked $$;

-- ---- what coordinators do ----

CREATE VIEW campaign_rows AS
    SELECT c.*, extract(epoch FROM c.created_at)::bigint AS created,
           spent_seconds(c.id) AS spent_seconds, n.jobs, n.done, n.failed, n.open
    FROM campaigns c CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, count(*) FILTER (WHERE j.state = 'done') AS done,
               count(*) FILTER (WHERE j.state = 'failed') AS failed,
               count(*) FILTER (WHERE j.state IN ('ready', 'building', 'built', 'evaluating'))
                   AS open
        FROM job_rows j WHERE j.campaign_id = c.id) AS n;

CREATE FUNCTION skipjack_work.campaign(its_id bigint) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS
$$ BEGIN RETURN QUERY SELECT to_jsonb(c) FROM campaign_rows c WHERE c.id = its_id; END $$;

-- Each problem's row, in the order of the items; they get the tag, NULL for none.
CREATE FUNCTION put_tagged_problems(items jsonb, its_tag text) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    ids bigint[] := ARRAY(SELECT p.problem_id FROM put_problems(items) AS p ORDER BY p.ord);
BEGIN
    INSERT INTO problem_tags (tag, problem_id)
    SELECT DISTINCT its_tag, id FROM unnest(ids) AS id WHERE its_tag IS NOT NULL
    ORDER BY id ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT unnest(ids);
END $$;

-- Its id says what a target is; limits and peaks are what a device said last.
CREATE FUNCTION put_target(described jsonb) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO targets SELECT * FROM jsonb_populate_record(NULL::targets, described)
    ON CONFLICT (id) DO UPDATE SET local_bytes = EXCLUDED.local_bytes,
        max_workgroup = EXCLUDED.max_workgroup, wave_size = EXCLUDED.wave_size,
        vector_bytes = EXCLUDED.vector_bytes, peak_flops = EXCLUDED.peak_flops,
        peak_bytes = EXCLUDED.peak_bytes
$$;

CREATE FUNCTION clear_quarantine(of_target text) RETURNS bigint
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    WITH cleared AS (
        DELETE FROM quarantine WHERE of_target IS NULL OR target = of_target RETURNING 1)
    SELECT count(*) FROM cleared
$$;

-- An upload that has not ended after a day belongs to a process that died.
-- From here on it cannot end.
CREATE FUNCTION give_up_uploads() RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE blob_loose SET is_upload = false
    WHERE is_upload AND since < now() - interval '1 day'
$$;

-- An object that is gone.
CREATE FUNCTION forget_blob(at smallint, removed text) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS
$$ DELETE FROM blob_loose WHERE place = at AND name = removed AND NOT is_upload $$;

-- Detaching a partition takes its owner. Others give its space back, and leave
-- the empty table to the owner's next migrate or drop.
CREATE FUNCTION empty_dropped_partitions() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    dropped text;
BEGIN
    FOR dropped IN SELECT d.child FROM dropped_partitions d
                   WHERE pg_relation_size(to_regclass(format('skipjack.%I', d.child))) > 0
    LOOP
        BEGIN
            EXECUTE format('TRUNCATE skipjack.%I', dropped);
        EXCEPTION WHEN lock_not_available OR undefined_table THEN
            CONTINUE; -- somebody still reads it, or has dropped it: the next call looks again
        END;
    END LOOP;
END $$;

-- ---- privileges ----

-- Functions that a role may call beside those it has by its schema: workers
-- have all of skipjack_work, coordinators these too and whatever readers have.
-- Upkeep's run with the caller's rights: they keep lists in the session's
-- temporary tables, and what a session put there must not run as the owner.
CREATE TABLE entry_points (
    role     text NOT NULL CHECK (role IN ('skipjack_reader', 'skipjack_coordinator')),
    name     text NOT NULL,
    as_owner boolean NOT NULL DEFAULT true,
    PRIMARY KEY (role, name)
);
INSERT INTO entry_points
SELECT 'skipjack_coordinator', n, true FROM unnest(ARRAY[
    'put_tagged_problems', 'put_network', 'put_target', 'begin_campaign', 'add_jobs',
    'open_campaign', 'change_campaign', 'set_campaign_share', 'extend_campaign', 'drain_node',
    'clear_quarantine', 'use_blob_place', 'move_kernel', 'rebuild_rounds', 'give_up_uploads', 'forget_blob',
    'empty_dropped_partitions']) AS n
UNION ALL
SELECT 'skipjack_coordinator', n, false FROM unnest(ARRAY[
    'begin_kernel_search', 'note_needed_kernels', 'note_kernels_of_rounds', 'drop_code',
    'forget_kernels', 'forget_events', 'forget_workers']) AS n
UNION ALL
SELECT 'skipjack_reader', n, true FROM unnest(ARRAY[
    'spent_seconds', 'refusals', 'skipjack_work.migrations', 'skipjack_work.list_workers',
    'skipjack_work.list_quarantine', 'skipjack_work.campaign', 'skipjack_work.target',
    'skipjack_work.kernel', 'skipjack_work.kernel_code']) AS n;

-- Its name as entry_points has it.
CREATE FUNCTION entry_name(p pg_proc) RETURNS text
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT CASE p.pronamespace WHEN 'skipjack'::regnamespace THEN p.proname::text
                WHEN 'skipjack_work'::regnamespace THEN 'skipjack_work.' || p.proname END
$$;

-- The functions that a role calls, by their full signature.
CREATE FUNCTION functions_of(its_role text) RETURNS TABLE (function regprocedure, as_owner boolean)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT p.oid::regprocedure, true FROM pg_proc p
    WHERE p.pronamespace = 'skipjack_work'::regnamespace AND its_role <> 'skipjack_reader'
    UNION
    SELECT p.oid::regprocedure, e.as_owner FROM pg_proc p JOIN entry_points e ON e.name = entry_name(p)
    WHERE e.role = its_role OR its_role = 'skipjack_coordinator'
$$;

-- Gives one role that there is what it may do in this database. Partitions
-- are reached through the tables that they are part of, but upkeep looks into
-- those of results one by one.
CREATE FUNCTION grant_role(its_role text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    thing text;
BEGIN
    IF NOT has_database_privilege(its_role, current_database(), 'CONNECT') THEN
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), its_role);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA skipjack_work TO %I', its_role);
    FOR thing IN SELECT f.function::text FROM functions_of(its_role) AS f LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', thing, its_role);
    END LOOP;
    IF its_role = 'skipjack_worker' THEN
        RETURN;
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA skipjack TO %I', its_role);
    FOR thing IN SELECT format('skipjack.%I', c.relname) FROM pg_class c
                 WHERE c.relnamespace = 'skipjack'::regnamespace AND c.relkind IN ('r', 'p', 'v')
                   AND c.relname <> 'worker_secrets'
                   AND (NOT c.relispartition OR c.relname ~ '^results_')
                   AND NOT has_table_privilege(its_role, c.oid, 'SELECT')
    LOOP
        EXECUTE format('GRANT SELECT ON %s TO %I', thing, its_role);
    END LOOP;
    IF its_role = 'skipjack_coordinator' THEN
        GRANT DELETE ON kernels, events, workers TO skipjack_coordinator;
        GRANT INSERT ON blob_loose TO skipjack_coordinator;
        GRANT UPDATE (code, code_place, code_name) ON kernels TO skipjack_coordinator;
        -- To lock a row takes the right to change some column; these two nobody can change.
        GRANT UPDATE (id) ON events, workers TO skipjack_coordinator;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION add_partitions(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['jobs', 'job_ends', 'rounds', 'outcomes', 'results']
    LOOP
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL, CHECK (campaign_id = %s))',
                       parent || '_' || campaign, parent, campaign);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%s)',
                       parent, parent || '_' || campaign, campaign);
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'skipjack_coordinator') THEN
        EXECUTE format('GRANT SELECT ON %I TO skipjack_coordinator', 'results_' || campaign);
    END IF;
END $$;

-- Called after every migration, and when roles were created. What roles call
-- runs with the owner's rights; the rest is the owner's alone.
CREATE FUNCTION set_privileges() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    thing text;
BEGIN
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
    FOR thing IN SELECT f.function::text FROM functions_of('skipjack_coordinator') AS f
                 JOIN pg_proc p ON p.oid = f.function WHERE f.as_owner AND NOT p.prosecdef
    LOOP
        EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER', thing);
    END LOOP;
    FOR thing IN SELECT r.rolname FROM pg_roles r
                 WHERE r.rolname IN ('skipjack_reader', 'skipjack_worker', 'skipjack_coordinator')
                 ORDER BY r.rolname
    LOOP
        PERFORM grant_role(thing);
    END LOOP;
END $$;
