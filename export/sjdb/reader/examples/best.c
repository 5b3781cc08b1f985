/* Says which solver is the fastest for a problem: best FILE KEY [WORKSPACE_BYTES]
 *   cc best.c $(pkg-config --cflags --libs skipjackdb) -o best */
#include <skipjackdb.h>

#include <stdio.h>
#include <stdlib.h>

static int find_best(const skipjackdb *db, const char *key, uint64_t workspace_bytes)
{
    struct skipjackdb_limits limits = {sizeof limits, workspace_bytes, 0};
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_entry entry;
    const char *params = "";
    uint64_t number = 0;
    int code = skipjackdb_problem_parse(key, &problem);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_find(db, &problem, &number);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_best(db, number, &limits, &entry, sizeof entry);
    }
    if (code == SKIPJACKDB_OK) {
        /* A solver has no params if it has no configs, or was never tuned. */
        if (skipjackdb_params(db, &problem, entry.solver, &params) == SKIPJACKDB_DAMAGED) {
            return SKIPJACKDB_DAMAGED;
        }
        printf("%s [%s] %g ms, %llu bytes\n", entry.solver, params, entry.time_ms,
               (unsigned long long)entry.workspace_bytes);
    }
    return code;
}

int main(int argc, char **argv)
{
    skipjackdb *db = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: best FILE KEY [WORKSPACE_BYTES]\n");
        return 2;
    }
    int code = skipjackdb_open(argv[1], &db);
    if (code == SKIPJACKDB_OK) {
        code = find_best(db, argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : UINT64_MAX);
    }
    skipjackdb_close(db);
    if (code != SKIPJACKDB_OK) {
        fprintf(stderr, "best: %s\n", skipjackdb_error_text(code));
    }
    return code == SKIPJACKDB_OK ? 0 : 1;
}
