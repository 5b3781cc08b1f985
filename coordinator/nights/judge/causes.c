/* Causes: what two measurements of the same problem say about the difference between them. */
#include "coordinator/nights/judge/causes.h"

#include "schema/results/conditions.h"

#include <string.h>

/* An SM clock that is lower by this share is a cause. Clocks of one device at one load vary by one step of 15 MHz,
 * under 1 %. */
#define CLOCK_SHARE  0.02
/* Results of a node that are enough to say that the node is not the cause. */
#define NODE_RESULTS 5

static const char *const names[CAUSE_COUNT] = {
    [CAUSE_REVISION] = "solver revision",
    [CAUSE_SOURCE] = "kernel source",
    [CAUSE_TOOLCHAIN] = "toolchain",
    [CAUSE_RUNTIME] = "runtime",
    [CAUSE_DRIVER] = "driver",
    [CAUSE_NODE] = "node",
    [CAUSE_CLOCKS] = "clocks",
    [CAUSE_CONFIG] = "config",
    [CAUSE_UNKNOWN] = "unknown",
};

const char *regression_cause_name(enum regression_cause cause)
{
    g_assert(cause < CAUSE_COUNT);
    return names[cause];
}

bool regression_cause_parse(const char *name, enum regression_cause *cause)
{
    for (int i = 0; i < CAUSE_COUNT; i++)
        if (name != NULL && strcmp(names[i], name) == 0) {
            *cause = (enum regression_cause)i;
            return true;
        }
    return false;
}

void regression_point_clear(struct regression_point *point)
{
    g_free(point->night);
    g_free(point->solver);
    g_free(point->config);
    g_free(point->hash);
    g_free(point->stack);
    g_free(point->node);
    g_free(point->detail);
    memset(point, 0, sizeof *point);
}

void regression_point_copy(struct regression_point *to, const struct regression_point *from)
{
    *to = *from;
    to->night = g_strdup(from->night);
    to->solver = g_strdup(from->solver);
    to->config = g_strdup(from->config);
    to->hash = g_strdup(from->hash);
    to->stack = g_strdup(from->stack);
    to->node = g_strdup(from->node);
    to->detail = g_strdup(from->detail);
}

static void clear_found(void *data)
{
    g_free(((struct regression_cause_found *)data)->evidence);
}

GArray *causes_new(void)
{
    GArray *causes = g_array_new(FALSE, TRUE, sizeof(struct regression_cause_found));
    g_array_set_clear_func(causes, clear_found);
    return causes;
}

G_GNUC_PRINTF(3, 4)
static void add(GArray *causes, enum regression_cause cause, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const struct regression_cause_found found = {cause, g_strdup_vprintf(format, arguments)};
    va_end(arguments);
    g_array_append_val(causes, found);
}

static bool is_known(const char *text)
{
    return text != NULL && *text != '\0';
}

static bool differ(const char *a, const char *b)
{
    return is_known(a) && is_known(b) && strcmp(a, b) != 0;
}

/* ---- software ---- */

/* The software that a stack names, by the first word of an item (worker/DEVICES.md). OpenCL is a toolchain, too, but
 * one item with the runtime. */
static const struct {
    const char *name;
    enum regression_cause cause;
} software[] = {
    {"clang", CAUSE_TOOLCHAIN}, {"hiprtc", CAUSE_TOOLCHAIN}, {"nvrtc", CAUSE_TOOLCHAIN},
    {"opencl", CAUSE_RUNTIME},  {"cuda", CAUSE_RUNTIME},     {"hip", CAUSE_RUNTIME},
    {"driver", CAUSE_DRIVER},
};

/* The items of a stack that begin with the word, joined by "; ", each once. NULL if no item does. */
static char *items_of(const char *stack, const char *name)
{
    g_auto(GStrv) items = g_strsplit(stack != NULL ? stack : "", ";", -1);
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    for (char **item = items; *item != NULL; item++) {
        g_strstrip(*item);
        size_t length = strcspn(*item, " ");
        if (length == strlen(name) && g_ascii_strncasecmp(*item, name, length) == 0 &&
            !g_ptr_array_find_with_equal_func(found, *item, g_str_equal, NULL))
            g_ptr_array_add(found, *item);
    }
    if (found->len == 0)
        return NULL;
    g_ptr_array_add(found, NULL);
    return g_strjoinv("; ", (char **)found->pdata);
}

static void compare_software(GArray *causes, const struct regression_point *before,
                             const struct regression_point *now)
{
    if (!differ(before->stack, now->stack))
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(software); i++) {
        g_autofree char *then = items_of(before->stack, software[i].name);
        g_autofree char *here = items_of(now->stack, software[i].name);
        if (g_strcmp0(then, here) == 0)
            continue;
        if (then == NULL || here == NULL)
            add(causes, software[i].cause, "%s %s", then == NULL ? here : then,
                then == NULL ? "is new" : "is gone");
        else
            add(causes, software[i].cause, "%s -> %s", then,
                g_str_has_prefix(here, software[i].name) ? here + strlen(software[i].name) + 1
                                                         : here);
    }
}

/* ---- node and clocks ---- */

static void compare_nodes(GArray *causes, const struct regression_point *before,
                          const struct regression_point *now,
                          const struct regression_node_evidence *node)
{
    const char *here = is_known(now->node) ? now->node : "the node";
    if (node != NULL && node->other_fine)
        add(causes, CAUSE_NODE, "%s is slow, %s is not", here,
            node->other_node != NULL ? node->other_node : "another node");
    else if (node != NULL && node->is_slow)
        add(causes, CAUSE_NODE, "%d unchanged results of %s are %.1f %% slower", node->results,
            here, node->percent);
    else if (differ(before->node, now->node) && (node == NULL || node->results < NODE_RESULTS))
        add(causes, CAUSE_NODE, "measured on %s instead of %s", now->node, before->node);
}

static void compare_clocks(GArray *causes, const struct regression_point *before,
                           const struct regression_point *now)
{
    unsigned throttled = now->throttle & THROTTLE_MARKED & ~before->throttle;
    g_autofree char *reasons = conditions_throttle_text(throttled);
    bool slower =
        before->sm_mhz > 0 && now->sm_mhz > 0 && now->sm_mhz < (1 - CLOCK_SHARE) * before->sm_mhz;
    if (!slower && throttled == 0)
        return;
    g_autoptr(GString) text = g_string_new(NULL);
    if (slower)
        g_string_append_printf(text, "SM clock %d -> %d MHz", before->sm_mhz, now->sm_mhz);
    if (throttled != 0)
        g_string_append_printf(text, "%sthrottled: %s", text->len ? ", " : "", reasons);
    if (now->temperature_c > 0)
        g_string_append_printf(text, ", %d °C", now->temperature_c);
    add(causes, CAUSE_CLOCKS, "%s", text->str);
}

/* ---- all of it ---- */

GArray *causes_find(const struct regression_point *before, const struct regression_point *now,
                    const struct regression_node_evidence *node)
{
    GArray *causes = causes_new();
    bool same_solver = !differ(before->solver, now->solver);
    if (same_solver && before->revision > 0 && now->revision > 0 &&
        before->revision != now->revision)
        add(causes, CAUSE_REVISION, "revision %d -> %d", before->revision, now->revision);
    else if (same_solver && differ(before->hash, now->hash))
        add(causes, CAUSE_SOURCE, "source %.8s -> %.8s, revision %d", before->hash, now->hash,
            now->revision);
    compare_software(causes, before, now);
    compare_nodes(causes, before, now, node);
    compare_clocks(causes, before, now);
    if (!same_solver)
        add(causes, CAUSE_CONFIG, "%s -> %s", before->solver, now->solver);
    else if (differ(before->config, now->config))
        add(causes, CAUSE_CONFIG, "%s -> %s", before->config, now->config);
    if (causes->len == 0)
        add(causes, CAUSE_UNKNOWN, "solver, software, node and clocks are as before");
    return causes;
}

char *causes_text(const GArray *causes)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < causes->len; i++) {
        const struct regression_cause_found *found =
            &g_array_index(causes, struct regression_cause_found, i);
        g_string_append_printf(text, "%s%s: %s", i > 0 ? "; " : "", names[found->cause],
                               found->evidence);
    }
    return g_string_free(text, FALSE);
}
