/*
 * Reading files of this field, ours or MIOpen's own, to say what is in them
 * and what is wrong with them. What a file is, its content says. Nothing in a
 * file makes this fail: what cannot be read becomes part of the report.
 */
#ifndef EXPORT_CHECK_H
#define EXPORT_CHECK_H

#include "export/check/target_doubt.h"
#include "export/formats/file_name.h"
#include "export/formats/line_reader.h"

#include <stdio.h>

/* What can be said of rows that were read. The numbers are this program's own; the names are what
 * scripts see. */
enum finding {
    FINDING_ZERO_TIME_WINS,
    FINDING_ZERO_TIME,
    FINDING_NEGATIVE_TIME,
    FINDING_DUPLICATE_KEY,
    FINDING_DUPLICATE_SOLVER,
    FINDING_PARAMS_MISSING,
    FINDING_STALE_PARAMS,
    FINDING_CONFIG_MISSING,
    FINDING_MD5_MISMATCH,
    FINDING_WORKSPACE_MISMATCH,
    FINDING_OTHER_TARGET,    /* what the file holds is made for another target than its name says */
    FINDING_OTHER_SOLVER,    /* a solver that cannot run on the target */
    FINDING_IMPOSSIBLE_TIME, /* below what the problem needs at the target's peak */
    FINDING_INDEX_MISSING,
    FINDING_MALFORMED_3D_KEY,
    FINDING_OUTPUT_OFF_FORMULA,
    FINDING_INVALID_PROBLEM,
    FINDING_UNSORTED_ENTRIES,
    FINDING_TOO_MANY_ENTRIES,
    FINDING_UNKNOWN_SOLVER,
    FINDING_UNKNOWN_ALGORITHM,
    FINDING_UNUSED_CONFIG,
    FINDING_UNEXPECTED_NAME,
    FINDING_CARRIAGE_RETURN,
    FINDING_UNPRINTABLE_BYTE,
    FINDING_NO_FINAL_NEWLINE,
    /* Made of manifests: */
    FINDING_FILE_MISSING,  /* a file that it lists is not there */
    FINDING_FILE_DIFFERS,  /* a file has another size or SHA-256 than it says */
    FINDING_FILE_UNLISTED, /* a file with the release's names is not in its list */
    FINDING_INCOMPLETE,    /* the campaign was not complete when it was exported */
    /* Made by comparing a release's files: */
    FINDING_WINNER_UNTUNED,     /* a tunable solver wins a key and has no params in a perf-db */
    FINDING_ENTRY_UNTUNED,      /* likewise of an entry that does not win */
    FINDING_WINNER_NO_CODE,     /* a kernel that the winner needs is not there */
    FINDING_ENTRY_NO_CODE,      /* likewise of an entry that does not win */
    FINDING_SHARED_NO_CODE,     /* likewise, where several problems share the perf-db row */
    FINDING_WINNER_NOT_IN_SJDB, /* it has no such entry for the key */
    FINDING_PARAMS_INVALID,     /* the solver refuses them for the problem on this target */
    FINDING_NO_PERF_DB, /* a tunable solver of ours wins, and the release has no perf-db at all */
    FINDING_NO_KERNELS, /* a solver of ours wins, and it has neither a kernel-db nor a .sjdb with launches */
    FINDING_CODE_UNSURE, /* other kernels are there than the target's id tells, whose limits it does not */
    FINDING_COUNT,
};

/* "zero time wins". Static. */
const char *finding_name(enum finding finding);
/* A file with it must not be shipped; the others are only good to know. */
bool finding_unfit(enum finding finding);

struct unreadable {
    char *where, *reason; /* "line 12", "config 7", "file" */
};

/* Places kept of each sort; a report of a wholly damaged file stays small. All are counted. */
#define CHECK_PLACES_MAX 1000

struct check_report {
    char *file;
    const char *format; /* "find-db", ..., NULL when the content has no known format; static */
    struct file_target named, content; /* what its name says of its target, and what is in it */
    int64_t keys, entries;             /* what was read */
    int64_t unreadable_count;
    GPtrArray *unreadable; /* struct unreadable *, the first CHECK_PLACES_MAX */
    int64_t changed;       /* keys or rows that were read and are written back differently */
    GPtrArray *changed_at; /* where, the first CHECK_PLACES_MAX */
    int64_t findings[FINDING_COUNT];
    char *first[FINDING_COUNT];       /* where the finding was made first, NULL when never */
    GPtrArray *places[FINDING_COUNT]; /* all of them, of findings that are listed; else NULL */
    /* An export of this program wrote the file, and promises more of it: a manifest lists it, or a .sjdb says
     * so itself. Only checks of releases set `ours`. */
    bool ours, says_ours;
    struct target_bounds bounds; /* of the name's target, else of the content's */
    /* Of a file whose rows are in order, as ours are, the last one tells what comes twice. A check that
     * goes by it ends at a row out of order, and is begun anew with all rows remembered. */
    bool by_order, out_of_order;
};

/* What a file's content says that it is. EXPORT_ERROR_KIND when that is none of the formats. */
bool check_file_kind(const char *path, enum file_kind *kind, GError **error);

/* Checks one file. Never NULL; free with check_report_free(). */
struct check_report *check_file(const char *path);
void check_report_free(struct check_report *report);
typedef struct check_report CheckReport;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CheckReport, check_report_free)

/* Nothing unreadable, nothing changed, no finding that makes it unfit. */
bool check_report_clean(const struct check_report *report);
void check_report_print(const struct check_report *report, FILE *out);
/* One JSON object on one line: file, format, target (null where it is unknown), target_by ("name" or
 * "content"), ours, keys, entries, unreadable [{where, reason}],
 * unreadable_count, changed, changed_at, findings [{kind, count, first, unfit, and
 * places, all of them, of some kinds}], clean. */
void check_report_print_json(const struct check_report *report, FILE *out);

/* Files of the names this field uses and manifests in a folder, in order of their names; or the path itself
 * when it is no folder. Appends to files (g_free). */
bool check_list_files(const char *path, GPtrArray *files, GError **error);

/* ---- what the formats' own checks use (internal to the room) ---- */

/* Forgets what was found. */
void check_begin_anew(struct check_report *report);
/* Whether the text came before. all: of those that did, where the check does not go by order. last: the
 * one before, taken from it; NULL at the first. */
bool check_twice(struct check_report *report, GHashTable *all, GString **last, const char *text);

/* Takes error over. where_format gives the place. */
G_GNUC_PRINTF(3, 4)
void check_unreadable(struct check_report *report, GError *error, const char *where_format, ...);
G_GNUC_PRINTF(3, 4)
void check_found(struct check_report *report, enum finding finding, const char *where_format, ...);
G_GNUC_PRINTF(2, 3)
void check_changed(struct check_report *report, const char *where_format, ...);
/* Of a line's bytes: a carriage return at its end, other bytes that are not printable ASCII (as a byte
 * order mark in front), no line end: what damage and torn files show. */
void check_bytes(struct check_report *report, const struct line *line);
bool check_printable(const char *text);
/* Params of a perf-db's entry: missing, or none that a solver of ours takes today. */
G_GNUC_PRINTF(4, 5)
void check_params(struct check_report *report, const char *solver, const char *params,
                  const char *where_format, ...);

/* Takes up what the file's content says of its target. */
void check_content_target(struct check_report *report, const struct file_target *target);
/* A kernel's name and arguments are as MIOpen makes them. */
void check_kernel_name(struct check_report *report, const char *name, const char *args,
                       const char *noun, int64_t number);
/* It is made for the target, as far as its arguments and its code object's first bytes tell. */
void check_kernel_target(struct check_report *report, const char *args, const void *code,
                         size_t length, const char *noun, int64_t number);
/* A solver's entry for a problem can be of the target. */
G_GNUC_PRINTF(4, 5)
void check_target_solver(struct check_report *report, const struct problem *problem,
                         const char *solver, const char *where_format, ...);

void check_find_db(const char *path, struct check_report *report);
void check_perf_db(const char *path, struct check_report *report);
void check_perf_text(const char *path, struct check_report *report);
void check_kernel_db(const char *path, struct check_report *report);
void check_sjdb(const char *path, struct check_report *report);
/* Also compares the files that it lists, and looks for others of the release beside it. */
void check_manifest(const char *path, struct check_report *report);
/* A report without a format and findings. */
struct check_report *check_report_new(const char *path);

#endif
