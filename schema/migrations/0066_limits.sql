-- A campaign's limits: under which its jobs are planned, and worked on. They belong to its identity. Older
-- programs would work on its jobs without them, and hand in what the campaign does not allow: none may go on.

ALTER TABLE campaigns
    ADD COLUMN workspace_limit bigint CHECK (workspace_limit >= 0), -- bytes; NULL for no limit
    ADD COLUMN dynamic_only    boolean NOT NULL DEFAULT false,
    ADD COLUMN deterministic   boolean NOT NULL DEFAULT false,
    ADD COLUMN tunable_only    boolean NOT NULL DEFAULT false,
    ADD COLUMN solvers_asked   text NOT NULL DEFAULT ''; -- names and families; '' for all

-- With the columns that campaigns have by now. overdue: it would be active, but for its deadline.
DROP VIEW campaign_rows;
CREATE VIEW campaign_rows AS
    SELECT c.*, extract(epoch FROM c.created_at)::bigint AS created,
           spent_seconds(c.id) AS spent_seconds, n.*,
           coalesce(c.state = 'active' AND c.deadline <= clock_timestamp(), false) AS overdue
    FROM campaigns c
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, count(*) FILTER (WHERE j.state = 'done') AS done,
               count(*) FILTER (WHERE j.state = 'failed') AS failed,
               count(*) FILTER (WHERE j.state IN ('ready', 'building', 'built', 'evaluating')) AS open
        FROM job_rows j WHERE j.campaign_id = c.id) AS n;

CREATE OR REPLACE FUNCTION begin_campaign(plan jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    new_id bigint;
BEGIN
    PERFORM check_stack(plan->>'stack');
    INSERT INTO campaigns (name, identity, target, stack, strategy, seed, configs_limit,
                           round_configs, budget_seconds, build_only, pool, priority, share,
                           workspace_limit, dynamic_only, deterministic, tunable_only, solvers_asked)
    SELECT p.name, p.identity, p.target, p.stack, p.strategy, p.seed, p.configs_limit,
           p.round_configs, p.budget_seconds, p.build_only, p.pool, p.priority, p.share,
           p.workspace_limit, coalesce(p.dynamic_only, false), coalesce(p.deterministic, false),
           coalesce(p.tunable_only, false), coalesce(p.solvers_asked, '')
    FROM jsonb_populate_record(NULL::campaigns, plan) AS p
    RETURNING id INTO new_id;
    PERFORM add_partitions(new_id);
    RETURN new_id;
END $$;

-- Whether the jobs of two campaigns choose among the same configs: the other limits leave out solvers, and so
-- whole jobs.
CREATE FUNCTION same_limits(c campaigns, o campaigns) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS
$$ SELECT c.workspace_limit IS NOT DISTINCT FROM o.workspace_limit $$;

-- Takes over what jobs of other campaigns answer, the newest first, until none lacks an answer.
-- Gives how many it took over.
CREATE OR REPLACE FUNCTION reuse_jobs(c campaigns) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    lacking bigint[] := ARRAY(SELECT j.id FROM jobs j WHERE j.campaign_id = c.id ORDER BY j.id);
    wanted integer := cardinality(lacking);
    o campaigns;
    fresh bigint[];
    old bigint[];
    had integer[];
BEGIN
    FOR o IN SELECT * FROM campaigns p
             WHERE p.id <> c.id AND NOT p.build_only AND p.target = c.target AND p.stack = c.stack
               AND same_limits(p, c)
             ORDER BY p.id DESC
    LOOP
        EXIT WHEN lacking = '{}';
        SELECT array_agg(a.fresh_id), array_agg(a.old_id), array_agg(a.had_rounds)
        INTO fresh, old, had FROM answers_of(c, o, lacking) AS a;
        CONTINUE WHEN fresh IS NULL;
        PERFORM copy_answers(c, o, fresh, old, had);
        lacking := ARRAY(SELECT l FROM unnest(lacking) AS l EXCEPT SELECT f FROM unnest(fresh) AS f
                         ORDER BY 1);
    END LOOP;
    RETURN wanted - cardinality(lacking);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
