#include "solvers/problem/network_facts.h"

#include <math.h>
#include <string.h>

static const char *const names[FACT_COUNT] = {
    [FACT_FRAMEWORK] = "framework", [FACT_MODEL] = "model", [FACT_VERSION] = "version",
    [FACT_SOURCE] = "source",       [FACT_RUNS] = "runs",
};

const char *network_fact_name(enum network_fact fact)
{
    return names[fact];
}

bool network_fact_from_name(const char *name, enum network_fact *fact)
{
    for (int i = 0; i < FACT_COUNT; i++) {
        if (g_ascii_strcasecmp(name, names[i]) == 0) {
            *fact = (enum network_fact)i;
            return true;
        }
    }
    return false;
}

char *network_fact_names(void)
{
    GString *all = g_string_new(NULL);
    for (int i = 0; i < FACT_COUNT; i++) {
        g_string_append_printf(all, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    return g_string_free(all, FALSE);
}

static bool read_runs(const char *text, double *runs)
{
    char *end = NULL;
    *runs = g_ascii_strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*runs) && *runs > 0;
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        if (g_unichar_iscntrl(g_utf8_get_char(text))) {
            return true;
        }
    }
    return false;
}

bool network_fact_check(enum network_fact fact, const char *text, GError **error)
{
    double runs;
    const char *why = text[0] == '\0'                         ? "it is empty"
                      : strlen(text) > NETWORK_FACT_BYTES_MAX ? "it is too long"
                      : !g_utf8_validate(text, -1, NULL)      ? "it is not UTF-8"
                      : has_control(text)                     ? "it has control characters"
                      : fact == FACT_RUNS && !read_runs(text, &runs)
                          ? "it must be a number above 0, such as 1000 or 0.5"
                          : NULL;
    if (why == NULL) {
        return true;
    }
    g_set_error(error, G_CONVERT_ERROR, G_CONVERT_ERROR_FAILED,
                "a network's %s cannot be '%.40s': %s", names[fact], text, why);
    return false;
}

void network_facts_add(struct network_facts *facts, const struct network_facts *more)
{
    for (int i = 0; i < FACT_COUNT; i++) {
        if (facts->texts[i] == NULL) {
            facts->texts[i] = g_strdup(more->texts[i]);
        }
    }
    facts->batch = facts->batch == 0 ? more->batch : facts->batch;
}

double network_facts_runs(const struct network_facts *facts)
{
    double runs = 0;
    return facts->texts[FACT_RUNS] != NULL && read_runs(facts->texts[FACT_RUNS], &runs) ? runs : 0;
}

bool network_facts_empty(const struct network_facts *facts)
{
    bool empty = facts->batch == 0;
    for (int i = 0; i < FACT_COUNT; i++) {
        empty = empty && facts->texts[i] == NULL;
    }
    return empty;
}

void network_facts_clear(struct network_facts *facts)
{
    for (int i = 0; i < FACT_COUNT; i++) {
        g_free(facts->texts[i]);
    }
    *facts = (struct network_facts){0};
}
