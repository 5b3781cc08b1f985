/* Credentials for S3, from the environment or a file in the form of AWS's tools. */
#include "schema/blobs/s3_credentials.h"
#include "schema/small_file.h"

void s3_credentials_clear(struct s3_credentials *credentials)
{
    g_clear_pointer(&credentials->key_id, g_free);
    g_clear_pointer(&credentials->secret, g_free);
    g_clear_pointer(&credentials->session_token, g_free);
}

static const char *environment(const char *name)
{
    const char *value = g_getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

static bool from_environment(struct s3_credentials *credentials)
{
    const char *key_id = environment("AWS_ACCESS_KEY_ID");
    const char *secret = environment("AWS_SECRET_ACCESS_KEY");
    if (key_id == NULL || secret == NULL)
        return false;
    credentials->key_id = g_strdup(key_id);
    credentials->secret = g_strdup(secret);
    credentials->session_token = g_strdup(environment("AWS_SESSION_TOKEN"));
    return true;
}

#define CREDENTIALS_BYTES_MAX (1 << 20)

/* A value as the file spells it: a secret may contain what GLib would read as an escape. */
static char *value_of(GKeyFile *file, const char *profile, const char *name)
{
    char *value = g_key_file_get_value(file, profile, name, NULL);
    return value != NULL ? g_strstrip(value) : NULL;
}

static bool from_file(struct s3_credentials *credentials, const char *path, const char *profile,
                      GError **error)
{
    g_autoptr(GError) bad = NULL;
    g_autoptr(GKeyFile) file = g_key_file_new();
    gsize length = 0;
    g_autofree char *text = small_file_read(path, CREDENTIALS_BYTES_MAX, &length, &bad);
    if (!text || !g_key_file_load_from_data(file, text, length, G_KEY_FILE_NONE, &bad)) {
        /* GLib's message may quote a line of the file. */
        bool missing = g_error_matches(bad, G_FILE_ERROR, G_FILE_ERROR_NOENT);
        g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                    "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                    "write '%s', which %s",
                    path, missing ? "is not there" : "cannot be read");
        return false;
    }
    credentials->key_id = value_of(file, profile, "aws_access_key_id");
    credentials->secret = value_of(file, profile, "aws_secret_access_key");
    credentials->session_token = value_of(file, profile, "aws_session_token");
    if (credentials->key_id != NULL && credentials->secret != NULL)
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                "no credentials for S3: '%s' has no aws_access_key_id and aws_secret_access_key "
                "under [%s]; AWS_PROFILE names another section",
                path, profile);
    return false;
}

bool s3_credentials_find(struct s3_credentials *credentials, GError **error)
{
    const char *named = environment("AWS_SHARED_CREDENTIALS_FILE");
    const char *profile = environment("AWS_PROFILE");
    g_autofree char *usual = g_build_filename(g_get_home_dir(), ".aws", "credentials", NULL);
    if (from_environment(credentials))
        return true;
    return from_file(credentials, named != NULL ? named : usual,
                     profile != NULL ? profile : "default", error);
}
