/*
 * Tokens of serve's HTTP API: "skipjack_NUMBER_SECRET", where the secret is 32
 * random bytes in URL-safe base64. The database has the secret's SHA-256 alone.
 */
#ifndef SCHEMA_STORE_STORE_TOKENS_H
#define SCHEMA_STORE_STORE_TOKENS_H

#include "schema/store/store.h"

/* The rights of a token's holder: each role includes the rights of the role before it. */
enum token_role { TOKEN_NONE, TOKEN_READER, TOKEN_COORDINATOR };
/* "none", "reader", "coordinator". Static. */
const char *token_role_name(enum token_role role);
/* Reads "reader" or "coordinator". */
bool token_role_parse(const char *name, enum token_role *role);

#define TOKEN_NAME_MAX 64
/* Whether the name has 1 to 64 letters, digits and ._- */
bool token_name_is_valid(const char *name);

/* Makes a token, valid for `days`, 0 for ever. *token is its text, which is not stored anywhere; free it with
 * g_free(). STORE_ERROR_STATE if there is one of this name. */
bool store_make_token(Store *store, const char *name, enum token_role role, int days, char **token,
                      GError **error);

struct token_row {
    char *name, *role, *made_login;
    int64_t made_unix, expires_unix, used_unix; /* 0: never */
    bool expired;
};
GPtrArray *store_list_tokens(Store *store, GError **error); /* struct token_row *, by name */
/* STORE_ERROR_NOT_FOUND if no token has this name. */
bool store_remove_token(Store *store, const char *name, GError **error);

struct token {
    enum token_role
        role; /* TOKEN_NONE: the text is no token, or one that was removed or has expired */
    char name[TOKEN_NAME_MAX + 1];
    int64_t expires_unix; /* 0: never */
};
/* Finds the token of a text that anybody may have sent, and notes its use. The time does not depend on how much of the
 * secret is right. False with an error only if the database could not be asked. */
bool store_check_token(Store *store, const char *text, struct token *token, GError **error);

#endif
