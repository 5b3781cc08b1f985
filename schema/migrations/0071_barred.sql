-- A worker whose login measured what is to be measured again by another login for golden idled without a word:
-- nothing said what its campaign waits for.
-- oldest program: 0062

-- Whether all that waits in the campaign is to be measured by another login than the worker's.
CREATE FUNCTION waits_for_others(c campaigns, w workers) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM bundles b WHERE b.campaign_id = c.id AND b.state = 'built' AND b.remeasures
                   AND is_barred(w.id, c.id, b.job_ids[1], b.round_no))
       AND NOT EXISTS (SELECT FROM bundles b WHERE b.campaign_id = c.id AND b.state IN ('ready', 'built')
                       AND NOT (b.remeasures AND b.state = 'built'
                                AND is_barred(w.id, c.id, b.job_ids[1], b.round_no)));
END $$;

-- refusal(), why the worker's login could not claim from the campaign within the last five minutes, and that it
-- may not measure what waits.
CREATE OR REPLACE FUNCTION refusal_or_fault(c campaigns, w workers) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = skipjack, pg_temp AS $$
DECLARE
    reason text;
    state text;
    words text;
BEGIN
    BEGIN
        reason := refusal(c, w);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, words = MESSAGE_TEXT;
        IF is_anybodys_error(state) THEN
            RAISE;
        END IF;
        RETURN format('the campaign cannot be read: %s', words);
    END;
    RETURN coalesce(reason, (
        SELECT format('claiming from the campaign fails: %s', f.reason) FROM campaign_faults f
        WHERE f.campaign_id = c.id AND f.login = w.login
          AND f.at > clock_timestamp() - interval '5 minutes'),
        CASE WHEN waits_for_others(c, w) THEN
            format('its login %s measured what waits, another login is to confirm it for golden', w.login)
        END);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA skipjack FROM PUBLIC;
