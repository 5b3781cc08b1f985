#include "schema/server/connection.h"
#include "schema/server/embedded.h"
#include "tests/support/farm/scratch_db.h"

#include <glib/gstdio.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the rule of TLS, and what a string means ---- */

static void test_tls_is_asked_of_all_but_this_machine(void)
{
    static const struct {
        const char *host, *hostaddr, *sslmode;
        bool insecure;
        enum connection_tls expected;
    } cases[] = {
        {NULL, NULL, "prefer", false, TLS_AS_ASKED},
        {"", NULL, NULL, false, TLS_AS_ASKED},
        {"/run/postgresql", NULL, "disable", false, TLS_AS_ASKED},
        {"@abstract", NULL, NULL, false, TLS_AS_ASKED},
        {"localhost", NULL, "disable", false, TLS_AS_ASKED},
        {"LocalHost", NULL, "disable", false, TLS_AS_ASKED},
        {"127.0.0.1", NULL, "disable", false, TLS_AS_ASKED},
        {"127.8.9.1", NULL, "prefer", false, TLS_AS_ASKED},
        {"::1", NULL, "prefer", false, TLS_AS_ASKED},
        {"db.example", NULL, NULL, false, TLS_RAISED},
        {"db.example", NULL, "prefer", false, TLS_RAISED},
        {"db.example", NULL, "allow", false, TLS_RAISED},
        {"db.example", NULL, "disable", false, TLS_REFUSED},
        {"db.example", NULL, "disable", true, TLS_AS_ASKED},
        {"db.example", NULL, "prefer", true, TLS_AS_ASKED},
        {"db.example", NULL, "require", false, TLS_AS_ASKED},
        {"db.example", NULL, "verify-ca", false, TLS_AS_ASKED},
        {"db.example", NULL, "verify-full", false, TLS_AS_ASKED},
        {"10.0.0.1", NULL, "disable", false, TLS_REFUSED},
        {"2001:db8::1", NULL, "prefer", false, TLS_RAISED},
        {"127.0.0.1.example", NULL, "prefer", false, TLS_RAISED},
        {"localhost.example", NULL, "prefer", false, TLS_RAISED},
        /* Lists of hosts: one remote host at any position makes the whole list remote. */
        {"/run/postgresql,db.example", NULL, "prefer", false, TLS_RAISED},
        {"db.example,localhost", NULL, "disable", false, TLS_REFUSED},
        {"localhost,127.0.0.1", NULL, "disable", false, TLS_AS_ASKED},
        /* hostaddr decides, not the host's name. */
        {"localhost", "10.0.0.1", "prefer", false, TLS_RAISED},
        {"db.example", "127.0.0.1", "disable", false, TLS_AS_ASKED},
        {NULL, "10.0.0.1", "disable", false, TLS_REFUSED},
        {"a.example,b.example", "127.0.0.1,", "prefer", false, TLS_RAISED},
        {"localhost,localhost", ",10.0.0.1", "prefer", false, TLS_RAISED},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        enum connection_tls tls =
            connection_tls(cases[i].host, cases[i].hostaddr, cases[i].sslmode, cases[i].insecure);
        if (tls != cases[i].expected)
            g_test_fail_printf("case %zu (%s): %d", i, cases[i].host, (int)tls);
    }
}

static void expect_option(const char *url, const char *keyword, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ConnectionOptions) options = connection_resolve(url, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(connection_option(options, keyword), ==, expected);
}

static void test_environment_and_service_are_seen(void)
{
    g_autofree char *path = g_build_filename(scratch_home(), "service.conf", NULL);
    g_assert_true(
        g_file_set_contents(path, "[farm]\nhost=db.example\nsslmode=disable\nuser=me\n", -1, NULL));
    g_setenv("PGSERVICEFILE", path, TRUE);
    expect_option("service=farm", "host", "db.example");
    expect_option("service=farm", "sslmode", "disable");
    expect_option("postgresql://other.example/x?service=farm", "host", "other.example");
    g_setenv("PGHOST", "env.example", TRUE);
    g_setenv("PGSSLMODE", "require", TRUE);
    g_setenv("PGCONNECT_TIMEOUT", "3", TRUE);
    expect_option("postgresql:///x", "host", "env.example");
    expect_option("dbname=x", "sslmode", "require");
    expect_option("x", "dbname", "x");
    expect_option("x", "connect_timeout", "3");
    expect_option("postgresql://h/x?sslmode=disable", "sslmode", "disable");
    g_unsetenv("PGHOST");
    g_unsetenv("PGSSLMODE");
    g_unsetenv("PGCONNECT_TIMEOUT");
    g_unsetenv("PGSERVICEFILE");
}

/* Compares the value that libpq holds for the keyword: it is set only if the parameter was in the
 * URL, whereas the server reports a value in any case. */
static void expect_used(const char *more, const char *keyword, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *url = g_strconcat(scratch_db_url(), more, NULL);
    PGconn *connection = connection_open(url, "test", &error);
    g_assert_no_error(error);
    g_autoptr(ConnectionOptions) used = PQconninfo(connection);
    g_assert_cmpstr(connection_option(used, keyword), ==, expected);
    g_assert_cmpint(PQclientEncoding(connection), ==, 6); /* UTF8 */
    PQfinish(connection);
}

static void test_url_wins_over_our_defaults(void)
{
    expect_used("", "tcp_user_timeout", "60000");
    expect_used("&tcp_user_timeout=1000", "tcp_user_timeout", "1000");
    expect_used("", "connect_timeout", "10");
    expect_used("&connect_timeout=4", "connect_timeout", "4");
    expect_used("&keepalives_idle=7", "keepalives_idle", "7");
    expect_used("&client_encoding=LATIN1", "user", "skipjack");
}

/* ---- passwords ---- */

static void test_no_message_has_a_part_of_the_string(void)
{
    static const char *const urls[] = {
        "postgresql://me:geheim wort@host:port/x",
        "postgresql://me:ge@heim@db.example/x",
        "postgresql://me:geheim/wort@db.example/x",
        "postgresql://me:geheim%zz@db.example/x",
        "postgresql://me@db.example/x?password=geheim&nonsense=geheim",
        "host=db.example password=geheim wort",
        "host=db.example password='geheim",
        "geheim=1",
        "postgresql://me:geheim%00@db.example/x",
        "postgresql://me:x@[geheim/x",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(urls); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(store_open(urls[i], &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_ACCESS);
        if (strstr(error->message, "heim") != NULL || strstr(error->message, "wort") != NULL)
            g_test_fail_printf("%s: %s", urls[i], error->message);
    }
}

static void test_what_is_printed_has_no_password(void)
{
    static const struct {
        const char *url, *shown;
    } cases[] = {
        {"postgresql://me@db.example/x", "postgresql://me@db.example/x"},
        {"skipjack", "skipjack"},
        {"postgresql://me:geheim@db.example:77/x?sslmode=require",
         "postgresql://?user=me&dbname=x&host=db.example&port=77&sslmode=require"},
        {"postgresql://me:ge%40heim@a,b:1/x",
         "postgresql://?user=me&dbname=x&host=a%2Cb&port=%2C1"},
        {"postgres:///x?password=geheim&host=/run/pg", "postgresql://?dbname=x&host=/run/pg"},
        {"host=h password = 'ge heim' dbname='a b'", "postgresql://?dbname=a%20b&host=h"},
        {"sslpassword=geheim user=u", "postgresql://?user=u"},
        {"host=h password=geh&eim", "postgresql://?host=h"},
        {"postgresql://me:geheim%zz@db/x", "(unreadable)"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *shown = connection_without_password(cases[i].url);
        g_assert_cmpstr(shown, ==, cases[i].shown);
    }
}

static void test_child_gets_the_rule_and_no_password(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *password = NULL;
    g_autofree char *none = NULL;
    g_autofree char *url = connection_for_child("postgresql://me:geheim@db.example/x?sslmode=allow",
                                                &password, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(url, ==, "postgresql://?user=me&dbname=x&host=db.example&sslmode=require");
    g_assert_cmpstr(password, ==, "geheim");
    g_assert_null(connection_for_child("host=db.example sslmode=disable", &none, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_ACCESS);
    g_clear_error(&error);
    g_autofree char *local = connection_for_child("skipjack", &none, &error);
    g_assert_cmpstr(local, ==, "postgresql://?dbname=skipjack");
    g_assert_null(none);
}

/* ---- a server elsewhere: an address of this process's own network ---- */

#define ELSEWHERE "10.77.0.1"

static bool run(const char *command)
{
    int status = 0;
    return g_spawn_command_line_sync(command, NULL, NULL, &status, NULL) && status == 0;
}

static const char *why_no_network(void)
{
    g_autofree char *ip = g_find_program_in_path("ip");
    g_autofree char *openssl = g_find_program_in_path("openssl");
    if (geteuid() != 0)
        return "a network of its own needs root";
    if (ip == NULL || openssl == NULL)
        return "needs ip (iproute2) and openssl";
    if (unshare(CLONE_NEWNET) != 0)
        return "the kernel refuses namespaces here";
    return run("ip link set lo up") && run("ip addr add " ELSEWHERE "/32 dev lo")
               ? NULL
               : "cannot give the network an address";
}

/* Makes a certificate and a key that the server's user can read, with the mode that PostgreSQL demands. */
static void make_certificate(const char *folder)
{
    const struct passwd *user = getpwnam("postgres") ? getpwnam("postgres") : getpwnam("nobody");
    g_autofree char *make = g_strdup_printf(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
        "/CN=db.example -addext subjectAltName=DNS:db.example -keyout %s/server.key -out "
        "%s/server.crt",
        folder, folder);
    g_assert_true(run(make));
    static const char *const names[] = {"server.key", "server.crt"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        g_assert_true(user != NULL && chown(path, user->pw_uid, user->pw_gid) == 0);
        g_assert_true(g_chmod(path, 0600) == 0);
    }
}

static void execute(const char *sql)
{
    PGconn *connection = PQconnectdb(scratch_db_url());
    PGresult *rows = PQexec(connection, sql);
    g_assert_cmpstr(PQresultErrorMessage(rows), ==, "");
    PQclear(rows);
    PQfinish(connection);
}

/* Restarts the server with TLS on or off, asking remote logins for a password. */
static void restart_server(bool tls)
{
    g_autoptr(GError) error = NULL;
    const char *home = scratch_home();
    g_autofree char *settings = g_strdup_printf("listen_addresses=" ELSEWHERE
                                                " port=5432 ssl=%s ssl_cert_file=%s/server.crt "
                                                "ssl_key_file=%s/server.key",
                                                tls ? "on" : "off", home, home);
    g_assert_true(embedded_stop(&error));
    g_setenv("SKIPJACK_DB_SETTINGS", settings, TRUE);
    g_assert_true(embedded_start(&error));
    g_assert_no_error(error);
}

static void admit_logins_from_elsewhere(void)
{
    struct embedded_status status;
    PGconn *connection = PQconnectdb(scratch_db_url());
    PGresult *rows = PQexec(connection, "SHOW hba_file");
    const char *path = PQgetvalue(rows, 0, 0);
    FILE *file = fopen(path, "a");
    g_assert_nonnull(file);
    fputs("host all all " ELSEWHERE "/32 scram-sha-256\n", file);
    fclose(file);
    PQclear(rows);
    PQfinish(connection);
    execute("DO $$ BEGIN CREATE ROLE node LOGIN PASSWORD 'geheim'; "
            "EXCEPTION WHEN duplicate_object THEN END $$");
    g_assert_true(embedded_status(&status, NULL));
    embedded_status_clear(&status);
}

/* Whether the connection that the string opens is encrypted; -1 if none is opened. */
static int is_encrypted(const char *url, char **message)
{
    g_autoptr(GError) error = NULL;
    PGconn *connection = connection_open(url, "test", &error);
    int encrypted = connection == NULL ? -1 : PQsslInUse(connection);
    g_free(*message);
    *message = g_strdup(error != NULL ? error->message : "");
    PQfinish(connection);
    return encrypted;
}

#define AT_ELSEWHERE "host=" ELSEWHERE " user=node dbname=skipjack password=geheim"

static void test_server_elsewhere_is_spoken_to_by_tls(void)
{
    g_autofree char *words = NULL;
    const char *reason = why_no_network();
    if (reason != NULL) {
        g_test_skip(reason);
        return;
    }
    scratch_db_url();
    make_certificate(scratch_home());
    admit_logins_from_elsewhere();
    restart_server(false);
    g_assert_cmpint(is_encrypted(AT_ELSEWHERE, &words), ==, -1);
    g_assert_nonnull(strstr(words, "SKIPJACK_DB_INSECURE=1"));
    g_setenv("SKIPJACK_DB_INSECURE", "1", TRUE);
    g_assert_cmpint(is_encrypted(AT_ELSEWHERE, &words), ==, 0);
    g_unsetenv("SKIPJACK_DB_INSECURE");
    restart_server(true);
    g_assert_cmpint(is_encrypted(AT_ELSEWHERE, &words), ==, 1);
    g_assert_cmpint(is_encrypted(AT_ELSEWHERE " sslmode=allow", &words), ==, 1);
    g_assert_cmpint(is_encrypted(AT_ELSEWHERE " sslmode=disable", &words), ==, -1);
    g_assert_nonnull(strstr(words, "sslmode=disable"));
    g_autofree char *verified = g_strdup_printf(
        "hostaddr=" ELSEWHERE " user=node dbname=skipjack password=geheim sslmode=verify-full "
        "sslrootcert=%s/server.crt host=",
        scratch_home());
    g_autofree char *right = g_strconcat(verified, "db.example", NULL);
    g_autofree char *wrong = g_strconcat(verified, "other.example", NULL);
    g_assert_cmpint(is_encrypted(right, &words), ==, 1);
    g_assert_cmpint(is_encrypted(wrong, &words), ==, -1);
}

static void test_missing_and_wrong_passwords_are_said(void)
{
    g_autofree char *words = NULL;
    if (g_getenv("SKIPJACK_DB_SETTINGS") == NULL) {
        g_test_skip("no server elsewhere");
        return;
    }
    g_assert_cmpint(is_encrypted("host=" ELSEWHERE " user=node dbname=skipjack", &words), ==, -1);
    g_assert_nonnull(strstr(words, "PGPASSFILE"));
    g_assert_cmpint(is_encrypted("postgresql://node:falsch@" ELSEWHERE "/skipjack", &words), ==,
                    -1);
    g_assert_nonnull(strstr(words, "password authentication failed"));
    g_assert_null(strstr(words, "falsch"));
    g_autofree char *path = g_build_filename(scratch_home(), "pgpass", NULL);
    g_assert_true(g_file_set_contents_full(path, ELSEWHERE ":*:*:node:geheim\n", -1,
                                           G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    g_setenv("PGPASSFILE", path, TRUE);
    g_assert_cmpint(is_encrypted("host=" ELSEWHERE " user=node dbname=skipjack", &words), ==, 1);
    g_unsetenv("PGPASSFILE");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/connection/remote_servers_need_tls",
                    test_tls_is_asked_of_all_but_this_machine);
    g_test_add_func("/connection/environment_and_service_are_seen",
                    test_environment_and_service_are_seen);
    g_test_add_func("/connection/messages_never_quote_the_string",
                    test_no_message_has_a_part_of_the_string);
    g_test_add_func("/connection/printed_string_has_no_password",
                    test_what_is_printed_has_no_password);
    g_test_add_func("/connection/child_gets_the_rule_and_no_password",
                    test_child_gets_the_rule_and_no_password);
    g_test_add_func("/connection/remote_server_is_used_over_tls",
                    test_server_elsewhere_is_spoken_to_by_tls);
    g_test_add_func("/connection/missing_and_wrong_passwords_are_reported",
                    test_missing_and_wrong_passwords_are_said);
    g_test_add_func("/connection/url_wins_over_our_defaults", test_url_wins_over_our_defaults);
    return g_test_run();
}
