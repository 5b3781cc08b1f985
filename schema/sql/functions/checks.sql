-- Checks of what workers hand in. Each refuses by an error. A call that hands in stores its
-- rows first and checks them then (results.sql): a refused call leaves no row, since both
-- are one transaction.

-- Refuses a value that a worker reports. Others read such values and add them up, so
-- each is bounded before it is stored.
CREATE OR REPLACE FUNCTION refuse_value(words text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS
$$ BEGIN RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = words; END $$;

-- Refuses working time of one call outside of 0 to a year.
CREATE OR REPLACE FUNCTION check_seconds(said double precision[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT (0 <= ALL (said) AND 31536000 >= ALL (said)) THEN
        PERFORM refuse_value('working time is from 0 to a year');
    END IF;
END $$;

-- Refuses words other than those of job_ends.search_end and NULL.
CREATE OR REPLACE FUNCTION check_search_ends(said text[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT coalesce(array_remove(said, NULL) <@ ARRAY['tries', 'seconds', 'space', 'gain'], true) THEN
        PERFORM refuse_value('a search ends by tries, seconds, space or gain');
    END IF;
END $$;

-- Refuses numbers other than those by which a job, a config or a kernel fails.
CREATE OR REPLACE FUNCTION check_failure(number integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF coalesce(number NOT BETWEEN @FAILURE_NOT_APPLICABLE AND @FAILURE_REFUSED_BY_CHECK
                AND number <> @FAILURE_OVER_LIMITS, true) THEN
        PERFORM refuse_value(format('%s is no failure', number));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION refuse_handed(job bigint, why text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'SJ004',
        MESSAGE = format('what was handed in for job %s is refused by check: %s', job, why);
END $$;

CREATE OR REPLACE FUNCTION sum_of(counts smallint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ BEGIN RETURN (SELECT sum(c) FROM unnest(counts) AS c); END $$;

-- Refuses a call that names a job twice: rounds are found by their job, so one round
-- could be checked against another.
CREATE OR REPLACE FUNCTION check_named_once(jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF cardinality(jobs) > 1
       AND (SELECT count(DISTINCT j) FROM unnest(jobs) AS j) < cardinality(jobs) THEN
        PERFORM refuse_handed(jobs[1], 'a job of the call is named twice');
    END IF;
END $$;

-- Building ends with a failure, or pending: the config waits for evaluation. It cannot end
-- as verified, slow or worker lost.
CREATE OR REPLACE FUNCTION check_handed_built(campaign bigint, items rounds[]) RETURNS void
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
            WHEN (i.number >= 0 AND (size BETWEEN 1 AND most
                                     OR is_wished_round(campaign, i.job_id, i.number, size)))
                 IS NOT TRUE
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
            WHEN (@FAILURE_NOT_APPLICABLE <= ALL (i.failures)
                  AND @FAILURE_OVER_LIMITS >= ALL (i.failures)
                  AND @FAILURE_WORKER_LOST <> ALL (i.failures)
                  AND @FAILURE_SLOW <> ALL (i.failures)) IS NOT TRUE
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

-- Checks the outcomes handed in, each row by itself. Configs without a failure, and slow ones,
-- count as verified.
CREATE OR REPLACE FUNCTION check_handed_outcomes(items outcomes[], whole boolean) RETURNS void
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
                  AND cardinality(i.eval_seconds) = size
                  AND coalesce(cardinality(i.pack_ms), size) = size
                  AND coalesce(cardinality(i.proof_runs), size) = size
                  AND coalesce(cardinality(i.proof_kinds), size) = size) IS NOT TRUE
                THEN 'the arrays of its round differ in length'
            WHEN (@FAILURE_NONE <= ALL (i.failures)
                  AND @FAILURE_OVER_LIMITS >= ALL (i.failures)
                  AND @FAILURE_WORKER_LOST <> ALL (i.failures)
                  AND (NOT whole OR @FAILURE_PENDING <> ALL (i.failures))) IS NOT TRUE
                THEN 'evaluating ends with no such failure'
            WHEN (0 <= ALL (i.n) AND 0 <= ALL (i.min_ms) AND 0 <= ALL (i.median_ms)
                  AND 1e12 > ALL (i.median_ms) AND 0 <= ALL (i.spread) AND 1e12 > ALL (i.spread)
                  AND 0 <= ALL (i.error) AND 1e13 > ALL (i.error) AND 0 <= ALL (i.eval_seconds)
                  AND 1e9 > ALL (i.eval_seconds) AND i.total_eval_seconds >= 0
                  AND i.total_eval_seconds < 1e12 AND i.drift >= 0 AND i.drift < 1e12
                  AND coalesce(i.verified_share > 0 AND i.verified_share <= 1, true)
                  AND (i.pack_ms IS NULL OR 0 <= ALL (i.pack_ms) AND 1e12 > ALL (i.pack_ms))) IS NOT TRUE
                THEN 'a time, a spread or an error is negative, endless or no number'
            WHEN ((i.proof_runs IS NULL) = (i.proof_kinds IS NULL)
                  AND (i.proof_runs IS NULL OR 0 <= ALL (i.proof_runs) AND 0 <= ALL (i.proof_kinds)
                       AND 64 >= ALL (i.proof_kinds))) IS NOT TRUE
                THEN 'no config can be proved by so many runs'
            WHEN (i.evaluated >= 0 AND i.pending >= 0 AND i.evaluated + i.pending = size) IS NOT TRUE
                THEN 'its counts are not those of its configs'
            WHEN (length(i.stack) <= 4096 AND pg_column_size(i.details) <= 1024 + 4096 * size) IS NOT TRUE
                THEN 'its stack or its details are too long'
            END;
        FOR at IN 1..size LOOP
            EXIT WHEN why IS NOT NULL;
            IF (i.failures[at] NOT IN (@FAILURE_NONE, @FAILURE_SLOW) OR i.n[at] > 0 AND i.min_ms[at] > 0
                AND i.median_ms[at] >= i.min_ms[at] AND i.error[at] <= 1) IS NOT TRUE THEN
                why := 'a config counts as verified without a time, or beyond its tolerance';
            END IF;
        END LOOP;
        IF why IS NOT NULL THEN
            PERFORM refuse_handed(i.job_id, why);
        END IF;
    END LOOP;
END $$;

-- Checks the results to keep, each by itself, before it is compared with the job's rounds.
CREATE OR REPLACE FUNCTION check_handed_results(jobs bigint[], kept results[]) RETURNS void
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
                  AND k.flops < 1e30 AND coalesce(k.pack_ms >= 0 AND k.pack_ms < 1e12, true)
                  AND coalesce(k.packed_bytes > 0, true)
                  AND (k.pack_ms IS NULL) = (k.packed_bytes IS NULL)) IS NOT TRUE
                THEN 'a result''s seconds, workspace, packing or operations cannot be'
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

CREATE OR REPLACE FUNCTION check_handed_kernel(k_key text, k_options text, k_failure smallint, k_log text,
                                               k_seconds double precision, k_code bytea, k_sha256 text)
RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    why text := CASE
        WHEN (k_key ~ '^[0-9a-f]{64}$') IS NOT TRUE THEN 'its key is not 64 hexadecimal digits'
        WHEN (k_failure IN (@FAILURE_NONE, @FAILURE_COMPILE_ERROR, @FAILURE_COMPILE_TIMEOUT,
                            @FAILURE_COMPILER_CRASH, @FAILURE_LOAD_ERROR)) IS NOT TRUE
            THEN 'compiling ends with no such failure'
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

-- Refuses a result that is neither in the round handed in nor in an earlier round of
-- the job.
CREATE OR REPLACE FUNCTION check_measured(r rounds, o outcomes, k results) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF NOT round_has_result(r, o, k) AND NOT EXISTS (
        SELECT 1 FROM outcomes f
        CROSS JOIN LATERAL (SELECT s FROM rounds s
                            WHERE s.campaign_id = r.campaign_id AND s.job_id = k.job_id
                              AND s.number = f.number OFFSET 0) AS e(built)
        WHERE f.campaign_id = r.campaign_id AND f.job_id = k.job_id
          AND f.median_ms @> ARRAY[k.median_ms] AND round_has_result(e.built, f, k))
    THEN
        PERFORM refuse_handed(k.job_id, format(
            'config %s is to be kept, and no round of the job has it verified in %s ms',
            k.config_text, k.median_ms));
    END IF;
END $$;

-- Refuses outcomes that are not of the configs that were built: as many, and none
-- verified that failed to build; and results to keep that are not among them. The
-- common case needs no call for each result: all configs have equally many values, and
-- the result's time appears once in the round handed in.
CREATE OR REPLACE FUNCTION check_measurements(campaign bigint, jobs bigint[], items outcomes[],
                                              kept results[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    numbers integer[] := ARRAY(SELECT i.number FROM unnest(items) AS i);
    owners bigint[] := ARRAY(SELECT k.job_id FROM unnest(kept) AS k);
    r rounds;
    o outcomes;
    k results;
    at integer;
    values_each integer;
    place integer;
    seen integer := 0;
BEGIN
    FOR r IN SELECT b.* FROM unnest(jobs, numbers) AS of_it(job, number)
             CROSS JOIN LATERAL (SELECT * FROM rounds s
                                 WHERE s.campaign_id = campaign AND s.job_id = of_it.job
                                   AND s.number = of_it.number OFFSET 0) AS b
    LOOP
        o := items[array_position(jobs, r.job_id)];
        IF (1e12 > ALL (o.min_ms)) IS NOT TRUE THEN
            PERFORM refuse_handed(r.job_id, 'a time is endless or no number');
        END IF;
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
            CONTINUE WHEN o.failures[place] = @FAILURE_NONE AND o.min_ms[place] = k.min_ms
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

-- The least number of operations of any algorithm. A direct sum takes two for each tap
-- and input channel of each output; Winograd's and FFT's algorithms save at most a factor
-- of as many as the filter has taps. The tensor with fewer pixels, input or output, counts.
-- Other operators do little to each element; a copy of small elements moves several of them
-- with one operation.
-- The worker's own count of operations is not used: with a count of 0 any time would be
-- possible.
CREATE OR REPLACE FUNCTION fewest_flops(p problems) RETURNS double precision
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT CASE p.kind WHEN 'conv' THEN 2.0 * (p.c / p.groups) ELSE 0.1 END * p.n * p.k *
           least(p.out_size[1]::double precision * p.out_size[2] * p.out_size[3],
                 p.in_size[1]::double precision * p.in_size[2] * p.in_size[3])
$$;

-- Refuses times below what the target's peak allows; TF32's peak is at most that of FP16 (problem_peak_type()). A time that is long enough for the
-- slowest data type is possible for every type, so its job's type is not looked up.
CREATE OR REPLACE FUNCTION check_results_possible(campaign bigint, kept results[]) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    peaks jsonb;
    k record;
BEGIN
    SELECT t.type_peaks INTO peaks FROM campaigns c JOIN targets t ON t.id = c.target
    WHERE c.id = campaign;
    IF peaks IS NULL THEN
        RETURN;
    END IF;
    FOR k IN
        SELECT r.job_id, r.config_text, r.median_ms, need.ms
        FROM (SELECT u.job_id, array_agg(u) AS rows FROM unnest(kept) AS u GROUP BY u.job_id) AS g
        CROSS JOIN LATERAL ( -- OFFSET 0 keeps the planner from joining: one lookup by key for each job
            SELECT (peaks->>CASE p.mode WHEN 'TF32' THEN 'FP16' ELSE p.types[1] END)::double precision AS peak, fewest_flops(p) AS fewest
            FROM jobs j JOIN problems p ON p.id = j.problem_id
            WHERE j.campaign_id = campaign AND j.id = g.job_id OFFSET 0) AS its
        CROSS JOIN LATERAL unnest(g.rows) AS r
        CROSS JOIN LATERAL (
            SELECT CASE WHEN its.peak > 0
                        THEN greatest(r.flops, its.fewest) / its.peak * 1e3 ELSE 0 END AS ms) AS need
        WHERE r.median_ms < need.ms LIMIT 1
    LOOP
        PERFORM refuse_handed(k.job_id, format(
            'config %s took %s ms, the target needs %s ms for its operations', k.config_text,
            k.median_ms, k.ms));
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION round_has_config(r rounds, said integer[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    before integer := 0;
BEGIN
    FOR at IN 1..cardinality(r.config_counts) LOOP
        IF r.config_values[before + 1:before + r.config_counts[at]] = said THEN
            RETURN true;
        END IF;
        before := before + r.config_counts[at];
    END LOOP;
    RETURN false;
END $$;
