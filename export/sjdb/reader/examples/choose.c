/* Says which solver to run for a problem, whether it was measured or not:
 *   choose FOLDER TARGET KEY [WORKSPACE_BYTES]
 *   cc choose.c $(pkg-config --cflags --libs skipjackdb) -o choose */
#include <skipjackdb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const found_as[] = {"nowhere",
                                       "measured",
                                       "measured on another target",
                                       "by the nearest problems",
                                       "by estimate",
                                       "measured with packed tensors"};

/* Answers whether the program has a solver, as programs with solvers of their own do. This example
 * says that all solvers but one are there. */
static int is_there(void *user, const struct skipjackdb_problem *problem,
                    struct skipjackdb_candidate *candidate)
{
    (void)user;
    (void)problem;
    return strcmp(candidate->solver, "ConvC<2>") != 0 ? SKIPJACKDB_YES : SKIPJACKDB_NO;
}

static void print_choice(const char *what, const struct skipjackdb_choice *choice)
{
    printf("%s %s, found %s", what, choice->solver, found_as[choice->how]);
    if (choice->time_ms > 0) {
        printf(", %s%g ms", choice->marks & SKIPJACKDB_TIME_SCALED ? "about " : "",
               choice->time_ms);
    }
    printf("\n");
}

static int choose(const skipjackdb_folder *folder, const char *key, uint64_t workspace_bytes)
{
    struct skipjackdb_rules rules = {.size = sizeof rules,
                                     .workspace_bytes = workspace_bytes,
                                     .mode = SKIPJACKDB_HYBRID,
                                     .applicable = is_there};
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_choice choice = {.size = sizeof choice}, later = {.size = sizeof later};
    size_t count = 0;
    skipjackdb *const *dbs = skipjackdb_folder_dbs(folder, &count, &rules.near);
    int code = skipjackdb_problem_parse(key, &problem);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_choose(dbs, count, &problem, &rules, &choice, &later);
    }
    if (code == SKIPJACKDB_OK) {
        print_choice("run", &choice);
    }
    if (code == SKIPJACKDB_OK && later.how != SKIPJACKDB_NOWHERE) {
        print_choice("compile", &later);
    }
    return code;
}

int main(int argc, char **argv)
{
    skipjackdb_folder *folder = NULL;
    if (argc < 4) {
        fprintf(stderr, "usage: choose FOLDER TARGET KEY [WORKSPACE_BYTES]\n");
        return 2;
    }
    int code = skipjackdb_folder_open(argv[1], argv[2], &folder);
    if (code == SKIPJACKDB_OK) {
        code = choose(folder, argv[3], argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_MAX);
    }
    skipjackdb_folder_close(folder);
    if (code != SKIPJACKDB_OK) {
        fprintf(stderr, "choose: %s\n", skipjackdb_error_text(code));
    }
    return code == SKIPJACKDB_OK ? 0 : 1;
}
