/* A library for LD_PRELOAD in `skipjack child` processes: it copies the frames between agent and
 * child (worker/protocol/protocol.h) into files, for the page coordinator/LIFE_OF_A_JOB.md.
 * SKIPJACK_FRAME_TAP names the folder; a child's files are ROLE.PROCESS.to (frames to the child)
 * and ROLE.PROCESS.from. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int to_child = -1, from_child = -1;
/* identifies the pipe of the child's answers, which is its standard output at the start */
static struct stat answers;
static ssize_t (*next_read)(int, void *, size_t);
static ssize_t (*next_write)(int, const void *, size_t);

static int open_copy(const char *folder, const char *role, const char *suffix)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s.%ld.%s", folder, role, (long)getpid(), suffix);
    return length < (int)sizeof path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
                                     : -1;
}

static void __attribute__((constructor)) begin(void)
{
    char words[256] = "";
    const char *folder = getenv("SKIPJACK_FRAME_TAP");
    *(void **)&next_read = dlsym(RTLD_NEXT, "read");
    *(void **)&next_write = dlsym(RTLD_NEXT, "write");
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (file == NULL)
        return;
    size_t length = fread(words, 1, sizeof words - 1, file);
    fclose(file);
    const char *command = words + strlen(words) + 1;
    if (folder == NULL || command + sizeof "child" >= words + length ||
        strcmp(command, "child") != 0 || fstat(STDOUT_FILENO, &answers) != 0)
        return;
    const char *role = command + sizeof "child";
    to_child = open_copy(folder, role, "to");
    from_child = open_copy(folder, role, "from");
}

static void copy(int fd, const void *data, ssize_t bytes)
{
    if (fd >= 0 && bytes > 0 && next_write(fd, data, (size_t)bytes) != bytes)
        abort();
}

ssize_t read(int fd, void *data, size_t size)
{
    ssize_t got = next_read(fd, data, size);
    if (fd == STDIN_FILENO)
        copy(to_child, data, got);
    return got;
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct stat pipe;
    ssize_t wrote = next_write(fd, data, size);
    if (from_child >= 0 && wrote > 0 && fstat(fd, &pipe) == 0 && pipe.st_ino == answers.st_ino &&
        pipe.st_dev == answers.st_dev)
        copy(from_child, data, wrote);
    return wrote;
}
