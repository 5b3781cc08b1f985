#include "coordinator/network/autotune/turns.h"

#include "worker/measure/statistics.h"

#include <glib.h>

void turns_compare(const double *of, const double *to, int turns, struct turns_ratio *ratio)
{
    *ratio = (struct turns_ratio){.turns = turns};
    if (turns == 0)
        return;
    g_autofree double *ratios = g_new(double, (gsize)turns);
    for (int i = 0; i < turns; i++)
        ratios[i] = of[i] / to[i];
    statistics_sort(ratios, turns);
    ratio->median = statistics_median(ratios, turns);
    ratio->has_interval = statistics_median_interval(ratios, turns, &ratio->low, &ratio->high);
    if (!ratio->has_interval) {
        ratio->low = ratios[0];
        ratio->high = ratios[turns - 1];
    }
}

bool turns_within_noise(const struct turns_ratio *ratio)
{
    return !ratio->has_interval || (ratio->low <= 1 && ratio->high >= 1);
}

const char *turns_ratio_text(const struct turns_ratio *ratio, char text[TURNS_RATIO_TEXT])
{
    if (ratio->turns == 0)
        return "-";
    g_snprintf(text, TURNS_RATIO_TEXT, "%.2f (%.2f to %.2f)", ratio->median, ratio->low,
               ratio->high);
    return text;
}

json_t *turns_ratio_json(const struct turns_ratio *ratio)
{
    if (ratio->turns == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:b}", "median", ratio->median, "low", ratio->low, "high",
                     ratio->high, "within_noise", turns_within_noise(ratio));
}
