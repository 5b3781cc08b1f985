/* History: points of jobs by night, which stay when their campaign is dropped, and are thinned by age. */
#include "schema/results/store_history.h"

#include "schema/farm/upkeep.h"
#include "schema/results/store_remeasure.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <string.h>

static void run(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(store, &error, sql, "");
    g_assert_no_error(error);
}

static char *ask(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL || PQntuples(rows) == 0 ? g_strdup("") : g_strdup(PQgetvalue(rows, 0, 0));
}

static void expect(Store *store, const char *sql, const char *expected)
{
    g_autofree char *found = ask(store, sql);
    g_assert_cmpstr(found, ==, expected);
}

static void gather(Store *store)
{
    g_autoptr(GError) error = NULL;
    store_gather_history(store, 0, NULL, &error);
    g_assert_no_error(error);
}

static void name_night(const struct farm *farm, const char *night)
{
    g_autoptr(GError) error = NULL;
    store_name_night(farm->store, farm->campaign, night, &error);
    g_assert_no_error(error);
}

#define ALL_POINTS                                                                                 \
    "SELECT coalesce(string_agg(concat_ws(' ', solver, night, config_text, median_ms, n,"          \
    " failure, wins, older, nights, node), '; ' ORDER BY problem_id, solver, night), '') FROM history_points"

static void ended_jobs_become_points_of_their_night(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    name_night(&farm, "2027-03-05");
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    expect(farm.store, ALL_POINTS, "ConvTest 2027-03-05 0,0 2 10 0 t f 1 one");
    gather(farm.store);
    expect(farm.store, "SELECT count(*) FROM history", "1");
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    expect(farm.store, "SELECT count(*) FROM history", "2");
    farm_clear(&farm);
}

static void a_dropped_campaign_loses_no_point(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 3});
    name_night(&farm, "2027-03-05");
    farm_work(&farm, 0, false, 1);
    farm_work(&farm, 0, false, 1);
    farm_change(&farm, "drop");
    expect(farm.store, "SELECT count(*) FROM campaigns", "0");
    expect(farm.store, ALL_POINTS,
           "ConvTest 2027-03-05 0,0 2 10 0 t f 1 one; ConvTest 2027-03-05 0,0 2 10 0 t f 1 one");
    run(farm.store, "DELETE FROM workers");
    expect(farm.store, "SELECT count(*) FROM history_points WHERE night = '2027-03-05'", "2");
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/history/gather/ended_jobs_become_points_of_their_night",
                    ended_jobs_become_points_of_their_night);
    g_test_add_func("/history/gather/a_dropped_campaign_loses_no_point",
                    a_dropped_campaign_loses_no_point);
    return g_test_run();
}
