/*
 * The instructions of NVIDIA's matrix units and of the copies that feed them (sm_80 and later): ldmatrix,
 * mma.sync and cp.async, and offsets in local memory for them. The PTX manual's sections on these instructions
 * say which element each lane holds.
 *
 * Defined before it is included: TYPE (FP16, BF16, INT8, TF32, FP8 or BF8) and LANE (float or int, the sums' type), ITEMS of
 * a workgroup, NEAR; for FP8 and BF8 also TYPE_B, the type of operand b, which may be the other of the two, and float8.h.
 * Elements of 8 bits go in pairs: an "element" of 16 bits is then two neighbours, whose products are added. TF32 elements
 * are FP32 numbers in memory, two "elements" of 16 bits each, and are rounded to TF32 on their way from local memory into
 * registers (wgmma.h, whose operands go through no registers, cuts them off). Functions that compute are called by all
 * work-items of a workgroup.
 *
 * The option MATRIX_EMULATED, which only tests set, replaces the instructions by OpenCL C for any device. Each
 * work-item writes its lane's elements to local memory and computes its own sums from there; a copy is done at
 * once. So the code around the instructions can be tested without them.
 */
typedef unsigned short half_bits;

#define WHOLE_FP16    0
#define WHOLE_BF16    0
#define WHOLE_INT8    1
#define WHOLE_TF32    0
#define WHOLE_FP8     0
#define WHOLE_BF8     0
#define WHOLE_NUMBERS DIALECT_JOIN(WHOLE_, TYPE)
#define LONG_FP16     0
#define LONG_BF16     0
#define LONG_INT8     0
#define LONG_TF32     1
#define LONG_FP8      0
#define LONG_BF8      0
#define LONG_NUMBERS  DIALECT_JOIN(LONG_, TYPE)
/* Whether numbers are floats of 8 bits. */
#define BYTE_FP16     0
#define BYTE_BF16     0
#define BYTE_INT8     0
#define BYTE_TF32     0
#define BYTE_FP8      1
#define BYTE_BF8      1
#define BYTE_FLOATS   DIALECT_JOIN(BYTE_, TYPE)
#if !BYTE_FLOATS
#define TYPE_B TYPE
#endif
/* The "elements" of 16 bits of a number. Types of 8 bits have 1 as well: their numbers are counted in pairs. */
#define WIDTH         (1 + LONG_NUMBERS)
/* Sizes s of a convolution have the channels c of x and w in elements, and those of y, k, in numbers: c in numbers, k in
 * elements. */
#define NUMBERS_C(s)  ((s)->c / WIDTH)
#define ELEMENTS_K(s) ((s)->k * WIDTH)

#define CHUNK_BYTES 16

/* Two numbers rounded to the stored type in one word, the first one in the low half: pair_of_FP16() and pair_of_BF16(). */
#define pair_of(first, second) DIALECT_JOIN(pair_of_, TYPE)(first, second)

/* Divides numbers below 2^31 by a multiplication and a shift; the host computes the fields (matrix_add_divisor()). */
struct divisor {
    unsigned multiplier, shift;
};

DEVICE int quotient(int number, struct divisor by)
{
    unsigned high = (unsigned)(((unsigned long long)(unsigned)number * by.multiplier) >> 32);
    return (int)((high + (unsigned)number) >> by.shift);
}

#if defined(MATRIX_EMULATED)

typedef ulong u64;
#define UNROLL                 LOOP
/* Forbids unrolling: the emulation runs on CPUs, whose compilers would take long over unrolled loops. */
#define LOOP                   _Pragma("nounroll")
/* The last parameter of an entry, and the first lines of its body. The emulation reserves the start of local memory
 * for elements that lanes exchange. */
#define LOCAL_MEMORY_PARAMETER , LOCAL_POINTER unsigned char *all_local
#define EXCHANGE_WORDS         8
#define OPEN_LOCAL_MEMORY                                                                          \
    LOCAL_POINTER unsigned char *local_memory = all_local + ITEMS * EXCHANGE_WORDS * 4
#define LOCAL_WORD(memory, at) (*(LOCAL_POINTER unsigned *)((memory) + (at)))
#define LOCAL_HALF(memory, at) (*(LOCAL_POINTER half_bits *)((memory) + (at)))

DEVICE unsigned local_place(LOCAL_POINTER unsigned char *memory)
{
    (void)memory;
    return 0;
}

DEVICE void load_chunk(LOCAL_POINTER unsigned char *memory, unsigned to,
                       GLOBAL const half_bits *from, int there)
{
    LOOP for (int i = 0; i < 8; i++) LOCAL_HALF(memory, to + 2 * i) = there ? from[i] : 0;
}

DEVICE void end_stage(void)
{
}

#define load_shared_chunk load_chunk
#define AWAIT_STAGES(count)

#define PAIR_OF(type)                                                                              \
    DEVICE unsigned pair_of_##type(float first, float second)                                      \
    {                                                                                              \
        return to_##type(first) | (unsigned)to_##type(second) << 16;                               \
    }
PAIR_OF(FP16)
PAIR_OF(BF16)

#if WHOLE_NUMBERS
DEVICE int product_of(half_bits a, half_bits b)
{
    return (signed char)(a & 255) * (signed char)(b & 255) +
           (signed char)(a >> 8) * (signed char)(b >> 8);
}
#elif LONG_NUMBERS
/* The nearest number of TF32, ties away from zero, as cvt.rna does. NaNs stay what they are. */
DEVICE unsigned rounded_word(unsigned bits)
{
    return (bits & 0x7fffffff) > 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}

/* The number of TF32 that a matrix unit takes an operand in local memory for: it does not read the other bits. */
DEVICE float cut_number(unsigned bits)
{
    union float_bits number;
    number.bits = bits & ~0x1fffu;
    return number.value;
}

DEVICE unsigned load_number(LOCAL_POINTER unsigned char *memory, unsigned from)
{
    return rounded_word(LOCAL_WORD(memory, from));
}
#elif !BYTE_FLOATS
DEVICE float product_of(half_bits a, half_bits b)
{
    return DIALECT_JOIN(from_, TYPE)(a) * DIALECT_JOIN(from_, TYPE)(b);
}
#endif

#if BYTE_FLOATS
#define CUT_PRODUCTS      32
#define CUT_FRACTION_BITS 13

/* `before` and an instruction's products, added up as Ada and Hopper do: each number is cut off where the largest one's
 * fraction ends, and the sum where its own does (multiply() has the source). */
DEVICE float cut_sum(float before, const float *products)
{
    union float_bits number, step, sum, plain;
    unsigned largest; /* exponent, in its place */
    number.value = plain.value = before;
    largest = number.bits & 0x7f800000u;
    LOOP for (int i = 0; i < CUT_PRODUCTS; i++)
    {
        number.value = products[i];
        plain.value += number.value;
        largest = largest > (number.bits & 0x7f800000u) ? largest : number.bits & 0x7f800000u;
    }
    if (largest == 0 || (plain.bits & 0x7f800000u) == 0x7f800000u)
        return plain.value;
    step.bits = largest - (CUT_FRACTION_BITS << 23);
    sum.value = (float)(int)(before / step.value) * step.value;
    LOOP for (int i = 0; i < CUT_PRODUCTS; i++) sum.value +=
        (float)(int)(products[i] / step.value) * step.value;
    sum.bits &= ~((1u << (23 - CUT_FRACTION_BITS)) - 1);
    return sum.value;
}
#endif

DEVICE half_bits half_of(unsigned pair, int which)
{
    return (half_bits)(pair >> 16 * which);
}

/* Emulation: register `number` of lane `lane`, which every lane can read. */
#define EXCHANGED(memory, lane, number)                                                            \
    LOCAL_WORD(memory, -(ITEMS - (lane)) * EXCHANGE_WORDS * 4 + (number)*4)

/* Lane l names line l % 8 of matrix l / 8, and gets the pair l % 4 of line l / 4 of each matrix; of a
 * transposed matrix it gets column l / 4 of lines 2 (l % 4) and the next. */
DEVICE void load_matrices(LOCAL_POINTER unsigned char *memory, unsigned *to, unsigned from,
                          int turn, int item)
{
    int lane = item % 32, first = item - lane;
    EXCHANGED(memory, item, 0) = from;
    BARRIER();
    LOOP for (int matrix = 0; matrix < 4; matrix++)
    {
        if (turn) {
            int line = first + matrix * 8 + lane % 4 * 2, column = lane / 4 * 2;
            to[matrix] = LOCAL_HALF(memory, EXCHANGED(memory, line, 0) + column) |
                         (unsigned)LOCAL_HALF(memory, EXCHANGED(memory, line + 1, 0) + column)
                             << 16;
        } else {
            int line = first + matrix * 8 + lane / 4;
            to[matrix] = LOCAL_WORD(memory, EXCHANGED(memory, line, 0) + lane % 4 * 4);
#if LONG_NUMBERS
            to[matrix] = rounded_word(to[matrix]);
#endif
        }
    }
    BARRIER();
}

/* Register r of a has row lane / 4, for odd r 8 more, and terms 2 (lane % 4) and the next, from the third
 * register on 8 more. Registers of b have columns for rows, and terms 8 more in the second. Sums have a's rows
 * and columns 2 (lane % 4) and the next. In TF32 a register has one term, lane % 4, and 4 more where the others have 8
 * more. */
DEVICE void multiply(LOCAL_POINTER unsigned char *memory, LANE *sums, const unsigned *a,
                     const unsigned *b, int item)
{
    int lane = item % 32, first = item - lane;
    for (int i = 0; i < 4; i++)
        EXCHANGED(memory, item, i) = a[i];
    for (int i = 0; i < 2; i++)
        EXCHANGED(memory, item, 4 + i) = b[i];
    BARRIER();
#if LONG_NUMBERS
    LOOP for (int e = 0; e < 4; e++) LOOP for (int term = 0; term < 8; term++)
    {
        int a_lane = first + lane / 4 * 4 + term % 4;
        int b_lane = first + (lane % 4 * 2 + e % 2) * 4 + term % 4;
        sums[e] += as_float(EXCHANGED(memory, a_lane, e / 2 + term / 4 * 2)) *
                   as_float(EXCHANGED(memory, b_lane, 4 + term / 4));
    }
#elif BYTE_FLOATS
    LOOP for (int e = 0; e < 4; e++)
    {
        float products[CUT_PRODUCTS];
        LOOP for (int term = 0; term < CUT_PRODUCTS; term++)
        {
            int a_lane = first + lane / 4 * 4 + term % 16 / 4;
            int b_lane = first + (lane % 4 * 2 + e % 2) * 4 + term % 16 / 4;
            unsigned a_word = EXCHANGED(memory, a_lane, e / 2 + term / 16 * 2);
            unsigned b_word = EXCHANGED(memory, b_lane, 4 + term / 16);
            products[term] = LOAD(TYPE, (const unsigned char *)&a_word, term % 4) *
                             LOAD(TYPE_B, (const unsigned char *)&b_word, term % 4);
        }
        sums[e] += cut_sum(0, products);
    }
#else
    LOOP for (int e = 0; e < 4; e++) LOOP for (int term = 0; term < 16; term++)
    {
        int a_lane = first + lane / 4 * 4 + term % 8 / 2;
        int b_lane = first + (lane % 4 * 2 + e % 2) * 4 + term % 8 / 2;
        sums[e] += product_of(half_of(EXCHANGED(memory, a_lane, e / 2 + term / 8 * 2), term % 2),
                              half_of(EXCHANGED(memory, b_lane, 4 + term / 8), term % 2));
    }
#endif
    BARRIER();
}

#else

typedef unsigned long long u64;
#define UNROLL _Pragma("unroll")
extern __shared__ __align__(1024) unsigned char local_memory[];
#define LOCAL_MEMORY_PARAMETER
#define OPEN_LOCAL_MEMORY

DEVICE unsigned local_place(const unsigned char *memory)
{
    unsigned address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
        : "=r"(address)
        : "l"(memory));
    return address;
}

/* Copies 16 bytes to local memory asynchronously, or writes zeros where `there` is 0. */
#define COPY_TEXT(caches)   "cp.async." caches ".shared.global [%0], [%1], 16, %2;"
DEVICE void load_chunk(const unsigned char *memory, unsigned to, const half_bits *from, int there)
{
    int bytes = there ? CHUNK_BYTES : 0;
    (void)memory;
    asm volatile(COPY_TEXT("cg")::"r"(to), "l"(from), "r"(bytes) : "memory");
}

/* load_chunk() for data that the multiprocessor soon reads again: with NEAR the copy also stays in its first-level
 * cache. */
DEVICE void load_shared_chunk(const unsigned char *memory, unsigned to, const half_bits *from,
                              int there)
{
    int bytes = there ? CHUNK_BYTES : 0;
    if (NEAR)
        asm volatile(COPY_TEXT("ca")::"r"(to), "l"(from), "r"(bytes) : "memory");
    else
        load_chunk(memory, to, from, there);
}

DEVICE void end_stage(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most `count` stages are still in flight. */
#define AWAIT_STAGES(count) asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory")

#define TEXT_FP16       "f16"
#define TEXT_BF16       "bf16"
#define TEXT_INT8       "s8"
#define TEXT_TF32       "tf32"
#define TEXT_FP8        "e4m3"
#define TEXT_BF8        "e5m2"
#define TYPE_TEXT(text) text(DIALECT_JOIN(TEXT_, TYPE))
/* The terms of one product, 32 bytes of an operand's line, and the sums' type. */
#define TERMS_FP16 "k16"
#define TERMS_BF16 "k16"
#define TERMS_INT8 "k32"
#define TERMS_TF32 "k8"
#define TERMS_FP8  "k32"
#define TERMS_BF8  "k32"
#define TYPE_TERMS DIALECT_JOIN(TERMS_, TYPE)
#define SUMS_FP16  "f32"
#define SUMS_BF16  "f32"
#define SUMS_INT8  "s32"
#define SUMS_TF32  "f32"
#define SUMS_FP8   "f32"
#define SUMS_BF8   "f32"
#define TYPE_SUMS  DIALECT_JOIN(SUMS_, TYPE)

#if LONG_NUMBERS
/* The nearest number of TF32, ties away from zero. */
DEVICE unsigned rounded_word(unsigned bits)
{
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "r"(bits));
    return rounded;
}

/* Loads a number from local memory, rounded. */
DEVICE unsigned load_number(const unsigned char *memory, unsigned from)
{
    unsigned bits;
    (void)memory;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(bits) : "r"(from) : "memory");
    return rounded_word(bits);
}
#endif

#define PAIR_OF(type)                                                                              \
    DEVICE unsigned pair_of_##type(float first, float second)                                      \
    {                                                                                              \
        unsigned pair;                                                                             \
        asm("cvt.rn." TEXT_##type "x2.f32 %0, %2, %1;" : "=r"(pair) : "f"(first), "f"(second));    \
        return pair;                                                                               \
    }
PAIR_OF(FP16)
PAIR_OF(BF16)

DEVICE void load_matrices(const unsigned char *memory, unsigned *to, unsigned from, int turn,
                          int item)
{
    (void)memory;
    (void)item;
    if (turn)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
#if LONG_NUMBERS
    UNROLL for (int i = 0; i < 4; i++) to[i] = rounded_word(to[i]);
#endif
}

#define MULTIPLY_TEXT                                                                              \
    "mma.sync.aligned.m16n8" TYPE_TERMS ".row.col." TYPE_SUMS "." DIALECT_JOIN(                    \
        TEXT_, TYPE) "." DIALECT_JOIN(TEXT_, TYPE_B) "." TYPE_SUMS                                 \
                                                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, "       \
                                                     "{%8, %9}, "
#if WHOLE_NUMBERS
#define SUM_REGISTER "+r"
#else
#define SUM_REGISTER "+f"
#endif

/* Whether instructions have less than FP32's precision in their sums. Ada and the Blackwells of compute capability 12 have
 * instructions for FP8 and BF8. Ada's keep 13 fraction bits, of a sum and of the products that are aligned for it (Zhang and
 * others, "SageAttention2", 2024; DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.5.2, for Hopper's wgmma,
 * whose sums go on in that precision). So each instruction begins at zero, and its sums are added in FP32. Other targets
 * have no such mma instructions: the compiler uses FP16's and adds in FP32. */
#if BYTE_FLOATS && (__CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
#define CUTS_SUMS 1
#else
#define CUTS_SUMS 0
#endif

DEVICE void multiply(const unsigned char *memory, LANE *sums, const unsigned *a, const unsigned *b,
                     int item)
{
    (void)memory;
    (void)item;
#if CUTS_SUMS
    float own[4];
    asm volatile(MULTIPLY_TEXT "{%10, %10, %10, %10};"
                 : "=f"(own[0]), "=f"(own[1]), "=f"(own[2]), "=f"(own[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
    UNROLL for (int i = 0; i < 4; i++) sums[i] += own[i];
#else
    asm volatile(MULTIPLY_TEXT "{%0, %1, %2, %3};"
                 : SUM_REGISTER(sums[0]), SUM_REGISTER(sums[1]), SUM_REGISTER(sums[2]),
                   SUM_REGISTER(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

#endif
