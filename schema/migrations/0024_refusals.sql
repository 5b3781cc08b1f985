-- Who asks why campaigns do not admit workers asks for each kind of worker
-- once: a farm has many nodes and few kinds, and of one that carries no solver
-- of a campaign all its bundles are looked through.
-- oldest program: 0012

-- Of running workers and active campaigns; 0 for all of them. Whoever has not
-- beaten for two minutes does not run.
CREATE OR REPLACE FUNCTION refusals(of_worker bigint, of_campaign bigint)
RETURNS TABLE (campaign_id bigint, worker_id bigint, node text, reason text)
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    WITH running AS MATERIALIZED (
        SELECT w.id, w.node,
               min(w.id) OVER (PARTITION BY w.target, w.builds, w.labels, w.stack, w.carried) AS kind
        FROM workers w
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

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
