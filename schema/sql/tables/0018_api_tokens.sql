-- oldest program: 0012
-- Tokens of serve's HTTP API. A token is its number and a secret; the database has only the
-- secret's SHA-256. role: what its holder may do (reader: ask; coordinator: change, too).
-- used_at: when it was used last, to the minute.
CREATE TABLE api_tokens (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    role       text NOT NULL CHECK (role IN ('reader', 'coordinator')),
    sha256     bytea NOT NULL CHECK (length(sha256) = 32),
    made_at    timestamptz NOT NULL DEFAULT now(),
    made_login text NOT NULL DEFAULT session_user,
    expires_at timestamptz,
    used_at    timestamptz,
    CONSTRAINT token_is_fit CHECK (name ~ '^[A-Za-z0-9._-]{1,64}$')
);
