#include "kernels/objects/hot_loop.h"

#include "kernels/objects/instructions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one instruction ---- */

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Bytes that a memory instruction moves for a work-item, by the width in its name; 0 for an unknown width. */
static double width_of(const char *text)
{
    static const struct {
        const char *word;
        double bytes;
    } widths[] = {
        {"b128", 16}, {"dwordx4", 16}, {"b96", 12}, {"dwordx3", 12}, {"b64", 8}, {"dwordx2", 8},
        {"b32", 4},   {"dword", 4},    {"b16", 2},  {"u16", 2},      {"i16", 2}, {"short", 2},
        {"b8", 1},    {"u8", 1},       {"i8", 1},   {"byte", 1},
    };
    g_autofree char *name = g_strndup(text, strcspn(text, " \t"));
    bool is_pair = strstr(name, "read2") || strstr(name, "write2") || strstr(name, "_2addr");
    for (size_t i = 0; i < G_N_ELEMENTS(widths); i++)
        if (strstr(name, widths[i].word))
            return widths[i].bytes * (is_pair ? 2 : 1);
    return 0;
}

/* 2 m n k of "v_mfma_f32_32x32x8f16" and "v_wmma_f32_16x16x16_f16". */
static double matrix_flops_of(const char *text)
{
    for (const char *at = strchr(text, '_'); at; at = strchr(at + 1, '_')) {
        int m, n, k;
        if (sscanf(at + 1, "%dx%dx%d", &m, &n, &k) == 3)
            return 2.0 * m * n * k;
    }
    return 0;
}

/* Operations of a multiply-add for a work-item; a dot product's are those of all its products. */
static double vector_flops_of(const char *text)
{
    double flops = 0;
    for (const char *half = text; half; half = strstr(half, " :: ")) {
        half += half == text ? 0 : 4;
        if (begins(half, "v_pk_fma") || begins(half, "v_dot2") || begins(half, "v_dual_dot2"))
            flops += 4;
        else if (begins(half, "v_dot4"))
            flops += 8;
        else if (begins(half, "v_fma") || begins(half, "v_mac") || begins(half, "v_dual_fma"))
            flops += 2;
    }
    return flops;
}

static void add(struct hot_loop *loop, const char *text)
{
    loop->instructions++;
    if (begins(text, "v_mfma") || begins(text, "v_wmma") || begins(text, "v_smfmac")) {
        loop->matrix++;
        loop->matrix_flops += matrix_flops_of(text);
    } else if (begins(text, "v_")) {
        loop->vector++;
        loop->vector_flops += vector_flops_of(text);
    } else if (begins(text, "ds_read") || begins(text, "ds_load") || begins(text, "ds_write") ||
               begins(text, "ds_store")) {
        loop->local_bytes += width_of(text);
    } else if (begins(text, "global_") || begins(text, "flat_") || begins(text, "buffer_load") ||
               begins(text, "buffer_store")) {
        loop->global_bytes += width_of(text);
    } else if (begins(text, "s_")) {
        loop->scalar++;
    }
}

/* ---- loops ---- */

/* The offset that a branch goes to: its number counts words of 4 bytes from the next instruction, in 16 bits. */
static bool branch_target(const struct hot_instruction *instruction, uint64_t *target)
{
    const char *text = instruction->text, *number = text + strcspn(text, " \t");
    if (!begins(text, "s_cbranch") && !begins(text, "s_branch"))
        return false;
    number += strspn(number, " \t");
    if (!g_ascii_isdigit(*number) && *number != '-')
        return false;
    *target = instruction->at + 4 + (uint64_t)((int64_t)(int16_t)strtol(number, NULL, 10) * 4);
    return true;
}

static void count(const struct hot_instruction *instructions, int first, int end,
                  struct hot_loop *loop)
{
    *loop = (struct hot_loop){0};
    for (int i = first; i < end; i++)
        add(loop, instructions[i].text);
}

/* A loop with its first and last instruction. */
struct found {
    int first, last;
    double flops;
    struct hot_loop loop;
};

/* All loops, as struct found. */
static GArray *loops_of(const struct hot_instruction *instructions, int count_of_all, int wave_size)
{
    GArray *loops = g_array_new(FALSE, FALSE, sizeof(struct found));
    for (int last = 0; last < count_of_all; last++) {
        struct found found = {.last = last};
        uint64_t target;
        if (!branch_target(&instructions[last], &target) || target > instructions[last].at)
            continue;
        while (instructions[found.first].at < target)
            found.first++;
        count(instructions, found.first, last + 1, &found.loop);
        found.flops = found.loop.matrix_flops + found.loop.vector_flops * wave_size;
        g_array_append_val(loops, found);
    }
    return loops;
}

/* The loop with the most arithmetic of those inside of `outer` (of all for NULL) that have at least `least`. */
static const struct found *richest(const GArray *loops, const struct found *outer, double least)
{
    const struct found *best = NULL;
    for (guint i = 0; i < loops->len; i++) {
        const struct found *one = &g_array_index(loops, struct found, i);
        bool is_inside = !outer || (one->first >= outer->first && one->last <= outer->last &&
                                    one->last - one->first < outer->last - outer->first);
        if (is_inside && one->flops > 0 && one->flops >= least &&
            (!best || one->flops > best->flops))
            best = one;
    }
    return best;
}

void hot_loop_find(const struct hot_instruction *instructions, int count_of_all, int wave_size,
                   struct hot_loop *loop)
{
    g_autoptr(GArray) loops = loops_of(instructions, count_of_all, wave_size);
    const struct found *best = richest(loops, NULL, 0), *inner = best;
    while (inner) {
        best = inner;
        inner = richest(loops, best, best->flops / 2);
    }
    count(instructions, 0, count_of_all, loop);
    if (best) {
        *loop = best->loop;
        loop->is_loop = true;
    }
}

static void keep(gpointer data, uint64_t at, const char *text)
{
    struct hot_instruction one = {at, g_strdup(text + strspn(text, " \t"))};
    g_array_append_val((GArray *)data, one);
}

static void free_text(gpointer data)
{
    g_free(((struct hot_instruction *)data)->text);
}

bool hot_loop_of(GBytes *code, const char *entry, const struct target *target,
                 struct hot_loop *loop)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct hot_instruction));
    g_array_set_clear_func(all, free_text);
    if (!instructions_each(code, entry, target, keep, all))
        return false;
    hot_loop_find((const struct hot_instruction *)(gpointer)all->data, (int)all->len,
                  target->wave_size, loop);
    return true;
}
