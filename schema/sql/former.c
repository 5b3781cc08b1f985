#include "schema/sql/former.h"

#include <glib.h>

/* SHA-256 of the first former migration. */
#define FIRST_SHA256 "13ecc617c59c71468ecd98c127b4be80ab971bef21d06af73d11141862937724"

/* SHA-256 of the 66 migrations' hashes, one after another. Two commits differ in a comment of 0044. */
static const char *const ledgers[] = {
    "a6a16ae06a68e1e72c0db09d22d190e92b6fbe8ea54beaa84ad9ca9a47138d26",
    "42c831861ff054711819e31cebdc887a8a12e5eac9d6141a04f76293b84b5ae0",
};

const char former_take_over_sql[] = "DELETE FROM schema_migrations; DROP TABLE entry_points";

const char former_remedy[] =
    "apply the rest with 'skipjack db migrate' of the program of commit cee873e, the last with "
    "these migrations, then migrate with this one";

bool former_is(const PGresult *ledger)
{
    return PQntuples(ledger) > 0 && g_strcmp0(PQgetvalue(ledger, 0, 2), FIRST_SHA256) == 0;
}

bool former_is_complete(const PGresult *ledger)
{
    g_autoptr(GString) hashes = g_string_new(NULL);
    for (int i = 0; i < PQntuples(ledger); i++)
        g_string_append(hashes, PQgetvalue(ledger, i, 2));
    g_autofree char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, hashes->str, -1);
    for (gsize i = 0; i < G_N_ELEMENTS(ledgers); i++) {
        if (g_strcmp0(sha256, ledgers[i]) == 0)
            return true;
    }
    return false;
}
