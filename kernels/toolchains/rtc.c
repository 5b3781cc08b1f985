#include "kernels/toolchains/rtc.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the library ---- */

static bool functions_find(void *handle, const char *file, struct rtc *rtc, GError **error)
{
    for (gsize i = 0; i < RTC_FUNCTIONS; i++) {
        void *symbol = dlsym(handle, rtc->row->symbols[i]);
        if (!symbol) {
            g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE, "'%s' lacks %s: %s", file,
                        rtc->row->symbols[i], rtc->row->suspicion);
            return false;
        }
        memcpy((char *)&rtc->call + i * sizeof(symbol), &symbol, sizeof(symbol));
    }
    return true;
}

/* Opens the first of the row's file names that can be opened. *file is that name, or the last one tried; the caller
 * frees it. */
static void *handle_open(const struct rtc_row *row, char **file)
{
    const char *wish = g_getenv(row->setting);
    g_auto(GStrv) files = g_strsplit(wish && *wish ? wish : row->files, ",", -1);
    void *handle = NULL;

    for (char **at = files; *at && !handle; at++) {
        g_free(*file);
        *file = g_strdup(g_strstrip(*at));
        handle =
            dlmopen(row->own_namespace ? LM_ID_NEWLM : LM_ID_BASE, *file, RTLD_NOW | RTLD_LOCAL);
    }
    return handle;
}

/* The path, with links resolved, of the library that was opened as `file`. Free with g_free(). */
static char *path_of(void *handle, const char *file)
{
    struct link_map *map = NULL;
    char *path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? realpath(map->l_name, NULL) : NULL;
    char *found = g_strdup(path ? path : file);

    free(path);
    return found;
}

bool rtc_open(struct rtc *rtc, GError **error)
{
    g_autofree char *file = NULL;
    void *handle;

    if (rtc->path)
        return true;
    handle = handle_open(rtc->row, &file);
    if (!handle) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "%s is not on this machine (%s): %s, or name the library in %s", rtc->row->name,
                    dlerror(), rtc->row->advice, rtc->row->setting);
        return false;
    }
    if (!functions_find(handle, file, rtc, error)) {
        dlclose(handle);
        return false;
    }
    if (rtc->row->own_namespace) {
        *(void **)&rtc->thread_init = dlsym(handle, "__ctype_init");
        rtc->environ_place = dlsym(handle, "environ");
    }
    rtc->path = path_of(handle, file);
    return true;
}

/* ---- compiling ---- */

static char *take_log(const struct rtc *rtc, rtc_program program)
{
    size_t size = 0;
    char *text;

    if (rtc->call.log_size(program, &size) != RTC_SUCCESS)
        return g_strdup("");
    text = g_malloc0(size + 1);
    rtc->call.log(program, text);
    return text;
}

static GBytes *take_code(const struct rtc *rtc, rtc_program program)
{
    size_t size = 0;
    char *bytes;

    if (rtc->call.code_size(program, &size) != RTC_SUCCESS || size == 0)
        return NULL;
    bytes = g_malloc(size);
    if (rtc->call.code(program, bytes) == RTC_SUCCESS)
        return g_bytes_new_take(bytes, size);
    g_free(bytes);
    return NULL;
}

/* Prepares the calling thread for a library with its own C library, which knows neither this process's threads nor
 * that setenv() moved the environment. */
static void enter_namespace(const struct rtc *rtc)
{
    if (rtc->thread_init)
        rtc->thread_init();
    if (rtc->environ_place)
        *rtc->environ_place = environ;
}

static int compile_program(const struct rtc *rtc, const char *source, char **words, GBytes **code,
                           char **log)
{
    rtc_program program = NULL;
    int status;

    enter_namespace(rtc);
    status = rtc->call.create(&program, source, rtc->row->source_name, 0, NULL, NULL);
    if (status != RTC_SUCCESS)
        return status;
    status = rtc->call.compile(program, (int)g_strv_length(words), (const char *const *)words);
    *log = take_log(rtc, program);
    if (status == RTC_SUCCESS)
        *code = take_code(rtc, program);
    rtc->call.destroy(&program);
    return status;
}

int rtc_run(struct rtc *rtc, const char *source, const char *arguments, GBytes **code, char **log)
{
    /* options can be split at blanks, because launch_options_valid() allows none within an option */
    g_autofree char *line = g_strchomp(g_strdup(arguments));
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    int status;

    *code = NULL;
    *log = NULL;
    if (rtc->row->serial)
        g_mutex_lock(&rtc->compiling);
    status = compile_program(rtc, source, words, code, log);
    if (rtc->row->serial)
        g_mutex_unlock(&rtc->compiling);
    if (!*log)
        *log = g_strdup("");
    return status;
}

const char *rtc_refusal(const struct rtc *rtc, int status)
{
    return status == RTC_SUCCESS ? "it gives no code for it" : rtc->call.error_text(status);
}

static bool compile_failed(const struct rtc *rtc, int status, const char *log, const char *entry,
                           GError **error)
{
    bool source = rtc->row->blames_source(status, log);

    g_set_error(error, KERNELS_ERROR, source ? KERNELS_ERROR_COMPILE : KERNELS_ERROR_CRASH,
                "%s %s the kernel '%s' (%s)%s", rtc->row->name, source ? "refused" : "failed over",
                entry, rtc->call.error_text(status), source ? ", its log says why" : "");
    return false;
}

bool rtc_compile(struct rtc *rtc, const char *source, const char *arguments, const char *entry,
                 const struct target *target, struct code_object *object, GError **error)
{
    gint64 start = g_get_monotonic_time();
    g_autoptr(GBytes) code = NULL;
    g_autoptr(GError) why = NULL;
    g_autofree char *log = NULL;
    int status = rtc_run(rtc, source, arguments, &code, &log);

    object->log = rtc->row->clean_log(log);
    object->seconds = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    if (!code)
        return compile_failed(rtc, status, object->log, entry, error);
    if (!rtc->row->read_facts(code, log, entry, target, object, &why)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_COMPILE, "%s compiled it, but %s",
                    rtc->row->name, why->message);
        return false;
    }
    object->code = g_steal_pointer(&code);
    return true;
}
