-- What workers hand in is checked before it counts: lengths, numbers, and
-- that a result to keep is one of a stored round that was verified. What is
-- wrong is refused with the state SJ004, and nothing of the call is stored.
-- This is done for every job: arrays are looked at whole, by expressions that
-- need no query, and the rounds of a call are read once.
-- oldest program: 0012

-- ---- what the checks need to know ----

-- Operations a second that the target cannot exceed, by the name of the data
-- type; NULL where no program has said them. The program knows the factors.
ALTER TABLE targets ADD COLUMN type_peaks jsonb;

CREATE FUNCTION refuse_handed(job bigint, why text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'SJ004',
        MESSAGE = format('what was handed in for job %s is refused by check: %s', job, why);
END $$;

-- ---- built rounds ----

CREATE FUNCTION sum_of(counts smallint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ BEGIN RETURN (SELECT sum(c) FROM unnest(counts) AS c); END $$;

-- 16 values are the most that a config has, 6 the launches of a solution, each
-- with a key of 64 digits. Failures 0, 13 and 16 (verified, worker lost, slow)
-- come of no build, 15 is what waits for evaluation.
CREATE FUNCTION check_handed_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    most integer := (SELECT greatest(c.round_configs, 1) + 1 FROM campaigns c WHERE c.id = campaign);
    i rounds;
    size integer;
    why text;
BEGIN
    FOREACH i IN ARRAY items LOOP
        size := cardinality(i.config_counts);
        why := CASE
            WHEN (i.number >= 0 AND size BETWEEN 1 AND most) IS NOT TRUE
                THEN format('a round has 1 to %s configs, this one %s', most, size)
            WHEN (cardinality(i.kernel_keys) = size AND cardinality(i.failures) = size
                  AND cardinality(i.details) = size AND cardinality(i.build_seconds) = size) IS NOT TRUE
                THEN 'the arrays of its round differ in length'
            WHEN (0 <= ALL (i.config_counts) AND 16 >= ALL (i.config_counts)
                  AND array_position(i.config_values, NULL) IS NULL
                  AND cardinality(i.config_values) =
                      CASE WHEN i.config_counts[1] = ALL (i.config_counts)
                           THEN i.config_counts[1] * size ELSE sum_of(i.config_counts) END) IS NOT TRUE
                THEN 'the values of its configs are not as many as it says'
            WHEN (1 <= ALL (i.failures) AND 15 >= ALL (i.failures) AND 13 <> ALL (i.failures)) IS NOT TRUE
                THEN 'building ends with no such failure'
            WHEN (array_position(i.kernel_keys, NULL) IS NULL
                  AND length(array_to_string(i.kernel_keys, '')) <= 390 * size
                  AND ('' = ALL (i.kernel_keys)
                       OR (length(array_to_string(array_remove(i.kernel_keys, ''), ',')) + 1) % 65 = 0))
                 IS NOT TRUE
                THEN 'a config has more than 6 kernels, or keys of another length'
            WHEN (0 <= ALL (i.build_seconds) AND 1e9 > ALL (i.build_seconds)
                  AND i.total_build_seconds >= 0 AND i.total_build_seconds < 1e12) IS NOT TRUE
                THEN 'a time is negative or endless'
            WHEN (i.evaluated >= 0 AND i.pending >= 0 AND i.evaluated + i.pending = size
                  AND i.kernels BETWEEN 0 AND 6 * size) IS NOT TRUE
                THEN 'its counts are not those of its configs'
            WHEN (length(i.stack) <= 4096 AND pg_column_size(i.details) <= 1024 + 4096 * size) IS NOT TRUE
                THEN 'its stack or its details are too long'
            END;
        IF why IS NOT NULL THEN
            PERFORM refuse_handed(i.job_id, why);
        END IF;
    END LOOP;
END $$;

-- ---- outcomes ----

-- What the rows say by themselves. Verified are failures 0 and 16 (slow).
CREATE FUNCTION check_handed_outcomes(items outcomes[], whole boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    i outcomes;
    size integer;
    why text;
BEGIN
    FOREACH i IN ARRAY items LOOP
        size := cardinality(i.failures);
        why := CASE
            WHEN (cardinality(i.details) = size AND cardinality(i.n) = size
                  AND cardinality(i.min_ms) = size AND cardinality(i.median_ms) = size
                  AND cardinality(i.spread) = size AND cardinality(i.error) = size
                  AND cardinality(i.eval_seconds) = size) IS NOT TRUE
                THEN 'the arrays of its round differ in length'
            WHEN (0 <= ALL (i.failures) AND 16 >= ALL (i.failures) AND 13 <> ALL (i.failures)
                  AND (NOT whole OR 15 <> ALL (i.failures))) IS NOT TRUE
                THEN 'evaluating ends with no such failure'
            WHEN (0 <= ALL (i.n) AND 0 <= ALL (i.min_ms) AND 0 <= ALL (i.median_ms)
                  AND 1e12 > ALL (i.median_ms) AND 0 <= ALL (i.spread) AND 1e12 > ALL (i.spread)
                  AND 0 <= ALL (i.error) AND 1e13 > ALL (i.error) AND 0 <= ALL (i.eval_seconds)
                  AND 1e9 > ALL (i.eval_seconds) AND i.total_eval_seconds >= 0
                  AND i.total_eval_seconds < 1e12 AND i.drift >= 0 AND i.drift < 1e12) IS NOT TRUE
                THEN 'a time, a spread or an error is negative, endless or no number'
            WHEN (i.evaluated >= 0 AND i.pending >= 0 AND i.evaluated + i.pending = size) IS NOT TRUE
                THEN 'its counts are not those of its configs'
            WHEN (length(i.stack) <= 4096 AND pg_column_size(i.details) <= 1024 + 4096 * size) IS NOT TRUE
                THEN 'its stack or its details are too long'
            END;
        FOR at IN 1..size LOOP
            EXIT WHEN why IS NOT NULL;
            IF (i.failures[at] NOT IN (0, 16) OR i.n[at] > 0 AND i.min_ms[at] > 0
                AND i.median_ms[at] >= i.min_ms[at] AND i.error[at] <= 1) IS NOT TRUE THEN
                why := 'a config counts as verified without a time, or beyond its tolerance';
            END IF;
        END LOOP;
        IF why IS NOT NULL THEN
            PERFORM refuse_handed(i.job_id, why);
        END IF;
    END LOOP;
END $$;

-- ---- results to keep ----

-- What the rows say by themselves.
CREATE FUNCTION check_handed_results(jobs bigint[], kept results[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    k results;
    why text;
BEGIN
    FOREACH k IN ARRAY kept LOOP
        why := CASE
            WHEN (k.job_id = ANY (jobs)) IS NOT TRUE THEN 'no round of it comes with its results'
            WHEN (k.rank BETWEEN 0 AND 63) IS NOT TRUE
                THEN format('none of its results can have the rank %s', k.rank)
            WHEN (k.n > 0 AND k.min_ms > 0 AND k.median_ms >= k.min_ms AND k.median_ms < 1e12
                  AND k.spread >= 0 AND k.spread < 1e12 AND k.error BETWEEN 0 AND 1) IS NOT TRUE
                THEN 'a result has no time, or is beyond its tolerance'
            WHEN (k.build_seconds >= 0 AND k.build_seconds < 1e9 AND k.eval_seconds >= 0
                  AND k.eval_seconds < 1e9 AND k.workspace_bytes >= 0 AND k.flops >= 0
                  AND k.flops < 1e30) IS NOT TRUE
                THEN 'a result''s seconds, workspace or operations cannot be'
            WHEN (cardinality(k.config) <= 16 AND array_position(k.config, NULL) IS NULL
                  AND k.config_text = array_to_string(k.config, ','))
                 IS NOT TRUE
                THEN 'a result''s config is another than its text'
            WHEN (length(k.stack) <= 4096) IS NOT TRUE THEN 'a result''s stack is too long'
            END;
        IF why IS NOT NULL THEN
            PERFORM refuse_handed(k.job_id, why);
        END IF;
    END LOOP;
END $$;

-- Whether the round has the result's config, verified, with its times and kernels.
CREATE FUNCTION round_has_result(r rounds, o outcomes, k results) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    at integer;
    before integer;
BEGIN
    FOREACH at IN ARRAY coalesce(array_positions(o.median_ms, k.median_ms), '{}') LOOP
        IF o.failures[at] = 0 AND o.min_ms[at] = k.min_ms AND o.n[at] = k.n
           AND r.kernel_keys[at] = k.kernel_keys THEN
            before := coalesce(sum_of(r.config_counts[:at - 1]), 0);
            IF r.config_values[before + 1:before + r.config_counts[at]] = k.config THEN
                RETURN true;
            END IF;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Refuses a result that neither the round handed in has nor an earlier one of the job.
CREATE FUNCTION check_measured(r rounds, o outcomes, k results) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS $$
BEGIN
    IF NOT round_has_result(r, o, k) AND NOT EXISTS (
        SELECT 1 FROM rounds e JOIN outcomes f USING (campaign_id, job_id, number)
        WHERE e.campaign_id = r.campaign_id AND e.job_id = k.job_id AND round_has_result(e, f, k))
    THEN
        PERFORM refuse_handed(k.job_id, format(
            'config %s is to be kept, and no round of the job has it verified in %s ms',
            k.config_text, k.median_ms));
    END IF;
END $$;

-- Whether a config that failed when it was built counts as verified.
CREATE FUNCTION revives(at_build smallint[], said smallint[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    FOR at IN 1..cardinality(at_build) LOOP
        IF at_build[at] <> 15 AND said[at] IN (0, 16) THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Outcomes are of the configs that were built: as many, and none that failed
-- there comes to life; and each result to keep is one of them. The usual case
-- is seen without a call: all configs have as many values, and the result's
-- time stands once in the round handed in.
CREATE FUNCTION check_measurements(campaign bigint, jobs bigint[], items outcomes[], kept results[])
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS $$
DECLARE
    numbers integer[] := ARRAY(SELECT DISTINCT i.number FROM unnest(items) AS i);
    owners bigint[] := ARRAY(SELECT k.job_id FROM unnest(kept) AS k);
    r rounds;
    o outcomes;
    k results;
    at integer;
    values_each integer;
    place integer;
    seen integer := 0;
BEGIN
    -- Planned anew at each call: over arrays that the planner does not see in half the time.
    FOR r IN SELECT * FROM rounds b
             WHERE b.campaign_id = campaign AND b.job_id = ANY (ARRAY(SELECT unnest(jobs)))
               AND b.number = ANY (ARRAY(SELECT unnest(numbers)))
    LOOP
        o := items[array_position(jobs, r.job_id)];
        CONTINUE WHEN o.number <> r.number;
        IF cardinality(o.failures) <> cardinality(r.failures)
           OR r.pending < cardinality(r.failures) AND revives(r.failures, o.failures) THEN
            PERFORM refuse_handed(r.job_id, 'the outcomes are not those of the configs that were built');
        END IF;
        seen := seen + 1;
        CONTINUE WHEN kept = '{}';
        values_each := r.config_counts[1];
        FOREACH at IN ARRAY array_positions(owners, r.job_id) LOOP
            k := kept[at];
            place := array_position(o.median_ms, k.median_ms);
            CONTINUE WHEN o.failures[place] = 0 AND o.min_ms[place] = k.min_ms
                AND o.n[place] = k.n AND r.kernel_keys[place] = k.kernel_keys
                AND values_each = ALL (r.config_counts)
                AND r.config_values[values_each * (place - 1) + 1:values_each * place] = k.config;
            PERFORM check_measured(r, o, k);
        END LOOP;
    END LOOP;
    IF kept <> '{}' AND seen < cardinality(jobs) THEN
        PERFORM refuse_handed(jobs[1], 'no such round was built');
    END IF;
END $$;

-- Milliseconds that so many operations take at the least, for a job's type.
CREATE FUNCTION least_ms(campaign bigint, job bigint, flops double precision, peaks jsonb)
RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    peak double precision;
BEGIN
    SELECT (peaks->>(p.types[1]))::double precision INTO peak
    FROM jobs j JOIN problems p ON p.id = j.problem_id
    WHERE j.campaign_id = campaign AND j.id = job;
    RETURN CASE WHEN peak > 0 THEN flops / peak * 1e3 ELSE 0 END;
END $$;

-- No time is below what the target's peak allows. What is slower than the
-- slowest type's peak needs no look at its own.
CREATE FUNCTION check_results_possible(campaign bigint, kept results[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    peaks jsonb;
    slowest double precision;
    k results;
BEGIN
    SELECT t.type_peaks, (t.type_peaks->>'FP32')::double precision INTO peaks, slowest
    FROM campaigns c JOIN targets t ON t.id = c.target WHERE c.id = campaign;
    IF slowest IS NULL OR slowest <= 0 THEN
        RETURN;
    END IF;
    FOREACH k IN ARRAY kept LOOP
        CONTINUE WHEN k.min_ms >= k.flops / slowest * 1e3;
        IF k.median_ms < least_ms(campaign, k.job_id, k.flops, peaks) THEN
            PERFORM refuse_handed(k.job_id, format(
                'config %s took %s ms, the target needs %s ms for its operations', k.config_text,
                k.median_ms, least_ms(campaign, k.job_id, k.flops, peaks)));
        END IF;
    END LOOP;
END $$;

-- ---- at the door: the calls of the store, with their checks ----

ALTER FUNCTION store_built(bigint, rounds[]) RENAME TO take_built;
CREATE FUNCTION store_built(campaign bigint, items rounds[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    -- Who has no right to the jobs any more is told that first.
    PERFORM take_built(campaign, items);
    PERFORM check_handed_built(campaign, items);
END $$;

ALTER FUNCTION store_partial(bigint, outcomes[]) RENAME TO take_partial;
CREATE FUNCTION store_partial(campaign bigint, items outcomes[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM take_partial(campaign, items);
    PERFORM check_handed_outcomes(items, false);
    PERFORM check_measurements(campaign, ARRAY(SELECT i.job_id FROM unnest(items) AS i), items, '{}');
END $$;

ALTER FUNCTION store_rounds(bigint, outcomes[], results[], boolean[], double precision[])
    RENAME TO take_rounds;
CREATE FUNCTION store_rounds(campaign bigint, items outcomes[], kept results[], more boolean[],
                             seconds double precision[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    jobs bigint[] := ARRAY(SELECT i.job_id FROM unnest(items) AS i);
BEGIN
    PERFORM take_rounds(campaign, items, kept, more, seconds);
    IF (cardinality(more) = cardinality(items) AND cardinality(seconds) = cardinality(items)
        AND 0 <= ALL (seconds) AND 1e9 > ALL (seconds)) IS NOT TRUE THEN
        PERFORM refuse_handed(jobs[1], 'its working time cannot be');
    END IF;
    PERFORM check_handed_outcomes(items, true);
    PERFORM check_handed_results(jobs, kept);
    PERFORM check_measurements(campaign, jobs, items, kept);
    PERFORM check_results_possible(campaign, kept);
END $$;

-- ---- kernels, and what else workers write ----

CREATE FUNCTION check_handed_kernel(k_key text, k_options text, k_failure smallint, k_log text,
                                    k_seconds double precision, k_code bytea, k_sha256 text)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    why text := CASE
        WHEN (k_key ~ '^[0-9a-f]{64}$') IS NOT TRUE THEN 'its key is not 64 hexadecimal digits'
        WHEN (k_failure IN (0, 2, 3, 4, 5)) IS NOT TRUE THEN 'compiling ends with no such failure'
        WHEN (octet_length(k_options) <= 1024 AND octet_length(k_log) <= 4194304) IS NOT TRUE
            THEN 'its options or its log are too long'
        WHEN (k_seconds >= 0 AND k_seconds < 1e9) IS NOT TRUE THEN 'its time cannot be'
        WHEN (k_sha256 ~ '^([0-9a-f]{64})?$') IS NOT TRUE THEN 'its code''s SHA-256 is none'
        WHEN k_code IS NOT NULL AND k_sha256 <> encode(sha256(k_code), 'hex')
            THEN 'its code has another SHA-256'
        END;
BEGIN
    IF why IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ004',
            MESSAGE = format('kernel %s is refused by check: %s', left(k_key, 80), why);
    END IF;
END $$;

ALTER FUNCTION put_kernel(text, text, text, text, text, text, text, smallint, text,
                          double precision, bytea, text, bigint, smallint, text, bigint)
    RENAME TO take_kernel;
CREATE FUNCTION put_kernel(
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

-- Its id says what a target is; limits and peaks are what a device said last.
CREATE OR REPLACE FUNCTION put_target(described jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    INSERT INTO targets SELECT * FROM jsonb_populate_record(NULL::targets, described)
    ON CONFLICT (id) DO UPDATE SET local_bytes = EXCLUDED.local_bytes,
        max_workgroup = EXCLUDED.max_workgroup, wave_size = EXCLUDED.wave_size,
        vector_bytes = EXCLUDED.vector_bytes, peak_flops = EXCLUDED.peak_flops,
        peak_bytes = EXCLUDED.peak_bytes, type_peaks = EXCLUDED.type_peaks
$$;

-- Rows that stand alone; what is there already is left as it is.
ALTER TABLE quarantine ADD CONSTRAINT quarantine_is_fit CHECK (
    failure BETWEEN 1 AND 14 AND cardinality(config) <= 16 AND length(detail) <= 65536) NOT VALID;
ALTER TABLE events ADD CONSTRAINT event_is_fit CHECK (
    length(kind) <= 200 AND length(detail) <= 65536) NOT VALID;
ALTER TABLE workers ADD CONSTRAINT worker_is_fit CHECK (
    length(node) <= 1000 AND length(process) <= 1000 AND length(target) <= 63
    AND length(stack) <= 4096) NOT VALID;
ALTER TABLE job_ends ADD CONSTRAINT end_is_fit CHECK (
    failure BETWEEN 0 AND 14 AND coalesce(length(detail), 0) <= 65536) NOT VALID;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
