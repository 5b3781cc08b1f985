-- Tokens of serve's HTTP API. No function returns a secret: the program makes it, and shows
-- it once.

-- days: for how long the token is valid, NULL for ever. Returns the token's number.
CREATE OR REPLACE FUNCTION make_api_token(its_name text, its_role text, secret_sha256 bytea, days integer)
RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    new_id bigint;
BEGIN
    INSERT INTO api_tokens (name, role, sha256, expires_at)
    VALUES (its_name, its_role, secret_sha256, now() + make_interval(days => days))
    ON CONFLICT (name) DO NOTHING RETURNING id INTO new_id;
    IF new_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55000',
            MESSAGE = format('there is a token named %s; remove it first, or choose another name', its_name);
    END IF;
    RETURN new_id;
END $$;

CREATE OR REPLACE FUNCTION list_api_tokens() RETURNS SETOF jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('name', t.name, 'role', t.role, 'made_unix', unix_of(t.made_at),
        'made_login', t.made_login, 'expires_unix', coalesce(unix_of(t.expires_at), 0),
        'used_unix', coalesce(unix_of(t.used_at), 0),
        'expired', coalesce(t.expires_at <= now(), false))
    FROM api_tokens t ORDER BY t.name
$$;

CREATE OR REPLACE FUNCTION remove_api_token(its_name text) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    DELETE FROM api_tokens t WHERE t.name = its_name;
    RETURN FOUND;
END $$;

-- A token by its number, with the hash that the program compares; none if it has expired.
CREATE OR REPLACE FUNCTION api_token(its_id bigint) RETURNS SETOF jsonb
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT jsonb_build_object('name', t.name, 'role', t.role, 'sha256', encode(t.sha256, 'hex'),
                              'expires_unix', coalesce(unix_of(t.expires_at), 0))
    FROM api_tokens t WHERE t.id = its_id AND coalesce(t.expires_at > now(), true)
$$;

-- Notes that a token was used, at most once a minute.
CREATE OR REPLACE FUNCTION note_api_token(its_id bigint) RETURNS void
LANGUAGE sql SET search_path = skipjack, pg_temp AS $$
    UPDATE api_tokens SET used_at = now()
    WHERE id = its_id AND coalesce(used_at < now() - interval '1 minute', true)
$$;
