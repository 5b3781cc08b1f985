#include "solvers/matrix_amd/matrix_amd_shape.h"

#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_transform.h"

#define CHUNK_BYTES      MATRIX_AMD_CHUNK_BYTES
#define SIMDS_A_UNIT     4
/* registers of a lane that an instruction can name, of each kind (vector, accumulation) */
#define REGISTERS_A_LANE 256

/* ---- the product ---- */

int matrix_amd_chunk(const struct problem *p)
{
    return CHUNK_BYTES / matrix_amd_element_bytes(p);
}

int64_t matrix_amd_group_c(const struct problem *p)
{
    return matrix_transform_channels(p->c, p, matrix_amd_chunk(p));
}

int64_t matrix_amd_group_k(const struct problem *p)
{
    return matrix_transform_channels(p->k, p, matrix_amd_chunk(p));
}

struct matrix_amd_product matrix_amd_product_of(const struct problem *p)
{
    double c = (double)matrix_amd_group_c(p), k = (double)matrix_amd_group_k(p), n = (double)p->n;
    double x = n, y = n, taps = 1, groups = (double)p->groups;

    for (int axis = AXIS_D; axis <= AXIS_W; axis++) {
        x *= (double)p->in[axis];
        y *= (double)p->out[axis];
        taps *= (double)p->fil[axis];
    }
    switch (p->direction) {
    case DIRECTION_F: return (struct matrix_amd_product){y, k, c, taps, groups};
    case DIRECTION_B: return (struct matrix_amd_product){x, c, k, taps, groups};
    default: return (struct matrix_amd_product){k, c, y, 1, groups * taps};
    }
}

int64_t matrix_amd_blocks(double count, int block)
{
    return conv_divide_up((int64_t)count, block);
}

double matrix_amd_workgroups(const struct problem *p, const int32_t *values)
{
    const struct matrix_amd_product product = matrix_amd_product_of(p);

    return (double)matrix_amd_blocks(product.rows, values[MATRIX_AMD_BLOCK_M]) *
           (double)matrix_amd_blocks(product.columns, values[MATRIX_AMD_BLOCK_N]) * product.layers;
}

enum data_type matrix_amd_operand_type(const struct problem *p)
{
    return p->type[conv_first_input(p)];
}

int matrix_amd_element_bytes(const struct problem *p)
{
    return data_type_bytes(matrix_amd_operand_type(p));
}

/* ---- instructions ---- */

/* MFMA instructions by the type of operand a, UNIT and first architecture. BF16 has twice the terms from CDNA 2 on, INT8
 * from CDNA 3 on, which also has FP8 and BF8 in any mixture. */
static const struct {
    enum data_type type;
    int unit, terms;
    /* first architecture that has the instruction; NULL: every architecture with MFMA */
    const char *arch;
} mfma_table[] = {
    {TYPE_FP32, 32, 2, NULL},      {TYPE_FP32, 16, 4, NULL},     {TYPE_FP16, 32, 8, NULL},
    {TYPE_FP16, 16, 16, NULL},     {TYPE_BF16, 32, 4, "gfx908"}, {TYPE_BF16, 16, 8, "gfx908"},
    {TYPE_BF16, 32, 8, NULL},      {TYPE_BF16, 16, 16, NULL},    {TYPE_INT8, 32, 16, "gfx942"},
    {TYPE_INT8, 16, 32, "gfx942"}, {TYPE_INT8, 32, 8, NULL},     {TYPE_INT8, 16, 16, NULL},
    {TYPE_FP8, 32, 16, "gfx942"},  {TYPE_FP8, 16, 32, "gfx942"}, {TYPE_BF8, 32, 16, "gfx942"},
    {TYPE_BF8, 16, 32, "gfx942"},
};

static bool find_mfma(const char *arch, enum data_type type, int unit,
                      struct matrix_amd_unit *found)
{
    for (gsize i = 0; i < G_N_ELEMENTS(mfma_table); i++) {
        if (mfma_table[i].type == type && mfma_table[i].unit == unit &&
            (!mfma_table[i].arch || strcmp(mfma_table[i].arch, arch) == 0)) {
            *found = (struct matrix_amd_unit){0, 64, 64 / unit, mfma_table[i].terms};
            return true;
        }
    }
    return false;
}

bool matrix_amd_find_unit(const struct target *target, enum data_type type, int unit,
                          struct matrix_amd_unit *found)
{
    const char *arch = target->arch;

    if (target->vendor != VENDOR_AMD)
        return false;
    if (strcmp(arch, "gfx908") == 0 || strcmp(arch, "gfx90a") == 0 || strcmp(arch, "gfx942") == 0)
        return find_mfma(arch, type, unit, found);
    bool is_float8 = type == TYPE_FP8 || type == TYPE_BF8;
    if (unit != WMMA_SIZE ||
        (type != TYPE_FP16 && type != TYPE_BF16 && type != TYPE_INT8 && !is_float8))
        return false;
    if (g_str_has_prefix(arch, "gfx110") && !is_float8)
        *found = (struct matrix_amd_unit){11, 32, 1, WMMA_SIZE};
    else if (g_str_has_prefix(arch, "gfx120"))
        *found = (struct matrix_amd_unit){12, 32, 2, WMMA_SIZE};
    else
        return false;
    return true;
}

bool matrix_amd_is_xf32(const struct problem *p, const struct target *target)
{
    return problem_is_tf32(p) && strcmp(target->arch, "gfx942") == 0;
}

/* ---- what a config comes to ---- */

bool matrix_amd_find_shape(const struct problem *p, const struct target *target,
                           const int32_t *values, struct matrix_amd_shape *shape)
{
    const int bytes = matrix_amd_element_bytes(p);
    struct matrix_amd_unit *unit = &shape->unit;

    if (!matrix_amd_find_unit(target, matrix_amd_operand_type(p), values[MATRIX_AMD_UNIT], unit))
        return false;
    if (matrix_amd_is_xf32(p, target))
        unit->terms *= 2;
    shape->waves = values[MATRIX_AMD_BLOCK_M] / values[MATRIX_AMD_WAVE_M] *
                   (values[MATRIX_AMD_BLOCK_N] / values[MATRIX_AMD_WAVE_N]);
    shape->items = shape->waves * unit->wave;
    shape->row_chunks = values[MATRIX_AMD_BLOCK_K] * bytes / CHUNK_BYTES;
    shape->fragment_chunks = MAX(1, unit->terms * bytes / unit->lane_groups / CHUNK_BYTES);
    shape->step_chunks = shape->fragment_chunks * unit->lane_groups;
    shape->tiles_m = values[MATRIX_AMD_WAVE_M] / values[MATRIX_AMD_UNIT];
    shape->tiles_n = values[MATRIX_AMD_WAVE_N] / values[MATRIX_AMD_UNIT];
    shape->a_loads = values[MATRIX_AMD_BLOCK_M] * shape->row_chunks / MAX(1, shape->items);
    shape->b_loads = values[MATRIX_AMD_BLOCK_N] * shape->row_chunks / MAX(1, shape->items);
    shape->result_bytes = (int)data_type_bytes(p->type[problem_output_role(p)]);
    return true;
}

int matrix_amd_instructions(const struct problem *p, const struct target *target,
                            const int32_t *values)
{
    struct matrix_amd_shape shape;

    if (!matrix_amd_find_shape(p, target, values, &shape))
        return 0;
    return shape.tiles_m * shape.tiles_n * (values[MATRIX_AMD_BLOCK_K] / shape.unit.terms);
}

/* Chunks of local memory for `rows` rows of a block. Against bank conflicts a row is one chunk longer, and each
 * eighth row one more (matrix_blocks_amd.h). */
static int tile_chunks(int rows, int row_chunks)
{
    return rows * (row_chunks + 1) + rows / 8;
}

/* Bytes of local memory: the blocks of terms, or the sums before they are stored, which use the same memory. */
int64_t matrix_amd_local_bytes(const struct matrix_amd_shape *shape, const int32_t *values)
{
    int64_t blocks = (int64_t)values[MATRIX_AMD_BUFFERS] *
                     (tile_chunks(values[MATRIX_AMD_BLOCK_M], shape->row_chunks) +
                      tile_chunks(values[MATRIX_AMD_BLOCK_N], shape->row_chunks));
    int64_t line = values[MATRIX_AMD_WAVE_N] * shape->result_bytes / CHUNK_BYTES + 1;

    return MAX(blocks, shape->waves * values[MATRIX_AMD_UNIT] * line) * CHUNK_BYTES;
}

/* Whether the registers of a SIMD suffice for its waves. Accumulation registers that sums leave free can hold what
 * vector registers cannot. */
bool matrix_amd_registers_suffice(const struct target *target, const struct matrix_amd_shape *shape,
                                  int sums, int others)
{
    int share = REGISTERS_A_LANE / MAX(1, (shape->waves + SIMDS_A_UNIT - 1) / SIMDS_A_UNIT);

    if (shape->unit.wmma != 0)
        return sums + others <= REGISTERS_A_LANE;
    if (strcmp(target->arch, "gfx908") == 0)
        return sums < share && others <= share;
    return sums < REGISTERS_A_LANE && others <= REGISTERS_A_LANE && sums + others <= 2 * share;
}
