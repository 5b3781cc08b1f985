-- Problems, targets and solvers: storing them, and reading them for claims.

-- Inserts the problems that are new, in one order for all callers, so two callers never
-- wait for each other in a circle. Returns every item's row.
CREATE OR REPLACE FUNCTION put_problems(items jsonb)
RETURNS TABLE (ord bigint, problem_id bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO problems (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                          pad, stride, dilation, types, casts, layouts, bias, epilogue, mode, strides)
    SELECT DISTINCT kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
           pad, stride, dilation, types, casts, layouts, bias, epilogue, mode, strides
    FROM jsonb_populate_recordset(NULL::problems, items)
    ORDER BY kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
             pad, stride, dilation, types, casts, layouts, bias, epilogue, mode, strides
    ON CONFLICT ON CONSTRAINT problems_once DO NOTHING;

    RETURN QUERY
        SELECT item.ordinality, p.id
        FROM jsonb_populate_recordset(NULL::problems, items) WITH ORDINALITY AS item
        JOIN problems p USING (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                               pad, stride, dilation, types, casts, layouts, bias, epilogue, mode,
                               strides)
        ORDER BY item.ordinality;
END $$;

-- Inserts the problems that are new. Returns each problem's row, in the order of the items,
-- and tags them; NULL for no tag.
CREATE OR REPLACE FUNCTION put_problem_rows(items problems[], its_tag text) RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    ids bigint[];
BEGIN
    INSERT INTO problems (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                          pad, stride, dilation, types, casts, layouts, bias, epilogue, mode, strides)
    SELECT DISTINCT kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
           pad, stride, dilation, types, casts, layouts, bias, epilogue, mode, strides
    FROM unnest(items)
    ORDER BY kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
             pad, stride, dilation, types, casts, layouts, bias, epilogue, mode, strides
    ON CONFLICT ON CONSTRAINT problems_once DO NOTHING;

    ids := ARRAY(
        SELECT p.id
        FROM unnest(items) WITH ORDINALITY AS item(no_id, kind, direction, spatial_dim, n, c, k,
             groups, in_size, fil, out_size, pad, stride, dilation, types, casts, layouts, bias,
             epilogue, mode, strides, place)
        JOIN problems p USING (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size,
                               pad, stride, dilation, types, casts, layouts, bias, epilogue, mode,
                               strides)
        ORDER BY item.place);
    INSERT INTO problem_tags (tag, problem_id)
    SELECT DISTINCT its_tag, id FROM unnest(ids) AS id WHERE its_tag IS NOT NULL
    ORDER BY id ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT unnest(ids);
END $$;

-- The problems that claimed jobs refer to.
CREATE OR REPLACE FUNCTION skipjack_work.problems(ids jsonb) RETURNS SETOF json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT row_to_json(p) FROM problems p
                 WHERE p.id = ANY (ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e));
END $$;

-- Stores a target. Its id identifies it; limits and peaks are those that a device
-- reported last. A program that does not report peaks of data types leaves them as they
-- are.
CREATE OR REPLACE FUNCTION put_target(described jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    INSERT INTO targets AS t SELECT * FROM jsonb_populate_record(NULL::targets, described)
    ON CONFLICT (id) DO UPDATE SET local_bytes = EXCLUDED.local_bytes,
        max_workgroup = EXCLUDED.max_workgroup, wave_size = EXCLUDED.wave_size,
        vector_bytes = EXCLUDED.vector_bytes, peak_flops = EXCLUDED.peak_flops,
        peak_bytes = EXCLUDED.peak_bytes, type_peaks = coalesce(EXCLUDED.type_peaks, t.type_peaks)
$$;

CREATE OR REPLACE FUNCTION skipjack_work.target(named text) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ SELECT to_jsonb(t) FROM targets t WHERE id = named $$;

CREATE OR REPLACE FUNCTION skipjack_work.solvers(ids jsonb) RETURNS SETOF jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
    SELECT to_jsonb(s) FROM solvers s
    WHERE id = ANY (ARRAY(SELECT e::bigint FROM jsonb_array_elements_text(ids) AS e))
$$;
