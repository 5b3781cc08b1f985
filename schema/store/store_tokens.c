/* Tokens of serve's HTTP API. */
#include "schema/store/store_tokens.h"

#include "schema/store/store_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PREFIX       "skipjack_"
#define SECRET_BYTES 32
#define SHA256_BYTES 32
#define SECRET_TEXT  43 /* 32 bytes in base64 without padding */

static const char *const role_names[] = {"none", "reader", "coordinator"};

const char *token_role_name(enum token_role role)
{
    return role_names[role];
}

bool token_role_parse(const char *name, enum token_role *role)
{
    for (int i = TOKEN_READER; i <= TOKEN_COORDINATOR; i++) {
        if (strcmp(name, role_names[i]) == 0) {
            *role = (enum token_role)i;
            return true;
        }
    }
    return false;
}

bool token_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= TOKEN_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               length;
}

/* ---- making tokens ---- */

static bool make_secret(char text[SECRET_TEXT + 1], GError **error)
{
    unsigned char bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_STATE, "the system gives no random bytes: %s",
                    g_strerror(errno));
        return false;
    }
    g_autofree char *encoded = g_base64_encode(bytes, sizeof bytes);
    g_strdelimit(encoded, "+", '-');
    g_strdelimit(encoded, "/", '_');
    g_strlcpy(text, encoded, SECRET_TEXT + 1);
    return true;
}

static void hash_secret(const char *secret, guint8 hash[SHA256_BYTES])
{
    gsize length = SHA256_BYTES;
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(sum, (const guchar *)secret, (gssize)strlen(secret));
    g_checksum_get_digest(sum, hash, &length);
}

bool store_make_token(Store *store, const char *name, enum token_role role, int days, char **token,
                      GError **error)
{
    char secret[SECRET_TEXT + 1];
    guint8 hash[SHA256_BYTES];
    if (!make_secret(secret, error))
        return false;
    hash_secret(secret, hash);
    g_autoptr(GBytes) bytes = g_bytes_new(hash, sizeof hash);
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT make_api_token($1, $2, $3, nullif($4::integer, 0))", "ssyi",
                  name, token_role_name(role), bytes, days);
    if (rows == NULL)
        return false;
    *token = g_strconcat(PREFIX, PQgetvalue(rows, 0, 0), "_", secret, NULL);
    return true;
}

/* ---- listing and removing ---- */

static void free_row(gpointer data)
{
    struct token_row *row = data;
    g_free(row->name);
    g_free(row->role);
    g_free(row->made_login);
    g_free(row);
}

static gpointer read_row(const json_t *object)
{
    struct token_row *row = g_new0(struct token_row, 1);
    row->name = json_member_text(object, "name");
    row->role = json_member_text(object, "role");
    row->made_login = json_member_text(object, "made_login");
    row->made_unix = json_member_int(object, "made_unix");
    row->expires_unix = json_member_int(object, "expires_unix");
    row->used_unix = json_member_int(object, "used_unix");
    row->expired = json_member_bool(object, "expired");
    return row;
}

GPtrArray *store_list_tokens(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT list_api_tokens()", "");
    return rows == NULL ? NULL : store_list(rows, read_row, free_row);
}

bool store_remove_token(Store *store, const char *name, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT remove_api_token($1)", "s", name);
    if (rows == NULL)
        return false;
    if (strcmp(PQgetvalue(rows, 0, 0), "t") == 0)
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND, "there is no token named '%s'", name);
    return false;
}

/* ---- checking ---- */

/* Splits "skipjack_12_SECRET". */
static bool split(const char *text, int64_t *number, const char **secret)
{
    char *end;
    if (!g_str_has_prefix(text, PREFIX) || !g_ascii_isdigit(text[strlen(PREFIX)]))
        return false;
    errno = 0;
    *number = g_ascii_strtoll(text + strlen(PREFIX), &end, 10);
    *secret = end + 1;
    return errno == 0 && *end == '_' && strlen(end + 1) == SECRET_TEXT;
}

/* In the same time whether they differ, and where. */
static bool is_same_text(const char *a, const char *b, size_t length)
{
    volatile unsigned char differ = 0;
    for (size_t i = 0; i < length; i++)
        differ |= (unsigned char)(a[i] ^ b[i]);
    return differ == 0;
}

bool store_check_token(Store *store, const char *text, struct token *token, GError **error)
{
    int64_t number;
    const char *secret;
    *token = (struct token){.role = TOKEN_NONE};
    if (!split(text, &number, &secret))
        return true;
    g_autoptr(StoreRows) rows = store_read(store, error, "SELECT api_token($1)", "l", number);
    if (rows == NULL)
        return false;
    g_autoptr(StoreJson) row = PQntuples(rows) == 1 ? store_row_json(rows, 0) : json_object();
    g_autofree char *stored = json_member_text(row, "sha256");
    g_autofree char *name = json_member_text(row, "name");
    g_autofree char *role = json_member_text(row, "role");
    g_autofree char *sent = g_compute_checksum_for_string(G_CHECKSUM_SHA256, secret, -1);
    if (strlen(stored) != strlen(sent) || !is_same_text(stored, sent, strlen(sent)) ||
        !token_role_parse(role, &token->role))
        return true;
    g_strlcpy(token->name, name, sizeof token->name);
    token->expires_unix = json_member_int(row, "expires_unix");
    return store_do(store, error, "SELECT note_api_token($1)", "l", number);
}
