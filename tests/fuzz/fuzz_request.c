/* Any bytes as a campaign's description (the FILE of `skipjack run`): refused with the name of the
 * wrong member, or a request that can be checked. */
#include "coordinator/campaigns/request.h"
#include "coordinator/cli/cli.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct request *request)
{
    g_autoptr(GError) error = NULL;
    if (!request_check(request, &error)) {
        g_assert_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
        return;
    }
    g_autoptr(GPtrArray) solvers = request_solvers(request, NULL);
    g_assert_true(solvers != NULL && solvers->len <= (guint)solver_table_count);
    g_assert_true(request->configs >= 0 && request->seed >= 0 && request->share > 0);
    g_assert_true(request->budget_seconds >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    g_autoptr(GError) error = NULL;
    struct request request;
    fd = fd >= 0 ? fd : memfd_create("campaign.json", 0);
    g_assert_true(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    request_init(&request, 0);
    if (request_from_file(path, &request, &error)) {
        check(&request);
    } else {
        /* the reader of the file has refused a NUL byte */
        if (!g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL))
            g_assert_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
    }
    request_clear(&request);
    return 0;
}
