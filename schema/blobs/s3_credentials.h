/*
 * A node's credentials for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY with
 * AWS_SESSION_TOKEN; else the profile AWS_PROFILE ("default") of the file
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). Internal to the folder.
 */
#ifndef SCHEMA_BLOBS_S3_CREDENTIALS_H
#define SCHEMA_BLOBS_S3_CREDENTIALS_H

#include "schema/store/store.h"

struct s3_credentials {
    char *key_id, *secret, *session_token; /* session_token may be NULL */
};
void s3_credentials_clear(struct s3_credentials *credentials);
typedef struct s3_credentials S3Credentials;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(S3Credentials, s3_credentials_clear)

/* Looks the credentials up, anew in each call: those of a session change. STORE_ERROR_BLOBS, without a
 * secret in the message. */
bool s3_credentials_find(struct s3_credentials *credentials, GError **error);

#endif
