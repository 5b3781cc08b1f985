-- What 0015 added, for the roles: workers tell what they have done, a
-- coordinator does upkeep.
-- oldest program: 0011

-- A sum over all workers must not fail over what one of them told.
CREATE FUNCTION skipjack_work.report_worker(reporting bigint, its_counts jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(reporting);
    IF EXISTS (SELECT 1 FROM unnest(ARRAY['jobs', 'configs', 'kernels']) AS k
               WHERE coalesce(jsonb_typeof(its_counts->k), '') <> 'number'
                  OR (its_counts->k)::numeric NOT BETWEEN 0 AND 1e15)
       OR jsonb_typeof(its_counts->'failures') IS DISTINCT FROM 'object'
       OR pg_column_size(its_counts) > 2000 THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = format('worker %s tells no counts', reporting);
    END IF;
    PERFORM report_worker(reporting, its_counts);
END $$;

INSERT INTO entry_points (role, name) VALUES
    ('skipjack_coordinator', 'begin_upkeep'), ('skipjack_coordinator', 'end_upkeep'),
    ('skipjack_reader', 'oldest_transaction');
