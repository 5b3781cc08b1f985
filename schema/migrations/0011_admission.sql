-- Whom a campaign admits: constraints on a worker's stack, and why a worker is
-- not admitted, in words. Versions are compared number by number, as far as
-- the constraint spells them: 15.0.6 is "= 15" and "<= 15", not "> 15".

CREATE FUNCTION version_meets(present text, operator text, wanted text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    w numeric[] := string_to_array(wanted, '.');
    p numeric[] := (string_to_array(present, '.'))[1:cardinality(w)];
BEGIN
    RETURN CASE operator WHEN '>=' THEN p >= w WHEN '<=' THEN p <= w WHEN '>' THEN p > w
                         WHEN '<' THEN p < w ELSE p = w END;
END $$;

-- The first version after the name in a stack ("clang 15.0.6; opencl PoCL 3.1
-- LLVM 15.0.6" has clang 15.0.6, PoCL 3.1, LLVM 15.0.6), NULL where there is none.
CREATE FUNCTION stack_version(name text, present text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT substring(substr(h, strpos(h, n) + length(n)) FROM '[0-9]+(?:\.[0-9]+)*')
    FROM (SELECT ' ' || lower(i) || ' ' AS h, ' ' || lower(name) || ' ' AS n
          FROM regexp_split_to_table(present, '\s*;\s*') AS i) AS items
    WHERE strpos(h, n) > 0 LIMIT 1
$$;

-- What a stack lacks of the items asked for, NULL for nothing. An item is a
-- name with ranges ("clang >= 15 < 20"), or a text that the stack has as an
-- item, whole or cut off at a dot or a blank ("clang 15").
CREATE FUNCTION stack_lacks(wanted text, present text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    item text;
    name text;
    found_version text;
    range text[];
BEGIN
    FOR item IN SELECT i FROM regexp_split_to_table(btrim(wanted), '\s*;\s*') AS i WHERE i <> ''
    LOOP
        name := btrim(substring(item FROM '^[^<>=]*'));
        IF name = item THEN
            IF NOT EXISTS (SELECT 1 FROM regexp_split_to_table(present, '\s*;\s*') AS h
                           WHERE h = item OR starts_with(h, item || '.')
                              OR starts_with(h, item || ' ')) THEN
                RETURN format('its stack lacks "%s": it is "%s"', item, present);
            END IF;
            CONTINUE;
        END IF;
        found_version := stack_version(name, present);
        IF found_version IS NULL THEN
            RETURN format('its stack has no %s, asked for is "%s": it is "%s"', name, item, present);
        END IF;
        FOR range IN SELECT regexp_matches(item, '(<=|>=|<|>|=)\s*([0-9]+(?:\.[0-9]+)*)', 'g')
        LOOP
            IF NOT version_meets(found_version, range[1], range[2]) THEN
                RETURN format('its %s is %s, asked for is "%s"', name, found_version, item);
            END IF;
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION stack_matches(wanted text, present text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT wanted = '' OR stack_lacks(wanted, present) IS NULL $$;

-- Refuses constraints that cannot be read.
CREATE FUNCTION check_stack(wanted text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    item text;
BEGIN
    FOR item IN SELECT i FROM regexp_split_to_table(btrim(wanted), '\s*;\s*') AS i WHERE i ~ '[<>=]'
    LOOP
        IF item !~ '^[^<>=]*[^<>=\s]\s*((<=|>=|<|>|=)\s*[0-9]+(\.[0-9]+)*\s*)+$' THEN
            RAISE EXCEPTION USING ERRCODE = 'SJ002',
                MESSAGE = format('cannot read the constraint "%s": it should be like '
                                 '"clang >= 15 < 20" or "clang 15", several joined by ";"', item);
        END IF;
    END LOOP;
END $$;

-- Why the campaign does not admit the worker, NULL where it does. Whoever
-- builds does so for any target.
CREATE FUNCTION refusal(c campaigns, w workers) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    lacking text := stack_lacks(c.stack, w.stack);
    example text;
BEGIN
    IF w.target <> c.target AND NOT w.builds THEN
        RETURN format('its target is %s, the campaign is for %s',
                      coalesce(nullif(w.target, ''), 'none'), c.target);
    ELSIF c.pool <> '' AND c.pool <> ALL (w.labels) THEN
        RETURN format('it has no label %s, and the campaign is for that pool (worker --label %s)',
                      c.pool, c.pool);
    ELSIF lacking IS NOT NULL THEN
        RETURN lacking;
    ELSIF w.carried IS NULL OR EXISTS (
        SELECT 1 FROM bundles b JOIN solvers s ON s.id = b.solver_id
        WHERE b.campaign_id = c.id
          AND s.name || ':' || s.revision || ':' || s.hash = ANY (w.carried)) THEN
        RETURN NULL;
    END IF;
    SELECT format('%s at revision %s', s.name, s.revision) INTO example
    FROM bundles b JOIN solvers s ON s.id = b.solver_id WHERE b.campaign_id = c.id LIMIT 1;
    RETURN 'it carries no solver of the campaign as it was planned, such as ' || example;
END $$;

-- Of running workers and active campaigns; 0 for all of them.
CREATE FUNCTION refusals(of_worker bigint, of_campaign bigint)
RETURNS TABLE (campaign_id bigint, worker_id bigint, node text, reason text)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT c.id, w.id, w.node, r.reason
    FROM campaigns c CROSS JOIN workers w CROSS JOIN LATERAL refusal(c, w) AS r(reason)
    WHERE c.state = 'active' AND w.ended_at IS NULL AND r.reason IS NOT NULL
      AND of_worker IN (0, w.id) AND of_campaign IN (0, c.id)
$$;

-- Sets what says who works on a campaign, and when; NULL leaves a value.
CREATE FUNCTION set_campaign_share(campaign bigint, new_priority integer,
                                   new_share double precision, new_pool text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    UPDATE campaigns SET priority = coalesce(new_priority, priority),
                         share = coalesce(new_share, share), pool = coalesce(new_pool, pool)
    WHERE id = campaign;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no campaign %s', campaign);
    END IF;
    PERFORM wake_workers(campaign, true, 4);
    PERFORM wake_workers(campaign, false, 4);
END $$;

-- Asks the running workers of a node to end; how many there are. Each hears of
-- it with its next beat.
CREATE FUNCTION drain_node(draining text) RETURNS bigint
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    WITH asked AS (
        UPDATE workers SET drain = true WHERE node = draining AND ended_at IS NULL RETURNING id)
    SELECT count(*) FROM asked
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
