-- Networks, their versions and layers.

-- The layers by what names a version: NAME for the current one, NAME@NUMBER for any.
CREATE OR REPLACE VIEW network_layers AS
    SELECT n.name AS network, l.position, l.name, l.multiplicity, l.problem_id
    FROM networks n JOIN version_layers l ON l.version_id = n.current_id
    UNION ALL
    SELECT v.network || '@' || v.number, l.position, l.name, l.multiplicity, l.problem_id
    FROM network_versions v JOIN version_layers l ON l.version_id = v.id
    WHERE v.number IS NOT NULL;

CREATE OR REPLACE FUNCTION layers_hash(of_version bigint) RETURNS bytea
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT sha256(convert_to(coalesce(string_agg(
               format('%s|%s|%L', multiplicity, problem_id, name), E'\n' ORDER BY position), ''), 'UTF8'))
    FROM version_layers WHERE version_id = of_version
$$;

-- Begins a version of a network. add_layers() fills it and end_network() ends it, in
-- the same transaction. Importers of one network take turns.
CREATE OR REPLACE FUNCTION begin_network(network_name text) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    begun bigint;
BEGIN
    IF network_name ~ '@[0-9]+$' THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'a network cannot be called ''%s'': behind an @ stands the number of a version; --network gives '
            'it another name', network_name);
    END IF;
    INSERT INTO networks (name) VALUES (network_name) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM networks WHERE name = network_name FOR UPDATE;
    INSERT INTO network_versions (network) VALUES (network_name) RETURNING id INTO begun;
    RETURN begun;
END $$;

CREATE OR REPLACE FUNCTION add_layers(items version_layers[]) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    INSERT INTO version_layers SELECT i.* FROM unnest(items) AS i
    WHERE EXISTS (SELECT 1 FROM network_versions v WHERE v.id = i.version_id AND v.number IS NULL)
$$;

-- Makes the version the current one of its network, or an equal version that exists
-- already. Returns the number of the version that is current now, of the one before
-- (NULL for a network's first), and whether the version is new.
CREATE OR REPLACE FUNCTION end_network(begun bigint, OUT number integer, OUT previous integer, OUT is_new boolean)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    its_network text := (SELECT v.network FROM network_versions v WHERE v.id = begun AND v.number IS NULL);
    its_hash bytea := layers_hash(begun);
    kept bigint;
BEGIN
    SELECT v.number INTO previous FROM networks n JOIN network_versions v ON v.id = n.current_id
    WHERE n.name = its_network;
    SELECT v.id, v.number INTO kept, number FROM network_versions v
    WHERE v.network = its_network AND v.hash = its_hash;
    is_new := kept IS NULL;
    IF is_new THEN
        kept := begun;
        number := 1 + coalesce((SELECT max(v.number) FROM network_versions v WHERE v.network = its_network), 0);
        UPDATE network_versions v SET number = end_network.number, hash = its_hash WHERE v.id = begun;
    ELSE
        DELETE FROM network_versions v WHERE v.id = begun;
    END IF;
    UPDATE networks n SET current_id = kept WHERE n.name = its_network;
END $$;

-- Describes a version of a network. A fact that is NULL leaves the one that is stored. Returns true if
-- a stored fact was replaced by another.
CREATE OR REPLACE FUNCTION describe_network(of_network text, of_number integer, its_framework text,
    its_model text, its_version text, its_batch bigint, its_source text, its_runs double precision) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    described bigint := (SELECT v.id FROM network_versions v
                         WHERE v.network = of_network AND v.number = of_number);
    old network_facts := (SELECT f FROM network_facts f WHERE f.version_id = described);
BEGIN
    IF described IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO network_facts AS f (version_id, framework, model, model_version, batch, source, runs)
    VALUES (described, its_framework, its_model, its_version, its_batch, its_source, its_runs)
    ON CONFLICT (version_id) DO UPDATE SET
        framework = coalesce(its_framework, f.framework),
        model = coalesce(its_model, f.model),
        model_version = coalesce(its_version, f.model_version),
        batch = coalesce(its_batch, f.batch),
        source = coalesce(its_source, f.source),
        runs = coalesce(its_runs, f.runs);
    RETURN coalesce(old.framework <> its_framework, false) OR coalesce(old.model <> its_model, false)
        OR coalesce(old.model_version <> its_version, false) OR coalesce(old.batch <> its_batch, false)
        OR coalesce(old.source <> its_source, false) OR coalesce(old.runs <> its_runs, false);
END $$;

-- Notes that the campaign was made for that version: NAME or NAME@NUMBER. Waits for a
-- session that is removing the version.
CREATE OR REPLACE FUNCTION keep_network(of_campaign bigint, named text) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    kept bigint := coalesce(
        (SELECT n.current_id FROM networks n WHERE n.name = named),
        (SELECT v.id FROM network_versions v WHERE v.network || '@' || v.number = named));
BEGIN
    PERFORM 1 FROM network_versions v WHERE v.id = kept FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ001', MESSAGE = format(
            'network ''%s'' was removed while the campaign was being made', named);
    END IF;
    INSERT INTO campaign_networks (campaign_id, version_id) VALUES (of_campaign, kept)
    ON CONFLICT DO NOTHING;
END $$;

-- Removes a network (NAME) or a version of it (NAME@NUMBER). Its problems stay. Refused
-- for versions that campaigns were made for; the message names the campaigns. If the
-- current version is removed, the newest other version becomes current. Returns how
-- many versions were removed.
CREATE OR REPLACE FUNCTION remove_network(named text) RETURNS integer
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    its_network text := coalesce((SELECT n.name FROM networks n WHERE n.name = named),
                                 regexp_replace(named, '@[0-9]+$', ''));
    going bigint[];
    users text;
BEGIN
    PERFORM 1 FROM networks n WHERE n.name = its_network FOR UPDATE;
    going := ARRAY(SELECT v.id FROM network_versions v
                   WHERE v.network = its_network
                     AND (named = its_network OR its_network || '@' || v.number = named));
    IF cardinality(going) = 0 THEN
        RETURN 0;
    END IF;
    SELECT string_agg(DISTINCT c.campaign_id::text, ', ') INTO users
    FROM campaign_networks c WHERE c.version_id = ANY (going);
    IF users IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ002', MESSAGE = format(
            'network ''%s'' stays: campaigns were made for it (%s); drop these first', named, users);
    END IF;
    DELETE FROM network_versions v WHERE v.id = ANY (going);
    UPDATE networks n SET current_id = (SELECT v.id FROM network_versions v WHERE v.network = n.name
                                        ORDER BY v.number DESC LIMIT 1)
    WHERE n.name = its_network AND n.current_id IS NULL;
    DELETE FROM networks n WHERE n.name = its_network AND n.current_id IS NULL;
    RETURN cardinality(going);
END $$;

-- The problems of the version that the campaign was made for; for another network,
-- those of the version that the name means.
CREATE OR REPLACE FUNCTION problems_of_network(of_campaign bigint, named text) RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    WITH made_for AS (
        SELECT v.id FROM campaign_networks c JOIN network_versions v ON v.id = c.version_id
        WHERE c.campaign_id = of_campaign AND v.network = named)
    SELECT l.problem_id FROM version_layers l WHERE l.version_id IN (SELECT id FROM made_for)
    UNION
    SELECT l.problem_id FROM network_layers l
    WHERE l.network = named AND NOT EXISTS (SELECT 1 FROM made_for)
$$;
