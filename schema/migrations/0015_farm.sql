-- What a farm's operator asks about, kept so that asking is cheap: what each
-- worker has done, which it says with a beat now and then; samples of the sums,
-- from which rates come; and when upkeep was last done.
-- oldest program: 0011

-- counts: "jobs", "configs", "kernels" and "failures" (a failure's number to how
-- many configs), since the worker began.
ALTER TABLE workers ADD COLUMN counts jsonb NOT NULL DEFAULT '{}';

-- Sums over all workers: one row in ten seconds, for an hour.
CREATE TABLE farm_samples (
    at      timestamptz PRIMARY KEY,
    jobs    double precision NOT NULL,
    configs double precision NOT NULL,
    kernels double precision NOT NULL
);

-- What a worker has done so far. The first of ten seconds takes the sample.
CREATE FUNCTION report_worker(reporting bigint, its_counts jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
DECLARE
    bin timestamptz := date_bin('10 seconds', clock_timestamp(), 'epoch');
BEGIN
    UPDATE workers SET counts = its_counts WHERE id = reporting;
    IF EXISTS (SELECT 1 FROM farm_samples WHERE at = bin) THEN
        RETURN;
    END IF;
    INSERT INTO farm_samples
    SELECT bin, coalesce(sum((counts->>'jobs')::double precision), 0),
           coalesce(sum((counts->>'configs')::double precision), 0),
           coalesce(sum((counts->>'kernels')::double precision), 0)
    FROM workers
    ON CONFLICT DO NOTHING;
    DELETE FROM farm_samples WHERE at < bin - interval '1 hour';
END $$;

-- The age of the oldest transaction beside the caller's, in seconds; NULL
-- without one. Who runs this must be shown those of others: a superuser, or an
-- owner with pg_read_all_stats.
CREATE FUNCTION oldest_transaction() RETURNS double precision
LANGUAGE sql STABLE SET search_path = skipjack, pg_temp AS $$
    SELECT extract(epoch FROM clock_timestamp() - min(a.xact_start))::double precision
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
$$;

-- The farm's last whole upkeep, whoever did it.
CREATE TABLE upkeep_state (
    begun_at    timestamptz,
    finished_at timestamptz,
    seconds     double precision,
    report      jsonb
);
INSERT INTO upkeep_state DEFAULT VALUES;

-- Whether the caller is to do upkeep now: nobody else is at it, and the last one
-- began so many seconds ago. The lock is the session's: it ends with it.
CREATE FUNCTION begin_upkeep(period_seconds double precision) RETURNS boolean
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF NOT pg_try_advisory_lock(7453010313431182190) THEN
        RETURN false;
    ELSIF EXISTS (SELECT 1 FROM upkeep_state
                  WHERE begun_at + period_seconds * interval '1 second' > clock_timestamp()) THEN
        PERFORM pg_advisory_unlock(7453010313431182190);
        RETURN false;
    END IF;
    UPDATE upkeep_state SET begun_at = clock_timestamp();
    RETURN true;
END $$;

-- what: NULL where it was not done whole; whoever asks next may begin it again.
CREATE FUNCTION end_upkeep(took_seconds double precision, what jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS $$
BEGIN
    IF what IS NULL THEN
        UPDATE upkeep_state SET begun_at = NULL;
    ELSE
        UPDATE upkeep_state SET finished_at = clock_timestamp(), seconds = took_seconds,
                                report = what;
    END IF;
    PERFORM pg_advisory_unlock(7453010313431182190);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
