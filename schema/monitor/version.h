/* The program's version, for --version and the metrics. */
#ifndef SCHEMA_MONITOR_VERSION_H
#define SCHEMA_MONITOR_VERSION_H

#define SKIPJACK_VERSION "0.1"

/* The commit that the program was made of, as `git describe --always --dirty` names it, and its day ("2026-11-23"):
 * "unknown" and "" outside of a clone. The build writes both (Makefile), and only the program itself links them. */
extern const char skipjack_commit[];
extern const char skipjack_commit_day[];

#endif
