/*
 * A container for a test: a process with process numbers, IPC, mounts and a host name of its own, as a
 * container runtime gives them. It shares all files with the test.
 */
#ifndef TESTS_SUPPORT_CONTAINER_H
#define TESTS_SUPPORT_CONTAINER_H

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

/* Starts `body` in a container with that host name. An empty folder is mounted on `hidden` unless that is
 * NULL. False with *reason (free with g_free()) if the kernel refuses such namespaces. The test must have
 * no other thread. */
bool container_start(struct container *container, const char *host, const char *hidden,
                     ContainerBody body, char **reason);
/* Waits until the body closes its answer, and returns it. Free with g_free(). */
char *container_answer(struct container *container);
/* Kills all processes of the container, and returns when they are gone. */
void container_kill(struct container *container);

#endif
