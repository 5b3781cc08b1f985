/* Mounts that a process makes in a new mount namespace and that no process outside sees. */
#ifndef TESTS_SUPPORT_FARM_OWN_MOUNTS_H
#define TESTS_SUPPORT_FARM_OWN_MOUNTS_H

#include <stdbool.h>

/* Makes all mounts of this process's namespace private. Where the root folder is no mount, as in a
 * chroot, a copy of the tree becomes the root: the working folder is kept, while open folders still
 * belong to the old tree. The caller then mounts /proc anew. Returns false with errno. */
bool own_mounts(void);

#endif
