/*
 * A compiler that is a library: NVRTC (NVIDIA) or HIPRTC (AMD). HIPRTC's interface is NVRTC's with another
 * prefix, so one driver serves both. Both work without a GPU and a driver. The library is opened at run time,
 * by the first of its file names that opens, and stays open until the process ends.
 *
 * The interface is that of NVRTC's User Guide: a program is created from one source text, compiled with an array
 * of options, asked for its log and its code, and destroyed. Codes of errors are equal in both libraries.
 */
#ifndef KERNELS_TOOLCHAINS_RTC_H
#define KERNELS_TOOLCHAINS_RTC_H

#include "kernels/toolchains/toolchain.h"

enum { RTC_SUCCESS = 0, RTC_ERROR_INVALID_OPTION = 5, RTC_ERROR_COMPILATION = 6 };

typedef struct rtc_program *rtc_program; /* a program of the library, opaque to us */

/* The library's functions, in the order in which a row lists their symbols. */
struct rtc_functions {
    int (*version)(int *major, int *minor);
    const char *(*error_text)(int status);
    int (*create)(rtc_program *program, const char *source, const char *name, int header_count,
                  const char *const *headers, const char *const *include_names);
    int (*destroy)(rtc_program *program);
    int (*compile)(rtc_program program, int option_count, const char *const *options);
    int (*log_size)(rtc_program program, size_t *size);
    int (*log)(rtc_program program, char *text);
    int (*code_size)(rtc_program program, size_t *size);
    int (*code)(rtc_program program, char *bytes);
};
#define RTC_FUNCTIONS (sizeof(struct rtc_functions) / sizeof(void *))

/* The differences between NVRTC and HIPRTC; one row for each. */
struct rtc_row {
    const char *name; /* the library's name in messages: "NVRTC" */
    /* the library's symbols, in the order of struct rtc_functions */
    const char *symbols[RTC_FUNCTIONS];
    /* the environment variable that names the library's files, separated by commas */
    const char *setting;
    /* the file names that are tried where the variable is unset, newest release first */
    const char *files;
    /* Ends of error messages: `advice` says where to get the library, `suspicion` what a library without an expected
     * symbol may be. */
    const char *advice, *suspicion;
    const char *source_name; /* the name that compiler messages show for the kernel's source */
    /* The library is opened in a linker's namespace of its own, with a C library of its own. */
    bool own_namespace;
    /* The library compiles only one program at a time, so compilations are serialised. */
    bool serial;
    /* Whether a failed compilation is the source's fault; otherwise the compiler itself failed. */
    bool (*blames_source)(int status, const char *log);
    /* The compiler's log in the form in which a kernel's log is stored. Free with g_free(). */
    char *(*clean_log)(const char *log);
    /* Checks the code against entry and target, and sets the object's registers, spills and memory. The error's
     * message continues "NVRTC compiled it, but ". */
    bool (*read_facts)(GBytes *code, const char *log, const char *entry,
                       const struct target *target, struct code_object *object, GError **error);
};

struct rtc {
    const struct rtc_row *row;
    /* the library's functions; rtc_open() sets all fields from here on */
    struct rtc_functions call;
    char *path; /* the library's file; NULL until it is open */
    void *handle;
    char ***
        environ_place; /* the variable `environ` of the library's own C library, NULL without one */
    /* sets up the character tables of the library's own C library for a thread that this C library did not create */
    void (*thread_init)(void);
    GMutex compiling;
};

/* Opens the library once. A library that is missing is looked for again at the next call. Not thread-safe: callers
 * hold a lock. KERNELS_ERROR_UNAVAILABLE. */
bool rtc_open(struct rtc *rtc, GError **error);

/* Compiles `source` with `arguments`, separated by blanks. Returns the library's status; *code is NULL unless it
 * gave code, *log is "" unless it gave a log. The caller owns both. */
int rtc_run(struct rtc *rtc, const char *source, const char *arguments, GBytes **code, char **log);

/* The reason, in words, why a trial compilation that returned `status` gave no code. */
const char *rtc_refusal(const struct rtc *rtc, int status);

/* Implements struct toolchain's compile() for an open library. */
bool rtc_compile(struct rtc *rtc, const char *source, const char *arguments, const char *entry,
                 const struct target *target, struct code_object *object, GError **error);

#endif
