/*
 * libskipjackdb reads .sjdb files: which solver, with which config and which kernel, computes a
 * convolution fastest on one target. It needs libc and libzstd alone.
 *
 * A file is mapped read-only and never changed. Opening it is constant work. Lookups take no lock
 * and no memory: any number of threads may use one handle, any number of processes one file. All
 * texts that are handed out lie in the mapped file and live until skipjackdb_close().
 *
 * Nothing in a file is believed: damage is told as SKIPJACKDB_DAMAGED, where it is met or by
 * skipjackdb_verify(). A file that somebody cuts short while it is mapped ends the process by
 * SIGBUS, as with any mapped file: replace a database by rename, never in place.
 *
 * Structs that a caller hands in begin with `size`, the sizeof that the caller was compiled with,
 * so that later versions may add fields at their ends.
 */
#ifndef SKIPJACKDB_H
#define SKIPJACKDB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. The numbers never change. */
enum skipjackdb_code {
    SKIPJACKDB_OK = 0,
    SKIPJACKDB_NOT_FOUND = 1, /* The database holds no such thing. */
    SKIPJACKDB_IO = 2,        /* The file cannot be opened or mapped; errno says why. */
    SKIPJACKDB_FORMAT = 3,    /* The file is no .sjdb, or was changed as if it were text. */
    SKIPJACKDB_VERSION = 4,   /* The file is of a newer major version than this library. */
    SKIPJACKDB_TRUNCATED = 5, /* The file has another length than it says. */
    SKIPJACKDB_DAMAGED = 6,   /* A checksum, an offset or an index in the file is wrong. */
    SKIPJACKDB_SYNTAX = 7,    /* A key or a target's id does not follow its grammar. */
    SKIPJACKDB_USAGE = 8,     /* A struct's size or an argument is not possible. */
    SKIPJACKDB_SPACE = 9,     /* The caller's buffer is too small. */
    SKIPJACKDB_MEMORY = 10,   /* There is no memory for a handle. */
};

/* A code in words. Static. */
const char *skipjackdb_error_text(int code);
/* This library's version, "1.1". Static. */
const char *skipjackdb_version(void);

/* ---- a problem ---- */

enum skipjackdb_direction { SKIPJACKDB_F, SKIPJACKDB_B, SKIPJACKDB_W };

enum skipjackdb_type {
    SKIPJACKDB_NO_TYPE, /* of a cast: none */
    SKIPJACKDB_FP32,
    SKIPJACKDB_FP16,
    SKIPJACKDB_BF16,
    SKIPJACKDB_INT8,
    SKIPJACKDB_INT32,
    SKIPJACKDB_FP64,
    SKIPJACKDB_FP8,
    SKIPJACKDB_BF8,
};

enum skipjackdb_layout {
    SKIPJACKDB_NCHW,
    SKIPJACKDB_NHWC,
    SKIPJACKDB_CHWN,
    SKIPJACKDB_NCHWC4,
    SKIPJACKDB_NCHWC8,
    SKIPJACKDB_CHWNC4,
    SKIPJACKDB_CHWNC8,
    SKIPJACKDB_NCDHW,
    SKIPJACKDB_NDHWC,
};

#define SKIPJACKDB_EPILOGUE_MAX 96
#define SKIPJACKDB_KEY_MAX      512

/*
 * A convolution in forward terms, whatever the direction: x is the forward input (c channels, size
 * in[]), w the filter, y the forward output (k channels, size out[]). Sizes are in the order depth,
 * height, width; in 2D the depth's in, fil, out, stride and dilation are 1 and its pad is 0. type,
 * cast and layout are those of x, w, y.
 */
struct skipjackdb_problem {
    size_t size;
    int64_t n, c, k, groups;
    int64_t in[3], fil[3], out[3], pad[3], stride[3], dilation[3];
    int32_t spatial_dim; /* 2 or 3 */
    int32_t direction;   /* enum skipjackdb_direction */
    int32_t type[3];     /* enum skipjackdb_type */
    int32_t cast[3];
    int32_t layout[3];                      /* enum skipjackdb_layout */
    int32_t bias;                           /* 0 or 1 */
    char epilogue[SKIPJACKDB_EPILOGUE_MAX]; /* canonical text ("+bias+relu"), "" for none */
};

/* A 2D FP32 NCHW forward problem with every size 1. problem->size must be set. */
int skipjackdb_problem_init(struct skipjackdb_problem *problem);
/* out[] from the other fields: (in + 2*pad - dilation*(fil-1) - 1)/stride + 1, at least 1. */
int skipjackdb_problem_set_output(struct skipjackdb_problem *problem);
/* Takes a find-db key apart ("64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"), an epilogue
 * behind it too. SKIPJACKDB_SYNTAX where it is none; *problem is then undefined but for its size. */
int skipjackdb_problem_parse(const char *key, struct skipjackdb_problem *problem);
/* Its inverse; SKIPJACKDB_KEY_MAX bytes are enough for what skipjackdb_problem_parse() gives. */
int skipjackdb_problem_key(const struct skipjackdb_problem *problem, char *buffer, size_t size);

/* ---- a database ---- */

typedef struct skipjackdb skipjackdb;

/* Opens a file; *db is NULL unless this returns SKIPJACKDB_OK. */
int skipjackdb_open(const char *path, skipjackdb **db);
/* The same for a file's bytes that the caller holds, unchanged, until skipjackdb_close(). */
int skipjackdb_open_bytes(const void *bytes, size_t length, skipjackdb **db);
/* Ends its use; NULL is fine. No other thread may still use it. */
void skipjackdb_close(skipjackdb *db);
/* Compares every section with its checksum and reads every record once: what a release is checked
 * with. Takes as long as reading the file. */
int skipjackdb_verify(const skipjackdb *db);
/* JSON text about where the data comes from, "" for none. */
const char *skipjackdb_meta(const skipjackdb *db);

/* A section, for those who ask where the bytes go. SKIPJACKDB_NOT_FOUND behind the last. */
struct skipjackdb_section {
    size_t size;
    uint32_t kind;    /* FORMAT.md names them */
    uint32_t width;   /* bits of an item */
    uint64_t items;   /* their count */
    uint64_t bytes;   /* what it takes in the file */
    const char *name; /* "?" for one that this library does not know. Static. */
};
int skipjackdb_section_at(const skipjackdb *db, size_t index, struct skipjackdb_section *section);

/* ---- what is known of a problem ---- */

enum skipjackdb_flags {
    SKIPJACKDB_DYNAMIC = 1, /* one kernel serves all sizes: nothing need be compiled for this one */
    SKIPJACKDB_TUNABLE = 2, /* the solver has configs */
    SKIPJACKDB_FLAGS_KNOWN = 4, /* the two flags above were known when the file was written */
};

struct skipjackdb_entry {
    const char *solver;
    const char *algorithm; /* "miopenConvolutionFwdAlgoGEMM" */
    const char *library;   /* "" unless the entry was read from the older form of find-dbs */
    double time_ms;
    uint64_t workspace_bytes;
    uint32_t revision; /* of the solver, 0 where unknown */
    uint32_t flags;    /* of enum skipjackdb_flags */
};

/* How many problems have find entries; they are numbered from 0. */
uint64_t skipjackdb_problem_count(const skipjackdb *db);
/* The problem with that number; problem->size must be set. */
int skipjackdb_problem_at(const skipjackdb *db, uint64_t number,
                          struct skipjackdb_problem *problem);
/* A problem's number. SKIPJACKDB_NOT_FOUND where the database does not hold it. */
int skipjackdb_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                    uint64_t *number);
/* The same for a key's text. */
int skipjackdb_find_key(const skipjackdb *db, const char *key, uint64_t *number);

/* The entries of a problem in the order of the database: at most `room` of them into entries, each
 * entry_size (sizeof *entries) bytes; *count is how many there are. */
int skipjackdb_entries(const skipjackdb *db, uint64_t number, struct skipjackdb_entry *entries,
                       size_t entry_size, size_t room, size_t *count);

struct skipjackdb_limits {
    size_t size;
    uint64_t workspace_bytes; /* no entry with more; UINT64_MAX: any */
    uint32_t flags;           /* flags that the entry must have, of enum skipjackdb_flags */
};
/* The fastest entry within the limits (NULL: none). Times that are not above 0 never win. */
int skipjackdb_best(const skipjackdb *db, uint64_t number, const struct skipjackdb_limits *limits,
                    struct skipjackdb_entry *entry, size_t entry_size);

/* ---- perf configs ----
 * Where tuning comes from a perf-db it is known by row, which is less than a problem: it says nothing of
 * the output's size, of the tensors' other layouts, of casts and epilogues. Problems that differ in
 * these alone share it. Problems with solutions (below) have their own. */

struct skipjackdb_perf_entry {
    const char *solver;
    const char *params; /* the config's text, as the solver writes it */
    uint32_t revision;  /* as in struct skipjackdb_entry */
    uint32_t flags;
};

/* How many rows there are; they are numbered from 0. */
uint64_t skipjackdb_perf_count(const skipjackdb *db);
/* A problem that has the row: the output's size follows the formula, for B and W from the least input
 * that gives the row; all layouts are the one of the row. problem->size must be set. */
int skipjackdb_perf_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem);
/* The number of a problem's row. */
int skipjackdb_perf_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                         uint64_t *number);
/* The row's entries by solver's name, as skipjackdb_entries() gives them. */
int skipjackdb_perf_entries(const skipjackdb *db, uint64_t number,
                            struct skipjackdb_perf_entry *entries, size_t entry_size, size_t room,
                            size_t *count);
/* The params of one solver for a problem: its solution's, or where it has none its row's. */
int skipjackdb_params(const skipjackdb *db, const struct skipjackdb_problem *problem,
                      const char *solver, const char **params);

/* ---- solutions ----
 * How a solver computes a problem: which kernels are launched, with what. To run one, load the code
 * object of each launch (skipjackdb_kernel_read()), get a buffer of workspace_bytes, and make the
 * launches one after the other in one queue. */

#define SKIPJACKDB_LAUNCHES_MAX 64  /* of a solution, that a file may hold */
#define SKIPJACKDB_ARGS_MAX     256 /* of a launch */

struct skipjackdb_solution {
    const char *solver;
    const char *params; /* the config's text, "" for none */
    uint64_t workspace_bytes;
    uint64_t number; /* of the recipe, for skipjackdb_launch_at(); problems may share it */
    uint32_t launch_count;
    uint32_t revision; /* as in struct skipjackdb_entry */
    uint32_t flags;
};

/* How many problems have solutions; they are numbered from 0, apart from those with entries. */
uint64_t skipjackdb_solved_count(const skipjackdb *db);
/* The problem with that number; problem->size must be set. */
int skipjackdb_solved_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem);
/* A problem's number. */
int skipjackdb_solved_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                           uint64_t *number);
/* Its solutions by solver's name, as skipjackdb_entries() gives entries. */
int skipjackdb_solutions(const skipjackdb *db, uint64_t number,
                         struct skipjackdb_solution *solutions, size_t solution_size, size_t room,
                         size_t *count);
/* That of one solver for a problem. */
int skipjackdb_solution(const skipjackdb *db, const struct skipjackdb_problem *problem,
                        const char *solver, struct skipjackdb_solution *solution,
                        size_t solution_size);

struct skipjackdb_launch {
    size_t size;
    uint64_t number;   /* for skipjackdb_args() */
    uint64_t kernel;   /* whose code object it is, for skipjackdb_kernel_at() */
    const char *entry; /* the kernel's name in it */
    int64_t grid[3];   /* work-items in all, a multiple of block */
    int32_t block[3];  /* work-items a workgroup */
    uint32_t arg_count;
    uint64_t local_bytes; /* dynamic local memory; CUDA wants to be asked for more than 48 KiB */
};
/* A solution's launches in their order, from 0. SKIPJACKDB_NOT_FOUND behind the last. */
int skipjackdb_launch_at(const skipjackdb *db, const struct skipjackdb_solution *solution,
                         uint32_t index, struct skipjackdb_launch *launch);

enum skipjackdb_tensor { SKIPJACKDB_TENSOR_X, SKIPJACKDB_TENSOR_W, SKIPJACKDB_TENSOR_Y };

enum skipjackdb_arg_kind {
    SKIPJACKDB_ARG_TENSOR,    /* a pointer to that tensor */
    SKIPJACKDB_ARG_WORKSPACE, /* a pointer `value` bytes into the workspace */
    SKIPJACKDB_ARG_INT32,     /* `value` as a 32-bit integer */
    SKIPJACKDB_ARG_INT64,     /* `value` as a 64-bit integer */
    SKIPJACKDB_ARG_FLOAT32,   /* `real` */
    SKIPJACKDB_ARG_STRIDE,    /* a stride of that tensor times `factor`, as a 64-bit integer */
};

/* One argument of a launch, in the kernel's order. A kernel takes tensors of any strides: `value` is
 * right for packed ones of the problem's layouts. Whose tensors are not packed gives the stride in
 * elements of axis (0 N or K, 1 C, 2 D, 3 H, 4 W) times factor. */
struct skipjackdb_arg {
    int32_t kind;   /* enum skipjackdb_arg_kind */
    int32_t tensor; /* enum skipjackdb_tensor */
    int32_t axis;
    float real;
    int64_t value, factor;
};
/* All arguments of a launch into args, each arg_size (sizeof *args) bytes; SKIPJACKDB_SPACE where room is
 * less than launch->arg_count. Without a problem (NULL) the values of strides are 0. */
int skipjackdb_args(const skipjackdb *db, const struct skipjackdb_launch *launch,
                    const struct skipjackdb_problem *problem, struct skipjackdb_arg *args,
                    size_t arg_size, size_t room);

/* Strides in elements of a packed tensor's axes, N C D H W (of the filter K C D H W, C a group's), and
 * how many elements it has (NULL: of no interest). Where channels lie in blocks, that of C is from block
 * to block. */
int skipjackdb_strides(const struct skipjackdb_problem *problem, int32_t tensor, int64_t strides[5],
                       int64_t *elements);

/* ---- kernels ----
 * Code objects by kernel-db's identity: the source file's name with ".o", and the compile options. They
 * are kept compressed; reading one takes memory, a few hundred KiB that are given back, and up to a
 * millisecond. What is handed out has the checksum that it was written with. */

struct skipjackdb_kernel {
    size_t size;
    uint64_t text_bytes; /* of name and args, with the NUL that ends each */
    uint64_t code_bytes;
};

/* How many there are; they are numbered from 0, in the order in which reading all is quickest. */
uint64_t skipjackdb_kernel_count(const skipjackdb *db);
int skipjackdb_kernel_at(const skipjackdb *db, uint64_t number, struct skipjackdb_kernel *kernel);
/* Name and args one behind the other, each with its NUL, into text, and the code object into code;
 * either may be NULL. The rooms are those of struct skipjackdb_kernel or more, else
 * SKIPJACKDB_SPACE. */
int skipjackdb_kernel_read(const skipjackdb *db, uint64_t number, char *text, size_t text_room,
                           void *code, size_t code_room);
/* The code object of that name and args into code. *code_bytes becomes its size, also when this
 * returns SKIPJACKDB_SPACE because the room is too small: with no room it asks for the size. */
int skipjackdb_kernel(const skipjackdb *db, const char *name, const char *args, void *code,
                      size_t room, size_t *code_bytes);

/* ---- choosing ----
 * An answer for any problem, and how it was found: from what was measured for it, else from what was
 * measured on other targets and for the nearest problems, else by the estimates of the caller's solvers.
 * The rules are in export/sjdb/reader/README.md. No lock, no memory; 0.15 ms in a file of 95,000 problems where the
 * problem is not held. */

#define SKIPJACKDB_UNKNOWN UINT64_MAX /* of a workspace, a number */

enum skipjackdb_mode {
    SKIPJACKDB_NORMAL, /* the fastest */
    SKIPJACKDB_FAST,   /* the fastest dynamic one */
    SKIPJACKDB_HYBRID, /* the fastest where nothing need be compiled for it; else as fast, and beside
                        * that the fastest, to be compiled meanwhile */
};

enum skipjackdb_answer {
    SKIPJACKDB_NO,     /* the solver is not there, or cannot compute this problem */
    SKIPJACKDB_YES,    /* it computes it */
    SKIPJACKDB_UNSURE, /* the caller does not know the solver */
};

/* What a caller is asked about. What he knows better than the file, he puts in. */
struct skipjackdb_candidate {
    size_t size;
    const char *solver;
    const char *algorithm;    /* "" where unknown */
    const char *params;       /* NULL for none; a caller who refuses them sets NULL */
    uint64_t workspace_bytes; /* SKIPJACKDB_UNKNOWN unless it was measured for this problem */
    uint32_t revision;        /* 0 where unknown */
    uint32_t flags;           /* of enum skipjackdb_flags */
};

struct skipjackdb_rules {
    size_t size;
    uint64_t workspace_bytes; /* no answer that needs more, or an unknown size; UINT64_MAX: any */
    int32_t mode;             /* enum skipjackdb_mode */
    /* How many of the databases, the first included, are of the target's own architecture; 0 is 1.
     * What one of these holds of the problem counts more than the nearest problem of the first. */
    uint32_t near;
    /* The caller's own solvers: those that `estimate` is asked about. NULL: all that the files name. */
    const char *const *solvers;
    size_t solver_count;
    /* Both may be NULL. applicable() returns enum skipjackdb_answer; estimate() a solver's relative worth,
     * higher is better, not above 0 for none. Called by the thread that asks, before it has its answer. */
    int (*applicable)(void *user, const struct skipjackdb_problem *problem,
                      struct skipjackdb_candidate *candidate);
    double (*estimate)(void *user, const struct skipjackdb_problem *problem, const char *solver);
    void *user;
};

enum skipjackdb_how {
    SKIPJACKDB_NOWHERE,      /* there is no answer */
    SKIPJACKDB_EXACT,        /* the problem was measured on the target */
    SKIPJACKDB_OTHER_TARGET, /* it was measured on another one */
    SKIPJACKDB_NEAREST,      /* problems near to it were measured */
    SKIPJACKDB_ESTIMATE,     /* the solver's own estimate is the highest */
};

enum skipjackdb_marks {
    SKIPJACKDB_UNCHECKED = 1,        /* nobody has said that the solver can compute this problem */
    SKIPJACKDB_TIME_SCALED = 2,      /* the nearest problem's, by the ratio of operations */
    SKIPJACKDB_TIME_FOREIGN = 4,     /* measured on another target */
    SKIPJACKDB_WORKSPACE_SCALED = 8, /* the nearest problem's, by the tensor that grows most */
    SKIPJACKDB_PARAMS_FOREIGN = 16,  /* of another problem or target: they may be invalid here */
    /* The target's own file holds its launches with their code objects (skipjackdb_solution()): nothing
     * need be compiled. */
    SKIPJACKDB_READY = 32,
};

struct skipjackdb_choice {
    size_t size;
    int32_t how;    /* enum skipjackdb_how */
    uint32_t marks; /* of enum skipjackdb_marks */
    const char *solver;
    const char *algorithm;    /* "" where unknown */
    const char *library;      /* as in struct skipjackdb_entry */
    const char *params;       /* NULL where none are known */
    double time_ms;           /* 0 where unknown */
    uint64_t workspace_bytes; /* or SKIPJACKDB_UNKNOWN */
    uint32_t revision, flags;
    /* Where it comes from: which database, which of its problems, and how far that is from the one asked
     * for, 0 where it is the same. An estimate comes from none: db is then the number of databases. A
     * solver with launches but no entry is of no such number: SKIPJACKDB_UNKNOWN. */
    uint64_t db, problem;
    double distance;
};

/* Answers for a problem from databases of which the first is the target's own (NULL: there is none) and
 * the others those of other targets, nearest first. Rules may be NULL. Hybrid puts what is to be compiled
 * meanwhile into *later (NULL: not wanted), whose `how` is SKIPJACKDB_NOWHERE where *choice is the
 * fastest, as it always is in the other modes; where no solver is dynamic, *choice is the one to compile.
 * SKIPJACKDB_NOT_FOUND where nobody knows an answer. SKIPJACKDB_DAMAGED: choice->db is the database. */
int skipjackdb_choose(skipjackdb *const *dbs, size_t count,
                      const struct skipjackdb_problem *problem,
                      const struct skipjackdb_rules *rules, struct skipjackdb_choice *choice,
                      struct skipjackdb_choice *later);

/* How near two targets are: their ids, or file names that begin with them ("gfx90a68.sjdb"). */
enum skipjackdb_kinship {
    SKIPJACKDB_SAME_TARGET,
    SKIPJACKDB_SAME_ARCHITECTURE, /* other units, memory, features or part of a card: what one
                                   * runs, the other does */
    SKIPJACKDB_SAME_FAMILY,
    SKIPJACKDB_SAME_VENDOR,
    SKIPJACKDB_STRANGERS,
};
/* *distance orders targets of one kinship, the nearer the smaller. SKIPJACKDB_SYNTAX where one is no
 * target's id. */
int skipjackdb_target_compare(const char *target, const char *other, int *kinship,
                              uint64_t *distance);

/* All .sjdb files of a folder that are named after targets of the same vendor, opened, nearest first. */
typedef struct skipjackdb_folder skipjackdb_folder;
struct skipjackdb_file {
    size_t size;
    const char *name; /* without the folder. Lives as long as the folder */
    int32_t code;     /* what opening it said */
    int32_t kinship;
};
/* *folder is NULL unless this returns SKIPJACKDB_OK: SKIPJACKDB_IO with errno where it cannot be read.
 * Files that do not open are left out, which skipjackdb_folder_file() tells. */
int skipjackdb_folder_open(const char *path, const char *target, skipjackdb_folder **folder);
/* For skipjackdb_choose(): the first is NULL where no file is the target's own. *near is for the rules. */
skipjackdb *const *skipjackdb_folder_dbs(const skipjackdb_folder *folder, size_t *count,
                                         uint32_t *near);
/* The file of the database with that index; behind the databases, those left out because of their code;
 * SKIPJACKDB_NOT_FOUND for an index behind them all, and for a first database that is NULL. */
int skipjackdb_folder_file(const skipjackdb_folder *folder, size_t index,
                           struct skipjackdb_file *file);
/* Closes its databases too; NULL is fine. */
void skipjackdb_folder_close(skipjackdb_folder *folder);

#ifdef __cplusplus
}
#endif

#endif
