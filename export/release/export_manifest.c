#include "export/release/export_manifest.h"

#include "export/formats/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

json_t *export_part_json(const struct export_wish *wish)
{
    return json_pack("{s:i, s:o, s:b, s:b, s:o, s:o}", "top", wish->top, "workspace",
                     wish->limits_workspace ? json_integer((json_int_t)wish->workspace_bytes)
                                            : json_null(),
                     "dynamic_only", wish->dynamic_only, "allow_drift", wish->allow_drift,
                     "network", or_null(wish->network), "tag", or_null(wish->tag));
}

void export_add_completeness(json_t *object, const struct completeness *completeness, bool named)
{
    json_object_set_new(object, "complete", json_boolean(completeness_is_whole(completeness)));
    json_object_set_new(object, "jobs", json_integer(completeness->jobs));
    json_object_set_new(object, "jobs_ended", json_integer(completeness->ended));
    json_object_set_new(object, "jobs_untried", json_integer(completeness->untried));
    json_object_set_new(object, "without_winner", json_integer(completeness->without_winner));
    if (named) {
        json_t *list = json_array();
        for (guint i = 0; i < completeness->problems->len; i++) {
            json_array_append_new(list, json_string(completeness->problems->pdata[i]));
        }
        json_object_set_new(object, "problems_without_winner", list);
    }
}

/* Writes neither the time nor the campaign's id, so the same results always give the same bytes. */
bool export_manifest_write(const struct target *target, const char *campaign, const char *results,
                           const struct export_wish *wish, const struct export_summary *summary,
                           json_t *files, const char *path, GError **error)
{
    json_t *manifest = json_pack("{s:s, s:s, s:o, s:s}", "target", target->id, "campaign", campaign,
                                 "part", export_part_json(wish), "results", results);
    export_add_completeness(manifest, &summary->completeness, false);
    if (summary->built_configs > 0) {
        json_object_set_new(manifest, "build_only", json_true());
    }
    json_object_set_new(manifest, "verified_in_part",
                        summary->verified_in_part != NULL ? json_incref(summary->verified_in_part)
                                                          : json_array());
    json_object_set_new(
        manifest, "proofs",
        json_pack(
            "{s:i, s:i, s:o}", "proved", summary->proved, "unproved", summary->unproved, "briefly",
            summary->briefly_proved != NULL ? json_incref(summary->briefly_proved) : json_array()));
    json_object_set_new(manifest, "limits", manifest_limits_json(target));
    json_object_set_new(manifest, "files", files);
    FILE *file = fopen(path, "wbe");
    bool written =
        file != NULL && json_dumpf(manifest, file, JSON_INDENT(1)) == 0 && fputc('\n', file) != EOF;
    if (file != NULL) {
        written = fclose(file) == 0 && written;
    }
    json_decref(manifest);
    return written || export_io_error("write", path, error);
}

/* ---- second measurements ---- */

#define OBJECT_END "\n}\n"

static void write_final(FILE *file, const struct planned_final *final, bool first)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f}", "problem", final->problem,
                               "solver", final->solver, "config", final->config, "time_ms",
                               final->time_ms, "low_ms", final->low_ms, "high_ms", final->high_ms);
    char *text = json_dumps(object, JSON_REAL_PRECISION(6));
    fprintf(file, "%s\n  %s", first ? "" : ",", text);
    free(text);
    json_decref(object);
}

static bool write_finals(FILE *file, struct export_spool *spool, GError **error)
{
    struct planned_final final;
    enum read_step step = READ_FAILED;
    bool any = false;
    g_autoptr(ExportFinals) finals = export_finals_open(spool, error);
    fputs(",\n \"second_measurements\": [", file);
    while (finals != NULL && (step = export_finals_next(finals, &final, error)) == READ_ROW) {
        write_final(file, &final, !any);
        any = true;
    }
    fprintf(file, "%s%s", any ? "\n ]" : "]", OBJECT_END);
    return step == READ_END;
}

bool export_manifest_add_finals(const char *path, struct export_spool *spool, GError **error)
{
    FILE *file = fopen(path, "r+be");
    if (file == NULL || fseek(file, -(long)strlen(OBJECT_END), SEEK_END) != 0) {
        if (file != NULL) {
            fclose(file);
        }
        return export_io_error("write", path, error);
    }
    bool written = write_finals(file, spool, error);
    bool whole = fflush(file) == 0 && ferror(file) == 0;
    whole = fclose(file) == 0 && whole;
    return written && (whole || export_io_error("write", path, error));
}
