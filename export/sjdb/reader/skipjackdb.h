/*
 * libskipjackdb reads .sjdb files: which solver, with which config and which kernel, computes a
 * convolution or another operator of a network fastest on one target. It needs libc and libzstd
 * alone.
 *
 * A file is mapped read-only and never changed. Opening it is constant work. Lookups take no lock
 * and no memory: any number of threads may use one handle, any number of processes one file. All
 * texts that are handed out lie in the mapped file and live until skipjackdb_close().
 *
 * Files are not trusted: functions that meet damage return SKIPJACKDB_DAMAGED, and
 * skipjackdb_verify() looks for all of it. A file that somebody cuts short while it is mapped ends
 * the process by SIGBUS, as with any mapped file: replace a database by rename, never in place.
 *
 * Structs that a caller hands in begin with `size`, the sizeof that the caller was compiled with,
 * so that later versions may add fields at their ends. A program that was compiled before a field
 * existed goes on: a file's problems that its struct skipjackdb_problem cannot express are not
 * counted for it, and solutions that it cannot run are not given to it.
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
    SKIPJACKDB_VERSION = 4,   /* The file has a newer major version than this library. */
    SKIPJACKDB_TRUNCATED = 5, /* The file's length is not the one that it states. */
    SKIPJACKDB_DAMAGED = 6,   /* A checksum, an offset or an index in the file is wrong. */
    SKIPJACKDB_SYNTAX = 7,    /* A key or a target's id does not follow its grammar. */
    SKIPJACKDB_USAGE = 8,     /* A struct's size or an argument is invalid. */
    SKIPJACKDB_SPACE = 9,     /* The caller's buffer is too small. */
    SKIPJACKDB_MEMORY = 10,   /* Memory could not be allocated. */
};

/* Returns the text of a code. Static. */
const char *skipjackdb_error_text(int code);
/* Returns the version of this library, such as "1.5". Static. */
const char *skipjackdb_version(void);

/* ---- a problem ---- */

enum skipjackdb_direction { SKIPJACKDB_F, SKIPJACKDB_B, SKIPJACKDB_W };

enum skipjackdb_type {
    SKIPJACKDB_NO_TYPE, /* in skipjackdb_problem.cast: the tensor is not cast */
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
#define SKIPJACKDB_MODE_MAX     48
#define SKIPJACKDB_KEY_MAX      1024

/* The operators. All but SKIPJACKDB_CONV are forward only, without filter tensor, groups and bias;
 * `mode` has their own parameters, solvers/FORMATS.md says which. */
enum skipjackdb_kind {
    SKIPJACKDB_CONV,
    SKIPJACKDB_POOL,
    SKIPJACKDB_POINTWISE,
    SKIPJACKDB_SOFTMAX,
    SKIPJACKDB_RESIZE,
    SKIPJACKDB_LRN,
};

/*
 * An operator in forward terms, whatever the direction: x is the forward input (c channels, size
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
    int32_t layout[3]; /* enum skipjackdb_layout */
    int32_t bias;      /* 0 or 1 */
    /* canonical text of operations behind the convolution ("+bias+relu"); "" for none */
    char epilogue[SKIPJACKDB_EPILOGUE_MAX];
    /* since 1.2: */
    int32_t kind; /* enum skipjackdb_kind */
    /* the operator's parameters ("max" of a pool); "" for none. Since 1.3 "TF32" for a convolution whose
     * FP32 operands may be rounded to TF32 before they are multiplied: another problem than the one in full
     * FP32, which is never answered by it. */
    char mode[SKIPJACKDB_MODE_MAX];
    /* Strides in elements of x, w, y and the residual, each for the axes N C D H W (K C D H W of w).
     * A tensor whose strides are all 0 is packed. In layouts with blocks of channels C steps from
     * block to block. An axis of one step has stride 0. All tensors of a convolution begin at multiples of
     * 16 bytes, also those that are parts of others: kernels load and store so much at once. */
    int64_t strides[4][5];
};

/* Sets a 2D FP32 NCHW forward problem with every size 1. problem->size must be set. */
int skipjackdb_problem_init(struct skipjackdb_problem *problem);
/* Sets out[] from the other fields: (in + 2*pad - dilation*(fil-1) - 1)/stride + 1, at least 1. */
int skipjackdb_problem_set_output(struct skipjackdb_problem *problem);
/* Parses a canonical key (solvers/FORMATS.md): a find-db key
 * ("64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"), also with an operator in front of it and
 * strides and an epilogue behind it. SKIPJACKDB_SYNTAX for any other text, and for a key that the
 * caller's struct cannot express; all fields of *problem but its size are then undefined. */
int skipjackdb_problem_parse(const char *key, struct skipjackdb_problem *problem);
/* Writes the key: the inverse of skipjackdb_problem_parse(), for whose results SKIPJACKDB_KEY_MAX
 * bytes are enough. */
int skipjackdb_problem_key(const struct skipjackdb_problem *problem, char *buffer, size_t size);

/* ---- operands and epilogue ---- */

enum skipjackdb_tensor {
    SKIPJACKDB_TENSOR_X,
    SKIPJACKDB_TENSOR_W,
    SKIPJACKDB_TENSOR_Y,
    /* since 1.2: */
    SKIPJACKDB_TENSOR_RESIDUAL, /* the second tensor of a step, as large as the output */
    /* a value for each channel of the output: INT32 where x is INT8, FP64 where x is FP64, else FP32 */
    SKIPJACKDB_TENSOR_BIAS,
    /* FP32: a value for each channel of the output, or one for all; behind them one more, by which a
     * residual of an integer type is multiplied */
    SKIPJACKDB_TENSOR_SCALES,
    SKIPJACKDB_TENSOR_PACKED, /* the filter as a solution packs it (struct skipjackdb_solution) */
};

struct skipjackdb_operand {
    size_t size;
    int32_t type;       /* enum skipjackdb_type */
    int32_t layout;     /* enum skipjackdb_layout; SKIPJACKDB_NCHW for bias and scales */
    int64_t sizes[5];   /* of the axes N C D H W (K C D H W of w, with a group's C) */
    int64_t strides[5]; /* in elements; the problem's own, or those of a packed tensor */
    uint64_t elements;  /* from the first to the last in memory */
    uint64_t bytes;     /* the same in bytes */
};
/* Describes an operand of a problem (enum skipjackdb_tensor, all but SKIPJACKDB_TENSOR_PACKED).
 * SKIPJACKDB_NOT_FOUND if the problem has no such operand, SKIPJACKDB_SYNTAX if its epilogue does not
 * follow its grammar. operand->size must be set. */
int skipjackdb_operand_at(const struct skipjackdb_problem *problem, int32_t tensor,
                          struct skipjackdb_operand *operand);

/* The steps of an epilogue, in the order of solvers/FORMATS.md. The numbers never change. */
enum skipjackdb_step_op {
    SKIPJACKDB_STEP_BIAS = 1,
    SKIPJACKDB_STEP_SCALE,
    SKIPJACKDB_STEP_REQUANT,
    SKIPJACKDB_STEP_ADD,
    SKIPJACKDB_STEP_SUB,
    SKIPJACKDB_STEP_MUL,
    SKIPJACKDB_STEP_DIV,
    SKIPJACKDB_STEP_MAX,
    SKIPJACKDB_STEP_MIN,
    SKIPJACKDB_STEP_RELU,
    SKIPJACKDB_STEP_CLIP,
    SKIPJACKDB_STEP_LEAKY,
    SKIPJACKDB_STEP_PRELU,
    SKIPJACKDB_STEP_ELU,
    SKIPJACKDB_STEP_AFFINE,
    SKIPJACKDB_STEP_HARDSIGMOID,
    SKIPJACKDB_STEP_SIGMOID,
    SKIPJACKDB_STEP_TANH,
    SKIPJACKDB_STEP_EXP,
    SKIPJACKDB_STEP_SQRT,
    SKIPJACKDB_STEP_ABS,
    SKIPJACKDB_STEP_ERF,
    SKIPJACKDB_STEP_SILU,
    SKIPJACKDB_STEP_HARDSWISH,
    SKIPJACKDB_STEP_SOFTPLUS,
    SKIPJACKDB_STEP_MISH,
    SKIPJACKDB_STEP_GELU,
};
struct skipjackdb_step {
    size_t size;
    int32_t op;          /* enum skipjackdb_step_op */
    int32_t tensor;      /* the operand that the step reads (enum skipjackdb_tensor); -1 for none */
    int32_t type;        /* type of the residual, or of the output behind requant; else 0 */
    int32_t layout;      /* of the residual */
    int32_t per_channel; /* 1 if the step reads a scale of each channel */
    double a, b;         /* its numbers, in their order; else 0 */
};
/* Reads a step of the problem's epilogue; indices count from 0. SKIPJACKDB_NOT_FOUND behind the last
 * one, SKIPJACKDB_SYNTAX for a text that does not follow the grammar. step->size must be set. */
int skipjackdb_step_at(const struct skipjackdb_problem *problem, uint32_t index,
                       struct skipjackdb_step *step);

/* ---- a database ---- */

typedef struct skipjackdb skipjackdb;

/* Opens a file; *db is NULL unless this returns SKIPJACKDB_OK. */
int skipjackdb_open(const char *path, skipjackdb **db);
/* Opens a file's bytes in memory, which the caller keeps unchanged until skipjackdb_close(). */
int skipjackdb_open_bytes(const void *bytes, size_t length, skipjackdb **db);
/* Closes a database; NULL is allowed. No other thread may still use it. */
void skipjackdb_close(skipjackdb *db);
/* Compares every section with its checksum and reads every record once: what a release is checked
 * with. Takes as long as reading the file. */
int skipjackdb_verify(const skipjackdb *db);
/* Returns the file's JSON text about where its data comes from; "" if it has none. */
const char *skipjackdb_meta(const skipjackdb *db);

/* Describes a section of the file, to see where its bytes go. SKIPJACKDB_NOT_FOUND for an index
 * behind the last one. */
struct skipjackdb_section {
    size_t size;
    uint32_t kind;    /* number of the section's kind, see FORMAT.md */
    uint32_t width;   /* bits of an item */
    uint64_t items;   /* their count */
    uint64_t bytes;   /* bytes that the section takes in the file */
    const char *name; /* the kind's name, "?" for a kind that this library does not know. Static. */
};
int skipjackdb_section_at(const skipjackdb *db, size_t index, struct skipjackdb_section *section);

/* ---- what is known of a problem ---- */

enum skipjackdb_flags {
    SKIPJACKDB_DYNAMIC =
        1, /* one kernel serves all sizes, so nothing has to be compiled for a new problem */
    SKIPJACKDB_TUNABLE = 2, /* the solver has configs */
    /* unless set, the file's writer did not know the two flags above, and both are 0 */
    SKIPJACKDB_FLAGS_KNOWN = 4,
    /* since 1.2; all 0 unless SKIPJACKDB_FORMS_KNOWN is set: */
    SKIPJACKDB_ANY_STRIDES = 8, /* its launches take tensors of any strides */
    SKIPJACKDB_DOES_BIAS = 16,  /* the steps of an epilogue that it does */
    SKIPJACKDB_DOES_ACTIVATION = 32,
    SKIPJACKDB_DOES_RESIDUAL = 64, /* a residual of the output's layout and strides */
    SKIPJACKDB_DOES_SCALES = 128,
    SKIPJACKDB_DOES_ANY_RESIDUAL = 256,
    SKIPJACKDB_FORMS_KNOWN = 512,
    SKIPJACKDB_OWN_STRIDES = 1024, /* it serves strided tensors, with launches for these strides */
};

struct skipjackdb_entry {
    const char *solver;
    const char *algorithm; /* name of the algorithm, such as "miopenConvolutionFwdAlgoGEMM" */
    const char *library;   /* "" unless the entry comes from the older form of find-dbs */
    double time_ms;
    uint64_t workspace_bytes;
    uint32_t revision; /* revision of the solver that was measured; 0 if unknown */
    uint32_t flags;    /* of enum skipjackdb_flags */
    /* since 1.4: the interval, in milliseconds, that holds the median of all runs with 95 % confidence, as
     * the entry's second measurement found it: low_ms <= time_ms <= high_ms. Two entries whose intervals
     * meet are as fast, as far as was measured. Both are 0 for an entry that was not measured a second
     * time: the precision of its time is not known. */
    double low_ms, high_ms;
};

/* Returns how many problems have find entries, of those that a struct skipjackdb_problem of this
 * size can express. They are numbered from 0. */
uint64_t skipjackdb_problems(const skipjackdb *db, size_t problem_size);
/* The same for the struct as it was before 1.2. Programs that are compiled with this header count all
 * that it can express. */
uint64_t skipjackdb_problem_count(const skipjackdb *db);
#define skipjackdb_problem_count(db) skipjackdb_problems(db, sizeof(struct skipjackdb_problem))
/* Sets *problem to the problem with this number. The caller sets problem->size first.
 * SKIPJACKDB_SPACE if the caller's struct cannot express it. */
int skipjackdb_problem_at(const skipjackdb *db, uint64_t number,
                          struct skipjackdb_problem *problem);
/* Sets *number to the problem's number. SKIPJACKDB_NOT_FOUND if the database does not hold the
 * problem. */
int skipjackdb_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                    uint64_t *number);
/* Does the same for a problem given as a key. */
int skipjackdb_find_key(const skipjackdb *db, const char *key, uint64_t *number);

/* Writes the entries of a problem, in the order of the database, to `entries`: at most `room`, each
 * entry_size (sizeof *entries) bytes. *count becomes the number of all. A caller whose struct is from
 * before 1.4 gets the same entries without intervals. */
int skipjackdb_entries(const skipjackdb *db, uint64_t number, struct skipjackdb_entry *entries,
                       size_t entry_size, size_t room, size_t *count);

struct skipjackdb_limits {
    size_t size;
    uint64_t workspace_bytes; /* most workspace that an entry may need; UINT64_MAX for no limit */
    uint32_t flags;           /* flags that the entry must have, bits of enum skipjackdb_flags */
};
/* Finds the fastest entry within the limits (NULL for no limits). Times that are not above 0 never
 * win. */
int skipjackdb_best(const skipjackdb *db, uint64_t number, const struct skipjackdb_limits *limits,
                    struct skipjackdb_entry *entry, size_t entry_size);

/* ---- perf configs ----
 * Where tuning comes from a perf-db it is known by row, which is less than a problem: it says nothing of
 * the output's size, of the tensors' other layouts, of casts and epilogues. Problems that differ in
 * these alone share it. Problems with solutions (below) have their own. */

struct skipjackdb_perf_entry {
    const char *solver;
    const char *params; /* the config's text, as the solver writes it */
    uint32_t revision;  /* revision of the solver, as in struct skipjackdb_entry */
    uint32_t flags;
};

/* Returns how many perf-db rows the database holds. They are numbered from 0. */
uint64_t skipjackdb_perf_count(const skipjackdb *db);
/* Sets the problem that represents the row. Its output size follows the formula, for B and W from
 * the smallest input that gives the row; all its layouts are the row's one. problem->size must be
 * set. */
int skipjackdb_perf_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem);
/* Sets *number to the number of the perf-db row that the problem belongs to. */
int skipjackdb_perf_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                         uint64_t *number);
/* Writes the row's params, one entry for each solver, sorted by solver. entry_size, room and count
 * are as in skipjackdb_entries(). */
int skipjackdb_perf_entries(const skipjackdb *db, uint64_t number,
                            struct skipjackdb_perf_entry *entries, size_t entry_size, size_t room,
                            size_t *count);
/* Finds the params with which a solver computes a problem: those of its solution if the database
 * holds one, else those of the problem's perf-db row. */
int skipjackdb_params(const skipjackdb *db, const struct skipjackdb_problem *problem,
                      const char *solver, const char **params);

/* ---- solutions ----
 * How a solver computes a problem: which kernels are launched, with what. To run one, load the code
 * object of each launch (skipjackdb_kernel_read()), get a buffer of workspace_bytes, and make the
 * launches one after the other in one queue. */

#define SKIPJACKDB_LAUNCHES_MAX 64  /* most launches of a solution */
#define SKIPJACKDB_ARGS_MAX     256 /* most arguments of a launch */

struct skipjackdb_solution {
    const char *solver;
    const char *params; /* text of the config that the solution was made with; "" for none */
    uint64_t workspace_bytes;
    /* number of the recipe (params, workspace and launches), which skipjackdb_launch_at() uses;
     * problems may share a recipe */
    uint64_t number;
    uint32_t launch_count;
    uint32_t revision; /* revision of the solver, as in struct skipjackdb_entry */
    uint32_t flags;
    /* since 1.2: the first pack_count launches write the filter into a buffer of packed_bytes
     * (SKIPJACKDB_TENSOR_PACKED), in an order that depends on the problem and the params alone. Run
     * them once for each filter; run the others as often as needed. Both are 0 for a solution that
     * reads the filter as it is. */
    uint64_t packed_bytes;
    uint32_t pack_count;
};

/* Returns how many problems have solutions, of those that a struct skipjackdb_problem of this size can
 * express. They are numbered from 0, independently of those with entries. Solutions that pack the
 * filter are kept apart, so a problem may have two numbers: one for them, one for its others. */
uint64_t skipjackdb_solved(const skipjackdb *db, size_t problem_size);
/* The same for the struct as it was before 1.2. */
uint64_t skipjackdb_solved_count(const skipjackdb *db);
#define skipjackdb_solved_count(db) skipjackdb_solved(db, sizeof(struct skipjackdb_problem))
/* Sets *problem to the problem with this number. The caller sets problem->size first. */
int skipjackdb_solved_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem);
/* Sets *number to the problem's number among those with solutions: the lower one if it has two. */
int skipjackdb_solved_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                           uint64_t *number);
/* Sets *other to the problem's second number. SKIPJACKDB_NOT_FOUND if it has one alone. */
int skipjackdb_solved_other(const skipjackdb *db, const struct skipjackdb_problem *problem,
                            uint64_t *other);
/* Writes the solutions of a problem's number, sorted by solver. solution_size, room and count are as
 * in skipjackdb_entries(). A caller whose struct is from before 1.2 gets none that packs filters or
 * has other operands than x, w and y. */
int skipjackdb_solutions(const skipjackdb *db, uint64_t number,
                         struct skipjackdb_solution *solutions, size_t solution_size, size_t room,
                         size_t *count);
/* Finds the solution of one solver for a problem, among all. */
int skipjackdb_solution(const skipjackdb *db, const struct skipjackdb_problem *problem,
                        const char *solver, struct skipjackdb_solution *solution,
                        size_t solution_size);

/* ---- solutions that were never measured (since 1.5) ----
 * A build-only export holds solutions that were compiled for the target and run by nobody: no time of them is
 * known, nor whether their results are right. They are complete in all else: launches, arguments, workspace and
 * code objects. No function above finds them, so a program gets one only by asking for it here, or by
 * skipjackdb_rules.unmeasured. Check the results of what you run. */

/* Returns how many problems have such solutions, of those that a struct skipjackdb_problem of this size can
 * express. They are numbered from 0, independently of all others. */
uint64_t skipjackdb_unmeasured(const skipjackdb *db, size_t problem_size);
/* Sets *problem to the problem with this number. The caller sets problem->size first. */
int skipjackdb_unmeasured_at(const skipjackdb *db, uint64_t number,
                             struct skipjackdb_problem *problem);
/* Sets *number to the problem's number among those with such solutions. */
int skipjackdb_unmeasured_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                               uint64_t *number);
/* Writes the problem's solutions in the order in which they should be tried: the solver of the best estimate
 * first, and of a solver its default config first. A solver comes once for each config that was built.
 * solution_size, room and count are as in skipjackdb_entries(). skipjackdb_launch_at() reads their launches. */
int skipjackdb_unmeasured_solutions(const skipjackdb *db, uint64_t number,
                                    struct skipjackdb_solution *solutions, size_t solution_size,
                                    size_t room, size_t *count);
/* Finds one of them: of this solver (NULL for any; then params must be NULL, too) and config (`params`, NULL
 * for any), the first in that order. */
int skipjackdb_unmeasured_solution(const skipjackdb *db, const struct skipjackdb_problem *problem,
                                   const char *solver, const char *params,
                                   struct skipjackdb_solution *solution, size_t solution_size);

struct skipjackdb_launch {
    size_t size;
    uint64_t number;   /* number of the launch, which skipjackdb_args() uses */
    uint64_t kernel;   /* number of the kernel to launch, for skipjackdb_kernel_at() */
    const char *entry; /* name of the kernel's function in the code object */
    int64_t grid[3];   /* number of work-items on each axis, a multiple of block */
    int32_t block[3];  /* number of work-items of a workgroup on each axis */
    uint32_t arg_count;
    /* bytes of dynamic local memory; in CUDA more than 48 KiB must be requested */
    uint64_t local_bytes;
};
/* Reads a launch of a solution; indices count from 0 in the order in which the launches run.
 * SKIPJACKDB_NOT_FOUND behind the last one. */
int skipjackdb_launch_at(const skipjackdb *db, const struct skipjackdb_solution *solution,
                         uint32_t index, struct skipjackdb_launch *launch);

enum skipjackdb_arg_kind {
    SKIPJACKDB_ARG_TENSOR,    /* a pointer to the tensor that `tensor` names */
    SKIPJACKDB_ARG_WORKSPACE, /* a pointer to byte `value` of the workspace */
    SKIPJACKDB_ARG_INT32,     /* `value` as a 32-bit integer */
    SKIPJACKDB_ARG_INT64,     /* `value` as a 64-bit integer */
    SKIPJACKDB_ARG_FLOAT32,   /* `real` */
    /* the stride of tensor `tensor` on axis `axis`, times `factor`, as a 64-bit integer */
    SKIPJACKDB_ARG_STRIDE,
};

/* One argument of a launch. Kernels with arguments for strides take tensors of any strides: `value`
 * is right for the problem's own strides, else for packed tensors of its layouts. For other tensors
 * the caller passes the stride in elements of `axis` (0 N or K, 1 C, 2 D, 3 H, 4 W) times
 * `factor`. */
struct skipjackdb_arg {
    int32_t kind;   /* enum skipjackdb_arg_kind */
    int32_t tensor; /* enum skipjackdb_tensor */
    int32_t axis;
    float real;
    int64_t value, factor;
};
/* Writes all arguments of a launch to `args`, in the order of the kernel's parameters, each
 * arg_size (sizeof *args) bytes. SKIPJACKDB_SPACE if `room` is less than launch->arg_count. Without
 * a problem (NULL) the values of strides are 0. */
int skipjackdb_args(const skipjackdb *db, const struct skipjackdb_launch *launch,
                    const struct skipjackdb_problem *problem, struct skipjackdb_arg *args,
                    size_t arg_size, size_t room);

/* Computes the strides, in elements, of the axes N C D H W of x, w or y (of the filter K C D H W,
 * with a group's C) if it is packed, and its number of elements (may be NULL). For layouts with blocks
 * of channels, the stride of C is that from block to block. skipjackdb_operand_at() says how the
 * problem's tensors lie. */
int skipjackdb_strides(const struct skipjackdb_problem *problem, int32_t tensor, int64_t strides[5],
                       int64_t *elements);

/* ---- kernels ----
 * Code objects by kernel-db's identity: the source file's name with ".o", and the compile options. They
 * are stored compressed: reading one takes a few hundred KiB of memory, which are freed again, and up to a
 * millisecond. Its checksum is compared with the one of the file. */

struct skipjackdb_kernel {
    size_t size;
    uint64_t text_bytes; /* bytes of name and args together, each with its NUL */
    uint64_t code_bytes;
};

/* Returns how many kernels there are. They are numbered from 0, in the order in which reading all
 * is fastest. */
uint64_t skipjackdb_kernel_count(const skipjackdb *db);
int skipjackdb_kernel_at(const skipjackdb *db, uint64_t number, struct skipjackdb_kernel *kernel);
/* Writes name and args, each with its NUL, to `text`, and the code object to `code`; either may be
 * NULL. SKIPJACKDB_SPACE if a buffer is smaller than struct skipjackdb_kernel says. */
int skipjackdb_kernel_read(const skipjackdb *db, uint64_t number, char *text, size_t text_room,
                           void *code, size_t code_room);
/* Writes the code object of this name and args to `code`. *code_bytes becomes its size, also with
 * SKIPJACKDB_SPACE for a buffer that is too small: room 0 asks for the size. */
int skipjackdb_kernel(const skipjackdb *db, const char *name, const char *args, void *code,
                      size_t room, size_t *code_bytes);

/* ---- choosing ----
 * An answer for any problem, and how it was found: from what was measured for it, else from what was
 * measured on other targets and for the nearest problems, else by the estimates of the caller's solvers.
 * The rules are in export/sjdb/reader/README.md. No lock, no memory; 0.15 ms in a file of 95,000 problems where the
 * problem is not held. */

#define SKIPJACKDB_UNKNOWN UINT64_MAX /* a workspace or a problem's number that is not known */

enum skipjackdb_mode {
    SKIPJACKDB_NORMAL, /* the fastest */
    SKIPJACKDB_FAST,   /* choose the fastest dynamic solver */
    SKIPJACKDB_HYBRID, /* the fastest if nothing need be compiled for it; otherwise the fastest dynamic one, and beside it the fastest, to be compiled meanwhile */
};

enum skipjackdb_answer {
    SKIPJACKDB_NO,     /* the solver is not there, or cannot compute this problem */
    SKIPJACKDB_YES,    /* the solver computes it */
    SKIPJACKDB_UNSURE, /* the caller does not know the solver */
};

/* A candidate that the caller is asked about. The caller may correct the fields that it knows
 * better. */
struct skipjackdb_candidate {
    size_t size;
    const char *solver;
    const char *algorithm; /* name of the algorithm; "" if unknown */
    /* the config's text, NULL if the file has none; the caller sets NULL to refuse the params */
    const char *params;
    /* as the file states it for this problem; SKIPJACKDB_UNKNOWN if it was not measured for this
     * problem */
    uint64_t workspace_bytes;
    uint32_t revision; /* 0 where unknown */
    uint32_t flags;    /* bits of enum skipjackdb_flags */
};

struct skipjackdb_rules {
    size_t size;
    /* Limit on the workspace: an answer that needs more, or an unknown size, is refused.
     * UINT64_MAX for no limit. */
    uint64_t workspace_bytes;
    int32_t mode; /* enum skipjackdb_mode */
    /* How many of the databases, from the first on, are of the target's own architecture; 0 means
     * 1. A measurement of the very problem in one of these is preferred to a nearby problem in the
     * first database. */
    uint32_t near;
    /* The caller's solvers, for which `estimate` is called. NULL for all that the files name. */
    const char *const *solvers;
    size_t solver_count;
    /* Both may be NULL. applicable() returns enum skipjackdb_answer; estimate() a solver's relative
     * worth, higher is better, 0 or less for none. They are called in the thread that called
     * skipjackdb_choose(), before it returns. */
    int (*applicable)(void *user, const struct skipjackdb_problem *problem,
                      struct skipjackdb_candidate *candidate);
    double (*estimate)(void *user, const struct skipjackdb_problem *problem, const char *solver);
    void *user;
    /* since 1.5: 1 to accept a solution of the first database that was never measured, where nothing measured
     * is an answer; 0 never to get one, as programs from before 1.5 do */
    int32_t unmeasured;
};

enum skipjackdb_how {
    SKIPJACKDB_NOWHERE,      /* no answer was found */
    SKIPJACKDB_EXACT,        /* the problem was measured on the target */
    SKIPJACKDB_OTHER_TARGET, /* the problem was measured on another target */
    SKIPJACKDB_NEAREST,      /* similar problems were measured */
    /* of all solvers that can be used, this one has the highest estimate */
    SKIPJACKDB_ESTIMATE,
    /* since 1.2: the problem was measured with packed tensors, and the solver takes any strides; the
     * launches of skipjackdb_packed_twin() run it */
    SKIPJACKDB_OTHER_STRIDES,
    /* since 1.5, only if rules.unmeasured is set: the target's own file holds a solution of the problem that was
     * built and never measured; skipjackdb_unmeasured_solution() with the choice's solver and params has its
     * launches */
    SKIPJACKDB_UNMEASURED,
};

/* Sets *twin to the problem with packed tensors: the one whose solution serves it where a choice's
 * `how` is SKIPJACKDB_OTHER_STRIDES. Read the launches' arguments with the problem itself. twin->size
 * must be set. */
int skipjackdb_packed_twin(const struct skipjackdb_problem *problem,
                           struct skipjackdb_problem *twin);

enum skipjackdb_marks {
    /* neither a measurement on the target nor applicable() confirms that the solver computes this
     * problem */
    SKIPJACKDB_UNCHECKED = 1,
    /* the time is a similar problem's, scaled by the ratio of operations */
    SKIPJACKDB_TIME_SCALED = 2,
    SKIPJACKDB_TIME_FOREIGN = 4, /* the time was measured on another target */
    SKIPJACKDB_WORKSPACE_SCALED =
        8, /* the workspace is a similar problem's, scaled by the tensor that grows most */
    SKIPJACKDB_PARAMS_FOREIGN =
        16, /* the params are those of another problem or target and may be invalid here */
    /* The target's own file holds launches and code objects (skipjackdb_solution()), so nothing
     * need be compiled. If `how` is SKIPJACKDB_UNMEASURED, skipjackdb_unmeasured_solution() finds them. */
    SKIPJACKDB_READY = 32,
    /* since 1.3: the problem may be computed in TF32, and this is the choice of the same problem in full
     * FP32 (mode ""). Ask for its launches with that one. */
    SKIPJACKDB_FULL_PRECISION = 64,
};

struct skipjackdb_choice {
    size_t size;
    int32_t how;    /* enum skipjackdb_how */
    uint32_t marks; /* bits of enum skipjackdb_marks */
    const char *solver;
    const char *algorithm;    /* name of the algorithm; "" if unknown */
    const char *library;      /* name of the library, as in struct skipjackdb_entry */
    const char *params;       /* NULL if unknown */
    double time_ms;           /* 0 where unknown */
    uint64_t workspace_bytes; /* SKIPJACKDB_UNKNOWN if it is not known */
    uint32_t revision, flags;
    /* The origin: index of the database, number of the problem in it, and its distance from the
     * problem asked for, 0 if equal. For an estimate, db is the number of databases. For a solver
     * with launches but no entry, measured or not, problem is SKIPJACKDB_UNKNOWN. */
    uint64_t db, problem;
    double distance;
    /* since 1.4: the interval of time_ms, as in struct skipjackdb_entry; of a foreign time it is that
     * target's, too. Both are 0 for a time without an interval, and for a scaled time. */
    double low_ms, high_ms;
};

/* Chooses a solver for a problem. The first database is the target's own (NULL if it has none), the
 * others are those of other targets, nearest first. `rules` may be NULL. Hybrid mode sets *later
 * (may be NULL) to the solver to be compiled meanwhile; its `how` is SKIPJACKDB_NOWHERE if *choice
 * is the fastest already, as in the other modes. If no solver is dynamic, *choice is the one to
 * compile. SKIPJACKDB_NOT_FOUND without an answer. SKIPJACKDB_DAMAGED: choice->db is the damaged
 * database. */
int skipjackdb_choose(skipjackdb *const *dbs, size_t count,
                      const struct skipjackdb_problem *problem,
                      const struct skipjackdb_rules *rules, struct skipjackdb_choice *choice,
                      struct skipjackdb_choice *later);

/* How closely the devices of two targets are related. A target is given by its id, or by a file
 * name that begins with it ("gfx90a68.sjdb"). */
enum skipjackdb_kinship {
    SKIPJACKDB_SAME_TARGET,
    /* compute units, memory, features or the part of a card differ: code for one runs on the
     * other */
    SKIPJACKDB_SAME_ARCHITECTURE,
    SKIPJACKDB_SAME_FAMILY,
    SKIPJACKDB_SAME_VENDOR,
    SKIPJACKDB_STRANGERS,
};
/* Compares two targets. *distance orders targets of one kinship, nearer ones first.
 * SKIPJACKDB_SYNTAX if one is no target id. */
int skipjackdb_target_compare(const char *target, const char *other, int *kinship,
                              uint64_t *distance);

/* All .sjdb files of a folder that are named after targets of a given target's vendor, opened and
 * sorted: those nearest to the given target first. */
typedef struct skipjackdb_folder skipjackdb_folder;
struct skipjackdb_file {
    size_t size;
    const char *name; /* file name without the folder's path; lives as long as the folder */
    int32_t code;     /* what skipjackdb_open() returned for the file */
    int32_t kinship;
};
/* Opens a folder. *folder is NULL unless this returns SKIPJACKDB_OK. SKIPJACKDB_IO, with errno, if
 * it cannot be read. Files that do not open are left out; skipjackdb_folder_file() names them. */
int skipjackdb_folder_open(const char *path, const char *target, skipjackdb_folder **folder);
/* Returns the opened databases, as skipjackdb_choose() takes them: dbs[0] is NULL if no file is for
 * the target itself. *near is the value for skipjackdb_rules.near. */
skipjackdb *const *skipjackdb_folder_dbs(const skipjackdb_folder *folder, size_t *count,
                                         uint32_t *near);
/* Describes a file of the folder. Index i is that of dbs[i]; indices behind the databases give the
 * files that could not be opened. SKIPJACKDB_NOT_FOUND behind the last file, and for index 0 if
 * dbs[0] is NULL. */
int skipjackdb_folder_file(const skipjackdb_folder *folder, size_t index,
                           struct skipjackdb_file *file);
/* Closes the folder and its databases; NULL is allowed. */
void skipjackdb_folder_close(skipjackdb_folder *folder);

#ifdef __cplusplus
}
#endif

#endif
