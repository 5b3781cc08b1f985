#include "tests/support/farm/role_farm.h"

#include "schema/server/connection.h"
#include "schema/server/roles.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/scratch_db.h"

#include <string.h>

#define SECRET_TWO "2222222222222222222222222222222222222222222222222222222222222222"

char *role_url(const char *login)
{
    g_auto(GStrv) parts = g_strsplit(scratch_db_url(), "skipjack@", 2);
    return g_strconcat(parts[0], login, "@", parts[1], NULL);
}

Store *role_open(const char *login)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *url = role_url(login);
    Store *store = store_open(url, &error);
    g_assert_no_error(error);
    return store;
}

void role_farm_make_logins(void)
{
    static const struct {
        const char *login, *role;
    } logins[] = {
        {"node1", "worker"}, {"node2", "worker"}, {"boss", "coordinator"}, {"guest", "reader"}};
    g_autoptr(GError) error = NULL;
    PGconn *owner = connection_open(scratch_db_url(), "test", &error);
    g_assert_true(roles_create(owner, &error));
    for (gsize i = 0; i < G_N_ELEMENTS(logins); i++) {
        const struct role_login login = {.name = logins[i].login,
                                         .role = role_find(logins[i].role)};
        g_assert_true(roles_login(owner, &login, &error));
    }
    g_assert_no_error(error);
    PQclear(PQexec(owner, "CREATE ROLE stranger LOGIN"));
    PQfinish(owner);
}

int64_t role_enter(Store *store, const char *node, const char *process)
{
    g_autoptr(GError) error = NULL;
    int64_t worker = 0;
    struct worker_info info = {
        .node = node, .process = process, .target = "gfx90a68", .stack = "clang 15.0.6; hip 5.2"};
    store_register_worker(store, &info, &worker, &error);
    g_assert_no_error(error);
    return worker;
}

void role_farm_init(struct role_farm *f, int jobs)
{
    g_autoptr(GError) error = NULL;
    store_close(scratch_store()); /* empties it */
    f->farm.store = role_open("node1");
    f->two = role_open("node2");
    f->boss = role_open("boss");
    f->guest = role_open("guest");
    store_act_as(f->two, SECRET_TWO, &error);
    g_assert_no_error(error);
    f->farm.workers[0] = role_enter(f->farm.store, "one", "p1");
    f->farm.workers[1] = role_enter(f->two, "two", "p2");
    f->farm.campaign = farm_create(f->boss, &(struct order){.jobs = jobs}, NULL);
}

void role_farm_clear(struct role_farm *f)
{
    store_close(f->farm.store);
    store_close(f->two);
    store_close(f->boss);
    store_close(f->guest);
}

void role_expect_refused(bool done, GError **error, int code, const char *words)
{
    g_assert_false(done);
    g_assert_error(*error, STORE_ERROR, code);
    if (*error != NULL && strstr((*error)->message, words) == NULL)
        g_test_fail_printf("'%s' lacks '%s'", (*error)->message, words);
    g_clear_error(error);
}

void role_expect_count(Store *store, const char *sql, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(store, &error, sql, "");
    g_assert_no_error(error);
    g_assert_cmpstr(PQgetvalue(rows, 0, 0), ==, expected);
}
