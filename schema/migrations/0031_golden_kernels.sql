-- A proposal looks for missing code by key, not through two lists: tens of
-- thousands of kernels are looked for in a moment.
-- oldest program: 0012

CREATE OR REPLACE FUNCTION use_golden_kernels(its_target text, its_version integer) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    keys text[] := ARRAY(SELECT DISTINCT unnest(string_to_array(p.kernel_keys, ','))
                         FROM golden_proposed p
                         WHERE p.target = its_target AND p.since = its_version ORDER BY 1);
    missing text;
BEGIN
    PERFORM FROM kernels k WHERE k.key = ANY (keys) ORDER BY k.key FOR NO KEY UPDATE;
    UPDATE kernels k SET used_at = clock_timestamp()
    WHERE k.key = ANY (keys) AND k.code_place IS NOT NULL;
    SELECT min(n.key) INTO missing FROM unnest(keys) AS n(key)
    WHERE NOT EXISTS (SELECT 1 FROM kernels k WHERE k.key = n.key AND k.code_place IS NOT NULL);
    IF missing IS NOT NULL THEN
        PERFORM refuse_golden(format('kernel %s has no code in the database: tune again',
                                     left(missing, 12)));
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
