#include "kernels/objects/instructions_cuda.h"

#include <glib.h>
#include <string.h>

/* mask of the instruction family in the lowest word; kinds of operands and the predicate are in the bits above */
#define FAMILY_BITS 0x1ffu

/* Fields in an instruction's second eight bytes that say on what data the instruction works. */
#define FIELD_WIDTH_AT   9
#define FIELD_WIDTH_BITS 7u

struct variant {
    uint64_t bits, value; /* mask and value of a variant's field in the second eight bytes */
    const char *name;
};

static const struct variant hmma[] = {
    {0xc0000, 0x00000, "HMMA.FP16"},
    {0xc0000, 0x40000, "HMMA.BF16"},
    {0xc0000, 0x80000, "HMMA.TF32"},
    {0, 0, NULL},
};
static const struct variant hgmma[] = {
    {0x3800, 0x0800, "HGMMA.FP16"},
    {0x3800, 0x1800, "HGMMA.BF16"},
    {0x3800, 0x2800, "HGMMA.TF32"},
    {0, 0, NULL},
};

#define WIDTH (FIELD_WIDTH_BITS << FIELD_WIDTH_AT)
#define LOADS(NAME)                                                                                \
    {                                                                                              \
        {WIDTH, 4u << FIELD_WIDTH_AT, NAME ".32"}, {WIDTH, 5u << FIELD_WIDTH_AT, NAME ".64"},      \
            {WIDTH, 6u << FIELD_WIDTH_AT, NAME ".128"},                                            \
        {                                                                                          \
            0, 0, NULL                                                                             \
        }                                                                                          \
    }
static const struct variant ldg[] = LOADS("LDG"), stg[] = LOADS("STG"), lds[] = LOADS("LDS"),
                            sts[] = LOADS("STS");

static const struct {
    uint32_t family;
    const char *name;
    /* NULL for a family without variants. An instruction whose field has no listed value is counted as `name` */
    const struct variant *variants;
} families[] = {
    {0x023, "FFMA", NULL},  {0x026, "IDP", NULL},    {0x037, "IMMA", NULL},
    {0x03c, "HMMA", hmma},  {0x03f, "DMMA", NULL},   {0x07a, "QMMA", NULL},
    {0x181, "LDG", ldg},    {0x184, "LDS", lds},     {0x186, "STG", stg},
    {0x188, "STS", sts},    {0x1ae, "LDGSTS", NULL}, {0x1f0, "HGMMA", hgmma},
    {0x1f1, "IGMMA", NULL}, {0x1f3, "QGMMA", NULL},
};

static const char *variant_name(const struct variant *variants, uint64_t high, const char *name)
{
    for (const struct variant *at = variants; at && at->name; at++)
        if ((high & at->bits) == at->value)
            return at->name;
    return name;
}

const char *cuda_instruction_name(const uint8_t bytes[CUDA_INSTRUCTION_BYTES])
{
    uint64_t low, high;

    memcpy(&low, bytes, sizeof(low));
    memcpy(&high, bytes + sizeof(low), sizeof(high));
    low = GUINT64_FROM_LE(low);
    high = GUINT64_FROM_LE(high);
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++)
        if ((low & FAMILY_BITS) == families[i].family)
            return variant_name(families[i].variants, high, families[i].name);
    return NULL;
}
