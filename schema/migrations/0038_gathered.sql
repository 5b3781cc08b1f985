-- A campaign that ended while its winners were gathered is gathered once more: jobs
-- that ended behind the gatherer's back were passed over for good. And sizes have
-- their logarithms as doubles: the same reals as of numeric's, in a twelfth of the time.
-- oldest program: 0037

CREATE OR REPLACE FUNCTION mark_gathered(campaign bigint, its_ends bigint, its_solvers text)
RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO winner_marks
    SELECT c.id, its_ends,
           c.state IN ('done', 'cancelled')
           AND its_ends = (SELECT count(*) FROM job_ends e WHERE e.campaign_id = c.id),
           its_solvers
    FROM campaigns c WHERE c.id = campaign
    ON CONFLICT (campaign_id) DO UPDATE
        SET ends = EXCLUDED.ends, final = EXCLUDED.final, solvers = EXCLUDED.solvers
$$;

CREATE OR REPLACE FUNCTION sizes_of(p problems) RETURNS real[]
LANGUAGE plpgsql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN ARRAY(
        SELECT (ln(greatest(s.size, 1)::double precision) / ln(2::double precision))::real
        FROM unnest(ARRAY[p.n, p.c, p.k, p.groups] || p.in_size || p.fil || p.stride || p.dilation
                    || ARRAY[p.pad[1] + 1, p.pad[2] + 1, p.pad[3] + 1])
             WITH ORDINALITY AS s(size, place)
        ORDER BY s.place);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
