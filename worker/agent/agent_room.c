#include "worker/agent/agent_room.h"

#include <sys/statvfs.h>

#include "worker/agent/agent_calls.h"
#include "worker/agent/identity.h"

/* Free MiB that the scratch folder's disk needs: PoCL's files for a kernel take less than 1 MiB,
 * and the temporary files of all children at once a few MiB. The limit is above 0 since a
 * compiler that failed may have removed its files before the disk is checked. */
#define ROOM_MIB 16
#define AGAIN_MS 250

static void look_again(uv_timer_t *timer)
{
    agent_schedule(timer->data);
}

bool agent_has_room(struct agent *agent)
{
    struct statvfs disk;
    bool has_room = statvfs(agent->scratch, &disk) != 0 ||
                    (double)disk.f_bavail * (double)disk.f_frsize >= ROOM_MIB * 1048576.0;
    if (!has_room)
        uv_timer_start(&agent->room, look_again, AGAIN_MS, 0);
    if (has_room == !agent->no_room)
        return has_room;
    agent->no_room = !has_room;
    g_autofree char *words =
        has_room ? g_strdup_printf("there is room again under '%s'", agent->scratch)
                 : g_strdup_printf("the disk is full: less than %d MiB are free under '%s'; work "
                                   "waits until there is room",
                                   ROOM_MIB, agent->scratch);
    log_write(has_room ? LEVEL_INFO : LEVEL_ERROR, has_room ? "disk_room" : "disk_full", NULL, "%s",
              words);
    call_event(agent, has_room ? "disk has room" : "disk full", NULL, words);
    return has_room;
}

void agent_clear_scratch(const struct agent *agent, const char *name)
{
    g_autofree char *folder = g_build_filename(agent->scratch, name, NULL);
    identity_remove_scratch(folder);
}
