/*
 * Where chaos happens: as root in namespaces of its own (processes, mounts, network), which the kernel
 * takes away with all that is in them when the test ends, however it ends; hosts are network namespaces
 * joined to the room by a pair of veth each. Without root, or where any of this cannot be had (a container, a
 * kernel without veth), it is this machine's loopback, and children die with the test by PR_SET_PDEATHSIG.
 */
#ifndef TESTS_SUPPORT_CHAOS_ROOM_H
#define TESTS_SUPPORT_CHAOS_ROOM_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* Enters the room: returns in a new process, while the first one waits for its end and ends with its
 * status, and no other thread may run. Returns in the same process where there is only loopback; *reason then says
 * why. Static. */
bool room_enter(const char **reason);

/* A folder of the room, gone with it. Static. */
const char *room_folder(void);
/* Mounts a disk of that size of its own on a new folder of the room, or only makes the folder where
 * there is only loopback. Free with g_free(). */
char *room_make_disk(const char *name, int megabytes, bool *own);

/* The address of the room's side of host number 0, 1, ...; makes the host. Free with g_free(). */
char *room_make_host(int number);
/* Takes the host's link down, or up again. */
void room_link_host(int number, bool up);

/* Arguments and surroundings of a process. */
struct room_process {
    const char *const *argv;
    const char *const *environment; /* NAME=VALUE, beside the test's own; or NULL */
    int host;                       /* -1: the room itself */
    const char *log;                /* gets its stderr; NULL: /dev/null */
    uid_t uid;                      /* 0: as the test */
    gid_t gid;
    int death_signal;     /* when the test ends; 0: SIGKILL */
    int *to_fd, *from_fd; /* pipes to stdin and from stdout, or NULL */
};
/* Returns its id. Aborts where it cannot be started. */
pid_t room_start(const struct room_process *process);
/* Runs a program to its end; whether it ended with 0. */
bool room_run(const char *const *argv, uid_t uid, gid_t gid, const char *log);
/* Ends a process and waits for it. */
void room_kill(pid_t pid);

#endif
