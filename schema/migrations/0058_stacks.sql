-- A constraint on software binds those whom it concerns: one on a toolchain binds whoever builds, one on a
-- runtime or a driver whoever measures, by the device that it measures on. Before, every worker had to report
-- all that was asked for: a node without a GPU has no driver, and was kept from building for campaigns
-- that asked for one.
-- oldest program: 0038

-- The device's runtime and driver; NULL if the worker's program does not report them: then the worker's stack counts.
ALTER TABLE worker_devices ADD COLUMN stack text;

CREATE OR REPLACE FUNCTION skipjack_work.put_devices(saying bigint, its_devices jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(saying);
    IF jsonb_typeof(its_devices) IS DISTINCT FROM 'array'
       OR jsonb_array_length(its_devices) > 1024 OR pg_column_size(its_devices) > 500000 THEN
        PERFORM refuse_value('a worker has up to 1024 devices, described in few words');
    END IF;
    DELETE FROM worker_devices WHERE worker_id = saying;
    INSERT INTO worker_devices (worker_id, place, device, name, target, uuid, address, partition, stack)
    SELECT saying, e.place - 1, coalesce(e.d->>'device', ''), coalesce(e.d->>'name', ''),
           coalesce(e.d->>'target', ''), coalesce(e.d->>'uuid', ''),
           coalesce(e.d->>'address', ''), coalesce(e.d->>'partition', ''), nullif(e.d->>'stack', '')
    FROM jsonb_array_elements(its_devices) WITH ORDINALITY AS e(d, place);
END $$;

-- The names that a constraint may have, and whether builders or devices report them. PoCL and its LLVM are parts of an
-- item "opencl", which is a toolchain and a runtime. A runtime is also meant by the name "runtime".
CREATE FUNCTION stack_names()
RETURNS TABLE (name text, of_builders boolean, of_devices boolean, is_runtime boolean)
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    VALUES ('clang', true, false, false), ('hiprtc', true, false, false),
           ('nvrtc', true, false, false), ('opencl', true, true, true),
           ('pocl', true, true, false), ('llvm', true, true, false),
           ('cuda', false, true, true), ('hip', false, true, true),
           ('runtime', false, true, false), ('driver', false, true, false)
$$;

-- The name that an item of a constraint begins with ("clang >= 15", "opencl PoCL 3.1"), in small letters.
CREATE FUNCTION stack_name(item text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT lower(substring(item FROM '^\s*([^<>=\s]*)')) $$;

-- The constraints among those wanted that concern whoever builds, or whoever measures. A name that is not
-- known, as a newer program may have one, concerns both.
CREATE FUNCTION stack_part(wanted text, build boolean) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce(string_agg(item, '; ' ORDER BY place), '')
    FROM regexp_split_to_table(btrim(wanted), '\s*;\s*') WITH ORDINALITY AS items(item, place)
    LEFT JOIN stack_names() n ON n.name = stack_name(item)
    WHERE item <> '' AND coalesce(CASE WHEN build THEN n.of_builders ELSE n.of_devices END, true)
$$;

-- Whether an item of a stack has the text as its words: whole, or cut off at a dot or a blank. "opencl PoCL 3.1
-- LLVM 15.0.6" has "opencl PoCL 3.1", "pocl" and "LLVM 15". Capitals do not matter.
CREATE FUNCTION stack_item_has(item text, words text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT strpos(' ' || lower(item) || ' ', ' ' || lower(words) || ' ') > 0
        OR strpos(' ' || lower(item), ' ' || lower(words) || '.') > 0
$$;

-- The reason why a stack does not meet the items asked for, NULL if it does. An item is a name with ranges
-- ("clang >= 15 < 20") or with a version ("clang 15", which is "clang = 15"), or a text that the stack has
-- (stack_item_has()): "opencl PoCL 3.1", "pocl". For "runtime" each runtime's name is tried.
CREATE OR REPLACE FUNCTION stack_lacks(wanted text, present text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    item text;
    name text;
    names text[];
    found_version text;
    ranges text;
    range text[];
BEGIN
    FOR item IN SELECT i FROM regexp_split_to_table(btrim(wanted), '\s*;\s*') AS i WHERE i <> ''
    LOOP
        ranges := regexp_replace(item, '^([^<>=\s]+)\s+([0-9]+(\.[0-9]+)*)$', '\1 = \2');
        name := btrim(substring(ranges FROM '^[^<>=]*'));
        names := CASE stack_name(item)
                 WHEN 'runtime' THEN ARRAY(SELECT n.name FROM stack_names() n WHERE n.is_runtime)
                 ELSE ARRAY[name] END;
        IF name = ranges THEN
            IF NOT EXISTS (SELECT 1
                           FROM regexp_split_to_table(present, '\s*;\s*') AS h
                           CROSS JOIN unnest(names) AS called
                           CROSS JOIN LATERAL (
                               SELECT CASE stack_name(item)
                                      WHEN 'runtime' THEN called || substr(item, length('runtime') + 1)
                                      ELSE item END AS whole) AS w
                           WHERE stack_item_has(h, whole)) THEN
                RETURN format('its stack lacks "%s": it is "%s"', item, present);
            END IF;
            CONTINUE;
        END IF;
        found_version := (SELECT v FROM unnest(names) AS called
                          CROSS JOIN LATERAL stack_version(called, present) AS v
                          WHERE v IS NOT NULL LIMIT 1);
        IF found_version IS NULL THEN
            RETURN format('its stack has no %s, asked for is "%s": it is "%s"', name, item, present);
        END IF;
        FOR range IN SELECT regexp_matches(ranges, '(<=|>=|<|>|=)\s*([0-9]+(?:\.[0-9]+)*)', 'g')
        LOOP
            IF NOT version_meets(found_version, range[1], range[2]) THEN
                RETURN format('its %s is %s, asked for is "%s"', name, found_version, item);
            END IF;
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;

-- The reason why a worker does not meet the constraints on builders, or on devices of a target; NULL if it does. All
-- of its devices of the target must meet them: a job may go to any of these.
CREATE FUNCTION worker_lacks(worker bigint, its_stack text, build boolean, for_target text, wanted text)
RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    part text;
    device_stack text;
    devices integer := 0;
    lacking text;
BEGIN
    IF wanted = '' THEN
        RETURN NULL;
    END IF;
    part := stack_part(wanted, build);
    IF build THEN
        RETURN stack_lacks(part, its_stack);
    END IF;
    FOR device_stack IN SELECT DISTINCT d.stack FROM worker_devices d
                        WHERE d.worker_id = worker AND d.target = for_target AND d.stack IS NOT NULL
                        ORDER BY d.stack
    LOOP
        devices := devices + 1;
        lacking := stack_lacks(part, device_stack);
        EXIT WHEN lacking IS NOT NULL;
    END LOOP;
    RETURN CASE WHEN devices = 0 THEN stack_lacks(part, its_stack) ELSE lacking END;
END $$;

-- Refuses constraints that cannot be read, and names that nobody reports.
CREATE OR REPLACE FUNCTION check_stack(wanted text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    item text;
BEGIN
    FOR item IN SELECT i FROM regexp_split_to_table(btrim(wanted), '\s*;\s*') AS i WHERE i <> ''
    LOOP
        IF item ~ '[<>=]'
           AND item !~ '^[^<>=]*[^<>=\s]\s*((<=|>=|<|>|=)\s*[0-9]+(\.[0-9]+)*\s*)+$' THEN
            RAISE EXCEPTION USING ERRCODE = 'SJ002',
                MESSAGE = format('cannot read the constraint "%s": it should be like '
                                 '"clang >= 15 < 20" or "clang 15", several joined by ";"', item);
        END IF;
        IF NOT EXISTS (SELECT 1 FROM stack_names() n WHERE n.name = stack_name(item)) THEN
            RAISE EXCEPTION USING ERRCODE = 'SJ002',
                MESSAGE = format('cannot use the constraint "%s": no worker reports "%s"; there are %s',
                                 item, stack_name(item),
                                 (SELECT string_agg(n.name, ', ') FROM stack_names() n));
        END IF;
    END LOOP;
END $$;

-- ---- who is admitted ----

-- Why the campaign does not admit the worker, NULL where it does. A builder builds for any target.
CREATE OR REPLACE FUNCTION refusal(c campaigns, w workers) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    measures boolean := w.target = c.target OR EXISTS (
        SELECT 1 FROM worker_devices d WHERE d.worker_id = w.id AND d.target = c.target);
    to_build text := CASE WHEN w.builds THEN worker_lacks(w.id, w.stack, true, c.target, c.stack) END;
    to_measure text := CASE WHEN measures
                       THEN worker_lacks(w.id, w.stack, false, c.target, c.stack) END;
    example text;
BEGIN
    IF NOT measures AND NOT w.builds THEN
        RETURN format('its target is %s, the campaign is for %s',
                      coalesce(nullif(w.target, ''), 'none'), c.target);
    ELSIF c.pool <> '' AND c.pool <> ALL (w.labels) THEN
        RETURN format('it has no label %s, and the campaign is for that pool (worker --label %s)',
                      c.pool, c.pool);
    ELSIF coalesce(to_build, to_measure) IS NOT NULL THEN
        RETURN CASE WHEN measures AND w.builds
               THEN concat_ws('; ', 'to build, ' || to_build, 'to measure, ' || to_measure)
               ELSE coalesce(to_build, to_measure) END;
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

-- Of running workers and active campaigns; 0 for all of them. Whoever has not
-- beaten for two minutes does not run. Workers that are alike in all that
-- refusal() looks at are asked about once.
CREATE OR REPLACE FUNCTION refusals(of_worker bigint, of_campaign bigint)
RETURNS TABLE (campaign_id bigint, worker_id bigint, node text, reason text)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    WITH running AS MATERIALIZED (
        SELECT w.id, w.node,
               min(w.id) OVER (PARTITION BY w.target, w.builds, w.labels, w.stack, w.carried,
                               d.kinds) AS kind
        FROM workers w
        CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT ARRAY[o.target, o.stack]) AS kinds
            FROM worker_devices o WHERE o.worker_id = w.id) AS d
        WHERE w.ended_at IS NULL AND of_worker IN (0, w.id)
          AND (of_worker <> 0 OR w.beat_at > clock_timestamp() - interval '2 minutes')
    ), refused AS MATERIALIZED (
        SELECT c.id AS campaign, k.id AS kind, refusal(c, k) AS reason
        FROM campaigns c CROSS JOIN workers k
        WHERE c.state = 'active' AND of_campaign IN (0, c.id)
          AND k.id IN (SELECT r.kind FROM running r)
    )
    SELECT f.campaign, r.id, r.node, f.reason
    FROM refused f JOIN running r ON r.kind = f.kind WHERE f.reason IS NOT NULL
$$;

-- Wakes a few workers that idle in this pool and that the campaign suits, each
-- through a channel of its own. One that was woken in vain is left alone for
-- five seconds, so that nobody is woken over and over for what it cannot take;
-- a dead one would never answer. Commits that notify wait for each other, so
-- nothing is sent where nobody idles. Called last in a transaction: its locks
-- are waited for by the claims of those it wakes, and it waits for nobody.
CREATE OR REPLACE FUNCTION wake_workers(campaign bigint, for_build boolean, most integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    told integer;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM idle_workers i WHERE i.build = for_build) THEN
        RETURN;
    END IF;
    WITH picked AS MATERIALIZED (
        SELECT i.worker_id
        FROM idle_workers i
        JOIN workers w ON w.id = i.worker_id AND w.ended_at IS NULL
             AND w.beat_at > clock_timestamp() - interval '2 minutes'
        JOIN campaigns c ON c.id = campaign AND c.state = 'active'
        WHERE i.build = for_build AND i.woken_at < clock_timestamp() - interval '5 seconds'
          AND i.campaign_id IN (0, campaign) AND (i.target IS NULL OR i.target = c.target)
          AND (c.pool = '' OR c.pool = ANY (w.labels))
          AND worker_lacks(w.id, w.stack, for_build, c.target, c.stack) IS NULL
        LIMIT most FOR UPDATE OF i SKIP LOCKED
    ), woken AS (
        UPDATE idle_workers i SET woken_at = clock_timestamp() FROM picked p
        WHERE i.worker_id = p.worker_id AND i.build = for_build
        RETURNING i.worker_id)
    SELECT count(pg_notify('skipjack_worker_' || worker_id, '')) INTO told FROM woken;
END $$;

-- Claims jobs of one active campaign that has some for this worker: of those
-- with the highest priority the one with the least fair time.
-- known_campaign, from_round, from_position: where the last claim from this
-- pool ended, which is where this one begins.
CREATE OR REPLACE FUNCTION claim_jobs(claimer bigint, build boolean, wanted_campaign bigint,
                           wanted_target text, carried text[], batch integer,
                           lease double precision, token bigint, known_campaign bigint,
                           from_round integer, from_position bigint)
RETURNS SETOF bundles
LANGUAGE plpgsql ROWS 8 SET search_path = skipjack, pg_temp AS $$
DECLARE
    from_state job_state := CASE WHEN build THEN 'ready' ELSE 'built' END;
    has_stack text;
    has_labels text[];
    several boolean := (SELECT count(*) > 1 FROM campaigns WHERE state = 'active');
    solver_ids bigint[];
    c campaigns;
    b bundles;
    claimed_campaign bigint;
    last_round integer;
    wanted integer := batch;
BEGIN
    UPDATE workers SET beat_at = clock_timestamp(), ended_at = NULL
    WHERE id = claimer RETURNING stack, labels INTO has_stack, has_labels;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format('no worker %s', claimer);
    END IF;
    SELECT array_agg(id) INTO solver_ids FROM solvers
    WHERE carried IS NULL OR name || ':' || revision || ':' || hash = ANY (carried);
    FOR c IN SELECT * FROM campaigns AS active
             WHERE state = 'active' AND (wanted_campaign = 0 OR id = wanted_campaign)
               AND (wanted_target IS NULL OR target = wanted_target)
               AND (pool = '' OR pool = ANY (has_labels))
               AND worker_lacks(claimer, has_stack, build, target, stack) IS NULL
             ORDER BY priority DESC, CASE WHEN several THEN fair_time(active) END, id
    LOOP
        last_round := 2147483647;
        IF c.budget_seconds > 0 AND spent_seconds(c.id) >= c.budget_seconds THEN
            PERFORM end_spent_jobs(c.id);
            last_round := 0;
        END IF;
        FOR b IN SELECT * FROM claim_bundles(claimer, c.id, from_state, solver_ids, last_round,
                                             batch, lease, token,
                                             CASE c.id WHEN known_campaign THEN from_round ELSE 0 END,
                                             CASE c.id WHEN known_campaign THEN from_position ELSE 0 END)
        LOOP
            wanted := wanted - cardinality(b.job_ids);
            RETURN NEXT b;
        END LOOP;
        IF wanted = batch AND c.id = known_campaign THEN
            FOR b IN SELECT * FROM claim_bundles(claimer, c.id, from_state, solver_ids, last_round,
                                                 batch, lease, token, 0, 0)
            LOOP
                wanted := wanted - cardinality(b.job_ids);
                RETURN NEXT b;
            END LOOP;
        END IF;
        claimed_campaign := CASE WHEN wanted < batch THEN c.id END;
        EXIT WHEN claimed_campaign IS NOT NULL;
        IF NOT has_open_jobs(c.id) THEN
            PERFORM settle_campaign(c.id, 0);
        END IF;
    END LOOP;
    PERFORM note_claim(claimer, build, wanted_campaign, wanted_target, claimed_campaign,
                       wanted > 0);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
