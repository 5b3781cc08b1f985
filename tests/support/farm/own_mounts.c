#include "tests/support/farm/own_mounts.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/mount.h>
#include <unistd.h>

/* A root folder that is no mount cannot be made private, so mounts below it would show outside the
 * namespace. The copy of the tree is therefore mounted on a tmpfs over /proc; that tmpfs is made
 * private first, so the copy does not show outside either. */
static bool change_root(void)
{
    g_autofree char *folder = g_get_current_dir();
    return mount("none", "/proc", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("chaos", "/proc", "tmpfs", 0, "size=1m") == 0 &&
           g_mkdir("/proc/root", 0755) == 0 &&
           mount("/", "/proc/root", NULL, MS_BIND | MS_REC, NULL) == 0 &&
           mount("none", "/proc/root", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           chroot("/proc/root") == 0 && chdir(folder) == 0;
}

bool own_mounts(void)
{
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ||
           (errno == EINVAL && change_root());
}
