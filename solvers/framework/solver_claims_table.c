/* Writes the claims as a Markdown table with a row for each solver. */
#include "solvers/framework/solver_claims.h"

static void append_directions(GString *text, unsigned directions, const char *between)
{
    const char *separator = "";

    for (int d = 0; d < DIRECTION_COUNT; d++) {
        if (!(directions & 1u << d))
            continue;
        g_string_append_printf(text, "%s%c", separator, direction_letter((enum direction)d));
        separator = between;
    }
}

/* Appends a name to a cell, after a space unless it is the cell's first, with the directions in brackets where not
 * all are served: "INT8(F)". */
static void append_claim(GString *text, gsize cell, const char *name, unsigned directions,
                         const struct solver_claims *claims)
{
    if (directions == 0)
        return;
    g_string_append_printf(text, "%s%s", text->len > cell ? " " : "", name);
    if (directions == claims->directions)
        return;
    g_string_append_c(text, '(');
    append_directions(text, directions, "");
    g_string_append_c(text, ')');
}

static unsigned layout_directions(const struct solver_claims *claims, int layout)
{
    unsigned directions = 0;

    for (int t = 0; t < DATA_TYPE_COUNT; t++)
        directions |= claims->served[layout][t];
    return directions;
}

static unsigned type_directions(const struct solver_claims *claims, int type)
{
    unsigned directions = 0;

    for (int l = 0; l < LAYOUT_COUNT; l++)
        directions |= claims->served[l][type];
    return directions;
}

/* ---- cells: each appends its own ---- */

static void layouts_cell(GString *text, const struct solver *solver,
                         const struct solver_claims *claims)
{
    gsize cell = text->len;

    (void)solver;
    for (int l = 0; l < LAYOUT_COUNT; l++)
        append_claim(text, cell, layout_name((enum layout)l), layout_directions(claims, l), claims);
}

/* Appends exceptions: pairs of layout and type that are not served although the table's cells name both. */
static void append_exceptions(GString *text, const struct solver_claims *claims)
{
    const char *before = ", without";

    for (int t = 0; t < DATA_TYPE_COUNT; t++) {
        for (int l = 0; l < LAYOUT_COUNT; l++) {
            unsigned promised = layout_directions(claims, l) & type_directions(claims, t);
            unsigned lacking = promised & ~claims->served[l][t];
            if (!lacking)
                continue;
            g_string_append_printf(text, "%s %s in ", before, data_type_name((enum data_type)t));
            append_claim(text, text->len, layout_name((enum layout)l), lacking, claims);
            before = ",";
        }
    }
}

static void types_cell(GString *text, const struct solver *solver,
                       const struct solver_claims *claims)
{
    gsize cell = text->len;

    (void)solver;
    for (int t = 0; t < DATA_TYPE_COUNT; t++)
        append_claim(text, cell, data_type_name((enum data_type)t), type_directions(claims, t),
                     claims);
    append_claim(text, cell, OP_MODE_TF32, claims->tf32, claims);
    append_exceptions(text, claims);
}

static void directions_cell(GString *text, const struct solver *solver,
                            const struct solver_claims *claims)
{
    (void)solver;
    append_directions(text, claims->directions, " ");
}

static void filters_cell(GString *text, const struct solver *solver,
                         const struct solver_claims *claims)
{
    const char *separator = "";

    if (solver->kind != OP_CONV && solver->kind != OP_POOL) {
        g_string_append_c(text, '-');
        return;
    }
    if (claims->filters == (1u << CLAIM_FILTER_COUNT) - 1) {
        g_string_append(text, "any");
        return;
    }
    for (int i = 0; i < CLAIM_FILTER_COUNT; i++) {
        if (claims->filters & 1u << i) {
            g_string_append_printf(text, "%s%dx%d", separator, claim_filters[i], claim_filters[i]);
            separator = " ";
        }
    }
}

static void groups_cell(GString *text, const struct solver *solver,
                        const struct solver_claims *claims)
{
    bool one = claims->features[FEATURE_PLAIN], several = claims->features[FEATURE_GROUPS],
         depthwise = claims->features[FEATURE_DEPTHWISE];

    if (solver->kind != OP_CONV)
        g_string_append_c(text, '-');
    else if (one && several && depthwise)
        g_string_append(text, "any");
    else if (depthwise && !one && !several)
        g_string_append(text, "depthwise only");
    else if (one && !claims->many_channels)
        g_string_append(text, "one, few channels");
    else
        g_string_append_printf(text, "%s%s%s%s", one ? "one" : "", one && several ? " " : "",
                               several ? "several" : "", depthwise ? " depthwise" : "");
}

static void features_cell(GString *text, const struct solver *solver,
                          const struct solver_claims *claims)
{
    gsize cell = text->len;

    append_claim(text, cell, "stride", claims->features[FEATURE_STRIDE], claims);
    append_claim(text, cell, "dilation", claims->features[FEATURE_DILATION], claims);
    append_claim(text, cell, "mixed-layouts", claims->features[FEATURE_MIXED_LAYOUTS], claims);
    append_claim(text, cell, "mixed-types", claims->features[FEATURE_MIXED_TYPES], claims);
    if (solver->any_strides)
        append_claim(text, cell, "any-strides", claims->directions, claims);
    if (solver->own_strides)
        append_claim(text, cell, "own-strides", claims->directions, claims);
    if ((solver->epilogues & EPILOGUE_DOES_ALL) == EPILOGUE_DOES_ALL)
        append_claim(text, cell, "epilogues",
                     claims->directions &
                         (solver->epilogues_forward ? 1u << DIRECTION_F : ~(1u << DIRECTION_W)),
                     claims);
    if (solver->nondeterministic)
        append_claim(text, cell, "nondeterministic", claims->directions, claims);
}

static void form_cell(GString *text, const struct solver *solver,
                      const struct solver_claims *claims)
{
    (void)claims;
    g_string_append(text, solver_form(solver));
}

static void configs_cell(GString *text, const struct solver *solver,
                         const struct solver_claims *claims)
{
    if (solver->space)
        g_string_append_printf(text, "%" G_GINT64_FORMAT, claims->most_configs);
    else
        g_string_append(text, "not tunable");
}

static void workspace_cell(GString *text, const struct solver *solver,
                           const struct solver_claims *claims)
{
    (void)solver;
    g_string_append(text, !claims->with_workspace     ? "no"
                          : claims->without_workspace ? "may be"
                                                      : "yes");
}

static void kernels_cell(GString *text, const struct solver *solver,
                         const struct solver_claims *claims)
{
    (void)solver;
    g_string_append_printf(text, "%d", claims->least_launches);
    if (claims->most_launches > claims->least_launches)
        g_string_append_printf(text, "-%d", claims->most_launches);
}

static void targets_cell(GString *text, const struct solver *solver,
                         const struct solver_claims *claims)
{
    static const char *const names[] = {
        [VENDOR_AMD] = "AMD", [VENDOR_NVIDIA] = "NVIDIA", [VENDOR_CPU] = "CPU"};
    const char *separator = "";

    (void)solver;
    if (claims->vendors == (1u << G_N_ELEMENTS(names)) - 1) {
        g_string_append(text, "all");
        return;
    }
    for (gsize v = 0; v < G_N_ELEMENTS(names); v++) {
        if (claims->vendors & 1u << v) {
            g_string_append_printf(text, "%s%s", separator, names[v]);
            separator = " ";
        }
    }
}

static void name_cell(GString *text, const struct solver *solver,
                      const struct solver_claims *claims)
{
    (void)claims;
    g_string_append(text, solver->name);
}

static void family_cell(GString *text, const struct solver *solver,
                        const struct solver_claims *claims)
{
    (void)claims;
    g_string_append(text, solver->algorithm);
}

static const struct {
    const char *title;
    void (*append)(GString *text, const struct solver *solver, const struct solver_claims *claims);
} columns[] = {
    {"solver", name_cell},
    {"family", family_cell},
    {"directions", directions_cell},
    {"layouts", layouts_cell},
    {"types", types_cell},
    {"filters", filters_cell},
    {"groups", groups_cell},
    {"features", features_cell},
    {"form", form_cell},
    {"configs (of probes)", configs_cell},
    {"workspace", workspace_cell},
    {"kernels", kernels_cell},
    {"targets", targets_cell},
};

char *solver_claims_table(const struct solver *const *solvers, int count)
{
    GString *text = g_string_new("|");

    for (gsize c = 0; c < G_N_ELEMENTS(columns); c++)
        g_string_append_printf(text, " %s |", columns[c].title);
    g_string_append(text, "\n|");
    for (gsize c = 0; c < G_N_ELEMENTS(columns); c++)
        g_string_append(text, "---|");
    g_string_append_c(text, '\n');
    for (int i = 0; i < count; i++) {
        struct solver_claims claims;
        solver_claims_find(solvers[i], &claims);
        g_string_append_c(text, '|');
        for (gsize c = 0; c < G_N_ELEMENTS(columns); c++) {
            g_string_append_c(text, ' ');
            columns[c].append(text, solvers[i], &claims);
            g_string_append(text, " |");
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}
