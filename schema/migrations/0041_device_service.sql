-- A device that breaks one config after the other, or is not there any more, is
-- out of service: its worker says so here and in the diary, and holds no jobs
-- for it. What it took out of others' hands in that time is taken back.
-- oldest program: 0037

ALTER TABLE worker_devices
    ADD COLUMN out_since timestamptz,                  -- NULL: in service
    ADD COLUMN out_reason text NOT NULL DEFAULT '';

-- A worker takes a device of its own out of service, or back with no reason.
CREATE FUNCTION skipjack_work.set_device_service(saying bigint, its_place integer, why text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp AS $$
BEGIN
    PERFORM check_worker(saying);
    IF length(why) <= 4096 IS NOT TRUE THEN
        PERFORM refuse_value('a device is out of service for a reason of at most 4096 characters');
    END IF;
    UPDATE worker_devices
    SET out_since = CASE WHEN why <> '' THEN coalesce(out_since, now()) END, out_reason = why
    WHERE worker_id = saying AND place = its_place;
END $$;

-- Configs that a device was to blame for are proposed again; by whoever claimed
-- their job last.
CREATE FUNCTION skipjack_work.lift_quarantine(campaign bigint, job bigint, values_of jsonb)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = skipjack, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    mine bigint[] := my_workers();
    said integer[] := ARRAY(SELECT v::integer FROM jsonb_array_elements_text(values_of)
                            WITH ORDINALITY AS e(v, n) ORDER BY n);
BEGIN
    IF mine IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM bundles b
        WHERE b.campaign_id = campaign AND b.job_ids @> ARRAY[job] AND b.claimed_by = ANY (mine)
        UNION ALL
        SELECT 1 FROM job_ends e
        WHERE e.campaign_id = campaign AND e.job_id = job AND e.claimed_by = ANY (mine)) THEN
        RAISE EXCEPTION USING ERRCODE = 'SJ003',
            MESSAGE = format('job %s was claimed by another worker', job);
    END IF;
    DELETE FROM quarantine q USING jobs j, campaigns c
    WHERE j.campaign_id = campaign AND j.id = job AND c.id = j.campaign_id
      AND q.solver_id = j.solver_id AND q.problem_id = j.problem_id AND q.target = c.target
      AND q.config = said;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack, skipjack_work FROM PUBLIC;
