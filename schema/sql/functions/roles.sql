-- Roles and privileges. Beside the owner, who migrates, there are three roles.
-- skipjack_reader sees everything but secrets. skipjack_worker calls the functions of
-- schema skipjack_work. skipjack_coordinator does both, and calls the functions that
-- entry_points names. These functions run with the owner's rights, so other logins need
-- no right to a table. Roles belong to the whole server and may be created later:
-- set_privileges() gives them their rights in this database.

-- Returns true for logins that may act for every worker: those that may change
-- campaigns. These are the owner, coordinators, and so the only user of a laptop.
CREATE OR REPLACE FUNCTION acts_for_all() RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN session_user = current_user
           OR has_function_privilege(session_user, 'change_campaign(bigint, text)', 'EXECUTE');
END $$;

-- The workers whose secret this session presents; NULL for a session that acts for all
-- workers.
CREATE OR REPLACE FUNCTION my_workers() RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF session_user = current_user OR acts_for_all() THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(SELECT s.worker_id FROM worker_secrets s
                 WHERE s.sha256 = sha256(convert_to(current_setting('skipjack.secret', true),
                                                    'UTF8')));
END $$;

CREATE OR REPLACE FUNCTION check_worker(worker bigint) RETURNS void
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

-- Refuses a campaign that the session's workers never had a job of. A campaign that was
-- dropped meanwhile passes, since later steps find no row of it.
CREATE OR REPLACE FUNCTION check_claimed_campaign(campaign bigint) RETURNS void
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

CREATE OR REPLACE FUNCTION skipjack_work.migrations()
RETURNS TABLE (number integer, name text, sha256 text, oldest integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT m.number, m.name, m.sha256, coalesce((to_jsonb(m)->>'oldest')::integer, m.number)
    FROM schema_migrations m ORDER BY m.number
$$;

-- The revision and hashes of the functions in the database, which workers' programs
-- compare with their own.
CREATE OR REPLACE FUNCTION skipjack_work.functions_laid()
RETURNS TABLE (revision integer, oldest integer, sha256 text, triggers_sha256 text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ SELECT f.revision, f.oldest, f.sha256, f.triggers_sha256 FROM schema_functions f $$;

-- The functions that a role may call. Workers have all of skipjack_work; readers have
-- what is named here; coordinators have all of that, and their own.
-- as_owner: the function runs with the owner's rights. Upkeep's functions run with the
-- caller's: they keep lists in the session's temporary tables, and what a session put
-- into those must not run as the owner.
CREATE OR REPLACE VIEW entry_points AS
    SELECT 'skipjack_coordinator' AS role, n AS name, true AS as_owner FROM unnest(ARRAY[
        'add_foreign_params', 'add_foreign_times', 'add_jobs', 'add_layers', 'approve_golden',
        'ask_golden', 'begin_campaign', 'begin_foreign_campaign', 'begin_network',
        'begin_upkeep', 'campaigns_to_gather', 'change_campaign', 'clear_quarantine',
        'describe_network', 'drain_node', 'empty_dropped_partitions', 'end_network', 'end_thinning', 'end_turn',
        'end_upkeep', 'extend_campaign', 'forget_blob', 'forget_winners',
        'gather_foreign_winners', 'gather_golden_winners', 'gather_history', 'gather_winners',
        'give_up_uploads', 'history_to_gather', 'history_to_thin', 'keep_network',
        'mark_gathered', 'mark_history', 'move_kernel', 'name_night', 'open_campaign',
        'propose_asked_golden', 'prune_golden', 'put_problem_rows', 'put_target',
        'rebuild_rounds', 'remeasure', 'remeasure_for_golden', 'remove_network',
        'roll_back_golden', 'set_campaign', 'set_golden_policy', 'set_history_retention',
        'sum_usage', 'take_turn', 'thin_history', 'trust_logins', 'use_blob_place', 'withdraw_golden',
        -- nights
        'add_night_campaign', 'add_night_jobs', 'begin_night', 'begin_night_step',
        'end_earlier_nights', 'end_night_jobs', 'end_night_step', 'judge_night_target', 'move_night',
        'put_night_target', 'remeasure_jobs', 'set_night_summary', 'take_night']) AS n
    UNION ALL
    SELECT 'skipjack_coordinator', n, false FROM unnest(ARRAY[
        'begin_kernel_search', 'drop_code', 'forget_events', 'forget_kernels', 'forget_workers',
        'note_kernels_of_rounds', 'note_needed_kernels']) AS n
    UNION ALL
    SELECT 'skipjack_reader', n, true FROM unnest(ARRAY[
        'blockers', 'demands_two_persons', 'diff_golden', 'finals_left', 'find_problem_rows', 'foreign_page',
        'golden_confirmations', 'golden_measurements', 'golden_part_end', 'list_golden_part', 'measurers',
        'confirmations', 'measuring_nodes', 'newest_golden', 'newest_history', 'night_jobs_again',
        'night_rates', 'night_stacks', 'night_targets_near', 'oldest_transaction', 'problem_history',
        'problems_of_network', 'refusals', 'skipjack_work.campaign',
        'skipjack_work.campaign_kernel', 'skipjack_work.kernel', 'skipjack_work.kernel_code',
        'skipjack_work.known_kernels', 'skipjack_work.list_quarantine',
        'skipjack_work.list_workers', 'skipjack_work.migrations', 'skipjack_work.target',
        'spent_seconds', 'time_of_problems', 'usage_golden', 'usage_golden_kernels', 'usage_unsummed']) AS n
    UNION ALL
    SELECT 'skipjack_coordinator', n, true FROM unnest(ARRAY[
        'change_messages', 'claim_message', 'end_try', 'forget_messages', 'keep_message']) AS n
    UNION ALL
    SELECT 'skipjack_coordinator', n, true FROM unnest(ARRAY[
        'api_token', 'list_api_tokens', 'make_api_token', 'note_api_token', 'remove_api_token']) AS n
    UNION ALL
    SELECT 'skipjack_reader', n, true FROM unnest(ARRAY[
        'page_campaign_golden', 'page_campaigns', 'page_conditions', 'page_golden_diff', 'page_job',
        'page_jobs', 'page_log', 'page_newest_nights', 'page_night', 'page_night_findings', 'page_night_jobs', 'page_nights', 'page_open_campaigns', 'page_outbox', 'page_past_rates', 'page_problem',
        'page_problem_configs', 'page_problems', 'page_quarantine', 'page_rejections',
        'page_targets', 'problem_id_of']) AS n;

-- A function's name as in entry_points.
CREATE OR REPLACE FUNCTION entry_name(p pg_proc) RETURNS text
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT CASE p.pronamespace WHEN 'skipjack'::regnamespace THEN p.proname::text
                WHEN 'skipjack_work'::regnamespace THEN 'skipjack_work.' || p.proname END
$$;

-- The functions that a role calls, by their full signature.
CREATE OR REPLACE FUNCTION functions_of(its_role text) RETURNS TABLE (function regprocedure, as_owner boolean)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT p.oid::regprocedure, true FROM pg_proc p
    WHERE p.pronamespace = 'skipjack_work'::regnamespace AND its_role <> 'skipjack_reader'
    UNION
    SELECT p.oid::regprocedure, e.as_owner FROM pg_proc p JOIN entry_points e ON e.name = entry_name(p)
    WHERE e.role = its_role OR its_role = 'skipjack_coordinator'
$$;

-- Grants a role its rights in this database. Partitions are read through their parents;
-- only upkeep reads those of results one by one.
CREATE OR REPLACE FUNCTION grant_role(its_role text) RETURNS void
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
                   AND c.relname NOT IN ('worker_secrets', 'api_tokens', 'outbox_receivers')
                   AND (NOT c.relispartition OR c.relname ~ '^results_')
                   AND NOT has_table_privilege(its_role, c.oid, 'SELECT')
    LOOP
        EXECUTE format('GRANT SELECT ON %s TO %I', thing, its_role);
    END LOOP;
    IF its_role = 'skipjack_coordinator' THEN
        GRANT DELETE ON kernels, events, workers TO skipjack_coordinator;
        GRANT INSERT ON blob_loose TO skipjack_coordinator;
        GRANT UPDATE (code, code_place, code_name) ON kernels TO skipjack_coordinator;
        -- Locking a row takes the right to change a column; ids are generated and cannot be changed.
        GRANT UPDATE (id) ON events, workers TO skipjack_coordinator;
    END IF;
END $$;

-- Upkeep keeps its lists in temporary tables of the coordinator's session. Only the
-- database's owner can revoke the right to make such tables from others; if another
-- role owns the schema, PostgreSQL's default stays.
CREATE OR REPLACE FUNCTION close_temporary_objects() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    is_owner boolean := (SELECT pg_has_role(d.datdba, 'USAGE') FROM pg_database d
                         WHERE d.datname = current_database());
BEGIN
    IF NOT is_owner THEN
        RETURN;
    END IF;
    IF has_database_privilege('public', current_database(), 'TEMPORARY') THEN
        EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    END IF;
    IF EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = 'skipjack_coordinator'
               AND NOT has_database_privilege(r.oid, current_database(), 'TEMPORARY')) THEN
        EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO skipjack_coordinator', current_database());
    END IF;
END $$;

-- Sets the rights of all roles. Called at the end of each migration, and after roles
-- were created. Functions that roles call run with the owner's rights; all other
-- functions are the owner's alone.
CREATE OR REPLACE FUNCTION set_privileges() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    thing text;
BEGIN
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
    PERFORM close_temporary_objects();
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

-- Ends each migration: sets privileges, and notes the place of a new database.
CREATE OR REPLACE FUNCTION finish_migration() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM set_privileges();
    INSERT INTO homes (epoch, place) SELECT 0, this_place() WHERE NOT EXISTS (SELECT 1 FROM homes);
END $$;
