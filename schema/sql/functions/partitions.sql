-- Partitions of campaigns: making and dropping them.

-- CPU campaigns get no partition for conditions: they report none, and each partition
-- costs a file.
CREATE OR REPLACE FUNCTION add_partition(campaign bigint, parent text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL, CHECK (campaign_id = %s))',
                   parent || '_' || campaign, parent, campaign);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%s)',
                   parent, parent || '_' || campaign, campaign);
END $$;

-- Makes a campaign's partitions. Each is made beside its parent and then attached, so
-- sessions that work in other partitions go on.
CREATE OR REPLACE FUNCTION add_partitions(campaign bigint) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    c campaigns;
    parents text[] := ARRAY['jobs', 'job_ends', 'rounds', 'outcomes', 'results', 'deliveries'];
    parent text;
BEGIN
    SELECT * INTO c FROM campaigns WHERE id = campaign;
    IF c.strategy = 'prior' THEN
        parents := parents || 'priors'::text;
    END IF;
    IF c.final_seconds > 0 THEN
        parents := parents || 'remeasures'::text;
    END IF;
    IF c.target NOT LIKE 'cpu-%' THEN
        parents := parents || 'round_conditions'::text;
    END IF;
    FOREACH parent IN ARRAY parents LOOP
        PERFORM add_partition(campaign, parent);
    END LOOP;
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'skipjack_coordinator') THEN
        EXECUTE format('GRANT SELECT ON %I TO skipjack_coordinator', 'results_' || campaign);
    END IF;
END $$;

-- Partitions of campaigns that were dropped, and tables that were detached by a session
-- that did not drop them.
CREATE OR REPLACE VIEW dropped_partitions AS
    SELECT parent.relname AS parent, child.relname AS child,
           coalesce(i.inhdetachpending, false) AS pending, i.inhrelid IS NULL AS detached
    FROM pg_class child
    JOIN pg_class parent ON parent.relkind = 'p' AND parent.relnamespace = child.relnamespace
         AND parent.relname = regexp_replace(child.relname, '_[0-9]+$', '')
    LEFT JOIN pg_inherits i ON i.inhrelid = child.oid
    WHERE child.relkind = 'r' AND child.relnamespace = 'skipjack'::regnamespace
      AND parent.relname IN ('jobs', 'job_ends', 'rounds', 'outcomes', 'results', 'priors',
                             'round_conditions', 'remeasures', 'deliveries', 'job_origins')
      AND NOT EXISTS (SELECT 1 FROM campaigns c
                      WHERE child.relname = parent.relname || '_' || c.id);

-- Only a table's owner can detach a partition. Other logins empty it, and the owner's
-- next migrate or drop removes the table.
CREATE OR REPLACE FUNCTION empty_dropped_partitions() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    dropped text;
BEGIN
    FOR dropped IN SELECT d.child FROM dropped_partitions d
                   WHERE pg_relation_size(to_regclass(format('skipjack.%I', d.child))) > 0
    LOOP
        BEGIN
            EXECUTE format('TRUNCATE skipjack.%I', dropped);
        EXCEPTION WHEN lock_not_available OR undefined_table THEN
            CONTINUE; -- another session reads or has dropped it; the next call tries again
        END;
    END LOOP;
END $$;
