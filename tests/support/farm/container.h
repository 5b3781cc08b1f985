/* A container for a test: a process with its own process numbers, IPC, mounts and host name, as a
 * container runtime would make it. It shares all files with the test. */
#ifndef TESTS_SUPPORT_FARM_CONTAINER_H
#define TESTS_SUPPORT_FARM_CONTAINER_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct container {
    pid_t pid;
    int answer_fd;
};

/* The function that runs inside. It writes to `answer` the text that container_answer() returns; it may
 * close `answer` and go on. The container ends when the function returns. */
typedef void (*ContainerBody)(FILE *answer);

/* Starts `body` in a container with that host name. An empty folder is mounted over `hidden` if
 * that is not NULL. Returns false with *reason (free with g_free()) if the kernel refuses the
 * namespaces. The calling process must have no other thread. */
bool container_start(struct container *container, const char *host, const char *hidden,
                     ContainerBody body, char **reason);
/* Waits until the body closes its answer, and returns it. Free with g_free(). */
char *container_answer(struct container *container);
/* Kills all processes of the container, and returns when they are gone. */
void container_kill(struct container *container);

#endif
