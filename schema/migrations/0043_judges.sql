-- What verifies results on a device (judge.cl, compiled once a target) is no config's
-- kernel, so no round names it. A node that measures and builds nothing asks for it by
-- architecture, and the search for code without a use leaves it alone while anybody asked
-- within a month.
-- oldest program: 0038

CREATE INDEX kernels_of_judges ON kernels (arch) WHERE file = 'judge.cl';

CREATE FUNCTION skipjack_work.judge_kernels(its_arch text) RETURNS SETOF jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    UPDATE kernels k SET used_at = clock_timestamp()
    WHERE file = 'judge.cl' AND arch = its_arch AND code_place IS NOT NULL AND failure = 0
    RETURNING kernel_json(k)
$$;

-- As before, which is what golden versions and open proposals hold; and judges.
CREATE OR REPLACE FUNCTION begin_kernel_search() RETURNS timestamptz
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    CREATE TEMP TABLE IF NOT EXISTS kernel_search_tables (name oid PRIMARY KEY);
    CREATE TEMP TABLE IF NOT EXISTS kernel_search_needed (key text PRIMARY KEY);
    TRUNCATE pg_temp.kernel_search_tables, pg_temp.kernel_search_needed;
    INSERT INTO pg_temp.kernel_search_needed
    SELECT unnest(string_to_array(r.kernel_keys, ',')) FROM golden_rows r
    UNION
    SELECT unnest(string_to_array(p.kernel_keys, ',')) FROM golden_proposed p
    UNION
    SELECT key FROM kernels WHERE file = 'judge.cl' AND used_at > now() - interval '30 days';
    RETURN (SELECT least(min(claimed_at), now()) FROM bundles
            WHERE worker_id IS NOT NULL AND state = 'building');
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
