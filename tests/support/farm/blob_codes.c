#include "tests/support/farm/blob_codes.h"

#include "schema/store/store_kernels.h"
#include "tests/support/farm/scratch_db.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

GBytes *blob_codes_make(int number)
{
    gsize size = 1000 + (gsize)number * 97 % 5000;
    guint8 *bytes = g_malloc(size);
    for (gsize i = 0; i < size; i++)
        bytes[i] = (guint8)(i * 31 + (gsize)number);
    return g_bytes_new_take(bytes, size);
}

const char *blob_codes_key(int number)
{
    static GPrivate text = G_PRIVATE_INIT(g_free);
    g_private_replace(&text, g_strdup_printf("%064x", number));
    return g_private_get(&text);
}

bool blob_codes_try_put(Store *store, int number, GError **error)
{
    g_autofree char *key = g_strdup(blob_codes_key(number));
    g_autoptr(GBytes) code = blob_codes_make(number);
    struct kernel_row row = {.key = key, .code = code};
    return store_put_kernel(store, &row, error);
}

void blob_codes_put(Store *store, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        g_autoptr(GError) error = NULL;
        g_assert_true(blob_codes_try_put(store, i, &error));
        g_assert_no_error(error);
    }
}

void blob_codes_expect(Store *store, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) code = blob_codes_make(i);
        struct kernel_row *row = store_get_kernel(store, blob_codes_key(i), &error);
        g_assert_no_error(error);
        g_assert_true(row != NULL && row->code != NULL && g_bytes_equal(row->code, code));
        kernel_row_free(row);
    }
}

void blob_codes_expect_failure(Store *store, int number, enum store_error code)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(store_get_kernel(store, blob_codes_key(number), &error));
    g_assert_error(error, STORE_ERROR, (gint)code);
}

void blob_codes_use(Store *store, const char *url)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(store_use_blob_place(store, url, &error));
    g_assert_no_error(error);
}

int blob_codes_move(Store *store, bool drop_damaged, int *moved)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) damaged = g_ptr_array_new_with_free_func(g_free);
    volatile gint stop = 0, count = 0, kilobytes = 0;
    struct blob_move all = {.shares = 1,
                            .drop_damaged = drop_damaged,
                            .stop = &stop,
                            .moved = &count,
                            .kilobytes = &kilobytes,
                            .damaged = damaged};
    g_assert_true(store_move_blobs(store, &all, &error));
    g_assert_no_error(error);
    *moved = count;
    return (int)damaged->len;
}

void blob_codes_sweep(Store *store, int expected)
{
    g_autoptr(GError) error = NULL;
    int removed;
    g_assert_true(store_sweep_blobs(store, &removed, &error));
    g_assert_no_error(error);
    g_assert_cmpint(removed, ==, expected);
}

void blob_codes_expect_place(Store *store, const char *url, int objects, int loose)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) places = store_list_blob_places(store, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < places->len; i++) {
        const struct blob_place *place = places->pdata[i];
        if (strcmp(place->url, url) != 0)
            continue;
        g_assert_cmpint(place->objects, ==, objects);
        g_assert_cmpint(place->loose, ==, loose);
        return;
    }
    g_assert_not_reached();
}

char *blob_codes_ask(const char *url, const char *sql)
{
    PGconn *connection = PQconnectdb(url);
    g_autofree char *text = g_strconcat("SET search_path = skipjack; ", sql, NULL);
    PGresult *rows = PQexec(connection, text);
    g_assert_cmpstr(PQresultErrorMessage(rows), ==, "");
    char *answer = g_strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
    PQclear(rows);
    PQfinish(connection);
    return answer;
}

void blob_codes_age_uploads(void)
{
    g_free(blob_codes_ask(scratch_db_url(),
                          "UPDATE blob_loose SET since = now() - interval '2 days'"));
}

int blob_codes_in_rows(void)
{
    g_autofree char *text = blob_codes_ask(scratch_db_url(), "SELECT count(code) FROM kernels");
    return atoi(text);
}
