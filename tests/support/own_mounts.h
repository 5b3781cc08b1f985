/* Mounts that a process in a new mount namespace makes and nobody outside sees. */
#ifndef TESTS_SUPPORT_OWN_MOUNTS_H
#define TESTS_SUPPORT_OWN_MOUNTS_H

#include <stdbool.h>

/* Makes all mounts of this process's namespace private. Where the root folder is no mount, as in a chroot, a copy of
 * the tree becomes the root; the working folder is the same in it, folders that are open are of the old tree. /proc is
 * to be mounted anew after that. False with errno. */
bool own_mounts(void);

#endif
