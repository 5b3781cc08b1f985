#include "worker/agent/build/agent_build_child.h"

#include <string.h>

#include "worker/agent/agent_room.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/build/build_target.h"
#include "worker/agent/build/compilation.h"
#include "worker/agent/build/own_code.h"
#include "worker/agent/build/rebuild.h"
#include "worker/protocol/target_json.h"

/* After this many deaths of children that were asked for the node's toolchains (the stack), the
 * node counts as one without toolchains. */
#define STACK_LIVES        3
#define STACK_SECONDS      60
/* Memory limit of a build child: far more than compiling one kernel needs. */
#define BUILD_MEMORY_BYTES (4ull << 30)

/* ---- requests ---- */

void build_child_send(struct build_child *child, json_t *head, double seconds)
{
    child_send(child->process, head, NULL);
    child_set_deadline(child->process, seconds);
    json_decref(head);
}

void build_child_send_compile(struct build_child *child, const struct kernel_row *row,
                              const char *program_hash, const struct target *target)
{
    json_t *head =
        json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id",
                  child->builder->next_id++, "toolchain", row->toolchain, "version",
                  row->toolchain_version, "file", row->file, "hash", program_hash, "entry",
                  row->entry, "options", row->options, "target", target_to_json(target));
    build_child_send(child, head, child->builder->agent->options->compile_timeout_seconds);
}

static void ask_stack(void *object, const void *detail)
{
    (void)detail;
    build_child_send(object, json_pack("{s:s}", "op", "stack"), STACK_SECONDS);
}

static void ask_version(void *object, const void *detail)
{
    (void)detail;
    build_target_ask(object);
}

static void compile(void *object, const void *detail)
{
    (void)detail;
    compilation_ask(object);
}

static void ask_own_code(void *object, const void *detail)
{
    (void)detail;
    own_code_ask(object);
}

static void rebuild(void *object, const void *detail)
{
    (void)detail;
    rebuild_ask(object);
}

/* ---- answers ---- */

static void take_stack(void *object, const void *detail)
{
    struct build_child *child = object;
    const struct frame *frame = detail;
    const char *stack = json_string_value(json_object_get(frame->head, "stack"));
    child->builder->stack = g_strdup(stack ? stack : "");
}

static void take_version(void *object, const void *detail)
{
    build_target_answered(object, detail);
}

static void take_kernel(void *object, const void *detail)
{
    compilation_answered(object, detail);
}

static void take_own_version(void *object, const void *detail)
{
    own_code_version_answered(object, detail);
}

static void take_own_code(void *object, const void *detail)
{
    own_code_compiled(object, detail);
}

static void take_rebuilt(void *object, const void *detail)
{
    rebuild_compiled(object, detail);
}

/* ---- ends ---- */

static void start(void *object, const void *detail)
{
    struct build_child *child = object;
    (void)detail;
    agent_clear_scratch(child->builder->agent, child->folder);
    child_start(child->process);
}

static void end(void *object, const void *detail)
{
    struct build_child *child = object;
    (void)detail;
    child_end(child->process, 0);
}

/* Forgets the child's request when the agent stops. The pools release the jobs that waited for
 * its answer. */
static void drop_request(void *object, const void *detail)
{
    struct build_child *child = object;
    child->compilation = NULL;
    child->build_target = NULL;
    child->own = NULL;
    rebuild_drop(child);
    end(child, detail);
}

/* Counts a death of a child that was asked for the node's toolchains. After STACK_LIVES deaths
 * the list counts as empty and jobs start anyway: each asks for the toolchain of its own target. */
static void stack_died(void *object, const void *detail)
{
    struct build_child *child = object;
    (void)detail;
    if (++child->builder->stack_deaths >= STACK_LIVES)
        child->builder->stack = g_strdup("");
}

static void version_died(void *object, const void *detail)
{
    build_target_died(object, detail);
}

static void kernel_died(void *object, const void *detail)
{
    compilation_died(object, detail);
}

static void own_died(void *object, const void *detail)
{
    own_code_died(object, detail);
}

static void rebuilt_died(void *object, const void *detail)
{
    rebuild_died(object, detail);
}

/* ---- the table of the build child's state machine ---- */

static const struct state_machine_name states[] = {BUILD_CHILD_STATES(MACHINE_NAME)};
static const struct state_machine_name events[] = {BUILD_CHILD_EVENTS(MACHINE_NAME)};

#define ROW(state, event, next)                                                                    \
    MACHINE_ROW(BUILD_CHILD_##state, BUILD_CHILD_##event, BUILD_CHILD_##next)
#define ROW_DOES(state, event, next, action)                                                       \
    MACHINE_ROW_DOES(BUILD_CHILD_##state, BUILD_CHILD_##event, BUILD_CHILD_##next, action)

static const struct state_machine_row rows[] = {
    ROW_DOES(DOWN, START, STARTING, start),
    ROW(DOWN, STOP, DOWN),
    ROW(STARTING, UP, IDLE),
    ROW(STARTING, STOP, ENDING),
    ROW(STARTING, DIED, DOWN),
    ROW_DOES(IDLE, ASK_STACK, ASKED_STACK, ask_stack),
    ROW_DOES(IDLE, ASK_VERSION, ASKED_VERSION, ask_version),
    ROW_DOES(IDLE, COMPILE, COMPILING, compile),
    ROW_DOES(IDLE, ASK_OWN_VERSION, ASKED_OWN_VERSION, ask_own_code),
    ROW_DOES(IDLE, COMPILE_OWN, COMPILING_OWN, ask_own_code),
    ROW_DOES(IDLE, REBUILD, REBUILDING, rebuild),
    ROW_DOES(IDLE, DISCARD, ENDING, end),
    ROW_DOES(IDLE, STOP, ENDING, end),
    ROW(IDLE, DIED, DOWN),
    ROW_DOES(ASKED_STACK, ANSWERED, IDLE, take_stack),
    ROW_DOES(ASKED_STACK, STOP, ENDING, drop_request),
    ROW_DOES(ASKED_STACK, DIED, DOWN, stack_died),
    ROW_DOES(ASKED_VERSION, ANSWERED, IDLE, take_version),
    ROW_DOES(ASKED_VERSION, STOP, ENDING, drop_request),
    ROW_DOES(ASKED_VERSION, DIED, DOWN, version_died),
    ROW_DOES(COMPILING, ANSWERED, IDLE, take_kernel),
    ROW_DOES(COMPILING, STOP, ENDING, drop_request),
    ROW_DOES(COMPILING, DIED, DOWN, kernel_died),
    ROW_DOES(ASKED_OWN_VERSION, ANSWERED, IDLE, take_own_version),
    ROW_DOES(ASKED_OWN_VERSION, STOP, ENDING, drop_request),
    ROW_DOES(ASKED_OWN_VERSION, DIED, DOWN, own_died),
    ROW_DOES(COMPILING_OWN, ANSWERED, IDLE, take_own_code),
    ROW_DOES(COMPILING_OWN, STOP, ENDING, drop_request),
    ROW_DOES(COMPILING_OWN, DIED, DOWN, own_died),
    ROW_DOES(REBUILDING, ANSWERED, IDLE, take_rebuilt),
    ROW_DOES(REBUILDING, STOP, ENDING, drop_request),
    ROW_DOES(REBUILDING, DIED, DOWN, rebuilt_died),
    ROW_DOES(ENDING, UP, ENDING, end),
    ROW(ENDING, STOP, ENDING),
    ROW(ENDING, DIED, DOWN),
};

const struct state_machine build_child_machine = MACHINE_INIT("build child", states, events, rows);

void build_child_move(struct build_child *child, enum build_child_event event, const void *detail)
{
    const struct state_machine_row *row = state_machine_move(&build_child_machine, child->folder,
                                                             NULL, (int)child->state, (int)event);
    child->state = (enum build_child_state)row->next;
    if (row->action)
        row->action(child, detail);
}

/* Chooses the next request, the most awaited first: the node's toolchains, on which the worker's
 * registration waits; a target's toolchain, on which jobs wait; the agent's own code and rebuilt
 * kernels, on which devices wait; kernels of jobs. */
static enum build_child_event next_request(const Builder *builder)
{
    if (!builder->stack)
        return BUILD_CHILD_ASK_STACK;
    if (builder->unknown_targets.head)
        return BUILD_CHILD_ASK_VERSION;
    if (builder->own_codes.head)
        return own_code_has_key(builder->own_codes.head->data) ? BUILD_CHILD_COMPILE_OWN
                                                               : BUILD_CHILD_ASK_OWN_VERSION;
    return builder->rebuilds.head ? BUILD_CHILD_REBUILD : BUILD_CHILD_COMPILE;
}

void build_child_pump(struct build_child *child)
{
    const Builder *builder = child->builder;
    if (child->state != BUILD_CHILD_DOWN && child->state != BUILD_CHILD_IDLE)
        return;
    if (builder->stack && !builder->unknown_targets.head && !builder->ready.head &&
        !builder->own_codes.head && !builder->rebuilds.head)
        return;
    if (!agent_has_room(builder->agent))
        return;
    if (child->state == BUILD_CHILD_DOWN)
        build_child_move(child, BUILD_CHILD_START, NULL);
    /* The process may have ended, with its death not reported yet. */
    else if (child_is_up(child->process))
        build_child_move(child, next_request(builder), NULL);
}

/* ---- the process ---- */

static void process_up(Child *process, void *data)
{
    struct build_child *child = data;
    (void)process;
    build_child_move(child, BUILD_CHILD_UP, NULL);
    agent_schedule(child->builder->agent);
}

/* Whether the frame answers the request under way. A child may write anything; other frames are
 * ignored. */
static bool is_awaited(const struct build_child *child, const char *op)
{
    static const char *const awaited[] = {
        [BUILD_CHILD_ASKED_STACK] = "stack",
        [BUILD_CHILD_ASKED_VERSION] = "version",
        [BUILD_CHILD_COMPILING] = "compiled",
        [BUILD_CHILD_ASKED_OWN_VERSION] = "version",
        [BUILD_CHILD_COMPILING_OWN] = "compiled",
        [BUILD_CHILD_REBUILDING] = "compiled",
        [BUILD_CHILD_ENDING] = NULL,
    };
    return op && g_strcmp0(op, awaited[child->state]) == 0;
}

static void process_frame(Child *process, const struct frame *frame, void *data)
{
    struct build_child *child = data;
    const char *op = json_string_value(json_object_get(frame->head, "op"));
    child_set_deadline(process, 0);
    if (is_awaited(child, op))
        build_child_move(child, BUILD_CHILD_ANSWERED, frame);
    agent_schedule(child->builder->agent);
}

static void report_death(const struct build_child *child, const struct child_death *death)
{
    struct agent *agent = child->builder->agent;
    const struct compilation *compilation = child->compilation;
    if (child->state != BUILD_CHILD_ENDING)
        agent_count_death(agent, POOL_BUILD, death);
    if (!agent_is_working(agent) || death->end == CHILD_UNBORN)
        return;
    g_autofree char *detail =
        g_strdup_printf("%s%s%s %s", death->text, compilation ? ", compiling " : "",
                        compilation ? compilation->row.file : "", death->words);
    log_write(LEVEL_WARNING, "build_child_died", NULL, "%s", detail);
    call_event(agent, "build child died", NULL, detail);
}

static void process_died(Child *process, const struct child_death *death, void *data)
{
    struct build_child *child = data;
    (void)process;
    report_death(child, death);
    build_child_move(child, BUILD_CHILD_DIED, death);
    agent_schedule(child->builder->agent);
}

struct build_child *build_child_new(Builder *builder, guint number)
{
    static const struct child_callbacks callbacks = {process_up, process_frame, process_died};
    struct build_child *child = g_new0(struct build_child, 1);
    g_autofree char *name = g_strdup_printf("build-%u", number);
    g_auto(GStrv) environment = agent_child_environment(builder->agent, name);
    struct child_spec spec = {
        .role = "build",
        .logged = true,
        .memory_bytes = BUILD_MEMORY_BYTES,
        .environment = environment,
    };
    child->builder = builder;
    child->folder = g_steal_pointer(&name);
    child->process = child_new(&builder->agent->loop, &spec, &callbacks, child);
    return child;
}

void build_child_free(gpointer data)
{
    struct build_child *child = data;
    child_free(child->process);
    g_free(child->folder);
    g_free(child);
}
