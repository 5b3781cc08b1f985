/*
 * A node's credentials for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY with
 * AWS_SESSION_TOKEN, else the profile AWS_PROFILE ("default") of the file
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). Internal to the room.
 */
#ifndef SCHEMA_BLOBS_S3_CREDENTIALS_H
#define SCHEMA_BLOBS_S3_CREDENTIALS_H

#include "schema/blobs/s3_sign.h"
#include "schema/store/store.h"

/* Looked up anew by each call, since those of a session change. STORE_ERROR_BLOBS, without a secret in
 * the message. */
bool s3_credentials_find(struct s3_credentials *credentials, GError **error);

#endif
