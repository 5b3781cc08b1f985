/* The place where chaos happens: as root, namespaces of its own (processes, mounts, network), which
 * the kernel removes with all their content however the test ends. Hosts are network namespaces,
 * each joined to the room by a veth pair. Without root, or where the kernel refuses any of this (a
 * container, no veth), the room is this machine's loopback, and children die with the test by
 * PR_SET_PDEATHSIG. */
#ifndef TESTS_SUPPORT_CHAOS_CHAOS_ROOM_H
#define TESTS_SUPPORT_CHAOS_CHAOS_ROOM_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* Enters the room. It returns in a new process, while the calling process waits for the new one's end
 * and exits with its status; no other thread may run. Returns true with namespaces; false with only
 * the loopback, where *reason (never freed) says why. */
bool room_enter(const char **reason);

/* A folder that is removed with the room. Static. */
const char *room_folder(void);
/* Mounts a disk of that size on a new folder of the room; without namespaces only makes the folder.
 * *own: whether it is a disk. Free with g_free(). */
char *room_make_disk(const char *name, int megabytes, bool *own);

/* Makes host `number` and returns the address of the room's end of its link, 127.0.0.1 without
 * namespaces. Free with g_free(). */
char *room_make_host(int number);
/* Takes the host's network link down, or up again. */
void room_link_host(int number, bool up);

/* A process to start, and its environment. */
struct room_process {
    const char *const *argv;
    /* NAME=VALUE strings added to the test's environment; or NULL */
    const char *const *environment;
    int host; /* number of the host that it runs on; -1: the room itself */
    /* file that stderr, and stdout without from_fd, is appended to; NULL: /dev/null */
    const char *log;
    uid_t uid; /* 0: as the test */
    gid_t gid;
    int death_signal;     /* the signal that it gets when the test ends; 0: SIGKILL */
    int *to_fd, *from_fd; /* file descriptors of pipes to its stdin and from its stdout, or NULL */
};
/* Starts the process and returns its id. Aborts if it cannot be started. */
pid_t room_start(const struct room_process *process);
/* Runs a program to its end. Returns whether its exit status is 0. */
bool room_run(const char *const *argv, uid_t uid, gid_t gid, const char *log);
/* Kills a process by SIGKILL and waits for its end. */
void room_kill(pid_t pid);

#endif
