-- The outbox: keeping messages, claiming one to send it, and noting what came of it.

-- Keeps a message, unless its receiver has one of this topic already. Returns true if it is new.
CREATE OR REPLACE FUNCTION keep_message(its_id text, its_topic text, its_receiver text, its_url text,
                                        its_secret_file text, its_body text) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    its_row bigint;
BEGIN
    INSERT INTO outbox (message_id, topic, receiver, receiver_key, body)
    VALUES (its_id, its_topic, its_receiver,
            encode(sha256(convert_to(its_url, 'UTF8')), 'hex'), its_body)
    ON CONFLICT ON CONSTRAINT outbox_once DO NOTHING RETURNING id INTO its_row;
    IF its_row IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO outbox_receivers (message, url, secret_file)
    VALUES (its_row, its_url, its_secret_file);
    RETURN true;
END $$;

-- Claims the message that is due longest, for so many seconds: after them another process may send it. Returns it, or
-- {wait: seconds until one is due; null without one}.
CREATE OR REPLACE FUNCTION claim_message(hold_seconds double precision) RETURNS jsonb
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    m outbox;
BEGIN
    UPDATE outbox o
    SET tries = o.tries + 1, tried_at = clock_timestamp(),
        held_until = clock_timestamp() + hold_seconds * interval '1 second'
    WHERE o.id = (SELECT d.id FROM outbox d
                  WHERE d.state = 'waiting' AND d.next_at <= clock_timestamp()
                    AND coalesce(d.held_until, '-infinity') <= clock_timestamp()
                  ORDER BY d.next_at, d.id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING * INTO m;
    IF m.id IS NULL THEN
        RETURN jsonb_build_object('wait', (
            SELECT greatest(0, extract(epoch FROM min(greatest(d.next_at, d.held_until))
                                                  - clock_timestamp()))
            -- Without a waiting message there is no row, and no wait.
            FROM outbox d WHERE d.state = 'waiting' HAVING count(*) > 0));
    END IF;
    RETURN (SELECT jsonb_build_object(
                'id', m.id, 'message_id', m.message_id, 'topic', m.topic, 'receiver', m.receiver,
                'body', m.body, 'tries', m.tries, 'url', r.url, 'secret_file', r.secret_file,
                'age', extract(epoch FROM clock_timestamp() - m.made_at))
            FROM outbox_receivers r WHERE r.message = m.id);
END $$;

-- The moves of a message; C has the same states (schema/farm/store_outbox.h).
CREATE OR REPLACE FUNCTION message_may_move(from_state text, to_state text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = skipjack, pg_temp AS $$
    SELECT (from_state, to_state) IN (
        ('waiting', 'waiting'), ('waiting', 'delivered'), ('waiting', 'failed'),
        ('waiting', 'dropped'), ('failed', 'waiting'), ('failed', 'dropped'))
$$;

-- Moves a message, and forgets its URL once nobody needs it. Does nothing if the move is not allowed.
CREATE OR REPLACE FUNCTION move_message(its_row bigint, to_state text, delay_seconds double precision)
RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    UPDATE outbox o
    SET state = to_state, held_until = NULL,
        next_at = clock_timestamp() + delay_seconds * interval '1 second',
        ended_at = CASE WHEN to_state <> 'waiting' THEN clock_timestamp() END
    WHERE o.id = its_row AND message_may_move(o.state, to_state);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF to_state IN ('delivered', 'dropped') THEN
        DELETE FROM outbox_receivers r WHERE r.message = its_row;
    END IF;
    RETURN true;
END $$;

-- Notes what came of a try. try: the number that the claim returned; false if another process has sent the message
-- since, or if somebody dropped it.
CREATE OR REPLACE FUNCTION end_try(its_row bigint, try integer, to_state text, its_status integer,
                                   its_words text, delay_seconds double precision) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    UPDATE outbox o SET status = its_status, words = left(its_words, 4000)
    WHERE o.id = its_row AND o.tries = try AND o.state = 'waiting';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM move_message(its_row, to_state, delay_seconds);
    RETURN true;
END $$;

-- Sends messages once more, or drops them: those of ids, or with NULL all that failed. Returns how many.
CREATE OR REPLACE FUNCTION change_messages(ids jsonb, to_state text) RETURNS bigint
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    chosen bigint;
    changed bigint := 0;
BEGIN
    FOR chosen IN SELECT o.id FROM outbox o
                  WHERE (ids IS NULL AND o.state = 'failed')
                     OR o.id IN (SELECT i::bigint FROM jsonb_array_elements_text(ids) AS i)
                  ORDER BY o.id
    LOOP
        IF move_message(chosen, to_state, 0) THEN
            changed := changed + 1;
        END IF;
    END LOOP;
    RETURN changed;
END $$;

-- Forgets messages that ended before that time.
CREATE OR REPLACE FUNCTION forget_messages(ended_before timestamptz, batch integer, really boolean,
                                           OUT freed bigint, OUT bytes bigint)
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    ids bigint[];
BEGIN
    SELECT array_agg(p.id), count(*), coalesce(sum(p.bytes), 0) INTO ids, freed, bytes
    FROM (SELECT o.id, pg_column_size(o) AS bytes FROM outbox o
          WHERE o.ended_at < ended_before LIMIT CASE WHEN really THEN batch END) AS p;
    IF really THEN
        DELETE FROM outbox o
        WHERE o.id IN (SELECT h.id FROM outbox h WHERE h.id = ANY (ids) AND h.ended_at < ended_before
                       FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS freed = ROW_COUNT;
    END IF;
END $$;
