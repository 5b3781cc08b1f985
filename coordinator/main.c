/*
 * The command table: one row for each command, from which help, parsing and suggestions are made.
 * The only file that includes every room's commands.
 */
#include "coordinator/cli/cli.h"
#include "coordinator/cli/describe.h"
#include "coordinator/cli/safe_output.h"
#include "coordinator/cli/terminal.h"
#include "coordinator/commands.h"
#include "coordinator/process/command_line.h"
#include "export/commands.h"
#include "schema/commands/commands.h"
#include "schema/monitor/log.h"
#include "schema/monitor/signals.h"
#include "schema/monitor/version.h"
#include "worker/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <locale.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    /* heading under which the help lists the command; NULL for commands that only the program
     * itself runs */
    const char *group;
    const char *summary; /* one line of under 70 characters */
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
    {"run", "Campaigns", "do what a JSON file describes: one campaign, or a night of them",
     command_run},
    {"nights", "Campaigns", "list nights, and show what one did and why", command_nights},
    {"history", "Campaigns", "a problem's winner by night, and what changed", command_history},
    {"report", "Campaigns", "what tuning gained, a row a problem, and what was rejected",
     command_report},
    {"replay", "Campaigns", "try search strategies on recorded, exhaustively measured spaces",
     command_replay},
    {"worker", "The farm", "this node's agent: builds, evaluates, or both", command_worker},
    {"status", "The farm", "database, campaigns, jobs, workers at a glance", command_status},
    {"serve", "The farm", "a dashboard, its API and metrics over HTTP, and upkeep", command_serve},
    {"quarantine", "The farm", "list or clear configs that crash or hang", command_quarantine},
    {"tell", "The farm", "messages to webhooks: list, send, retry, drop", command_tell},
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
    {"autotune", "Networks", "try data types, layouts and fusion of a whole network",
     command_autotune},
    {"run-network", "Networks", "run a whole network, tuned or not, and time it",
     command_run_network},
    {"pages", NULL, "man pages and shell completion, made when the program is built",
     command_pages},
    {"complete", NULL, "names in the database, for the shell's completion", command_complete},
    {"child", NULL, "a build or eval child of the worker", command_child},
};

static const char *const groups[] = {"The main job", "Problems", "Campaigns",
                                     "The farm",     "Results",  "Networks"};

/* Words that users try for a command, and the command line that they stand for. */
static const struct {
    const char *name, *command, *verb;
} aliases[] = {
    {"campaigns", "campaign", "list"},
};

/* The environment variables that users can set, for the help. Variables that the program sets
 * for its own child processes are left out. */
static const struct {
    const char *name, *meaning;
} variables[] = {
    {"SKIPJACK_DB", "PostgreSQL to use: postgresql://USER@HOST/DATABASE"},
    {"SKIPJACK_DB_INSECURE", "1: a server on the network may be spoken to without TLS"},
    {"SKIPJACK_DB_SETTINGS", "settings of the embedded PostgreSQL: 'shared_buffers=1GB'"},
    {"SKIPJACK_HOME", "folder of the embedded PostgreSQL"},
    {"SKIPJACK_PG_BIN", "folder of PostgreSQL's programs"},
    {"TMPDIR", "folder for workers' scratch files (/tmp; /var/tmp where that is noexec)"},
    {"XDG_DATA_HOME", "the embedded PostgreSQL's home is skipjack in it (~/.local/share)"},
    {"SKIPJACK_NODE", "this node's name, else the host's"},
    {"SKIPJACK_LOG", "text or json: the form of a worker's log"},
    {"SKIPJACK_LOG_LEVEL", "debug, info, warning or error"},
    {"SKIPJACK_TOOLCHAIN", "the only toolchain to use for its vendor's targets"},
    {"SKIPJACK_CLANG", "clangs for AMD's targets, by name or path, joined by commas"},
    {"SKIPJACK_HIPRTC", "the HIPRTC library, by name or path"},
    {"SKIPJACK_NVRTC", "the NVRTC library"},
    {"SKIPJACK_LLVM", "the LLVM library that disassembles AMD's kernels"},
    {"SKIPJACK_CUDA", "NVIDIA's driver library"},
    {"SKIPJACK_HIP", "AMD's runtime library"},
    {"SKIPJACK_NVML", "the library that watches NVIDIA's GPUs"},
    {"SKIPJACK_ROCM_SMI", "the library that watches AMD's GPUs"},
    {"SKIPJACK_JUDGE", "host: results of a GPU are verified on the host alone"},
    {"SKIPJACK_OBJECTS", "folder with ready code objects"},
    {"SKIPJACK_LOCKS", "folder of the locks that let one process at a time use a GPU"},
    {"SKIPJACK_PCI", "where the PCI devices' files are, else /sys/bus/pci/devices"},
    {"SKIPJACK_WEBDAV_USER", "login at a WebDAV store of code objects"},
    {"SKIPJACK_WEBDAV_PASSWORD", "its password; else ~/.netrc (NETRC)"},
    {"AWS_ACCESS_KEY_ID", "with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN: login at an S3 store"},
    {"AWS_PROFILE", "part of ~/.aws/credentials (AWS_SHARED_CREDENTIALS_FILE) instead"},
    {"CURL_CA_BUNDLE", "certificates to trust at stores of code objects"},
    {"COLUMNS", "width of tables; without it the terminal's, and no limit in a pipe"},
};

#define EXAMPLE "skipjack tune resnet50-v1.5 --budget 600"

/* Options in front of a command, and what the command table says of the whole program. */
#define SUMMARY "a distributed tuning farm for GPU convolution kernels"
static const struct {
    const char *name, *meaning;
} general[] = {
    {"-q, --quiet", "no progress and no notices, only results and errors"},
    {"-v, --version", "the program's version and commit"},
    {"-h, --help", "this page; 'skipjack help COMMAND' is 'skipjack COMMAND --help'"},
};

static void print_help(FILE *out)
{
    fputs("skipjack: " SUMMARY "\n\n"
          "usage: skipjack COMMAND [OPTION...]\n",
          out);
    for (gsize g = 0; g < G_N_ELEMENTS(groups); g++) {
        fprintf(out, "\n%s\n", groups[g]);
        for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
            if (g_strcmp0(commands[i].group, groups[g]) == 0)
                fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
        }
    }
    fputs("\nGeneral options\n", out);
    for (gsize i = 0; i < G_N_ELEMENTS(general); i++)
        fprintf(out, "  %-14s %s\n", general[i].name, general[i].meaning);
    fputs("\nEnvironment\n", out);
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++)
        fprintf(out, "  %-25s %s\n", variables[i].name, variables[i].meaning);
    fputs("\n'skipjack COMMAND --help' explains a command, with an example.\n"
          "SKIPJACK_DB names a PostgreSQL to share; else a private one is under SKIPJACK_HOME.\n"
          "Exit status: 0 done, 1 failed or findings, 2 wrong usage, 3 a night that is "
          "not done,\n130 stopped by Ctrl-C.\n"
          "\nExample:\n  " EXAMPLE "\n",
          out);
}

static int unknown_command(const char *name)
{
    const char *names[G_N_ELEMENTS(commands) + 1] = {NULL};
    int count = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
        if (commands[i].group)
            names[count++] = commands[i].name;
    const char *nearest = nearest_word(name, names);
    fprintf(stderr, "skipjack: there is no command '%s'%s%s%s See skipjack --help\n", name,
            nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : ".");
    return CLI_USAGE;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

/* Sets the locale for characters alone. Numbers keep the C locale, since files and keys contain
 * numbers. */
static void set_up_process(void)
{
    signals_begin();
    setlocale(LC_CTYPE, "");
}

/* Opens standard descriptors that are closed, in a way that writing to them fails. Otherwise the
 * next file or socket would get the descriptor, and messages would be written into it. */
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

/* Returns the exit status: the command's, or CLI_FAILED instead of CLI_DONE if its output could not
 * be written. */
static int finish_output(int status)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_left())
        return status;
    fprintf(stderr, "skipjack: cannot write to standard output: %s\n",
            errno ? g_strerror(errno) : "not all was written");
    return status == CLI_DONE ? CLI_FAILED : status;
}

static const struct command *find_command(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* Returns a copy of argv whose words may be replaced, added and removed. The caller owns the
 * array; the strings are the caller's of main(). */
static GPtrArray *words_of(int argc, char **argv)
{
    GPtrArray *words = g_ptr_array_new();
    for (int i = 0; i < argc; i++)
        g_ptr_array_add(words, argv[i]);
    return words;
}

static void expand_alias(GPtrArray *words)
{
    for (gsize i = 0; words->len > 0 && i < G_N_ELEMENTS(aliases); i++) {
        if (strcmp(words->pdata[0], aliases[i].name) == 0) {
            words->pdata[0] = (gpointer)aliases[i].command;
            g_ptr_array_insert(words, 1, (gpointer)aliases[i].verb);
            return;
        }
    }
}

/* Turns "help campaign create" into "campaign create --help". */
static void turn_help(GPtrArray *words)
{
    if (words->len > 1 && strcmp(words->pdata[0], "help") == 0) {
        g_ptr_array_remove_index(words, 0);
        g_ptr_array_add(words, (gpointer) "--help");
    }
}

/* Takes -q out of the words, in front of the command or behind it. Arguments behind "db psql" are
 * psql's own. */
static void take_quiet(GPtrArray *words)
{
    for (guint i = 0; i < words->len && strcmp(words->pdata[i], "--") != 0;) {
        if (i > 0 && strcmp(words->pdata[i], "psql") == 0)
            return;
        bool quiet = strcmp(words->pdata[i], "-q") == 0 || strcmp(words->pdata[i], "--quiet") == 0;
        if (quiet) {
            log_set_quiet();
            g_ptr_array_remove_index(words, i);
        } else
            i++;
    }
}

/* Prints the command table as JSON, for coordinator/pages. */
static void describe_program(void)
{
    json_t *rows = json_array(), *headings = json_array(), *environment = json_array();
    json_t *options = json_array();
    for (gsize i = 0; i < G_N_ELEMENTS(general); i++)
        json_array_append_new(options, json_pack("{s:s, s:s}", "name", general[i].name, "meaning",
                                                 general[i].meaning));
    for (gsize i = 0; i < G_N_ELEMENTS(groups); i++)
        json_array_append_new(headings, json_string(groups[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (commands[i].group)
            json_array_append_new(rows,
                                  json_pack("{s:s, s:s, s:s}", "name", commands[i].name, "group",
                                            commands[i].group, "summary", commands[i].summary));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++)
        json_array_append_new(environment, json_pack("{s:s, s:s}", "name", variables[i].name,
                                                     "meaning", variables[i].meaning));
    describe_print(json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "version",
                             SKIPJACK_VERSION, "date", skipjack_commit_day, "summary", SUMMARY,
                             "example", EXAMPLE, "groups", headings, "commands", rows, "options",
                             options, "variables", environment));
}

/* Runs the command. words: its name and its arguments. */
static int run_command(GPtrArray *words)
{
    take_quiet(words);
    turn_help(words);
    expand_alias(words);
    if (words->len == 0) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *name = words->pdata[0];
    if (is_one_of(name, "--help", "-h", "help")) {
        print_help(stdout);
        return CLI_DONE;
    }
    if (is_one_of(name, "--version", "-v", "version") || strcmp(name, "-V") == 0) {
        printf("skipjack " SKIPJACK_VERSION " (commit %s)\n", skipjack_commit);
        return CLI_DONE;
    }
    if (strcmp(name, DESCRIBE_OPTION) == 0) {
        describe_program();
        return CLI_DONE;
    }
    const struct command *command = find_command(name);
    if (!command)
        return unknown_command(name);
    int count = (int)words->len;
    g_ptr_array_add(words, NULL);
    return command->run(count, (char **)words->pdata);
}

int main(int argc, char **argv)
{
    hold_standard_descriptors();
    set_up_process();
    if (argc > 0)
        command_line_set_program(argv[0]);
    /* A child process of the worker talks with its agent over its standard descriptors, so they are
     * left alone. */
    if (argc < 2 || strcmp(argv[1], "child") != 0)
        safe_output_begin();
    g_autoptr(GPtrArray) words = words_of(MAX(argc - 1, 0), argv + 1);
    return finish_output(run_command(words));
}
