/* The choice of the database: SKIPJACK_DB or the embedded one. */
#include "schema/server/database.h"

#include "schema/monitor/log.h"
#include "schema/server/connection.h"
#include "schema/server/embedded.h"

char *database_url(bool *embedded, GError **error)
{
    g_auto(Embedded) paths = {0};
    const char *named = g_getenv("SKIPJACK_DB");
    *embedded = named == NULL || *named == '\0';
    if (!*embedded)
        return g_strdup(named);
    return embedded_init(&paths, error) ? embedded_url(&paths, "skipjack") : NULL;
}

const char *database_worker_command(void)
{
    const char *named = g_getenv("SKIPJACK_DB");
    return named != NULL && *named != '\0' ? "skipjack worker" : "skipjack worker --embedded";
}

char *database_without_password(const char *url)
{
    return connection_without_password(url);
}

Store *database_open(bool quiet, GError **error)
{
    bool embedded;
    g_autofree char *url = database_url(&embedded, error);
    if (url == NULL)
        return NULL;
    bool runs = embedded && !quiet && embedded_answers(url);
    if (embedded && !embedded_start(error))
        return NULL;
    /* Said only by the command that starts the server: later commands use the same one. */
    if (embedded && !quiet && !runs) {
        struct embedded_status status;
        if (embedded_status(&status, NULL))
            log_write(LEVEL_INFO, "embedded_database", NULL, "using the embedded database under %s",
                      status.home);
        embedded_status_clear(&status);
    }
    return store_open(url, error);
}
