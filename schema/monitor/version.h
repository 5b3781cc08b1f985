/* The program's version, as it and its metrics tell it. */
#ifndef SCHEMA_MONITOR_VERSION_H
#define SCHEMA_MONITOR_VERSION_H

#define SKIPJACK_VERSION "0.1"

#endif
