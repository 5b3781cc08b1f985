/* The program's version, for --version and the metrics. */
#ifndef SCHEMA_MONITOR_VERSION_H
#define SCHEMA_MONITOR_VERSION_H

#define SKIPJACK_VERSION "0.1"

#endif
