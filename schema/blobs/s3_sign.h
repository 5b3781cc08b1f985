/*
 * Signatures of requests, version 4: AWS General Reference, "Create a signed
 * AWS API request", and for S3 "Signature Calculations for the Authorization
 * Header" (one chunk, path encoded once). Pure functions. Internal to the room.
 */
#ifndef SCHEMA_BLOBS_S3_SIGN_H
#define SCHEMA_BLOBS_S3_SIGN_H

#include <glib.h>

struct s3_credentials {
    char *key_id, *secret, *session_token; /* token NULL where there is none */
};
void s3_credentials_clear(struct s3_credentials *credentials);
typedef struct s3_credentials S3Credentials;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(S3Credentials, s3_credentials_clear)

struct s3_header {
    const char *name, *value; /* name in lower case, value without blanks around it */
};

struct s3_request {
    const char *method, *path;       /* the path as it is sent, percent-encoded */
    const char *query;               /* canonical: encoded and sorted, "" for none */
    const struct s3_header *headers; /* all that are signed, sorted by name, host among them */
    int header_count;
    const char *payload_sha256; /* hex */
    const char *region;
    const char *time; /* "20130524T000000Z" */
};

/* The value of the Authorization header. Free with g_free(). */
char *s3_authorization(const struct s3_request *request, const struct s3_credentials *credentials);

#endif
