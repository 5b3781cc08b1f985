#include "tests/support/doubles/dav_server.h"
#include "tests/support/patience.h"

#include "tests/support/temp_folder.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "/usr/sbin/apache2"
#define MODULES "/usr/lib/apache2/modules"
#define OPENSSL "/usr/bin/openssl"

struct dav_server {
    TempFolder *folder;
    char *url;
    int port;
    pid_t process;
};

/* Finds a free port. Another program may take it before Apache opens it, which is unlikely. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_true(bind(descriptor, (struct sockaddr *)&address, length) == 0);
    g_assert_true(getsockname(descriptor, (struct sockaddr *)&address, &length) == 0);
    close(descriptor);
    return ntohs(address.sin_port);
}

static bool answers(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((guint16)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0;
    close(descriptor);
    return connected;
}

/* Apache's configuration. One process serves all connections, so none may block it. */
static const char *const plain_text =
    "ServerRoot \"%1$s\"\nServerName 127.0.0.1\nListen 127.0.0.1:%2$d\n"
    "PidFile \"%1$s/pid\"\nErrorLog \"%1$s/log\"\nMutex file:%1$s\n"
    "LoadModule mpm_prefork_module " MODULES "/mod_mpm_prefork.so\n"
    "LoadModule authn_core_module " MODULES "/mod_authn_core.so\n"
    "LoadModule authn_file_module " MODULES "/mod_authn_file.so\n"
    "LoadModule authz_core_module " MODULES "/mod_authz_core.so\n"
    "LoadModule authz_user_module " MODULES "/mod_authz_user.so\n"
    "LoadModule auth_basic_module " MODULES "/mod_auth_basic.so\n"
    "LoadModule dav_module " MODULES "/mod_dav.so\n"
    "LoadModule dav_fs_module " MODULES "/mod_dav_fs.so\n"
    "KeepAlive Off\nDavLockDB \"%1$s/locks\"\nDocumentRoot \"%1$s/root\"\n"
    "<Directory \"%1$s/root\">\nDav On\nAuthType Basic\nAuthName test\n"
    "AuthUserFile \"%1$s/users\"\nRequire valid-user\n</Directory>\n";

static const char *const tls_text =
    "LoadModule socache_shmcb_module " MODULES "/mod_socache_shmcb.so\n"
    "LoadModule ssl_module " MODULES "/mod_ssl.so\n"
    "SSLEngine on\nSSLSessionCache none\n"
    "SSLCertificateFile \"%1$s/certificate\"\n"
    "SSLCertificateKeyFile \"%1$s/key\"\n";

static void make_certificate(TempFolder *folder)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *key = g_strdup(temp_folder_path(folder, "key"));
    g_autofree char *certificate = g_strdup(temp_folder_path(folder, "certificate"));
    const char *arguments[] = {OPENSSL,
                               "req",
                               "-x509",
                               "-newkey",
                               "ec",
                               "-pkeyopt",
                               "ec_paramgen_curve:P-256",
                               "-nodes",
                               "-keyout",
                               key,
                               "-out",
                               certificate,
                               "-days",
                               "2",
                               "-subj",
                               "/CN=127.0.0.1",
                               "-addext",
                               "subjectAltName=IP:127.0.0.1",
                               NULL};
    int status = 0;
    if (!g_spawn_sync(NULL, (char **)(guintptr)arguments, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                      NULL, NULL, NULL, &status, &error) ||
        status != 0)
        g_error("openssl makes no certificate: %s", error != NULL ? error->message : "it failed");
}

static void write_files(DavServer *server, bool tls)
{
    const char *root = temp_folder_path(server->folder, NULL);
    g_autofree char *format =
        g_strconcat(plain_text, tls ? tls_text : "",
                    geteuid() == 0 ? "User www-data\nGroup www-data\n" : "", NULL);
    g_autoptr(GString) text = g_string_new(format);
    g_autofree char *port = g_strdup_printf("%d", server->port);
    g_string_replace(text, "%1$s", root, 0);
    g_string_replace(text, "%2$d", port, 0);
    temp_folder_write(server->folder, "apache.conf", text->str, -1);
    /* The password's SHA-1, as htpasswd -s writes it. */
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
    guint8 digest[20];
    gsize length = sizeof digest;
    g_checksum_update(sum, (const guchar *)DAV_PASSWORD, -1);
    g_checksum_get_digest(sum, digest, &length);
    g_autofree char *hash = g_base64_encode(digest, length);
    g_autofree char *user = g_strdup_printf(DAV_USER ":{SHA}%s\n", hash);
    g_assert_true(g_chmod(temp_folder_write(server->folder, "users", user, -1), 0644) == 0);
    g_assert_true(g_mkdir(temp_folder_path(server->folder, "root"), 0777) == 0);
    /* Apache run by root serves as another user, who must be able to write the objects and the lock
     * file. */
    g_assert_true(g_chmod(temp_folder_path(server->folder, "root"), 0777) == 0);
    g_assert_true(g_chmod(root, 0777) == 0);
    if (tls)
        make_certificate(server->folder);
}

static void start(DavServer *server)
{
    g_autofree char *conf = g_strdup(temp_folder_path(server->folder, "apache.conf"));
    pid_t parent = getpid();
    server->process = fork();
    if (server->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        execl(PROGRAM, PROGRAM, "-X", "-f", conf, NULL);
        _exit(127);
    }
    gint64 deadline = patience_end();
    while (!answers(server->port)) {
        if (waitpid(server->process, NULL, WNOHANG) != 0 || g_get_monotonic_time() > deadline)
            g_error("Apache does not start with %s", conf);
        g_usleep(10000);
    }
}

DavServer *dav_server_new(bool tls, const char **missing)
{
    if (access(PROGRAM, X_OK) != 0 || access(MODULES "/mod_dav_fs.so", R_OK) != 0 ||
        (tls && access(OPENSSL, X_OK) != 0)) {
        *missing = "apache2-bin or openssl is not installed; run: deploy/install-deps test";
        return NULL;
    }
    DavServer *server = g_new0(DavServer, 1);
    server->folder = temp_folder_new();
    server->port = free_port();
    server->url =
        g_strdup_printf("webdav+%s://127.0.0.1:%d/blobs", tls ? "https" : "http", server->port);
    write_files(server, tls);
    start(server);
    g_setenv("no_proxy", "localhost,127.0.0.1", TRUE);
    return server;
}

void dav_server_free(DavServer *server)
{
    if (server == NULL)
        return;
    kill(server->process, SIGKILL);
    waitpid(server->process, NULL, 0);
    temp_folder_free(server->folder);
    g_free(server->url);
    g_free(server);
}

const char *dav_server_url(const DavServer *server)
{
    return server->url;
}

int dav_server_port(const DavServer *server)
{
    return server->port;
}

const char *dav_server_certificate(const DavServer *server)
{
    return temp_folder_path(server->folder, "certificate");
}

static int files_seen;

static int count_file(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)place;
    files_seen += type == FTW_F && strstr(path, "/.DAV/") == NULL;
    return 0;
}

int dav_server_files(const DavServer *server)
{
    files_seen = 0;
    nftw(temp_folder_path(server->folder, "root"), count_file, 16, FTW_PHYS);
    return files_seen;
}
