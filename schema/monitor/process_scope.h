/* The scope of process numbers: one PID namespace of one boot of a kernel. */
#ifndef SCHEMA_MONITOR_PROCESS_SCOPE_H
#define SCHEMA_MONITOR_PROCESS_SCOPE_H

/*
 * "BOOT_ID:NAMESPACE" of the calling process. Processes with the same text see
 * the same process numbers. Two containers of one host share only the boot id.
 * An unknown boot id is "unknown", an unknown namespace "0". Free with g_free().
 */
char *process_scope(void);

#endif
