/* Decodes the disassembled text of AMD code, and runs waves. */
#include <stdlib.h>
#include <string.h>

#include "kernels/objects/instructions.h"
#include "tests/support/kernels/gcn_sim_private.h"

/* ---- parsing the disassembly ---- */

/* Parses an operand such as "v3", "s[4:7]", "vcc", "0x70" or "-1". */
static struct operand operand_of(const char *word)
{
    const char *digits = word + (word[0] && word[1] == '[' ? 2 : 1);
    if (strcmp(word, "vcc") == 0)
        return (struct operand){OPERAND_SCALAR, VCC};
    if (strcmp(word, "exec") == 0)
        return (struct operand){OPERAND_SCALAR, EXEC};
    if (word[0] == 's' || word[0] == 'v')
        return (struct operand){word[0] == 's' ? OPERAND_SCALAR : OPERAND_VECTOR,
                                (uint32_t)strtoul(digits, NULL, 10)};
    return (struct operand){OPERAND_NUMBER, (uint32_t)strtoll(word, NULL, 0)};
}

static int number_behind(const char *word, const char *head, int otherwise)
{
    return g_str_has_prefix(word, head) ? atoi(word + strlen(head)) : otherwise;
}

static void add_op(gpointer data, uint64_t at, const char *text)
{
    struct op op = {.at = at, .vmcnt = LOADS_MAX, .lgkmcnt = -1, .text = g_strdup(text)};
    g_auto(GStrv) words = g_strsplit_set(g_strstrip(op.text), " ,\t", -1);
    op.row = gcn_row(words[0]);
    for (char **word = words + 1; *word; word++) {
        if (**word == '\0')
            continue;
        op.offset = number_behind(*word, "offset:", op.offset);
        op.vmcnt = number_behind(*word, "vmcnt(", op.vmcnt);
        op.lgkmcnt = number_behind(*word, "lgkmcnt(", op.lgkmcnt);
        if (!strpbrk(*word, "(") && !g_str_has_prefix(*word, "offset:") &&
            op.operand_count < OPERANDS_MAX)
            op.operands[op.operand_count++] = operand_of(*word);
    }
    g_array_append_val(data, op);
}

static void clear_op(gpointer data)
{
    g_free(((struct op *)data)->text);
}

/* ---- running ---- */

/* Runs the wave until it reaches a barrier, its end or a fault. */
static void wave_run(struct wave *wave)
{
    wave->at_barrier = false;
    for (int steps = 0; !wave->at_barrier && !wave->ended && !wave->fault; steps++) {
        if (wave->pc >= wave->ops->len || steps > STEPS_MAX) {
            gcn_fault(wave, "does not end");
            return;
        }
        const struct op *op = &g_array_index(wave->ops, struct op, wave->pc++);
        if (!op->row)
            gcn_fault(wave, "is none that is known here");
        else
            op->row->run(wave, op);
        if (wave->fault) {
            char *full = g_strdup_printf("'%s' %s", op->text, wave->fault);
            g_free(wave->fault);
            wave->fault = full;
        }
    }
}

/* Sets the registers that the hardware sets at a launch; all others get a recognizable garbage
 * value. */
static void wave_init(struct wave *wave, const struct gcn_launch *launch, const GArray *ops,
                      const int64_t group[2], int number)
{
    uint64_t arguments = (uint64_t)(uintptr_t)launch->arguments;
    memset(wave, 0, sizeof(*wave));
    memset(wave->s, 0xa5, sizeof(wave->s));
    memset(wave->v, 0xa5, sizeof(wave->v));
    wave->launch = launch;
    wave->ops = ops;
    wave->local_loads = g_array_new(FALSE, FALSE, sizeof(int));
    wave->s[0] = (uint32_t)arguments;
    wave->s[1] = (uint32_t)(arguments >> 32);
    wave->s[GROUP_X] = (uint32_t)group[0];
    wave->s[GROUP_X + 1] = (uint32_t)group[1];
    wave->s[EXEC] = wave->s[EXEC + 1] = UINT32_MAX;
    for (int lane = 0; lane < LANES; lane++)
        wave->v[0][lane] = (uint32_t)(number * LANES + lane);
}

static char *group_run(const struct gcn_launch *launch, const GArray *ops, const int64_t group[2])
{
    g_autofree struct wave *waves = g_new(struct wave, launch->waves);
    g_autofree uint8_t *local = g_malloc0((gsize)launch->local_bytes + 4);
    char *wrong = NULL;
    for (int w = 0; w < launch->waves; w++) {
        wave_init(&waves[w], launch, ops, group, w);
        waves[w].local = local;
    }
    for (bool going = true; going && !wrong;) {
        going = false;
        for (int w = 0; w < launch->waves && !wrong; w++) {
            if (!waves[w].ended)
                wave_run(&waves[w]);
            going = going || !waves[w].ended;
            wrong = g_steal_pointer(&waves[w].fault);
        }
    }
    for (int w = 0; w < launch->waves; w++)
        g_array_unref(waves[w].local_loads);
    return wrong;
}

char *gcn_sim_run(GBytes *code, const char *entry, const struct target *target,
                  const struct gcn_launch *launch)
{
    g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(struct op));
    char *wrong = NULL;
    g_array_set_clear_func(ops, clear_op);
    if (!instructions_each(code, entry, target, add_op, ops))
        return g_strdup("the code cannot be disassembled here");
    for (int64_t y = 0; y < launch->groups[1] && !wrong; y++)
        for (int64_t x = 0; x < launch->groups[0] && !wrong; x++)
            wrong = group_run(launch, ops, (const int64_t[]){x, y});
    return wrong;
}
