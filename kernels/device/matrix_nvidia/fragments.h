/*
 * Operands of NVIDIA's matrix units for small products, whose elements a workgroup reads only once: each lane copies what
 * it needs itself from global memory to places of its own in local memory, asynchronously, so that many copies are in
 * flight, and then loads it from there without waiting for other lanes. (Loads into registers would be moved by the
 * compiler to where they are used, which leaves few in flight.)
 *
 * An operand is a packed matrix of lines (rows of a, or columns of b) and terms. In blocks of 8 lines by FRAGMENT_TERMS
 * terms ("a matrix") a lane holds four words, each with two neighbouring terms of line lane / 4. Word i has terms
 * lane % 4 * 8 + i * 2 and the next: words 0 and 1 are the two halves of the first matrix instruction, 2 and 3 those of the
 * second. A sum does not depend on its terms' order, so this order is as good as the instruction's own, and a lane's terms
 * are neighbours in memory.
 *
 * - Terms innermost (by line): a lane copies its eight terms.
 * - Lines innermost (by term): a lane copies neighbouring lines of one term. Each word is a part of a matrix of 8 by 8
 *   that turned() transposes.
 *
 * In both cases the lines of `group` matrices, 1, 2 or 4, are mixed as fragment_line() says: then neighbouring lines of
 * one lane fill its copy, and neighbouring columns are in one lane's sums.
 *
 * Included after matrix_nvidia.h. An element has 16 bits. Places are bytes from the start of local memory.
 */
#define FRAGMENT_TERMS       32
/* Bytes that the copies of a warp take in local memory for each matrix. */
#define FRAGMENT_BYTES       512
/* Bytes between copies of one lane that have this many elements. */
#define COPY_PITCH(elements) ((elements)*64)

/* The line, counted from the first one of all matrices, that is number `within` (0 to 7) of a matrix. */
DEVICE int fragment_line(int matrix, int group, int within)
{
    return matrix / group * (8 * group) + within / 2 * (2 * group) + matrix % group * 2 +
           within % 2;
}

/* copy_piece(): starts to copy a piece of 2, 4 or 8 elements; zeros, without reading, where `there` is 0.
 * words_at(): loads 1, 2 or 4 words. turned(): transposes a matrix of 8 by 8 elements, of which lane l holds elements
 * l % 4 * 2 and the next of row l / 4. */
#if defined(MATRIX_EMULATED)

DEVICE void copy_piece(LOCAL_POINTER unsigned char *memory, unsigned to,
                       GLOBAL const half_bits *from, int there, int piece)
{
    LOOP for (int e = 0; e < piece; e++) LOCAL_HALF(memory, to + 2 * e) = there ? from[e] : 0;
}

DEVICE void words_at(LOCAL_POINTER unsigned char *memory, unsigned from, int count, unsigned *to)
{
    LOOP for (int i = 0; i < count; i++) to[i] = LOCAL_WORD(memory, from + 4 * i);
}

DEVICE unsigned turned(LOCAL_POINTER unsigned char *memory, unsigned word, int item)
{
    const int lane = item % 32, first = item - lane + lane % 4 * 8 + lane / 8;
    unsigned result;
    EXCHANGED(memory, item, 0) = word;
    BARRIER();
    result = half_of(EXCHANGED(memory, first, 0), lane / 4 % 2) |
             (unsigned)half_of(EXCHANGED(memory, first + 4, 0), lane / 4 % 2) << 16;
    BARRIER();
    return result;
}

#else

DEVICE void copy_piece(const unsigned char *memory, unsigned to, const half_bits *from, int there,
                       int piece)
{
    const int bytes = there ? piece * 2 : 0;
    if (piece == 8)
        load_chunk(memory, to, from, there);
    else if (piece == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes)
                     : "memory");
}

DEVICE void words_at(const unsigned char *memory, unsigned from, int count, unsigned *to)
{
    (void)memory;
    if (count == 4)
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
    else if (count == 2)
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                     : "=r"(to[0]), "=r"(to[1])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to[0]) : "r"(from) : "memory");
}

DEVICE unsigned turned(const unsigned char *memory, unsigned word, int item)
{
    unsigned result;
    (void)memory;
    (void)item;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(word));
    return result;
}

#endif

/* Starts to copy `elements` neighbours (2, 4 or 8) in pieces of `piece` elements, which divide `elements` and `left`.
 * Elements from number `left` on are not read, and are zeros. */
DEVICE void copy_elements(LOCAL_POINTER unsigned char *memory, unsigned to,
                          GLOBAL const half_bits *from, int left, int elements, int piece)
{
    UNROLL for (int e = 0; e < elements; e += piece)
    {
        const int there = e < left;
        copy_piece(memory, to + e * 2, there ? from + e : from, there, piece);
    }
}

/* Starts to copy `matrices` matrices of an operand with terms innermost to the warp's place `to`: lines from `line` on, of
 * which there are `lines`, terms from `term` on of `terms`. Lines past the last one repeat it. */
DEVICE void copy_by_line(LOCAL_POINTER unsigned char *memory, unsigned to,
                         GLOBAL const half_bits *from, int line, int lines, int term, int terms,
                         int matrices, int group, int piece, int lane)
{
    const int left = terms - term - lane % 4 * 8;
    from += left > 0 ? term + lane % 4 * 8 : 0;
    UNROLL for (int m = 0; m < matrices; m++)
    {
        const int wanted = line + fragment_line(m, group, lane / 4);
        const int own = wanted < lines ? wanted : lines - 1;
        copy_elements(memory, to + m * FRAGMENT_BYTES + lane * 16, from + (i64)own * terms, left, 8,
                      piece);
    }
}

DEVICE void words_by_line(LOCAL_POINTER unsigned char *memory, unsigned from, int matrices,
                          int group, unsigned (*to)[4], int item)
{
    (void)group;
    UNROLL for (int m = 0; m < matrices; m++)
        words_at(memory, from + m * FRAGMENT_BYTES + item % 32 * 16, 4, to[m]);
}

/* The same for an operand with lines innermost, whose terms are `pitch` elements apart. Lines past the last one are
 * zeros. */
DEVICE void copy_by_pitch(LOCAL_POINTER unsigned char *memory, unsigned to,
                          GLOBAL const half_bits *from, int pitch, int line, int lines, int term,
                          int terms, int matrices, int group, int piece, int lane)
{
    line += lane % 4 * (2 * group);
    term += lane / 8 * 8 + lane / 4 % 2;
    UNROLL for (int first = 0; first < matrices; first += group) UNROLL for (int i = 0; i < 4; i++)
    {
        const int own_line = line + first * 8, own = term + i * 2;
        const int left = own < terms ? lines - own_line : 0;
        copy_elements(memory,
                      to + first * FRAGMENT_BYTES + i * COPY_PITCH(2 * group) + lane * 4 * group,
                      from + (left > 0 ? (i64)own * pitch + own_line : 0), left, 2 * group, piece);
    }
}

DEVICE void copy_by_term(LOCAL_POINTER unsigned char *memory, unsigned to,
                         GLOBAL const half_bits *from, int line, int lines, int term, int terms,
                         int matrices, int group, int piece, int lane)
{
    copy_by_pitch(memory, to, from, lines, line, lines, term, terms, matrices, group, piece, lane);
}

DEVICE void words_by_term(LOCAL_POINTER unsigned char *memory, unsigned from, int matrices,
                          int group, unsigned (*to)[4], int item)
{
    UNROLL for (int first = 0; first < matrices; first += group) UNROLL for (int i = 0; i < 4; i++)
    {
        unsigned words[4];
        words_at(memory,
                 from + first * FRAGMENT_BYTES + i * COPY_PITCH(2 * group) + item % 32 * 4 * group,
                 group, words);
        UNROLL for (int m = 0; m < group; m++) to[first + m][i] = turned(memory, words[m], item);
    }
}

/* The operand a of the first (which = 0) or the second matrix instruction: its 16 rows are two matrices. */
DEVICE void operand_a(unsigned (*words)[4], int which, unsigned *to)
{
    UNROLL for (int i = 0; i < 4; i++) to[i] = words[i % 2][which * 2 + i / 2];
}
