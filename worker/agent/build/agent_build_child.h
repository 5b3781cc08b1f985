/*
 * A build child as the agent sees it: a supervised process that works on one
 * request at a time. A process that died, or that worked while the disk was full
 * or a compiler crashed, may leave an incomplete file in its folder, so the next
 * process begins with an empty folder. Internal.
 */
#ifndef WORKER_AGENT_BUILD_AGENT_BUILD_CHILD_H
#define WORKER_AGENT_BUILD_AGENT_BUILD_CHILD_H

#include "kernels/program.h"
#include "schema/store/store_kernels.h"
#include "worker/agent/agent_state.h"
#include "worker/agent/state_machine.h"

#define BUILD_CHILD_STATES(X)                                                                      \
    X(BUILD_CHILD_DOWN, "down", "No process runs.")                                                \
    X(BUILD_CHILD_STARTING, "starting", "A process is started, at once or after a pause.")         \
    X(BUILD_CHILD_IDLE, "idle", "The process waits for a request.")                                \
    X(BUILD_CHILD_ASKED_STACK, "asked for stack", "It lists the toolchains of this node.")         \
    X(BUILD_CHILD_ASKED_VERSION, "asked for version", "It finds a target's toolchain.")            \
    X(BUILD_CHILD_COMPILING, "compiling", "It compiles a kernel that jobs wait for.")              \
    X(BUILD_CHILD_ASKED_OWN_VERSION, "asked for own version",                                      \
      "It finds the toolchain for the agent's own code (`own_code.h`).")                           \
    X(BUILD_CHILD_COMPILING_OWN, "compiling own code", "It compiles the agent's own code.")        \
    X(BUILD_CHILD_REBUILDING, "rebuilding",                                                        \
      "It compiles a kernel again that another login's worker built (`rebuild.h`).")               \
    X(BUILD_CHILD_ENDING, "ending", "The process was told to end.")

#define BUILD_CHILD_EVENTS(X)                                                                      \
    X(BUILD_CHILD_START, "start", "A request waits.")                                              \
    X(BUILD_CHILD_UP, "up", "The process runs.")                                                   \
    X(BUILD_CHILD_ASK_STACK, "ask for stack", "The node's toolchains are not known yet.")          \
    X(BUILD_CHILD_ASK_VERSION, "ask for version", "A target's toolchain is not known yet.")        \
    X(BUILD_CHILD_COMPILE, "compile", "A kernel of a job is next.")                                \
    X(BUILD_CHILD_ASK_OWN_VERSION, "ask for own version", "The agent's own code has no key yet.")  \
    X(BUILD_CHILD_COMPILE_OWN, "compile own code", "The agent's own code is next.")                \
    X(BUILD_CHILD_REBUILD, "rebuild", "A kernel that has to be built again is next.")              \
    X(BUILD_CHILD_ANSWERED, "answered", "The process answered its request.")                       \
    X(BUILD_CHILD_DISCARD, "discard", "The disk was full, or a compiler crashed.")                 \
    X(BUILD_CHILD_STOP, "stop", "The agent stops.")                                                \
    X(BUILD_CHILD_DIED, "died", "The process ended, for whatever reason.")

enum build_child_state { BUILD_CHILD_STATES(MACHINE_ENUM) };
enum build_child_event { BUILD_CHILD_EVENTS(MACHINE_ENUM) };
extern const struct state_machine build_child_machine;

/* The pointer that belongs to the current state is set: `compilation` while the child compiles a
 * job's kernel, `build_target` while it looks for a toolchain, and so on. */
struct build_child {
    Builder *builder;
    enum build_child_state state;
    Child *process;
    struct compilation *compilation;
    struct build_target *build_target; /* the target whose toolchain the child was asked for */
    struct own_code *own;
    struct rebuild *rebuild;
    char *folder; /* name of its folder in the agent's scratch folder */
};

struct build_child *build_child_new(Builder *builder, guint number);
void build_child_free(gpointer child);

/* Moves the child's state machine. detail: a struct frame with BUILD_CHILD_ANSWERED, a struct
 * child_death with BUILD_CHILD_DIED, else NULL. */
void build_child_move(struct build_child *child, enum build_child_event event, const void *detail);

/* Sends the next waiting request to an idle child; starts the process if it is down. */
void build_child_pump(struct build_child *child);

/* Sends a request, and kills the child if it has not answered after `seconds`. Takes head over. */
void build_child_send(struct build_child *child, json_t *head, double seconds);
/* Sends the request to compile the row's kernel; program_hash identifies the source from which
 * it must be compiled. */
void build_child_send_compile(struct build_child *child, const struct kernel_row *row,
                              const char *program_hash, const struct target *target);

#endif
