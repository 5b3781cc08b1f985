/*
 * The command table: one row a command, and help, parsing and suggestions are
 * made from it. The only file that sees the commands of every room.
 */
#include "coordinator/cli.h"
#include "coordinator/commands.h"
#include "export/commands.h"
#include "schema/commands.h"
#include "schema/monitor/version.h"
#include "worker/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    const char *group;   /* NULL: not listed (what the program runs itself) */
    const char *summary; /* one line, under 70 characters */
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"tune", "The main job", "import, plan, build, measure, export and report in one go",
     command_tune},
    {"import", "Problems", "read problems from driver lines, layer tables, find-dbs, perf-dbs",
     command_import},
    {"problems", "Problems", "list the problems that are known", command_problems},
    {"networks", "Problems", "list the networks, or the layers of one", command_networks},
    {"solvers", "Problems", "list the solvers, or say which serve a problem and why",
     command_solvers},
    {"targets", "Problems", "list the targets that are known", command_targets},
    {"campaign", "Campaigns", "create, list, show, watch and change campaigns", command_campaign},
    {"run", "Campaigns", "create the campaign that a JSON file describes, and watch it",
     command_run},
    {"report", "Campaigns", "what tuning gained, a row a problem, and what was rejected",
     command_report},
    {"worker", "The farm", "this node's agent: builds, evaluates, or both", command_worker},
    {"status", "The farm", "database, campaigns, jobs, workers at a glance", command_status},
    {"serve", "The farm", "metrics and health over HTTP, and the farm's upkeep", command_serve},
    {"quarantine", "The farm", "list or clear configs that crash or hang", command_quarantine},
    {"db", "The farm", "start, stop, migrate the database; say where it is", command_db},
    {"export", "Results", "write a campaign's results, or a golden version, in MIOpen's formats",
     command_export},
    {"golden", "Results", "what a target ships with: propose, approve, compare, roll back",
     command_golden},
    {"check", "Results", "verify exported files", command_check},
    {"usage", "Results", "which solvers networks use, and what has no entry", command_usage},
    {"merge", "Results", "merge files of MIOpen's formats, or convert one", command_merge},
    {"lookup", "Results", "say what a .sjdb holds for a problem, or what is in it", command_lookup},
    {"diff", "Results", "compare two such files by what they say", command_diff},
    {"child", NULL, "a build or eval child of the worker", command_child},
};

static const char *const groups[] = {"The main job", "Problems", "Campaigns", "The farm",
                                     "Results"};

static void print_help(FILE *out)
{
    fputs("skipjack: a distributed tuning farm for GPU convolution kernels\n\n"
          "usage: skipjack COMMAND [OPTION...]\n",
          out);
    for (gsize g = 0; g < G_N_ELEMENTS(groups); g++) {
        fprintf(out, "\n%s\n", groups[g]);
        for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
            if (g_strcmp0(commands[i].group, groups[g]) == 0)
                fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
        }
    }
    fputs("\n'skipjack COMMAND --help' explains one, with an example.\n"
          "SKIPJACK_DB names a PostgreSQL to share; else a private one is under SKIPJACK_HOME.\n"
          "Exit status: 0 done, 1 failed or findings, 2 wrong usage.\n"
          "\nExample:\n  skipjack tune coordinator/networks/resnet50-v1.5.csv --budget 600\n",
          out);
}

/* Levenshtein's distance, over names of at most 31 characters. */
static int name_distance(const char *a, const char *b)
{
    int row[32];
    int columns = (int)MIN(strlen(b), G_N_ELEMENTS(row) - 1);
    for (int j = 0; j <= columns; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= columns; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = MIN(change, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[columns];
}

static const char *nearest_command(const char *name)
{
    const char *nearest = NULL;
    int least = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        int distance = name_distance(name, commands[i].name);
        if (commands[i].group && (!nearest || distance < least)) {
            nearest = commands[i].name;
            least = distance;
        }
    }
    return nearest;
}

static int unknown_command(const char *name)
{
    fprintf(stderr,
            "skipjack: there is no command '%s'; the nearest is '%s', see skipjack --help\n", name,
            nearest_command(name));
    return CLI_USAGE;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

/* A reader that goes away (`skipjack status | head`) shows as a failed write, not as a killed
 * process. Numbers keep the C locale's form: files and keys are made from them. */
static void set_up_process(void)
{
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN);
}

/* A standard descriptor that is closed would be the next file's or socket's, and words for the user
 * would go there. Held this way, writing to it fails. */
static void hold_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* The command's exit status, unless what it printed was lost. */
static int finish_output(int status)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_left())
        return status;
    fprintf(stderr, "skipjack: cannot write to standard output: %s\n",
            errno ? g_strerror(errno) : "not all was written");
    return status == CLI_DONE ? CLI_FAILED : status;
}

static int run_command(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h", "help")) {
        print_help(stdout);
        return CLI_DONE;
    }
    if (is_one_of(argv[1], "--version", "-V", "version")) {
        puts("skipjack " SKIPJACK_VERSION);
        return CLI_DONE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    hold_standard_descriptors();
    set_up_process();
    if (argc > 0)
        cli_set_program(argv[0]);
    return finish_output(run_command(argc, argv));
}
