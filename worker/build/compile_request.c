#include "worker/build/compile_request.h"

#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

bool compile_request_read(json_t *head, struct compile_request *request, GError **error)
{
    struct program *program = &request->program;
    json_t *target = NULL;
    json_error_t why;
    if (json_unpack_ex(head, &why, 0, "{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "id",
                       &request->id, "toolchain", &request->toolchain, "version", &request->version,
                       "file", &program->file, "hash", &program->hash, "entry", &program->entry,
                       "options", &program->options, "target", &target) != 0) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME, "not a compile request: %s", why.text);
        return false;
    }
    if (!launch_options_valid(program->options)) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_FRAME,
                    "not a compile request: an option is not -DNAME=VALUE");
        return false;
    }
    return target_from_json(target, &request->target, error);
}
