-- Places of code objects outside the database: which one is current, and uploads to it.

-- Sessions that store code take this lock shared; a session that changes the place
-- takes it alone. So when the place changes, no call that began under the old place is
-- still storing.
CREATE OR REPLACE FUNCTION lock_blob_place(alone boolean) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF alone THEN
        PERFORM hold_blob_place();
    ELSE
        LOCK TABLE blob_places IN ROW EXCLUSIVE MODE;
    END IF;
END $$;

-- A session that stores code holds the table's weak lock until its transaction ends; a
-- session that changes the place holds the table alone. So when the place changes, no
-- call that began under the old place is still storing. It waits for one second at a
-- time, because sessions that store code queue behind it.
CREATE OR REPLACE FUNCTION hold_blob_place() RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp SET lock_timeout = '1s' AS
$$ BEGIN LOCK TABLE blob_places IN EXCLUSIVE MODE; END $$;

-- Makes the URL the place where new code goes. Returns its number.
CREATE OR REPLACE FUNCTION use_blob_place(place_url text) RETURNS smallint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    chosen smallint;
BEGIN
    PERFORM lock_blob_place(true);
    INSERT INTO blob_places (id, url, is_current)
    SELECT max(id) + 1, place_url, false FROM blob_places
    ON CONFLICT (url) DO NOTHING;
    UPDATE blob_places SET is_current = false WHERE is_current AND url <> place_url;
    UPDATE blob_places SET is_current = true WHERE url = place_url RETURNING id INTO chosen;
    RETURN chosen;
END $$;

-- Returns a name for the upload of an object with this hash to the current place; NULL
-- if that is the database.
CREATE OR REPLACE FUNCTION begin_upload(sha256_hex text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    here blob_places;
    fresh text;
BEGIN
    SELECT * INTO STRICT here FROM blob_places WHERE is_current;
    IF here.id <> 0 THEN
        fresh := left(sha256_hex, 2) || '/' || sha256_hex || '-'
                 || left(replace(gen_random_uuid()::text, '-', ''), 16);
        INSERT INTO blob_loose (place, name, is_upload) VALUES (here.id, fresh, true);
    END IF;
    RETURN jsonb_build_object('place', here.id, 'url', here.url, 'name', fresh);
END $$;

-- The name of an upload is given to this session alone.
CREATE OR REPLACE FUNCTION skipjack_work.begin_upload(sha256_hex text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ BEGIN RETURN begin_upload(sha256_hex); END $$;

-- Ends an upload: as its kernel's object, or given up and to be removed. An upload ends
-- once. Returns false if it ended before.
CREATE OR REPLACE FUNCTION end_upload(at smallint, asked text) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM blob_loose WHERE place = at AND name = asked AND is_upload;
    RETURN found;
END $$;

CREATE OR REPLACE FUNCTION skipjack_work.give_up_upload(at smallint, asked text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS
$$ UPDATE blob_loose SET is_upload = false WHERE place = at AND name = asked $$;

-- Gives up uploads that are older than a day: their processes died. Such an upload can
-- no longer end as a kernel's object.
CREATE OR REPLACE FUNCTION give_up_uploads() RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE blob_loose SET is_upload = false
    WHERE is_upload AND since < now() - interval '1 day'
$$;

-- Forgets an object that was removed.
CREATE OR REPLACE FUNCTION forget_blob(at smallint, removed text) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS
$$ DELETE FROM blob_loose WHERE place = at AND name = removed AND NOT is_upload $$;
