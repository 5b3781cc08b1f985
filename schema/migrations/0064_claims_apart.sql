-- An error of one campaign ended every worker that claimed: a constraint with 200,000 digits, which no
-- numeric holds, made claim() fail for all of them. Such a constraint is refused where it enters, versions
-- of any length compare, and a claim that fails is made again with one campaign (claimable_campaign()): the
-- campaign whose jobs cannot be claimed is left out, with its reason among the refusals and in the diary.
-- oldest program: 0062

-- ---- versions and constraints ----

CREATE FUNCTION stack_most() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$ SELECT 1000 $$;

-- The parts of a version, each as a text that compares as its number does: the count of its digits first.
CREATE FUNCTION version_parts(version text) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT array_agg(lpad(length(n.digits)::text, 10, '0') || n.digits ORDER BY place)
    FROM string_to_table(version, '.') WITH ORDINALITY AS p(part, place)
    CROSS JOIN LATERAL (SELECT ltrim(part, '0') AS digits) AS n
$$;

-- As many parts as the one that is asked for has are compared.
CREATE OR REPLACE FUNCTION version_meets(present text, operator text, wanted text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    w text[] := version_parts(wanted);
    p text[] := (version_parts(present))[1:cardinality(w)];
BEGIN
    RETURN CASE operator WHEN '>=' THEN p >= w COLLATE "C" WHEN '<=' THEN p <= w COLLATE "C"
                         WHEN '>' THEN p > w COLLATE "C" WHEN '<' THEN p < w COLLATE "C"
                         ELSE p = w END;
END $$;

-- Whether versions of what the text names can be compared: of one name that workers report, or of "opencl PoCL".
-- In "clang != 14" and "clang 15 < 20" the text is "clang !" and "clang 15": no stack has such an item.
CREATE FUNCTION stack_compares(named text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT regexp_replace(lower(btrim(named)), '\s+', ' ') = ANY (
        ARRAY(SELECT n.name FROM stack_names() n) || 'opencl pocl'::text)
$$;

-- Refuses constraints that cannot be read, and names that nobody reports.
CREATE OR REPLACE FUNCTION check_stack(wanted text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    item text;
    readable boolean;
BEGIN
    IF length(wanted) > stack_most() THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002',
            MESSAGE = format('a constraint on the stack has at most %s characters, this one %s',
                             stack_most(), length(wanted));
    END IF;
    FOR item IN SELECT i FROM regexp_split_to_table(btrim(wanted), '\s*;\s*') AS i WHERE i <> ''
    LOOP
        readable := item !~ '[<>=]'
            OR item ~ '^[^<>=]*[^<>=\s]\s*((<=|>=|<|>|=)\s*[0-9]{1,9}(\.[0-9]{1,9})*\s*)+$';
        IF readable AND NOT EXISTS (SELECT 1 FROM stack_names() n WHERE n.name = stack_name(item)) THEN
            RAISE EXCEPTION USING ERRCODE = 'SJ002',
                MESSAGE = format('cannot use the constraint "%s": no worker reports "%s"; there are %s',
                                 item, stack_name(item),
                                 (SELECT string_agg(n.name, ', ') FROM stack_names() n));
        END IF;
        IF NOT readable OR (item ~ '[<>=]' AND NOT stack_compares(substring(item FROM '^[^<>=]*'))) THEN
            RAISE EXCEPTION USING ERRCODE = 'SJ002',
                MESSAGE = format('cannot read the constraint "%s": it should be like "clang >= 15 < 20" or '
                                 '"clang 15", several joined by ";"; a version with letters is given whole, '
                                 'as workers report it: "driver 5.15.0-91-generic"', item);
        END IF;
    END LOOP;
END $$;

ALTER TABLE campaigns ADD CONSTRAINT campaign_is_fit CHECK (
    length(name) <= 1000 AND length(stack) <= stack_most() AND length(pool) <= 1000) NOT VALID;

-- ---- campaigns that cannot be claimed from ----

-- Which login met it, when it did last, and the server's words.
CREATE TABLE campaign_faults (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    login       text NOT NULL,
    at          timestamptz NOT NULL,
    reason      text NOT NULL,
    PRIMARY KEY (campaign_id, login)
);

-- Errors that have nothing to do with the campaign: a lost connection, a lock that was waited for, a full
-- disk, a statement that was cancelled, a right that is missing, and what our own checks refuse.
CREATE FUNCTION is_anybodys_error(state text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT left(state, 2) IN ('08', '40', '53', '55', '57', '58', 'SJ') OR state = '42501'
$$;

CREATE FUNCTION note_campaign_fault(campaign bigint, words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM campaign_faults f
                   WHERE f.campaign_id = campaign AND f.login = session_user
                     AND f.at > clock_timestamp() - interval '1 hour') THEN
        INSERT INTO events (kind, campaign_id, detail)
        VALUES ('campaign left out', campaign,
                format('no job of it can be claimed by %s: %s', session_user, left(words, 2000)));
    END IF;
    INSERT INTO campaign_faults VALUES (campaign, session_user, clock_timestamp(), left(words, 2000))
    ON CONFLICT (campaign_id, login) DO UPDATE SET at = EXCLUDED.at, reason = EXCLUDED.reason;
END $$;

-- fair_time(), behind all others where that cannot be computed.
CREATE FUNCTION fair_time_or_last(c campaigns) RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN fair_time(c);
EXCEPTION WHEN data_exception THEN
    RETURN 'infinity';
END $$;

-- For when claim() failed: a campaign that it gives jobs of, 0 for none. Each campaign is tried in a
-- transaction of its own, which is rolled back, so that the one that is the reason is found and left out.
-- One that failed for this login within a minute is not tried.
CREATE FUNCTION skipjack_work.claimable_campaign(
    claimer bigint, build boolean, wanted_campaign bigint, wanted_target text, carried jsonb,
    batch integer, known_campaign bigint, from_round integer, from_position bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    candidate bigint;
    state text;
    words text;
BEGIN
    PERFORM check_worker(claimer);
    FOR candidate IN
        SELECT a.id FROM campaigns a
        LEFT JOIN campaign_faults f ON f.campaign_id = a.id AND f.login = session_user
        WHERE a.state = 'active' AND wanted_campaign IN (0, a.id)
          AND (wanted_target IS NULL OR a.target = wanted_target)
          AND (f.at IS NULL OR f.at < clock_timestamp() - interval '1 minute')
        ORDER BY a.priority DESC, fair_time_or_last(a), a.id
    LOOP
        BEGIN
            PERFORM FROM skipjack_work.claim(claimer, build, candidate, wanted_target, carried, batch,
                                             60, 0, known_campaign, from_round, from_position);
            IF FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'SJ005';
            END IF;
        EXCEPTION
            WHEN SQLSTATE 'SJ005' THEN
                RETURN candidate;
            WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, words = MESSAGE_TEXT;
                IF is_anybodys_error(state) THEN
                    RAISE;
                END IF;
                PERFORM note_campaign_fault(candidate, words);
        END;
    END LOOP;
    -- The worker idles for what it asked for, and not for the last campaign that was tried.
    DELETE FROM idle_workers i WHERE i.worker_id = claimer AND i.build = claimable_campaign.build;
    PERFORM note_claim(claimer, build, wanted_campaign, wanted_target, NULL, true);
    RETURN 0;
END $$;

-- ---- who is admitted ----

-- refusal(), and why the worker's login could not claim from the campaign within the last five minutes.
CREATE FUNCTION refusal_or_fault(c campaigns, w workers) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    reason text;
    state text;
    words text;
BEGIN
    BEGIN
        reason := refusal(c, w);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, words = MESSAGE_TEXT;
        IF is_anybodys_error(state) THEN
            RAISE;
        END IF;
        RETURN format('the campaign cannot be read: %s', words);
    END;
    RETURN coalesce(reason, (
        SELECT format('claiming from the campaign fails: %s', f.reason) FROM campaign_faults f
        WHERE f.campaign_id = c.id AND f.login = w.login
          AND f.at > clock_timestamp() - interval '5 minutes'));
END $$;

-- Of running workers and active campaigns; 0 for all of them. Whoever has not
-- beaten for two minutes does not run. Workers that are alike in all that
-- refusal() looks at are asked about once.
CREATE OR REPLACE FUNCTION refusals(of_worker bigint, of_campaign bigint)
RETURNS TABLE (campaign_id bigint, worker_id bigint, node text, reason text)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    WITH running AS MATERIALIZED (
        SELECT w.id, w.node,
               min(w.id) OVER (PARTITION BY w.target, w.builds, w.labels, w.stack, w.carried,
                               w.login, d.kinds) AS kind
        FROM workers w
        CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT ARRAY[o.target, o.stack]) AS kinds
            FROM worker_devices o WHERE o.worker_id = w.id) AS d
        WHERE w.ended_at IS NULL AND of_worker IN (0, w.id)
          AND (of_worker <> 0 OR w.beat_at > clock_timestamp() - interval '2 minutes')
    ), refused AS MATERIALIZED (
        SELECT c.id AS campaign, k.id AS kind, refusal_or_fault(c, k) AS reason
        FROM campaigns c CROSS JOIN workers k
        WHERE c.state = 'active' AND coalesce(c.deadline > clock_timestamp(), true)
          AND of_campaign IN (0, c.id)
          AND k.id IN (SELECT r.kind FROM running r)
    )
    SELECT f.campaign, r.id, r.node, f.reason
    FROM refused f JOIN running r ON r.kind = f.kind WHERE f.reason IS NOT NULL
$$;

-- Active campaigns with jobs to build that the worker's toolchains cannot build, and why, as refusals() gives
-- them. cannot_build: "name:revision:hash" of the solvers whose kernels they do not compile.
CREATE FUNCTION skipjack_work.left_unbuilt(builder bigint, campaign bigint, cannot_build jsonb)
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
DECLARE
    pins text[] := ARRAY(SELECT jsonb_array_elements_text(cannot_build));
BEGIN
    PERFORM check_worker(builder);
    RETURN QUERY
        SELECT jsonb_build_object('campaign_id', c.id, 'worker_id', w.id, 'node', w.node, 'reason', l.reason)
        FROM campaigns c
        JOIN workers w ON w.id = builder AND (c.pool = '' OR c.pool = ANY (w.labels))
        CROSS JOIN LATERAL (SELECT coalesce(
            worker_lacks(w.id, w.stack, true, c.target, c.stack),
            (SELECT 'it has no assembler, and the kernels of ' || string_agg(DISTINCT s.name, ', ')
                    || ' are assembly'
             FROM bundles b JOIN solvers s ON s.id = b.solver_id
             WHERE b.campaign_id = c.id AND b.state = 'ready'
               AND s.name || ':' || s.revision || ':' || s.hash = ANY (pins))) AS reason) AS l
        WHERE c.state = 'active' AND coalesce(c.deadline > clock_timestamp(), true)
          AND campaign IN (0, c.id) AND l.reason IS NOT NULL
          AND EXISTS (SELECT FROM bundles b WHERE b.campaign_id = c.id AND b.state = 'ready')
        ORDER BY c.id;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
