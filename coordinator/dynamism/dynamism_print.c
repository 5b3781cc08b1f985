/* How the report on dynamism looks, for people and as JSON; and the command. */
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/dynamism/dynamism_report.h"
#include "coordinator/plan/plan.h"
#include "schema/server/database.h"
#include "solvers/problem/problem_key.h"

#include <math.h>

/* ---- policies ---- */

static const struct table_column policy_columns[] = {
    {"network", NULL, TABLE_TEXT, 0},      {"policy", NULL, TABLE_TEXT, 0},
    {"covered", NULL, TABLE_TEXT, 0},      {"static", NULL, TABLE_INT, 0},
    {"dynamic", NULL, TABLE_INT, 0},       {"partial", NULL, TABLE_INT, 0},
    {"kernels", NULL, TABLE_INT, 0},       {"KiB", NULL, TABLE_NUMBER, -4},
    {"compile s", NULL, TABLE_NUMBER, -4}, {"run ms", NULL, TABLE_NUMBER, -4},
    {"over mixed", NULL, TABLE_NUMBER, 2},
};

static void add_policy_row(Table *table, const struct dynamism_network *network, int number)
{
    const struct dynamism_policy *policy = &network->policies[number];
    g_autofree char *covered = g_strdup_printf("%d of %u", policy->covered, network->measured->len);
    table_text(table, network->name);
    table_text(table, dynamism_policy_name(number));
    table_text(table, covered);
    for (int f = 0; f < DYNAMISM_FORMS; f++)
        table_int(table, policy->forms[f]);
    table_int(table, policy->kernels);
    table_number(table, (double)policy->bytes / 1024);
    table_number(table, policy->compile_seconds);
    table_number(table, policy->run_ms);
    table_number(table, policy->run_ms / network->policies[DYNAMISM_MIXED].run_ms);
}

static void print_policies(const struct dynamism_report *report, FILE *out)
{
    Table *table = table_new(policy_columns, G_N_ELEMENTS(policy_columns));
    for (guint i = 0; i < report->networks->len; i++)
        for (int p = 0; p < DYNAMISM_POLICIES; p++)
            add_policy_row(table, g_ptr_array_index(report->networks, i), p);
    table_print(table, out);
    table_free(table);
    fputs("\ncovered: problems with a verified config of the policy's form; the others run the\n"
          "fastest of any form. static, dynamic, partial: problems that such a config serves.\n"
          "compile s: of the distinct kernels, one after the other, as stored. run ms: best times\n"
          "x multiplicity. The naive solver counts as dynamic.\n",
          out);
    fprintf(out,
            "mixed: the dynamic config where its time is within %g %% of the fastest; else the\n"
            "fastest, or one within %g %% of it that compiles in %g of its time.\n",
            report->limits.within * 100, report->limits.within * 100, report->limits.compile_share);
}

/* ---- the cold start ---- */

static const struct table_column cold_columns[] = {
    {"network", NULL, TABLE_TEXT, 0},
    {"policy", NULL, TABLE_TEXT, 0},
    {"kernels", NULL, TABLE_INT, 0},
    {"KiB", NULL, TABLE_NUMBER, -4},
    {"compile s", NULL, TABLE_NUMBER, -4},
    {"load s", NULL, TABLE_NUMBER, -4},
    {"first run s", NULL, TABLE_NUMBER, -4},
    {"second run s", NULL, TABLE_NUMBER, -4},
    {"first iteration s", NULL, TABLE_NUMBER, -4},
};

static double first_iteration(const struct dynamism_cold *cold)
{
    return cold->compile_seconds + cold->load_seconds + cold->first_seconds;
}

static void print_cold(const struct dynamism_report *report, FILE *out)
{
    Table *table = table_new(cold_columns, G_N_ELEMENTS(cold_columns));
    for (guint i = 0; i < report->networks->len; i++) {
        const struct dynamism_network *network = g_ptr_array_index(report->networks, i);
        for (int p = 0; p < DYNAMISM_POLICIES; p++) {
            const struct dynamism_cold *cold = &report->cold[i][p];
            if (!cold->measured)
                continue;
            table_text(table, network->name);
            table_text(table, dynamism_policy_name(p));
            table_int(table, cold->kernels);
            table_number(table, (double)cold->bytes / 1024);
            table_number(table, cold->compile_seconds);
            table_number(table, cold->load_seconds);
            table_number(table, cold->first_seconds);
            table_number(table, cold->second_seconds);
            table_number(table, first_iteration(cold));
        }
    }
    if (table_rows(table) > 0) {
        fputs(
            "\nA cold start, measured now: empty caches, one build process, every kernel compiled,\n"
            "loaded and run:\n\n",
            out);
        table_print(table, out);
    }
    table_free(table);
}

/* ---- parameters ---- */

static const struct table_column parameter_columns[] = {
    {"parameter", "parameter", TABLE_TEXT, 0}, {"FIX_", "choice", TABLE_YES, 0},
    {"values", "values", TABLE_NUMBER, 0},     {"compilations", "compilations", TABLE_NUMBER, 0},
    {"gain", "gain", TABLE_NUMBER, 3},         {"problems", "problems", TABLE_INT, 0},
    {"pairs", "pairs", TABLE_INT, 0},
};

static double count_or_nan(int count)
{
    return count < 0 ? NAN : count;
}

static Table *parameter_table(const struct dynamism_report *report)
{
    Table *table = table_new(parameter_columns, G_N_ELEMENTS(parameter_columns));
    for (guint i = 0; i < report->parameters->len; i++) {
        const struct dynamism_parameter *parameter =
            &g_array_index(report->parameters, struct dynamism_parameter, i);
        table_text(table, parameter->name);
        table_yes(table, parameter->choice);
        table_number(table, count_or_nan(parameter->values));
        table_number(table, count_or_nan(parameter->compilations));
        table_number(table, parameter->gain);
        table_int(table, parameter->problems);
        table_int(table, parameter->pairs);
    }
    return table;
}

static void print_parameters(const struct dynamism_report *report, FILE *out)
{
    Table *table = parameter_table(report);
    fputs("\nWhat may be compiled in, over all problems of these networks:\n\n", out);
    table_print(table, out);
    table_free(table);
    fprintf(
        out,
        "\nvalues: distinct ones. compilations: kernels of one config where this alone is "
        "compiled in\n(%d with nothing compiled in: one a direction, type and layout). gain: "
        "best time without over\nbest time with, a geometric mean over problems, from pairs of "
        "configs of a partly specialised\nsolver that differ in this alone, each timed against "
        "the default config of its round. Pairs\nare few and lie around a job's fastest config: "
        "a gain near 1 is noise.\n",
        report->kinds);
}

void dynamism_report_print(const struct dynamism_report *report, FILE *out)
{
    fprintf(out, "Dynamism on %s%s%s\n", report->target, report->stack[0] ? ", " : "",
            report->stack);
    fprintf(out, "from %d static, %d dynamic and %d partly specialised results of %u %s\n\n",
            report->forms[DYNAMISM_STATIC], report->forms[DYNAMISM_DYNAMIC],
            report->forms[DYNAMISM_PARTIAL], report->campaigns->len,
            report->campaigns->len == 1 ? "campaign" : "campaigns");
    print_policies(report, out);
    print_cold(report, out);
    print_parameters(report, out);
    if (report->notes->len > 0)
        fputs("\nMissing:\n", out);
    for (guint i = 0; i < report->notes->len; i++)
        fprintf(out, "  %s\n", (const char *)g_ptr_array_index(report->notes, i));
}

/* ---- as JSON ---- */

static json_t *choices_json(const struct dynamism_policy *policy)
{
    json_t *choices = json_array();
    for (guint i = 0; i < policy->choices->len; i++) {
        const struct result *result = g_ptr_array_index(policy->choices, i);
        char key[PROBLEM_KEY_MAX];
        json_array_append_new(choices, json_pack("{s:s, s:s, s:s, s:f}", "problem",
                                                 problem_key(&result->problem, key), "solver",
                                                 result->solver, "config", result->kept.config_text,
                                                 "time_ms", result->kept.outcome.median_ms));
    }
    return choices;
}

static json_t *cold_json(const struct dynamism_cold *cold)
{
    if (!cold->measured)
        return json_null();
    return json_pack("{s:i, s:I, s:f, s:f, s:f, s:f}", "kernels", cold->kernels, "bytes",
                     (json_int_t)cold->bytes, "compile_seconds", cold->compile_seconds,
                     "load_seconds", cold->load_seconds, "first_seconds", cold->first_seconds,
                     "second_seconds", cold->second_seconds);
}

static json_t *forms_json(const int forms[DYNAMISM_FORMS])
{
    json_t *object = json_object();
    for (int f = 0; f < DYNAMISM_FORMS; f++)
        json_object_set_new(object, dynamism_policy_name(f), json_integer(forms[f]));
    return object;
}

static json_t *policy_json(const struct dynamism_network *network, int number,
                           const struct dynamism_cold *cold)
{
    const struct dynamism_policy *policy = &network->policies[number];
    return json_pack("{s:i, s:i, s:o, s:i, s:i, s:I, s:f, s:f, s:o, s:o}", "covered",
                     policy->covered, "measured", (int)network->measured->len, "by_form",
                     forms_json(policy->forms), "kernels", policy->kernels, "unknown_kernels",
                     policy->unknown, "bytes", (json_int_t)policy->bytes, "compile_seconds",
                     policy->compile_seconds, "run_ms", policy->run_ms, "choices",
                     choices_json(policy), "cold", cold_json(cold));
}

static json_t *texts_json(const GPtrArray *texts)
{
    json_t *array = json_array();
    for (guint i = 0; i < texts->len; i++)
        json_array_append_new(array, json_string(g_ptr_array_index(texts, i)));
    return array;
}

static json_t *network_json(const struct dynamism_report *report, guint index)
{
    const struct dynamism_network *network = g_ptr_array_index(report->networks, index);
    json_t *policies = json_object();
    for (int p = 0; p < DYNAMISM_POLICIES; p++)
        json_object_set_new(policies, dynamism_policy_name(p),
                            policy_json(network, p, &report->cold[index][p]));
    return json_pack("{s:s, s:i, s:i, s:o, s:o}", "network", network->name, "problems",
                     network->problems, "layers", network->layers, "unmeasured",
                     texts_json(network->unmeasured), "policies", policies);
}

json_t *dynamism_report_json(const struct dynamism_report *report)
{
    json_t *campaigns = json_array(), *networks = json_array();
    for (guint i = 0; i < report->campaigns->len; i++)
        json_array_append_new(campaigns,
                              json_integer(g_array_index(report->campaigns, int64_t, i)));
    for (guint i = 0; i < report->networks->len; i++)
        json_array_append_new(networks, network_json(report, i));
    Table *parameters = parameter_table(report);
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:f, s:f, s:o, s:o, s:i, s:o, s:o}", "target", report->target,
                  "stack", report->stack, "campaigns", campaigns, "within", report->limits.within,
                  "compile_share", report->limits.compile_share, "forms", forms_json(report->forms),
                  "networks", networks, "kinds", report->kinds, "parameters",
                  table_json(parameters), "notes", texts_json(report->notes));
    table_free(parameters);
    return json;
}

/* ---- the command ---- */

static int exit_status(const struct dynamism_report *report)
{
    if (report->stopped)
        return CLI_INTERRUPTED;
    return report->cold_failures > 0 ? CLI_FAILED : CLI_DONE;
}

int dynamism_report_run(const struct dynamism_request *request)
{
    GError *error = NULL;
    g_autoptr(Store) store = database_open(request->as_json, &error);
    struct dynamism_report *report = store ? dynamism_report_new(store, request, &error) : NULL;
    if (!report || (request->cold && !dynamism_report_cold(report, &error))) {
        dynamism_report_free(report);
        return cli_fail("report", error);
    }
    if (request->as_json)
        table_show_json(dynamism_report_json(report));
    else
        dynamism_report_print(report, stdout);
    int status = exit_status(report);
    dynamism_report_free(report);
    return status;
}
