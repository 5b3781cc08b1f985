#include "coordinator/network/autotune/knobs.h"

#include "coordinator/cli/cli.h"
#include "solvers/framework/solver.h"

#include <string.h>

const struct knob_row knob_table[KNOB_COUNT] = {
    [KNOB_DTYPE] = {.name = "dtype",
                    .values = {"FP32", OP_MODE_TF32, "FP16", "BF16", "INT8"},
                    .picked = {"FP32", "FP16", "INT8"}},
    [KNOB_LAYOUT] = {.name = "layout",
                     .values = {"NCHW", "NHWC", "per_layer"},
                     .picked = {"NCHW", "NHWC"},
                     .heuristic = "NCHW"},
    [KNOB_FUSION] = {.name = "fusion",
                     .values = {"none", "activation", "all"},
                     .picked = {"none", "activation", "all"},
                     .heuristic = "all"},
};

bool knob_wish(struct knob_wishes *wishes, enum knob knob, const char *text, const char *own,
               GError **error)
{
    const struct knob_row *row = &knob_table[knob];
    const char *value = text ? text : row->heuristic ? row->heuristic : own;
    if (strcmp(value, KNOB_PICK) == 0) {
        wishes->values[knob] = row->picked;
        return true;
    }
    for (int i = 0; row->values[i]; i++) {
        if (g_ascii_strcasecmp(value, row->values[i]) == 0) {
            wishes->single[knob][0] = row->values[i];
            wishes->single[knob][1] = NULL;
            wishes->values[knob] = wishes->single[knob];
            return true;
        }
    }
    g_autofree char *all = g_strjoinv(", ", (char **)(uintptr_t)row->values);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "--%s takes %s or " KNOB_PICK ", not '%s'", row->name, all, value);
    return false;
}

static int count_values(const char *const *values)
{
    int count = 0;
    while (values[count])
        count++;
    return count;
}

GArray *knob_combinations(const struct knob_wishes *wishes)
{
    GArray *list = g_array_new(FALSE, TRUE, sizeof(struct combination));
    int total = 1;
    for (int k = 0; k < KNOB_COUNT; k++)
        total *= count_values(wishes->values[k]);
    for (int i = 0; i < total; i++) {
        struct combination combination;
        int rest = i;
        for (int k = KNOB_COUNT - 1; k >= 0; k--) {
            int count = count_values(wishes->values[k]);
            combination.values[k] = wishes->values[k][rest % count];
            rest /= count;
        }
        g_array_append_val(list, combination);
    }
    return list;
}

char *combination_text(const struct combination *combination)
{
    GString *text = g_string_new(NULL);
    for (int k = 0; k < KNOB_COUNT; k++)
        g_string_append_printf(text, "%s%s=%s", k > 0 ? " " : "", knob_table[k].name,
                               combination->values[k]);
    return g_string_free(text, FALSE);
}

bool combination_equal(const struct combination *a, const struct combination *b)
{
    for (int k = 0; k < KNOB_COUNT; k++)
        if (strcmp(a->values[k], b->values[k]) != 0)
            return false;
    return true;
}

/* ---- pins ---- */

static void pin_clear(gpointer data)
{
    struct pin *pin = data;
    g_free(pin->step);
    g_free(pin->solver);
    g_free(pin->config);
}

static bool pin_parse(const char *text, struct pin *pin, GError **error)
{
    const char *equals = strchr(text, '=');
    *pin = (struct pin){0};
    if (equals && g_str_has_prefix(text, "step:")) {
        const char *colon = strchr(equals + 1, ':');
        pin->step = g_strndup(text + 5, (gsize)(equals - text - 5));
        pin->solver = colon ? g_strndup(equals + 1, (gsize)(colon - equals - 1)) : NULL;
        pin->config = colon ? g_strdup(colon + 1) : NULL;
    } else if (equals) {
        pin->solver = g_strndup(text, (gsize)(equals - text));
        pin->config = g_strdup(equals + 1);
    }
    if (!pin->solver) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--knob takes SOLVER=CONFIG or step:NAME=SOLVER:CONFIG, not '%s'", text);
        return false;
    }
    if (!solver_find(pin->solver)) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--knob %s: there is no solver '%s'; skipjack solvers lists them", text,
                    pin->solver);
        return false;
    }
    g_autoptr(GError) why = NULL;
    if (solver_config_possible(solver_find(pin->solver), pin->config, &why))
        return true;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, "--knob %s: %s", text,
                why->message);
    return false;
}

GArray *pins_parse(char *const *texts, GError **error)
{
    GArray *pins = g_array_new(FALSE, TRUE, sizeof(struct pin));
    g_array_set_clear_func(pins, pin_clear);
    for (int i = 0; texts && texts[i]; i++) {
        struct pin pin;
        bool parsed = pin_parse(texts[i], &pin, error);
        g_array_append_val(pins, pin);
        if (!parsed) {
            g_array_unref(pins);
            return NULL;
        }
    }
    return pins;
}
