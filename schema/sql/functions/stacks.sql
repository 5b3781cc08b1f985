-- Constraints of campaigns on the software stack, and whether a worker meets them.

-- Returns true if a worker's stack ("clang 15.0.6; PoCL 3.1") has all that a campaign
-- asks for: each item whole, or cut off at a dot or a blank ("clang 15").
CREATE OR REPLACE FUNCTION stack_matches(wanted text, present text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ BEGIN RETURN wanted = '' OR stack_lacks(wanted, present) IS NULL; END $$;

-- The first version after the name in a stack: "clang 15.0.6; opencl PoCL 3.1 LLVM
-- 15.0.6" has clang 15.0.6, PoCL 3.1 and LLVM 15.0.6. NULL if the stack lacks the name.
CREATE OR REPLACE FUNCTION stack_version(name text, present text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT substring(substr(h, strpos(h, n) + length(n)) FROM '[0-9]+(?:\.[0-9]+)*')
    FROM (SELECT ' ' || lower(i) || ' ' AS h, ' ' || lower(name) || ' ' AS n
          FROM regexp_split_to_table(present, '\s*;\s*') AS i) AS items
    WHERE strpos(h, n) > 0 LIMIT 1
$$;

-- The parts of a version, each as a text that sorts like its number: the count of its
-- digits comes first.
CREATE OR REPLACE FUNCTION version_parts(version text) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT array_agg(lpad(length(n.digits)::text, 10, '0') || n.digits ORDER BY place)
    FROM string_to_table(version, '.') WITH ORDINALITY AS p(part, place)
    CROSS JOIN LATERAL (SELECT ltrim(part, '0') AS digits) AS n
$$;

-- Compares as many parts of the version as the wanted version has.
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

-- Returns true if versions of the named software can be compared: one name that workers
-- report, or "opencl PoCL". In "clang != 14" and "clang 15 < 20" the name is read as
-- "clang !" and "clang 15", which no stack has.
CREATE OR REPLACE FUNCTION stack_compares(named text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT regexp_replace(lower(btrim(named)), '\s+', ' ') = ANY (
        ARRAY(SELECT n.name FROM stack_names() n) || 'opencl pocl'::text)
$$;

-- The names that a constraint may have, and whether builders or devices report them.
-- PoCL and its LLVM are parts of an item "opencl", which is a toolchain and a runtime.
-- "runtime" names any runtime.
CREATE OR REPLACE FUNCTION stack_names()
RETURNS TABLE (name text, of_builders boolean, of_devices boolean, is_runtime boolean)
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    VALUES ('clang', true, false, false), ('hiprtc', true, false, false),
           ('nvrtc', true, false, false), ('opencl', true, true, true),
           ('pocl', true, true, false), ('llvm', true, true, false),
           ('cuda', false, true, true), ('hip', false, true, true),
           ('runtime', false, true, false), ('driver', false, true, false)
$$;

-- The name that an item of a constraint begins with ("clang >= 15", "opencl PoCL 3.1"),
-- in small letters.
CREATE OR REPLACE FUNCTION stack_name(item text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT lower(substring(item FROM '^\s*([^<>=\s]*)')) $$;

-- The wanted constraints that concern builders, or those that concern devices. An
-- unknown name, which a newer program may know, concerns both.
CREATE OR REPLACE FUNCTION stack_part(wanted text, build boolean) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT coalesce(string_agg(item, '; ' ORDER BY place), '')
    FROM regexp_split_to_table(btrim(wanted), '\s*;\s*') WITH ORDINALITY AS items(item, place)
    LEFT JOIN stack_names() n ON n.name = stack_name(item)
    WHERE item <> '' AND coalesce(CASE WHEN build THEN n.of_builders ELSE n.of_devices END, true)
$$;

-- Returns true if an item of a stack has the text as its words: whole, or cut off at a
-- dot or a blank. "opencl PoCL 3.1 LLVM 15.0.6" has "opencl PoCL 3.1", "pocl" and "LLVM
-- 15". Capitals do not matter.
CREATE OR REPLACE FUNCTION stack_item_has(item text, words text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT strpos(' ' || lower(item) || ' ', ' ' || lower(words) || ' ') > 0
        OR strpos(' ' || lower(item), ' ' || lower(words) || '.') > 0
$$;

-- Returns why a stack does not meet the wanted items, NULL if it does. An item is a
-- name with ranges ("clang >= 15 < 20") or with a version ("clang 15", which is "clang
-- = 15"), or a text that the stack has (stack_item_has()): "opencl PoCL 3.1", "pocl".
-- "runtime" is met if any runtime meets it.
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

-- Returns why a worker does not meet the constraints on builders, or on devices of a
-- target; NULL if it does. All its devices of the target must meet them, because a job
-- may go to any of them.
CREATE OR REPLACE FUNCTION worker_lacks(worker bigint, its_stack text, build boolean, for_target text, wanted text)
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

-- Refuses constraints that cannot be read, and names that no worker reports.
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
