/* The interpreter's table of instructions, and each one's effect on a wave. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "tests/support/kernels/gcn_sim_private.h"

void gcn_fault(struct wave *wave, const char *format, ...)
{
    va_list arguments;
    if (wave->fault)
        return;
    va_start(arguments, format);
    wave->fault = g_strdup_vprintf(format, arguments);
    va_end(arguments);
}

/* ---- registers ---- */

static uint32_t read_scalar(struct wave *wave, const struct operand *operand, int more)
{
    if (operand->kind == OPERAND_NUMBER)
        return more == 0 ? operand->number : (int32_t)operand->number < 0 ? UINT32_MAX : 0;
    guint at = operand->number + (guint)more;
    if (operand->kind != OPERAND_SCALAR || at >= SCALARS || wave->s_pending[at])
        gcn_fault(wave, "reads a scalar register that is none or has not come yet");
    return wave->s[at % SCALARS];
}

static void write_scalar(struct wave *wave, const struct operand *operand, int more, uint32_t value)
{
    guint at = operand->number + (guint)more;
    if (operand->kind != OPERAND_SCALAR || at >= SCALARS || wave->s_pending[at])
        gcn_fault(wave, "writes a scalar register that is none or is being loaded");
    wave->s[at % SCALARS] = value;
}

static uint64_t read_pair(struct wave *wave, const struct operand *operand)
{
    return read_scalar(wave, operand, 0) | (uint64_t)read_scalar(wave, operand, 1) << 32;
}

static uint64_t exec_of(const struct wave *wave)
{
    return wave->s[EXEC] | (uint64_t)wave->s[EXEC + 1] << 32;
}

static bool is_on(const struct wave *wave, int lane)
{
    return exec_of(wave) >> lane & 1;
}

static uint32_t read_lane(struct wave *wave, const struct operand *operand, int more, int lane)
{
    if (operand->kind != OPERAND_VECTOR)
        return read_scalar(wave, operand, more);
    guint at = operand->number + (guint)more;
    if (at >= VECTORS || wave->v_pending[at])
        gcn_fault(wave, "reads a vector register that is none or has not come yet");
    return wave->v[at % VECTORS][lane];
}

static void write_lane(struct wave *wave, const struct operand *operand, int more, int lane,
                       uint32_t value)
{
    guint at = operand->number + (guint)more;
    if (operand->kind != OPERAND_VECTOR || at >= VECTORS || wave->v_pending[at])
        gcn_fault(wave, "writes a vector register that is none or is being loaded");
    wave->v[at % VECTORS][lane] = value;
}

/* ---- memory ---- */

static bool is_allowed(struct wave *wave, uint64_t address, size_t bytes, bool writes)
{
    for (int i = 0; i < wave->launch->range_count; i++) {
        const struct gcn_range *range = &wave->launch->ranges[i];
        uint64_t start = (uint64_t)(uintptr_t)range->start;
        if (address >= start && address - start <= range->bytes &&
            bytes <= range->bytes - (address - start) && (range->writable || !writes))
            return true;
    }
    gcn_fault(wave, "%s %zu bytes at %#" G_GINT64_MODIFIER "x, where nothing of it is",
              writes ? "writes" : "reads", bytes, address);
    return false;
}

static void load_scalar(struct wave *wave, const struct op *op)
{
    uint64_t address = read_pair(wave, &op->operands[1]) + op->operands[2].number;
    if (!is_allowed(wave, address, (size_t)op->row->count * 4, false))
        return;
    for (int i = 0; i < op->row->count; i++) {
        uint32_t value;
        memcpy(&value, (const char *)(uintptr_t)address + 4 * i, sizeof(value));
        write_scalar(wave, &op->operands[0], i, value);
    }
    for (int i = 0; i < op->row->count && !wave->fault; i++)
        wave->s_pending[op->operands[0].number + (guint)i] = true;
}

static void begin_load(struct wave *wave, int first, int count)
{
    if (wave->load_count == LOADS_MAX) {
        gcn_fault(wave, "has more loads on their way than are counted");
        return;
    }
    wave->loads[wave->load_count++] = (struct pending){first, count};
    for (int i = 0; i < count; i++)
        wave->v_pending[(first + i) % VECTORS] = true;
}

static uint64_t global_address(struct wave *wave, const struct operand *offset,
                               const struct operand *base, const struct op *op, int lane)
{
    return read_pair(wave, base) + read_lane(wave, offset, 0, lane) + (uint64_t)op->offset;
}

static void load_global(struct wave *wave, const struct op *op)
{
    for (int lane = 0; lane < LANES && !wave->fault; lane++) {
        uint64_t address = global_address(wave, &op->operands[1], &op->operands[2], op, lane);
        if (!is_on(wave, lane) || !is_allowed(wave, address, (size_t)op->row->count * 4, false))
            continue;
        for (int i = 0; i < op->row->count; i++) {
            uint32_t value;
            memcpy(&value, (const char *)(uintptr_t)address + 4 * i, sizeof(value));
            write_lane(wave, &op->operands[0], i, lane, value);
        }
    }
    if (!wave->fault)
        begin_load(wave, (int)op->operands[0].number, op->row->count);
}

static void store_global(struct wave *wave, const struct op *op)
{
    for (int lane = 0; lane < LANES && !wave->fault; lane++) {
        uint64_t address = global_address(wave, &op->operands[0], &op->operands[2], op, lane);
        if (!is_on(wave, lane) || !is_allowed(wave, address, (size_t)op->row->count * 4, true))
            continue;
        for (int i = 0; i < op->row->count; i++) {
            uint32_t value = read_lane(wave, &op->operands[1], i, lane);
            memcpy((char *)(uintptr_t)address + 4 * i, &value, sizeof(value));
        }
    }
    begin_load(wave, 0, 0);
}

static uint8_t *local_at(struct wave *wave, const struct operand *address, const struct op *op,
                         int lane)
{
    int64_t at = (int64_t)read_lane(wave, address, 0, lane) + op->offset;
    if (at + 4 <= wave->launch->local_bytes)
        return wave->local + at;
    gcn_fault(wave, "reaches %" G_GINT64_FORMAT " bytes into local memory", at + 4);
    return wave->local;
}

static void load_local(struct wave *wave, const struct op *op)
{
    int to = (int)op->operands[0].number;
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t value;
        memcpy(&value, local_at(wave, &op->operands[1], op, lane), sizeof(value));
        if (is_on(wave, lane))
            write_lane(wave, &op->operands[0], 0, lane, value);
    }
    wave->v_pending[to % VECTORS] = true;
    g_array_append_val(wave->local_loads, to);
}

static void store_local(struct wave *wave, const struct op *op)
{
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t value = read_lane(wave, &op->operands[1], 0, lane);
        if (is_on(wave, lane))
            memcpy(local_at(wave, &op->operands[0], op, lane), &value, sizeof(value));
    }
}

/* Loads from global memory complete in order, so vmcnt says which have; other loads are known to be
 * complete only when lgkmcnt is 0. */
static void wait_count(struct wave *wave, const struct op *op)
{
    int come = MAX(wave->load_count - op->vmcnt, 0);
    for (int i = 0; i < come; i++)
        for (int r = 0; r < wave->loads[i].count; r++)
            wave->v_pending[(wave->loads[i].first + r) % VECTORS] = false;
    wave->load_count -= come;
    memmove(wave->loads, wave->loads + come, sizeof(*wave->loads) * (size_t)wave->load_count);
    if (op->lgkmcnt != 0)
        return;
    memset(wave->s_pending, 0, sizeof(wave->s_pending));
    for (guint i = 0; i < wave->local_loads->len; i++)
        wave->v_pending[g_array_index(wave->local_loads, int, i) % VECTORS] = false;
    g_array_set_size(wave->local_loads, 0);
}

/* ---- arithmetic ---- */

static uint32_t add(uint32_t a, uint32_t b)
{
    return a + b;
}
static uint32_t subtract(uint32_t a, uint32_t b)
{
    return a - b;
}
static uint32_t multiply(uint32_t a, uint32_t b)
{
    return a * b;
}
static uint32_t multiply_24(uint32_t a, uint32_t b)
{
    return (a & 0xffffff) * (b & 0xffffff);
}
static uint32_t multiply_high(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
static uint32_t shift_left(uint32_t by, uint32_t a)
{
    return a << (by & 31);
}
static uint32_t shift_right(uint32_t by, uint32_t a)
{
    return a >> (by & 31);
}
static uint32_t both(uint32_t a, uint32_t b)
{
    return a & b;
}
static uint32_t equal(uint32_t a, uint32_t b)
{
    return a == b;
}
static uint32_t differ(uint32_t a, uint32_t b)
{
    return a != b;
}

static float as_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t as_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint32_t add_float(uint32_t a, uint32_t b)
{
    return as_bits(as_float(a) + as_float(b));
}

static void scalar_two(struct wave *wave, const struct op *op)
{
    uint32_t a = read_scalar(wave, &op->operands[1], 0);
    uint32_t b = read_scalar(wave, &op->operands[2], 0);
    if (op->row->two == add)
        wave->scc = (uint64_t)a + b > UINT32_MAX;
    else if (op->row->two == subtract)
        wave->scc = b > a;
    write_scalar(wave, &op->operands[0], 0, op->row->two(a, b));
}

static void scalar_add_carry(struct wave *wave, const struct op *op)
{
    uint64_t sum = (uint64_t)read_scalar(wave, &op->operands[1], 0) +
                   read_scalar(wave, &op->operands[2], 0) + wave->scc;
    wave->scc = sum > UINT32_MAX;
    write_scalar(wave, &op->operands[0], 0, (uint32_t)sum);
}

static void scalar_move(struct wave *wave, const struct op *op)
{
    for (int i = op->row->count - 1; i >= 0; i--)
        write_scalar(wave, &op->operands[0], i, read_scalar(wave, &op->operands[1], i));
}

static void scalar_compare(struct wave *wave, const struct op *op)
{
    wave->scc = op->row->two(read_scalar(wave, &op->operands[0], 0),
                             read_scalar(wave, &op->operands[1], 0));
}

static void branch_scc1(struct wave *wave, const struct op *op)
{
    int64_t to = (int64_t)op->at + 4 + 4 * (int64_t)(int16_t)op->operands[0].number;
    for (guint i = 0; wave->scc && i < wave->ops->len; i++) {
        if ((int64_t)g_array_index(wave->ops, struct op, i).at == to) {
            wave->pc = i;
            return;
        }
    }
    if (wave->scc)
        gcn_fault(wave, "branches to where no instruction is");
}

static void vector_two(struct wave *wave, const struct op *op)
{
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t a = read_lane(wave, &op->operands[1], 0, lane);
        uint32_t b = read_lane(wave, &op->operands[2], 0, lane);
        if (is_on(wave, lane))
            write_lane(wave, &op->operands[0], 0, lane, op->row->two(a, b));
    }
}

static void vector_move(struct wave *wave, const struct op *op)
{
    for (int lane = 0; lane < LANES; lane++)
        if (is_on(wave, lane))
            write_lane(wave, &op->operands[0], 0, lane, read_lane(wave, &op->operands[1], 0, lane));
}

/* v_mac_f32 rounds twice, v_fmac_f32 once; both are computed alike, since the difference is far
 * below the test's tolerance. */
static void vector_multiply_add(struct wave *wave, const struct op *op)
{
    for (int lane = 0; lane < LANES; lane++) {
        float a = as_float(read_lane(wave, &op->operands[1], 0, lane));
        float b = as_float(read_lane(wave, &op->operands[2], 0, lane));
        float sum = as_float(read_lane(wave, &op->operands[0], 0, lane));
        if (is_on(wave, lane))
            write_lane(wave, &op->operands[0], 0, lane, as_bits(fmaf(a, b, sum)));
    }
}

static void vector_compare_greater(struct wave *wave, const struct op *op)
{
    uint64_t mask = 0;
    for (int lane = 0; lane < LANES; lane++)
        if (is_on(wave, lane) &&
            read_lane(wave, &op->operands[1], 0, lane) > read_lane(wave, &op->operands[2], 0, lane))
            mask |= UINT64_C(1) << lane;
    write_scalar(wave, &op->operands[0], 0, (uint32_t)mask);
    write_scalar(wave, &op->operands[0], 1, (uint32_t)(mask >> 32));
}

static void vector_choose(struct wave *wave, const struct op *op)
{
    uint64_t mask = read_pair(wave, &op->operands[3]);
    for (int lane = 0; lane < LANES; lane++) {
        const struct operand *from = &op->operands[mask >> lane & 1 ? 2 : 1];
        if (is_on(wave, lane))
            write_lane(wave, &op->operands[0], 0, lane, read_lane(wave, from, 0, lane));
    }
}

static void read_first_lane(struct wave *wave, const struct op *op)
{
    write_scalar(wave, &op->operands[0], 0, read_lane(wave, &op->operands[1], 0, 0));
}

static void nothing(struct wave *wave, const struct op *op)
{
    (void)wave;
    (void)op;
}

static void barrier(struct wave *wave, const struct op *op)
{
    (void)op;
    wave->at_barrier = true;
}

static void end(struct wave *wave, const struct op *op)
{
    (void)op;
    wave->ended = true;
}

static const struct row rows[] = {
    {"s_load_dword", load_scalar, 1, NULL},
    {"s_load_dwordx2", load_scalar, 2, NULL},
    {"s_load_dwordx4", load_scalar, 4, NULL},
    {"s_load_dwordx8", load_scalar, 8, NULL},
    {"s_load_dwordx16", load_scalar, 16, NULL},
    {"s_mov_b32", scalar_move, 1, NULL},
    {"s_mov_b64", scalar_move, 2, NULL},
    {"s_add_u32", scalar_two, 0, add},
    {"s_addc_u32", scalar_add_carry, 0, NULL},
    {"s_sub_u32", scalar_two, 0, subtract},
    {"s_mul_i32", scalar_two, 0, multiply},
    {"s_cmp_eq_u32", scalar_compare, 0, equal},
    {"s_cmp_lg_u32", scalar_compare, 0, differ},
    {"s_cbranch_scc1", branch_scc1, 0, NULL},
    {"s_waitcnt", wait_count, 0, NULL},
    {"s_nop", nothing, 0, NULL},
    {"s_barrier", barrier, 0, NULL},
    {"s_endpgm", end, 0, NULL},
    {"v_add_u32", vector_two, 0, add},
    {"v_sub_u32", vector_two, 0, subtract},
    {"v_mul_lo_u32", vector_two, 0, multiply},
    {"v_mul_hi_u32", vector_two, 0, multiply_high},
    {"v_mul_u32_u24", vector_two, 0, multiply_24},
    {"v_lshlrev_b32", vector_two, 0, shift_left},
    {"v_lshrrev_b32", vector_two, 0, shift_right},
    {"v_and_b32", vector_two, 0, both},
    {"v_add_f32", vector_two, 0, add_float},
    {"v_mov_b32", vector_move, 0, NULL},
    {"v_mac_f32", vector_multiply_add, 0, NULL},
    {"v_fmac_f32", vector_multiply_add, 0, NULL},
    {"v_cmp_gt_u32", vector_compare_greater, 0, NULL},
    {"v_cndmask_b32", vector_choose, 0, NULL},
    {"v_readfirstlane_b32", read_first_lane, 0, NULL},
    {"global_load_dword", load_global, 1, NULL},
    {"global_load_dwordx2", load_global, 2, NULL},
    {"global_load_dwordx4", load_global, 4, NULL},
    {"global_store_dword", store_global, 1, NULL},
    {"global_store_dwordx2", store_global, 2, NULL},
    {"global_store_dwordx4", store_global, 4, NULL},
    {"ds_read_b32", load_local, 0, NULL},
    {"ds_write_b32", store_local, 0, NULL},
};

const struct row *gcn_row(const char *name)
{
    g_autofree char *bare = g_strdup(name);
    if (g_str_has_suffix(bare, "_e32") || g_str_has_suffix(bare, "_e64"))
        bare[strlen(bare) - strlen("_e32")] = '\0';
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(bare, rows[i].name) == 0)
            return &rows[i];
    return NULL;
}
