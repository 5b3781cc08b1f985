/* Clocks, temperatures and throttling of devices while a campaign was measured. */
#include "coordinator/reports/report.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

/* Returns a table from a job's id to its struct job_conditions *. */
static GHashTable *by_job(const GPtrArray *conditions)
{
    GHashTable *seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < conditions->len; i++) {
        struct job_conditions *row = g_ptr_array_index(conditions, i);
        g_hash_table_insert(seen, &row->job, &row->seen);
    }
    return seen;
}

void report_take_conditions(GArray *rows, const GPtrArray *conditions)
{
    g_autoptr(GHashTable) known = by_job(conditions);
    for (guint i = 0; i < rows->len; i++) {
        struct report_row *row = &g_array_index(rows, struct report_row, i);
        const struct conditions *seen = row->won ? g_hash_table_lookup(known, &row->job) : NULL;
        if (seen)
            row->conditions = *seen;
    }
}

static gint earlier_first(gconstpointer a, gconstpointer b)
{
    const struct job_conditions *one = a, *other = b;
    return (one->job > other->job) - (one->job < other->job);
}

static void add_device(GArray *devices, const struct job_conditions *row)
{
    guint at = 0;
    while (at < devices->len &&
           strcmp(g_array_index(devices, struct job_conditions, at).seen.device,
                  row->seen.device) != 0)
        at++;
    if (at == devices->len) {
        const struct job_conditions device = {.job = row->job};
        g_array_append_val(devices, device);
    }
    struct job_conditions *device = &g_array_index(devices, struct job_conditions, at);
    device->job = MIN(device->job, row->job);
    conditions_add(&device->seen, &row->seen);
}

void report_add_devices(GArray *devices, const GPtrArray *conditions)
{
    for (guint i = 0; i < conditions->len; i++)
        add_device(devices, g_ptr_array_index(conditions, i));
    g_array_sort(devices, earlier_first);
}

/* Returns a range of clock rates as text: "1755-1980 MHz", "2619 MHz", "unknown". */
static char *range_text(int least, int most)
{
    if (most == 0)
        return g_strdup("unknown");
    return least == most ? g_strdup_printf("%d MHz", most)
                         : g_strdup_printf("%d-%d MHz", least, most);
}

static void print_device(const struct conditions *seen, FILE *out)
{
    g_autofree char *units = range_text(seen->sm_mhz_min, seen->sm_mhz_max);
    g_autofree char *memory = range_text(seen->memory_mhz_min, seen->memory_mhz_max);
    g_autofree char *held = conditions_throttle_text(seen->throttle);
    fprintf(out, "  %s: units %s%s, memory %s", *seen->device ? seen->device : "a GPU", units,
            seen->locked_mhz > 0 ? " (locked)" : "", memory);
    if (seen->temperature_c > 0)
        fprintf(out, ", up to %d C", seen->temperature_c);
    if (seen->power_w > 0)
        fprintf(out, ", up to %.0f W", seen->power_w);
    if (*held)
        fprintf(out, "\n    held back by %s\n", held);
    else
        fprintf(out, "\n    %s\n",
                seen->throttle & THROTTLE_UNTOLD ? "whether something held it back is not known"
                                                 : "nothing held it back");
}

/* Printed below the winners, since few reports have such devices. */
static void print_throttled(const struct report *report, FILE *out)
{
    if (report->totals.throttled > 0)
        fprintf(
            out,
            "\n%d of %d winners were measured while their device was throttled, so their "
            "times are unsure, and no export takes those of such a round without --allow-drift. To measure "
            "them\nagain: skipjack campaign remeasure %" G_GINT64_FORMAT " --what unstable\n",
            report->totals.throttled, report->totals.problems, report->campaign->id);
    for (guint i = 0; i < report->rows->len; i++) {
        const struct report_row *row = &g_array_index(report->rows, struct report_row, i);
        g_autofree char *why = conditions_throttle_text(row->conditions.throttle & THROTTLE_MARKED);
        char key[PROBLEM_KEY_MAX];
        if (*why)
            fprintf(out, "  %s: %s\n", problem_key(&row->problem, key), why);
    }
}

void report_print_conditions(const struct report *report, FILE *out)
{
    if (report->devices->len > 0)
        fputs("\nDevices while they measured:\n", out);
    for (guint i = 0; i < report->devices->len; i++)
        print_device(&g_array_index(report->devices, struct job_conditions, i).seen, out);
    print_throttled(report, out);
}

json_t *report_conditions_json(const struct report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->devices->len; i++) {
        const struct conditions *seen =
            &g_array_index(report->devices, struct job_conditions, i).seen;
        g_autofree char *held = conditions_throttle_text(seen->throttle);
        json_t *object = conditions_to_json(seen);
        bool known = *held || !(seen->throttle & THROTTLE_UNTOLD);
        json_object_set_new(object, "throttle", known ? json_string(held) : json_null());
        json_array_append_new(list, object);
    }
    return list;
}
