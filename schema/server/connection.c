/*
 * Connection strings: what libpq makes of them, TLS for remote servers, and no
 * password in messages.
 */
#include "schema/server/connection.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- resolving a connection string ---- */

/* libpq's message about an unreadable string quotes the string, with its password. */
static char *without_quotes(const char *words)
{
    const char *first = strchr(words, '"');
    const char *last = strrchr(words, '"');
    char *plain = first == last ? g_strdup(words)
                                : g_strdup_printf("%.*s\"...%s", (int)(first - words), words, last);
    return g_strchomp(plain);
}

static ConnectionOptions *refuse(ConnectionOptions *options, GError **error, const char *words)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_ACCESS,
                "cannot read the database's connection string (%s); it should be like "
                "postgresql://user@host:5432/skipjack, with special characters as %%40 for @",
                words);
    PQconninfoFree(options);
    return NULL;
}

const char *connection_option(const ConnectionOptions *options, const char *keyword)
{
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val != NULL && *options->val != '\0' ? options->val : NULL;
    return NULL;
}

/* A password with an unescaped '@' makes libpq take a part of it for the host, which libpq would print. */
static const char *what_is_odd(const ConnectionOptions *options)
{
    const char *host = connection_option(options, "host");
    const char *port = connection_option(options, "port");
    if (host != NULL && *host != '/' && *host != '@' && strchr(host, '@') != NULL)
        return "the host has an @";
    if (port != NULL && strspn(port, "0123456789, ") != strlen(port))
        return "the port is no number";
    return NULL;
}

ConnectionOptions *connection_resolve(const char *url, GError **error)
{
    /* libpq checks every value before it connects, and refuses this one. */
    static const char *const keys[] = {"dbname", "channel_binding", NULL};
    const char *values[] = {url, "only-resolve", NULL};
    PGconn *connection = PQconnectStartParams(keys, values, 1);
    ConnectionOptions *options = PQconninfo(connection);
    g_autofree char *words = without_quotes(PQerrorMessage(connection));
    PQfinish(connection);
    if (options == NULL ||
        g_strcmp0(connection_option(options, "channel_binding"), "only-resolve") != 0)
        return refuse(options, error, words);
    const char *odd = what_is_odd(options);
    return odd == NULL ? options : refuse(options, error, odd);
}

/* ---- TLS ---- */

static bool is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;
    if (g_ascii_strcasecmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

/* An empty host means the default socket; a path, or a name that begins with @, is a socket. */
static bool is_elsewhere(const char *host)
{
    return *host != '\0' && *host != '/' && *host != '@' && !is_loopback(host);
}

static bool any_elsewhere(const char *host, const char *hostaddr)
{
    g_auto(GStrv) names = g_strsplit(host != NULL ? host : "", ",", -1);
    g_auto(GStrv) addresses = g_strsplit(hostaddr != NULL ? hostaddr : "", ",", -1);
    guint name_count = g_strv_length(names), address_count = g_strv_length(addresses);
    for (guint i = 0; i < MAX(name_count, address_count); i++) {
        const char *address = i < address_count ? g_strstrip(addresses[i]) : "";
        const char *name = i < name_count ? g_strstrip(names[i]) : "";
        if (is_elsewhere(*address != '\0' ? address : name))
            return true;
    }
    return false;
}

enum connection_tls connection_tls(const char *host, const char *hostaddr, const char *sslmode,
                                   bool insecure)
{
    static const char *const enough[] = {"require", "verify-ca", "verify-full"};
    if (insecure || !any_elsewhere(host, hostaddr))
        return TLS_AS_ASKED;
    for (gsize i = 0; i < G_N_ELEMENTS(enough); i++)
        if (g_strcmp0(sslmode, enough[i]) == 0)
            return TLS_AS_ASKED;
    return g_strcmp0(sslmode, "disable") == 0 ? TLS_REFUSED : TLS_RAISED;
}

static enum connection_tls tls_of(const ConnectionOptions *options)
{
    return connection_tls(connection_option(options, "host"),
                          connection_option(options, "hostaddr"),
                          connection_option(options, "sslmode"),
                          g_strcmp0(g_getenv("SKIPJACK_DB_INSECURE"), "1") == 0);
}

/* ---- opening ---- */

/* Notice within about a minute that the server is gone. */
static const struct {
    const char *keyword, *value;
} defaults[] = {
    {"connect_timeout", "10"},
    {"tcp_user_timeout", "60000"},
    {"keepalives_idle", "30"},
};

#define KEYWORDS_MOST (G_N_ELEMENTS(defaults) + 5)

static PGconn *connect_with(const char *url, const char *application,
                            const ConnectionOptions *options, bool require_tls)
{
    const char *keys[KEYWORDS_MOST] = {NULL}, *values[KEYWORDS_MOST] = {NULL};
    gsize count = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(defaults); i++) {
        if (connection_option(options, defaults[i].keyword) != NULL)
            continue;
        keys[count] = defaults[i].keyword;
        values[count++] = defaults[i].value;
    }
    const struct {
        const char *keyword, *value;
    } fixed[] = {
        {"fallback_application_name", application},
        {"dbname", url}, /* later parameters override it */
        {"client_encoding", "UTF8"},
        {require_tls ? "sslmode" : NULL, "require"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(fixed); i++) {
        keys[count] = fixed[i].keyword;
        values[count++] = fixed[i].value;
    }
    return PQconnectdbParams(keys, values, 1);
}

static const char *remedy(PGconn *connection)
{
    if (strstr(PQerrorMessage(connection), "SSL was required") != NULL)
        return "; a server on another machine must speak TLS (ssl = on in its postgresql.conf), "
               "or set SKIPJACK_DB_INSECURE=1 where nobody else is on the network";
    if (PQconnectionNeedsPassword(connection) != 0)
        return "; put the password into ~/.pgpass, a file that PGPASSFILE names, or PGPASSWORD";
    return "";
}

static void refuse_clear_text(const ConnectionOptions *options, GError **error)
{
    const char *host = connection_option(options, "host");
    g_set_error(error, STORE_ERROR, STORE_ERROR_ACCESS,
                "sslmode=disable would send everything in the clear to %s: leave it out, or set "
                "SKIPJACK_DB_INSECURE=1 where nobody else is on the network",
                host != NULL ? host : connection_option(options, "hostaddr"));
}

PGconn *connection_open(const char *url, const char *application, GError **error)
{
    g_autoptr(ConnectionOptions) options = connection_resolve(url, error);
    if (options == NULL)
        return NULL;
    enum connection_tls tls = tls_of(options);
    if (tls == TLS_REFUSED) {
        refuse_clear_text(options, error);
        return NULL;
    }
    PGconn *connection = connect_with(url, application, options, tls == TLS_RAISED);
    if (PQstatus(connection) == CONNECTION_OK)
        return connection;
    g_autofree char *words = g_strchomp(g_strdup(PQerrorMessage(connection)));
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "database: %s%s", words,
                remedy(connection));
    PQfinish(connection);
    return NULL;
}

/* ---- connection strings to print, and for other programs ---- */

static bool is_secret(const ConnectionOptions *option)
{
    return strcmp(option->keyword, "password") == 0 || strcmp(option->keyword, "sslpassword") == 0;
}

/* Makes a URL of the options, without secrets. Each option becomes a parameter (?host=...): lists of hosts and
 * socket folders need no special form. */
static char *rebuild(const ConnectionOptions *options, const char *sslmode)
{
    GString *url = g_string_new("postgresql://");
    char separator = '?';
    for (const ConnectionOptions *option = options; option->keyword != NULL; option++) {
        bool is_mode = sslmode != NULL && strcmp(option->keyword, "sslmode") == 0;
        const char *text = is_mode ? sslmode : option->val;
        if (text == NULL || is_secret(option))
            continue;
        g_autofree char *value = g_uri_escape_string(text, "/:", FALSE);
        g_string_append_printf(url, "%c%s=%s", separator, option->keyword, value);
        separator = '&';
    }
    return g_string_free(url, FALSE);
}

/* The options in the string itself; a bare name is a database's. NULL if libpq cannot parse it: the
 * message would quote the string, and connection_open() reports the failure. */
static ConnectionOptions *parse(const char *url)
{
    char *words = NULL;
    bool is_name = strpbrk(url, "=:") == NULL;
    g_autofree char *named = is_name ? g_strdup_printf("postgresql:///%s", url) : NULL;
    ConnectionOptions *options = PQconninfoParse(is_name ? named : url, &words);
    PQfreemem(words);
    return options;
}

char *connection_without_password(const char *url)
{
    bool has_secret = false;
    g_autoptr(ConnectionOptions) options = parse(url);
    if (options == NULL)
        return g_strdup("(unreadable)");
    for (const ConnectionOptions *option = options; option->keyword != NULL; option++)
        has_secret |= option->val != NULL && is_secret(option);
    return has_secret ? rebuild(options, NULL) : g_strdup(url);
}

char *connection_for_child(const char *url, char **password, GError **error)
{
    g_autoptr(ConnectionOptions) resolved = connection_resolve(url, error);
    g_autoptr(ConnectionOptions) own = resolved == NULL ? NULL : parse(url);
    if (own == NULL)
        return NULL;
    enum connection_tls tls = tls_of(resolved);
    if (tls == TLS_REFUSED) {
        refuse_clear_text(resolved, error);
        return NULL;
    }
    *password = g_strdup(connection_option(own, "password"));
    return rebuild(own, tls == TLS_RAISED ? "require" : NULL);
}
