#include "tests/support/farm/own_cluster.h"
#include "schema/server/embedded.h"

#include <libpq-fe.h>

void own_cluster_start(void)
{
    g_autoptr(GError) error = NULL;
    embedded_start(&error);
    g_assert_no_error(error);
}

void own_cluster_stop(void)
{
    g_autoptr(GError) error = NULL;
    embedded_stop(&error);
    g_assert_no_error(error);
}

struct embedded_status own_cluster_status(void)
{
    g_autoptr(GError) error = NULL;
    struct embedded_status status;
    embedded_status(&status, &error);
    g_assert_no_error(error);
    return status;
}

char *own_cluster_ask(const char *sql)
{
    bool embedded;
    g_autofree char *url = database_url(&embedded, NULL);
    PGconn *connection = PQconnectdb(url);
    PGresult *rows = PQexec(connection, sql);
    char *value =
        g_strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : PQerrorMessage(connection));
    PQclear(rows);
    PQfinish(connection);
    return value;
}

void own_cluster_expect(const char *sql, const char *expected)
{
    g_autofree char *answer = own_cluster_ask(sql);
    g_assert_cmpstr(answer, ==, expected);
}
