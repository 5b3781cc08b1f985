/*
 * The command line of every command: options, help with an example, error messages and exit
 * statuses.
 */
#ifndef COORDINATOR_CLI_CLI_H
#define COORDINATOR_CLI_CLI_H

#include <glib.h>
#include <stdbool.h>

#define COORDINATOR_ERROR (coordinator_error_quark())
GQuark coordinator_error_quark(void);

enum coordinator_error {
    COORDINATOR_ERROR_USAGE,   /* The command line or a description is wrong. */
    COORDINATOR_ERROR_PROCESS, /* A process of this program could not be run or failed. */
    COORDINATOR_ERROR_EMPTY,   /* There is nothing to work on. */
};

enum cli_status {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_UNFINISHED = 3,
    CLI_INTERRUPTED = 130
};

struct cli {
    const char *command;   /* "campaign show" */
    const char *arguments; /* names of the arguments in the help: "ID", "FILE..." or NULL */
    const char *summary;   /* a sentence or a few */
    const char *notes;     /* text printed in front of the example; NULL for none */
    const char *example;   /* one command line, or several lines */
    /* text printed below the options instead of notes and example; NULL for none */
    const char *description;
    const GOptionEntry *options; /* the command's own options; may be NULL */
    const GOptionEntry *shared;  /* options that several commands share, or NULL */
    /* options on lists of problems, from import_words_entries(), or NULL */
    const GOptionEntry *lists;
    /* least and largest number of arguments; most is -1 for no limit */
    int least, most;
};

/* Parses argv by the command's options and leaves in it only the arguments that are no options, after argv[0]. --help
 * and --describe (describe.h) print and end the program. Returns false with a G_OPTION_ERROR, which cli_fail() reports as wrong usage. */
bool cli_parse_options(const struct cli *cli, int *argc, char ***argv, GError **error);

/* Does the same as cli_parse_options(), and checks the number of arguments. Returns false after a message on stderr:
 * the command then returns CLI_USAGE. */
bool cli_parse(const struct cli *cli, int *argc, char ***argv);

/* Sets a G_OPTION_ERROR, wrong usage, and returns false. */
G_GNUC_PRINTF(2, 3)
bool cli_misuse(GError **error, const char *format, ...);

/* Prints a notice on standard error. -q silences notices. */
G_GNUC_PRINTF(1, 2)
void cli_note(const char *format, ...);

/* An entry of a table of options: the option --json. */
#define CLI_JSON_OPTION(variable)                                                                  \
    {                                                                                              \
        "json", 0, 0, G_OPTION_ARG_NONE, variable, "print JSON instead of a table", NULL           \
    }

/* The values of --yes and --dry-run, which every command that deletes something has. */
struct cli_loss {
    gboolean yes, dry_run;
};
#define CLI_LOSS_OPTIONS(loss)                                                                     \
    {"yes", 'y', 0, G_OPTION_ARG_NONE, &(loss)->yes, "do not ask on a terminal", NULL},            \
    {                                                                                              \
        "dry-run", 0, 0, G_OPTION_ARG_NONE, &(loss)->dry_run, "only say what would go", NULL       \
    }
/* Asks on a terminal whether the text that `format` makes may be lost, unless --yes was given. Returns false if the
 * command must change nothing, with *status its exit status: --dry-run, which prints the text instead, or the answer
 * is no. */
G_GNUC_PRINTF(3, 4)
bool cli_may_lose(const struct cli_loss *loss, int *status, const char *format, ...);

/* Prints "skipjack COMMAND: message" and frees the error. Returns CLI_USAGE for COORDINATOR_ERROR_USAGE and
 * G_OPTION_ERROR, else CLI_FAILED. */
int cli_fail(const char *command, GError *error);

/* A subcommand of a command, "campaign show". argv[0] of run() is the verb. */
struct cli_verb {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};
struct cli_verbs {
    const char *command; /* "campaign" */
    const char *about;   /* a few lines that `--help` prints about the verbs, or NULL */
    const char *example;
    const struct cli_verb *verbs;
    int count;
};
/* Returns the index of the verb that argv[1] names. Otherwise -1, after a list of the verbs (--help, or no verb) or
 * a message with the nearest one; *status is then the command's exit status. */
int cli_find_verb(const struct cli_verbs *verbs, int argc, char **argv, int *status);
/* Runs the verb that argv[1] names. Returns the exit status. */
int cli_run_verb(const struct cli_verbs *verbs, int argc, char **argv);

/* Parses a campaign's or job's id: digits only, from 1. Sets COORDINATOR_ERROR_USAGE for other
 * text. */
bool cli_parse_id(const char *text, int64_t *id, GError **error);

#endif
