/* Where a process number counts: one boot of one kernel, and one PID namespace of it. */
#ifndef SCHEMA_MONITOR_PROCESS_SCOPE_H
#define SCHEMA_MONITOR_PROCESS_SCOPE_H

/*
 * "BOOT_ID:NAMESPACE" of the calling process. Two processes with the same text see the same process
 * numbers; two containers of one host share the boot id alone. An unknown boot id is "unknown", an
 * unknown namespace "0". Free with g_free().
 */
char *process_scope(void);

#endif
