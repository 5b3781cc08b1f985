/* Signatures against the examples that AWS publishes for S3: "Signature Calculations for the
 * Authorization Header: Transferring Payload in a Single Chunk". */
#include "schema/blobs/s3_sign.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define BODY  "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
#define HOST                                                                                       \
    {                                                                                              \
        "host", "examplebucket.s3.amazonaws.com"                                                   \
    }
#define TIME                                                                                       \
    {                                                                                              \
        "x-amz-date", "20130524T000000Z"                                                           \
    }

static const struct {
    const char *name, *method, *path, *query, *payload;
    struct s3_header headers[6];
    const char *names, *signature;
} examples[] = {
    {"get_object",
     "GET",
     "/test.txt",
     "",
     EMPTY,
     {HOST, {"range", "bytes=0-9"}, {"x-amz-content-sha256", EMPTY}, TIME},
     "host;range;x-amz-content-sha256;x-amz-date",
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"put_object",
     "PUT",
     "/test%24file.text",
     "",
     BODY,
     {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
      HOST,
      {"x-amz-content-sha256", BODY},
      TIME,
      {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
     "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"get_bucket_lifecycle",
     "GET",
     "/",
     "lifecycle=",
     EMPTY,
     {HOST, {"x-amz-content-sha256", EMPTY}, TIME},
     "host;x-amz-content-sha256;x-amz-date",
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"list_objects",
     "GET",
     "/",
     "max-keys=2&prefix=J",
     EMPTY,
     {HOST, {"x-amz-content-sha256", EMPTY}, TIME},
     "host;x-amz-content-sha256;x-amz-date",
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static void test_example(gconstpointer data)
{
    gsize i = GPOINTER_TO_SIZE(data);
    char key_id[] = "AKIAIOSFODNN7EXAMPLE";
    char secret[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    struct s3_credentials credentials = {.key_id = key_id, .secret = secret};
    struct s3_request request = {.method = examples[i].method,
                                 .path = examples[i].path,
                                 .query = examples[i].query,
                                 .headers = examples[i].headers,
                                 .payload_sha256 = examples[i].payload,
                                 .region = "us-east-1",
                                 .time = "20130524T000000Z"};
    while (request.header_count < 6 && examples[i].headers[request.header_count].name != NULL)
        request.header_count++;
    g_autofree char *got = s3_authorization(&request, &credentials);
    g_autofree char *expected =
        g_strdup_printf("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                        "aws4_request,SignedHeaders=%s,Signature=%s",
                        examples[i].names, examples[i].signature);
    g_assert_cmpstr(got, ==, expected);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(examples); i++) {
        g_autofree char *path =
            g_strconcat("/s3_sign/published_example_is_met/", examples[i].name, NULL);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_example);
    }
    return g_test_run();
}
