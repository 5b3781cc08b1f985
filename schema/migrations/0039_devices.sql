-- Which devices a worker measures on: their UUIDs and places on the PCI bus tell a
-- card from all that are alike, and say what to look at where one is slow or dies.
-- oldest program: 0037

CREATE TABLE worker_devices (
    worker_id bigint NOT NULL REFERENCES workers ON DELETE CASCADE,
    place     integer NOT NULL, -- among the worker's devices, from 0
    device    text NOT NULL,    -- as the worker was told to open it
    name      text NOT NULL,    -- as its vendor spells it
    target    text NOT NULL,
    uuid      text NOT NULL,    -- these three are '' where its driver does not say
    address   text NOT NULL,
    partition text NOT NULL,
    PRIMARY KEY (worker_id, place)
);

-- A worker says what its devices are, all of them; those it said before are forgotten.
CREATE FUNCTION skipjack_work.put_devices(saying bigint, its_devices jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(saying);
    IF jsonb_typeof(its_devices) IS DISTINCT FROM 'array'
       OR jsonb_array_length(its_devices) > 1024 OR pg_column_size(its_devices) > 500000 THEN
        PERFORM refuse_value('a worker has up to 1024 devices, described in few words');
    END IF;
    DELETE FROM worker_devices WHERE worker_id = saying;
    INSERT INTO worker_devices
    SELECT saying, e.place - 1, coalesce(e.d->>'device', ''), coalesce(e.d->>'name', ''),
           coalesce(e.d->>'target', ''), coalesce(e.d->>'uuid', ''),
           coalesce(e.d->>'address', ''), coalesce(e.d->>'partition', '')
    FROM jsonb_array_elements(its_devices) WITH ORDINALITY AS e(d, place);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
