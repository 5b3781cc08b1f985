-- Golden versions grow old: what only those before a version hold may be given
-- up, and the code of its kernels with it. They stay in the line.
-- oldest program: 0012

ALTER TABLE golden_versions
    ADD COLUMN pruned_by    text,
    ADD COLUMN pruned_login text,
    ADD COLUMN pruned_at    timestamptz;

DROP VIEW golden_version_rows;
CREATE VIEW golden_version_rows AS
    SELECT v.*, extract(epoch FROM v.proposed_at)::bigint AS proposed,
           extract(epoch FROM v.approved_at)::bigint AS approved,
           CASE WHEN v.withdrawn_at IS NOT NULL THEN 'withdrawn'
                WHEN v.pruned_at IS NOT NULL THEN 'pruned'
                WHEN v.approved_at IS NOT NULL THEN 'approved'
                WHEN v.base < max(v.version) FILTER (WHERE v.approved_at IS NOT NULL)
                                             OVER (PARTITION BY v.target) THEN 'outdated'
                ELSE 'proposed' END AS state
    FROM golden_versions v;

CREATE OR REPLACE FUNCTION golden_version(its_target text, its_version integer)
RETURNS golden_versions
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    v golden_versions;
BEGIN
    SELECT * INTO v FROM golden_versions g WHERE g.target = its_target AND g.version = its_version;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001',
            MESSAGE = format('%s has no golden version %s', its_target, its_version);
    ELSIF v.withdrawn_at IS NOT NULL THEN
        PERFORM refuse_golden(format('version %s of %s was withdrawn by %s', its_version,
                                     its_target, v.withdrawn_by));
    ELSIF v.pruned_at IS NOT NULL THEN
        PERFORM refuse_golden(format('version %s of %s was pruned by %s: its content is not kept',
                                     its_version, its_target, v.pruned_by));
    END IF;
    RETURN v;
END $$;

-- Proposals that can no more be approved, or would restore what is given up,
-- are withdrawn. What the version itself holds lives beyond it and stays.
CREATE FUNCTION prune_golden(its_target text, before_version integer, its_name text,
                             OUT versions bigint, OUT configs bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    v golden_versions;
BEGIN
    PERFORM hold_golden(its_target, its_name);
    v := golden_version(its_target, before_version);
    IF v.approved_at IS NULL THEN
        PERFORM refuse_golden(format('version %s of %s was never approved: versions before an '
                                     'approved one are pruned', before_version, its_target));
    END IF;
    PERFORM withdraw_golden(its_target, g.version, its_name) FROM golden_versions g
    WHERE g.target = its_target AND g.approved_at IS NULL AND g.withdrawn_at IS NULL
      AND (g.base < before_version OR g.restores < before_version);
    DELETE FROM golden_rows r WHERE r.target = its_target AND r.until <= before_version;
    GET DIAGNOSTICS configs = ROW_COUNT;
    UPDATE golden_versions g SET pruned_by = its_name, pruned_login = session_user,
                                 pruned_at = clock_timestamp()
    WHERE g.target = its_target AND g.version < before_version AND g.approved_at IS NOT NULL
      AND g.pruned_at IS NULL;
    GET DIAGNOSTICS versions = ROW_COUNT;
END $$;

INSERT INTO entry_points (role, name) VALUES ('skipjack_coordinator', 'prune_golden');

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
