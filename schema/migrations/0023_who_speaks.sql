-- Every claim's results ask who speaks. PL/pgSQL keeps its plans, where an SQL
-- function is planned at each call; and the owner is known without a look at
-- the catalogue, since what runs here runs with the owner's rights.
-- oldest program: 0012

CREATE OR REPLACE FUNCTION acts_for_all() RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN session_user = current_user
           OR has_function_privilege(session_user, 'change_campaign(bigint, text)', 'EXECUTE');
END $$;

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
