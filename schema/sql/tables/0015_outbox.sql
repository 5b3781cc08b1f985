-- The outbox: messages to webhooks, kept until they are delivered.
-- oldest program: 0012

-- message_id: the id that the receiver gets with every try.
-- topic: what the message is about; receiver_key: SHA-256 of the URL. A receiver gets a topic once.
-- receiver: the URL without what may be secret. body: the bytes that are sent.
-- tries: how often it was sent; the number of the newest try is the fence of whoever sends it now.
-- next_at: when it is sent next. held_until: until then the process that claimed it sends it.
-- status, words: the HTTP status of the last try, 0 without an answer, and what happened.
CREATE TABLE outbox (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id   text NOT NULL UNIQUE CHECK (message_id ~ '^[0-9a-f]{32}$'),
    topic        text NOT NULL,
    receiver     text NOT NULL,
    receiver_key text NOT NULL,
    body         text NOT NULL,
    state        text NOT NULL DEFAULT 'waiting'
                 CHECK (state IN ('waiting', 'delivered', 'failed', 'dropped')),
    tries        integer NOT NULL DEFAULT 0,
    made_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    next_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    held_until   timestamptz,
    tried_at     timestamptz,
    ended_at     timestamptz,
    status       integer NOT NULL DEFAULT 0,
    words        text NOT NULL DEFAULT '',
    CONSTRAINT outbox_once UNIQUE (topic, receiver_key),
    CONSTRAINT message_is_fit CHECK (length(topic) BETWEEN 1 AND 2000 AND length(receiver) <= 2000
                                     AND length(body) <= 1048576 AND length(words) <= 4000)
);
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'waiting';

-- Where messages go: the URL, which may hold a secret, and the file with the key of the signature. No role
-- reads this table. A row ends when its message is delivered or dropped.
CREATE TABLE outbox_receivers (
    message     bigint PRIMARY KEY REFERENCES outbox ON DELETE CASCADE,
    url         text NOT NULL CHECK (length(url) BETWEEN 1 AND 4000),
    secret_file text NOT NULL CHECK (length(secret_file) <= 4000)
);
