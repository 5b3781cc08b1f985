#include "worker/eval/proof.h"

#include <string.h>

#include "worker/verify/random.h"

/* Most multiply-accumulates of the host's reference of a kind; a larger problem's is computed in part. */
#define PROOF_MACS 2.5e8
/* Added to the problem's seed for the inputs of proofs; workbenches use the seed and the next one. */
#define PROOF_SEED 2

/* Percent of the runs on each kind of inputs. */
static const int shares[INPUT_KIND_COUNT] = {
    [INPUT_RANDOM] = 40, [INPUT_WHOLE] = 20, [INPUT_LARGE] = 15,
    [INPUT_SMALL] = 15,  [INPUT_ZERO] = 10,
};

struct session {
    struct workbench *bench;
    struct invocation *invocation;
    const struct proof_limits *limits;
    gint64 began; /* monotonic time in us */
    struct proof *proof;
    struct verdict *verdict;
};

static double spent(const struct session *s)
{
    return (double)(g_get_monotonic_time() - s->began) / G_USEC_PER_SEC;
}

static bool is_wrong(const struct session *s)
{
    return s->verdict->failure != FAILURE_NONE;
}

/* Makes the kind's inputs in copy 0: by the device if the workbench has a judge, else by the host, also where the
 * device has no memory left for one more reference. */
static bool make_set(struct session *s, enum input_kind kind, struct input_set *set, GError **error)
{
    struct workbench *bench = s->bench;
    uint64_t seed = random_seed(bench->seed + PROOF_SEED, kind);
    struct device_memory *memory[OPERAND_COUNT];
    g_autoptr(GError) why = NULL;

    workbench_parts(bench, 0, memory);
    if (!guarded_poison(&bench->memory[bench->out], 0, error))
        return false;
    if (workbench_judges(bench) && input_set_by_device(set, &bench->means, seed, memory, &why))
        return true;
    if (g_error_matches(why, DEVICE_ERROR, DEVICE_ERROR_FAULT)) {
        g_propagate_error(error, g_steal_pointer(&why));
        return false;
    }
    return input_set_by_host(set, &bench->means, seed, PROOF_MACS, memory, error);
}

static bool judge_now(struct session *s, struct look *look, GError **error)
{
    struct device_memory *memory[OPERAND_COUNT];

    workbench_parts(s->bench, look->copy, memory);
    return input_set_judge(look->set, &s->bench->means, memory, &s->invocation->rounding,
                           s->verdict, error);
}

/* One more run, compared with the first one's bytes; in full if they differ, to say where, or if they may differ. */
static bool compare_again(struct session *s, struct look *look, uint64_t expected, GError **error)
{
    if (!workbench_look_again(s->bench, look, s->invocation, error))
        return false;
    s->proof->runs++;
    if (look->result == expected)
        return true;
    if (!judge_now(s, look, error))
        return false;
    if (!s->bench->varies)
        verdict_name_race(s->verdict);
    return true;
}

/* The end of a kind: what the runs must not change, and the last output in full. */
static bool finish_kind(struct session *s, struct look *look, GError **error)
{
    struct verdict harm;

    if (!is_wrong(s) && !judge_now(s, look, error))
        return false;
    if (!workbench_unharmed(s->bench, look, &harm, error))
        return false;
    if (harm.failure != FAILURE_NONE)
        *s->verdict = harm;
    return true;
}

static bool run_kind(struct session *s, struct input_set *set, int runs, double until,
                     GError **error)
{
    struct look look = {.set = set, .copy = 0, .fill = LOOK_POISON};

    if (!workbench_look(s->bench, &look, s->invocation, s->verdict, error))
        return false;
    s->proof->runs++;
    if (is_wrong(s))
        return true;
    uint64_t expected = look.result;
    for (int i = 1; i < runs && !is_wrong(s) && spent(s) < until; i++) {
        look.fill = i % 2 ? LOOK_NUMBERS : LOOK_POISON;
        if (!compare_again(s, &look, expected, error))
            return false;
    }
    return finish_kind(s, &look, error);
}

/* Tells with which inputs the config failed. */
static void name_kind(struct session *s, enum input_kind kind)
{
    char found[VERDICT_DETAIL_MAX];

    if (!is_wrong(s) || kind == INPUT_RANDOM)
        return;
    g_strlcpy(found, s->verdict->detail, sizeof(found));
    g_snprintf(s->verdict->detail, sizeof(s->verdict->detail), "with inputs of kind '%s': %.210s",
               input_kind_name(kind), found);
}

static bool prove_kind(struct session *s, enum input_kind kind, double until, GError **error)
{
    int runs = (s->limits->runs * shares[kind] + 99) / 100;
    struct input_set set;

    if (!make_set(s, kind, &set, error))
        return false;
    s->proof->kinds |= 1u << kind;
    bool done = run_kind(s, &set, runs, until, error);
    name_kind(s, kind);
    /* The judge is not kept if the config may have written into its reference. */
    struct input_means means = s->bench->means;
    if (!done || is_wrong(s))
        means.judges = NULL;
    input_set_clear(&set, &means);
    return done;
}

bool proof_run(struct workbench *bench, struct invocation *invocation,
               const struct proof_limits *limits, struct proof *proof, struct verdict *verdict,
               GError **error)
{
    struct session s = {bench, invocation, limits, g_get_monotonic_time(), proof, verdict};
    bool done = true;
    int share = 0;

    *proof = (struct proof){0};
    *verdict = (struct verdict){0};
    for (int kind = 0; kind < INPUT_KIND_COUNT && done && !is_wrong(&s); kind++) {
        if (kind > 0 && spent(&s) >= limits->seconds)
            break;
        share += shares[kind];
        done = prove_kind(&s, (enum input_kind)kind, limits->seconds * share / 100, error);
    }
    return done && workbench_restore(bench, 0, error);
}

int proof_kinds(const struct proof *proof)
{
    return __builtin_popcount(proof->kinds);
}

char *proof_text(const struct proof *proof)
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_append_printf(text, "%d run%s compared", proof->runs, proof->runs == 1 ? "" : "s");
    for (int kind = 0; kind < INPUT_KIND_COUNT; kind++) {
        if (proof->kinds & (1u << kind))
            g_string_append_printf(text, "%s%s", kind == 0 ? ": " : ", ",
                                   input_kind_name((enum input_kind)kind));
    }
    return g_strdup(text->str);
}
