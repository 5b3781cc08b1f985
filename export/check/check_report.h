/*
 * The result of checking a file: rows that cannot be read, rows that are written back differently,
 * and findings about valid rows, each counted and with its first place. Checks of files, of
 * releases and of manifests fill one.
 */
#ifndef EXPORT_CHECK_CHECK_REPORT_H
#define EXPORT_CHECK_CHECK_REPORT_H

#include "export/check/target_doubt.h"
#include "export/formats/file_name.h"
#include "export/formats/line_reader.h"

#include <stdio.h>

/* Findings of a check about valid rows and whole files. The numbers are private to this program;
 * scripts see the names. */
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
    FINDING_OTHER_TARGET, /* the content is made for another target than the file's name states */
    FINDING_OTHER_SOLVER, /* the solver cannot run on the target */
    /* a time shorter than the problem's operations take at the target's peak speed */
    FINDING_IMPOSSIBLE_TIME,
    /* solutions that were never measured, in a .sjdb that does not say that it is a build-only export */
    FINDING_NEVER_MEASURED,
    FINDING_MEASURED_BESIDE, /* entries or measured solutions in a build-only export */
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
    /* Findings on manifests: */
    FINDING_FILE_MISSING, /* a listed file is missing */
    FINDING_FILE_DIFFERS, /* a file's size or SHA-256 differs from the list */
    /* a file beside the manifest has a name of the release and is not in the list */
    FINDING_FILE_UNLISTED,
    FINDING_INCOMPLETE, /* the campaign was not complete when it was exported */
    /* Findings on the files of a release, compared with each other: */
    FINDING_WINNER_UNTUNED, /* a tunable solver wins a key, and no perf-db has its params */
    /* a tunable solver has an entry that does not win, and no perf-db has its params */
    FINDING_ENTRY_UNTUNED,
    FINDING_WINNER_NO_CODE, /* a kernel that the winning entry launches is missing */
    FINDING_ENTRY_NO_CODE,  /* a kernel that another entry launches is missing */
    /* a kernel is missing, of an entry whose perf-db row several problems share */
    FINDING_SHARED_NO_CODE,
    FINDING_WINNER_NOT_IN_SJDB, /* the .sjdb lacks the entry that wins the key */
    FINDING_PARAMS_INVALID,     /* the solver refuses the params for the problem on this target */
    FINDING_NO_PERF_DB,         /* a tunable solver of ours wins, and the release has no perf-db */
    FINDING_NO_KERNELS, /* a solver of ours wins, and the release has neither a kernel-db nor a .sjdb with launches */
    FINDING_CODE_UNSURE, /* the kernels differ from those that the target id implies, and the device's limits are unknown */
    FINDING_COUNT,
};

struct unreadable {
    /* where: "line 12", "config 7" or "file"; reason: why it cannot be read */
    char *where, *reason;
};

/* Most unreadable rows, and most changed rows, whose places are kept in memory; further ones are
 * only counted, so that the report of a badly damaged file stays small. */
#define CHECK_PLACES_MAX 1000

struct check_report {
    char *file;
    const char *format; /* "find-db", ...; NULL if the content has no known format; static */
    struct file_target named, content; /* the targets that the file's name and its content state */
    int64_t keys, entries;             /* rows that were read: distinct keys, and their entries */
    int64_t unreadable_count;
    /* struct unreadable *: the first CHECK_PLACES_MAX rows that cannot be read */
    GPtrArray *unreadable;
    int64_t changed; /* number of keys or rows whose text differs when written back */
    /* places of the changed keys or rows, the first CHECK_PLACES_MAX of them */
    GPtrArray *changed_at;
    int64_t findings[FINDING_COUNT];
    char *first[FINDING_COUNT]; /* the first place of each finding, NULL if it was not found */
    /* all places of each finding that is listed place by place; NULL for other findings */
    GPtrArray *places[FINDING_COUNT];
    /* True for files that our exports wrote, in which more findings make unfit. says_ours: a .sjdb
     * names its campaign or golden version. ours: says_ours, or a manifest lists the file; set
     * where a folder or a manifest is checked, not by check_file(). */
    bool ours, says_ours;
    /* limits of the target that the name states, or else the content's */
    struct target_bounds bounds;
    /* by_order: duplicates are found by comparing each row with the one before, which is enough for
     * sorted files such as ours. A row out of order sets out_of_order; the file is then checked
     * again with all rows in memory. */
    bool by_order, out_of_order;
};

/* A report without a format and without findings. Free with check_report_free(). */
struct check_report *check_report_new(const char *path);
void check_report_free(struct check_report *report);
typedef struct check_report CheckReport;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CheckReport, check_report_free)

/* Returns true if nothing is unreadable or changed and no finding makes the file unfit. */
bool check_report_clean(const struct check_report *report);
/* Returns what makes the file unfit, the first thing alone: "zero time in problem 3", "line 12: ...". Free with
 * g_free(); NULL for a clean report. */
char *check_report_fault(const struct check_report *report);
void check_report_print(const struct check_report *report, FILE *out);
/* Prints one JSON object on one line; export/check/CHECK.md lists its members. */
void check_report_print_json(const struct check_report *report, FILE *out);

/* ---- for checks of formats ---- */

/* Removes all findings, to check the file again without relying on the order of its rows. */
void check_begin_anew(struct check_report *report);
/* Returns true if `text` was seen before. `last` holds the text before, NULL at the first; it is enough while rows are in
 * order. `all` holds all earlier texts once report->by_order is false. */
bool check_twice(struct check_report *report, GHashTable *all, GString **last, const char *text);

/* Adds an unreadable row and takes `error` over. where_format prints the row's place: "line 12". */
G_GNUC_PRINTF(3, 4)
void check_unreadable(struct check_report *report, GError *error, const char *where_format, ...);
G_GNUC_PRINTF(3, 4)
void check_found(struct check_report *report, enum finding finding, const char *where_format, ...);
/* Adds a row whose text differs when it is written back. The format prints its place. */
G_GNUC_PRINTF(2, 3)
void check_changed(struct check_report *report, const char *where_format, ...);
/* Adds findings on a line's bytes that damage and other editors cause: a carriage return at the
 * end, a byte order mark or other bytes that are not printable ASCII, a missing line end. */
void check_bytes(struct check_report *report, const struct line *line);
bool check_printable(const char *text);
/* Adds findings on the params of a perf-db entry: params are missing, or our solver refuses them
 * today. The format prints the entry's place. */
G_GNUC_PRINTF(4, 5)
void check_params(struct check_report *report, const char *solver, const char *params,
                  const char *where_format, ...);
/* Notes the target that the file's content states, and takes its limits if the name states no whole
 * target. Adds no finding: the caller compares it with the name. */
void check_content_target(struct check_report *report, const struct file_target *target);
/* Adds a finding if the kernel's name or arguments are not of the form that MIOpen looks up. */
void check_kernel_name(struct check_report *report, const char *name, const char *args,
                       const char *noun, int64_t number);
/* Adds a finding if the kernel's arguments or code object (its first CODE_HEAD_BYTES are enough)
 * state another target. */
void check_kernel_target(struct check_report *report, const char *args, const void *code,
                         size_t length, const char *noun, int64_t number);
/* Adds a finding if the solver cannot run the problem on the target. The format prints the entry's
 * place. */
G_GNUC_PRINTF(4, 5)
void check_target_solver(struct check_report *report, const struct problem *problem,
                         const char *solver, const char *where_format, ...);

#endif
