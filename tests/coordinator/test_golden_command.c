/* `skipjack golden` and `export --golden` as a user meets them, through the program itself. */
#include "tests/support/export/export_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <jansson.h>
#include <string.h>
#include <sys/wait.h>

#define WORDS 8

/* Arguments of one call; "CAMPAIGN" is replaced by the id of the farm's campaign, "OUT" by a
 * folder's path. */
struct step {
    const char *words[WORDS];
    int status;
    const char *out, *errors; /* text that the output must contain; NULL: not checked */
};

static char *spell(const char *word, const struct export_farm *farm, TempFolder *folder)
{
    if (strcmp(word, "CAMPAIGN") == 0)
        return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)farm->campaign);
    return g_strdup(strcmp(word, "OUT") == 0 ? temp_folder_path(folder, "out") : word);
}

/* Runs the step and compares its status and output. Returns standard output; free with g_free(). */
static char *run(const struct step *step, const struct export_farm *farm, TempFolder *folder)
{
    const char *program = g_getenv("SKIPJACK");
    g_auto(GStrv) words = g_new0(char *, WORDS + 2);
    g_autoptr(GError) error = NULL;
    g_autofree char *errors = NULL;
    char *out = NULL;
    int status = -1;
    words[0] = g_strdup(program != NULL ? program : "build/skipjack");
    for (int i = 0; i < WORDS && step->words[i] != NULL; i++)
        words[i + 1] = spell(step->words[i], farm, folder);
    g_autofree char *line = g_strjoinv(" ", words + 1);
    if (!g_spawn_sync(NULL, words, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &errors, &status,
                      &error))
        g_error("%s: %s", line, error->message);
    g_test_message("%s", line);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, step->status);
    if (step->out != NULL && strstr(out, step->out) == NULL)
        g_test_fail_printf("'%s' printed '%s', which lacks '%s'", line, out, step->out);
    if (step->errors != NULL && strstr(errors, step->errors) == NULL)
        g_test_fail_printf("'%s' said '%s', which lacks '%s'", line, errors, step->errors);
    return out;
}

static const struct step line[] = {
    {{"golden", "list"}, 0, "", NULL},
    {{"golden", "list", "--json"}, 0, "[]", NULL},
    {{"golden", "approve"}, 1, "", "no target has golden versions yet"},
    {{"golden", "propose"}, 2, "", "--campaign ID"},
    {{"golden", "propose", "--campaign", "77777"}, 1, "", "no campaign 77777"},
    {{"golden", "propose", "--campaign", "CAMPAIGN", "--noise", "-1"}, 2, "", "not negative"},
    {{"golden", "propose", "--campaign", "CAMPAIGN", "--base", "4"}, 1, "", "not the newest"},
    {{"golden", "propose", "--campaign", "CAMPAIGN", "--remeasure", "--allow-unconfirmed"},
     2,
     "",
     "exclude each other"},
    {{"golden", "propose", "--campaign", "CAMPAIGN", "--by", "ann"},
     0,
     "version 1 is proposed",
     NULL},
    {{"golden", "propose", "--campaign", "CAMPAIGN", "--by", "ann"},
     0,
     "was proposed before",
     NULL},
    {{"golden", "list"}, 0, "proposed", NULL},
    {{"golden", "diff", "0", "1"}, 0, "new problem", NULL},
    {{"golden", "diff", "0"}, 2, "", "it takes A B"},
    {{"golden", "diff", "0", "x"}, 2, "", "'x' is no version"},
    {{"golden", "diff", "0", "9"}, 1, "", "no golden version 9"},
    {{"export", "--golden", "latest", "-o", "OUT"}, 1, "", "is approved"},
    {{"export", "--golden", "1", "-o", "OUT"}, 1, "", "approved first"},
    {{"golden", "policy", "--two-persons", "maybe"}, 2, "", "yes or no"},
    {{"golden", "policy", "--two-persons", "yes"}, 0, "may not approve", NULL},
    {{"golden", "approve", "--by", "Ann"}, 1, "", "somebody else"},
    {{"golden", "approve", "--by", "bob"}, 0, "version 1 is approved", NULL},
    {{"golden", "approve", "--by", "bob"}, 1, "", "waits for an approval"},
    {{"golden", "approve", "1", "--by", "bob"}, 1, "", "approved already"},
    {{"golden", "propose", "--campaign", "CAMPAIGN"}, 0, "nothing to propose", NULL},
    {{"golden", "rollback", "1"}, 1, "", "newest approved one already"},
    {{"golden", "withdraw", "1"}, 1, "", "approved already"},
    {{"golden", "policy", "--two-persons", "no"}, 0, "one person may", NULL},
    {{"export", "--golden", "latest", "-o", "OUT"}, 0, ".golden.json", NULL},
    {{"export", "--golden", "1", "--target", "gfx906_60", "-o", "OUT"},
     1,
     "",
     "no golden version 1"},
    {{"export", "--golden", "1", "--campaign", "CAMPAIGN", "-o", "OUT"}, 2, "", "or a golden"},
    {{"export", "--target", "gfx906_60", "--campaign", "CAMPAIGN", "-o", "OUT"},
     2,
     "",
     "goes with"},
    {{"golden", "fly"}, 2, "", "no 'fly' here"},
};

static void test_a_version_from_proposal_to_release(void)
{
    struct export_farm farm;
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_farm_init(&farm);
    export_farm_work(&farm);
    for (gsize i = 0; i < G_N_ELEMENTS(line); i++)
        g_free(run(&line[i], &farm, folder));
    g_assert_true(g_file_test(temp_folder_path(folder, "out/" EXPORT_FARM_TARGET ".golden.json"),
                              G_FILE_TEST_EXISTS));
    export_farm_clear(&farm);
}

/* The members that each verb's JSON output has. */
static const struct {
    struct step step;
    const char *members[12];
} values[] = {
    {{{"golden", "propose", "--campaign", "CAMPAIGN", "--json"}, 0, NULL, NULL},
     {"target", "base", "version", "new", "taken", "not_taken", "refused", "rows"}},
    {{{"golden", "diff", "0", "1", "--json"}, 0, NULL, NULL},
     {"target", "a", "b", "gained", "lost", "changed", "rows"}},
    {{{"golden", "approve", "--json"}, 0, NULL, NULL}, {"target", "version", "state"}},
    {{{"golden", "prune", "1", "--json"}, 0, NULL, NULL},
     {"target", "before", "versions", "configs"}},
    {{{"golden", "policy", "--json"}, 0, NULL, NULL}, {"target", "two_persons"}},
    {{{"golden", "propose", "--campaign", "CAMPAIGN", "--json"}, 0, NULL, NULL},
     {"version", "rows"}},
    {{{"export", "--golden", "1", "-o", "OUT", "--json"}, 0, NULL, NULL}, {"files", "refused"}},
};

static void test_every_verb_prints_json(void)
{
    struct export_farm farm;
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_farm_init(&farm);
    export_farm_work(&farm);
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autofree char *out = run(&values[i].step, &farm, folder);
        json_t *value = json_loads(out, 0, NULL);
        g_assert_true(json_is_object(value));
        for (const char *const *member = values[i].members; *member != NULL; member++)
            g_assert_nonnull(json_object_get(value, *member));
        json_decref(value);
    }
    const struct step list = {{"golden", "list", "--json"}, 0, NULL, NULL};
    g_autofree char *out = run(&list, &farm, folder);
    json_t *versions = json_loads(out, 0, NULL);
    const json_t *first = json_array_get(versions, 0);
    g_assert_cmpstr(json_string_value(json_object_get(first, "state")), ==, "approved");
    g_assert_cmpint(json_integer_value(json_object_get(first, "campaign")), ==, farm.campaign);
    g_assert_true(json_is_null(json_object_get(first, "restores")));
    const json_t *counts = json_object_get(first, "counts");
    g_assert_cmpint(json_integer_value(json_object_get(counts, "new problem")), >, 3);
    json_decref(versions);
    export_farm_clear(&farm);
}

/* Two campaigns are proposed on the same base: whoever approves one must learn that the other one is left out. */
static void test_an_approval_names_the_proposals_that_it_leaves_out(void)
{
    static const char *const keys[] = {"8-8-8-1x1-8-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F"};
    const struct step propose = {
        {"golden", "propose", "--campaign", "CAMPAIGN"}, 0, "is proposed", NULL};
    const struct export_farm_order second = {
        .name = "second", .keys = keys, .count = 1, .solvers = ""};
    struct export_farm farm;
    g_autoptr(TempFolder) folder = temp_folder_new();
    export_farm_init(&farm);
    export_farm_work(&farm);
    g_free(run(&propose, &farm, folder));
    g_autofree char *again = g_strdup_printf("proposal 1 is outdated by this: version 2 does not "
                                             "build on it; to propose it again: skipjack golden "
                                             "propose --campaign %" G_GINT64_FORMAT,
                                             (gint64)farm.campaign);
    export_farm_add(&farm, &second);
    export_farm_work(&farm);
    g_free(run(&propose, &farm, folder));
    const struct step approve = {{"golden", "approve", "2"}, 0, "version 2 is approved", again};
    g_free(run(&approve, &farm, folder));
    export_farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/golden_command/a_version_from_proposal_to_release",
                    test_a_version_from_proposal_to_release);
    g_test_add_func("/golden_command/every_verb_prints_json", test_every_verb_prints_json);
    g_test_add_func("/golden_command/an_approval_names_the_proposals_that_it_leaves_out",
                    test_an_approval_names_the_proposals_that_it_leaves_out);
    return g_test_run();
}
