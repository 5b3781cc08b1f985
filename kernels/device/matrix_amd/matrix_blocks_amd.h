/*
 * Blocks of a convolution's operands as a matrix product, channels innermost (NHWC), on their way from memory
 * through registers into local memory, and sums on their way to memory.
 *
 * Defined before it is included: matrix_unit_amd.h with all it needs; BLOCK_M, BLOCK_N and BLOCK_K (rows,
 * columns and terms of a block), ITEMS and WAVES of a workgroup; one of DIRECTION_F, DIRECTION_B and
 * DIRECTION_W.
 *
 * In local memory a row of a (or column of b) has its terms innermost, as the units' fragments have. An operand
 * with terms innermost in memory is copied unchanged. One with rows or columns innermost (BY_TERM) is
 * transposed in registers: a work-item loads a chunk from each of TURN successive terms, and writes that many
 * terms of each row at once. Rows are an odd number of chunks apart, and each eight rows one more, so that
 * eight successive rows, and the rows that neighbours transpose, are in different banks.
 */
#if defined(DIRECTION_F)
#define A_BY_TERM 0
#define B_BY_TERM 0
#elif defined(DIRECTION_B)
#define A_BY_TERM 0
#define B_BY_TERM 1
#else
#define A_BY_TERM 1
#define B_BY_TERM 1
#endif

#define CHUNK_ELEMENTS    (CHUNK_BYTES / ELEMENT_BYTES)
#define CHUNKS            (BLOCK_K / CHUNK_ELEMENTS) /* of a row */
#define TILE_CHUNKS(rows) ((rows) * (CHUNKS + 1) + (rows) / 8)
/* Chunks of each operand that a work-item loads, and (TURN) the number of successive terms that it loads at a time
 * where it transposes them. */
#define A_LOADS    (BLOCK_M * CHUNKS / ITEMS)
#define B_LOADS    (BLOCK_N * CHUNKS / ITEMS)
#define TURN_OF(l) ((l) < CHUNK_ELEMENTS ? (l) : CHUNK_ELEMENTS)
#define A_TURN     (A_BY_TERM ? TURN_OF(A_LOADS) : 1)
#define B_TURN     (B_BY_TERM ? TURN_OF(B_LOADS) : 1)
#define A_CHUNKS   (BLOCK_M / CHUNK_ELEMENTS) /* chunks of one term's rows */
#define B_CHUNKS   (BLOCK_N / CHUNK_ELEMENTS)

typedef STORAGE(TYPE) element;

/* The chunks that a work-item has loaded; a bit for each says whether it exists. Missing chunks count as zeros. */
struct fetched {
    chunk a[A_LOADS], b[B_LOADS];
    unsigned a_there, b_there;
};

DEVICE int chunk_at(int row, int place)
{
    return row * (CHUNKS + 1) + row / 8 + place;
}

/* Loads the chunk at offset `at`. For a chunk that does not exist callers pass the operand's first element, which
 * always exists. */
DEVICE chunk load_chunk(GLOBAL const element *source, i64 at)
{
    return *(GLOBAL const chunk *)(source + at);
}

DEVICE chunk chunk_kept(chunk loaded, unsigned there, int bit)
{
    const chunk zeros = {0, 0, 0, 0};
    return (there >> bit & 1) != 0 ? loaded : zeros;
}

/* ---- coordinates ---- */

struct sizes {
    int n, c, k, groups; /* c and k of a group */
    int in_h, in_w, out_h, out_w, fil_h, fil_w;
    int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;
    IF_DEPTH(int in_d, out_d, fil_d, pad_d, stride_d, dilation_d;)
};

#define DEPTH_PARAMETERS                                                                           \
    IF_DEPTH(int in_d, int out_d, int fil_d, int pad_d, int stride_d, int dilation_d, )
#define DEPTH_SIZES IF_DEPTH(, in_d, out_d, fil_d, pad_d, stride_d, dilation_d)

/* A position of an image. In F and B positions are rows of the product, in W they are terms. */
struct place {
    int image, IF_DEPTH(d, ) h, w;
};

DEVICE struct place place_of(int position, IF_DEPTH(int d, ) int h, int w)
{
    struct place place;
    place.image = position / (h * w);
    position -= place.image * h * w;
    place.h = position / w;
    place.w = position - place.h * w;
#if DEPTH
    place.d = place.image % d;
    place.image /= d;
#endif
    return place;
}

/* The next block of terms to be loaded. */
struct step {
    int IF_DEPTH(fil_d, ) fil_h, fil_w, term; /* term: the first channel (F, B) or position (W) of the block */
};

#if !defined(DIRECTION_W)

#if defined(DIRECTION_F)
#define ROW_D    s->out_d
#define ROW_H    s->out_h
#define ROW_W    s->out_w
#define SOURCE_D s->in_d
#define SOURCE_H s->in_h
#define SOURCE_W s->in_w
#define TERMS    s->c
#define COLUMNS  s->k
#else
#define ROW_D    s->in_d
#define ROW_H    s->in_h
#define ROW_W    s->in_w
#define SOURCE_D s->out_d
#define SOURCE_H s->out_h
#define SOURCE_W s->out_w
#define TERMS    s->k
#define COLUMNS  s->c
#endif

/* The rows of a that a work-item loads, the same for each block of terms. h and w (and d): in F, the position in x
 * under the filter's first element; in B, the position in x plus padding, from which a filter position leads to y. `at`
 * (offsets) and `there` (a bit for each row) are valid for one filter position. */
struct source {
    int image[A_LOADS], IF_DEPTH(d[A_LOADS], ) h[A_LOADS], w[A_LOADS];
    i64 at[A_LOADS];
    unsigned there;
};

DEVICE void find_rows(struct source *source, const struct sizes *s, int first, int item)
{
UNIT_UNROLL
    for (int i = 0; i < A_LOADS; i++) {
        int row = first + (item + i * ITEMS) / CHUNKS;
        struct place place = place_of(row, IF_DEPTH(ROW_D, ) ROW_H, ROW_W);
        source->image[i] = place.image;
#if defined(DIRECTION_F)
        source->h[i] = place.h * s->stride_h - s->pad_h;
        source->w[i] = place.w * s->stride_w - s->pad_w;
        IF_DEPTH(source->d[i] = place.d * s->stride_d - s->pad_d;)
#else
        source->h[i] = place.h + s->pad_h;
        source->w[i] = place.w + s->pad_w;
        IF_DEPTH(source->d[i] = place.d + s->pad_d;)
#endif
    }
}

/* The position along an axis of the source (F: x, B: y) to which a filter position leads from `from`; negative if it
 * leads to no position. */
DEVICE int source_at(int from, int filter, int stride, int dilation, int size)
{
#if defined(DIRECTION_F)
    int at = from + filter * dilation;
    (void)stride;
    return at < size ? at : -1;
#else
    int at = from - filter * dilation;
    if (stride > 1) {
        int whole = at / stride;
        at = at == whole * stride ? whole : -1;
    }
    return at < size ? at : -1;
#endif
}

DEVICE void find_sources(struct source *source, const struct sizes *s, const struct step *step)
{
    source->there = 0;
UNIT_UNROLL
    for (int i = 0; i < A_LOADS; i++) {
        int h = source_at(source->h[i], step->fil_h, s->stride_h, s->dilation_h, SOURCE_H);
        int w = source_at(source->w[i], step->fil_w, s->stride_w, s->dilation_w, SOURCE_W);
        IF_DEPTH(int d = source_at(source->d[i], step->fil_d, s->stride_d, s->dilation_d,
                                   SOURCE_D);)
        int there = source->image[i] < s->n && h >= 0 && w >= 0 IF_DEPTH(&& d >= 0);
        i64 at = (((i64)source->image[i] IF_DEPTH(* SOURCE_D + d)) * SOURCE_H + h) * SOURCE_W + w;
        source->at[i] = there ? at * (TERMS * s->groups) : 0;
        source->there |= (unsigned)there << i;
    }
}

/* Loads the chunks of a's rows for the next block of terms. The rows' offsets change only with the filter position.
 * */
DEVICE void fetch_rows(struct fetched *fetched, GLOBAL const element *a, struct source *source,
                       const struct sizes *s, const struct step *step, int item)
{
    int term = step->term + item % CHUNKS * CHUNK_ELEMENTS;
    if (step->term == 0)
        find_sources(source, s, step);
    fetched->a_there = term < TERMS ? source->there : 0;
UNIT_UNROLL
    for (int i = 0; i < A_LOADS; i++)
        fetched->a[i] =
            load_chunk(a, (fetched->a_there >> i & 1) != 0 ? source->at[i] + term : 0);
}

/* Loads chunks of the filter w[k][fil_d][fil_h][fil_w][c], operand b of F and B. */
DEVICE void fetch_filter(struct fetched *fetched, GLOBAL const element *w, const struct sizes *s,
                         const struct step *step, int column, int item)
{
    int tap = (IF_DEPTH(step->fil_d * s->fil_h +) step->fil_h) * s->fil_w + step->fil_w;
    fetched->b_there = 0;
UNIT_UNROLL
    for (int i = 0; i < B_LOADS; i++) {
#if B_BY_TERM
        int piece = item + i / B_TURN * ITEMS;
        int k = step->term + piece / B_CHUNKS * B_TURN + i % B_TURN;
        int c = column + piece % B_CHUNKS * CHUNK_ELEMENTS;
#else
        int k = column + (item + i * ITEMS) / CHUNKS;
        int c = step->term + item % CHUNKS * CHUNK_ELEMENTS;
#endif
        int there = k < s->k && c < s->c;
        i64 at = ((i64)k * IF_DEPTH(s->fil_d *) s->fil_h * s->fil_w + tap) * s->c + c;
        fetched->b[i] = load_chunk(w, there ? at : 0);
        fetched->b_there |= (unsigned)there << i;
    }
}

DEVICE void advance(struct step *step, const struct sizes *s)
{
    step->term += BLOCK_K;
    if (step->term < TERMS)
        return;
    step->term = 0;
    if (++step->fil_w == s->fil_w) {
        step->fil_w = 0;
        step->fil_h++;
    }
#if DEPTH
    if (step->fil_h == s->fil_h) {
        step->fil_h = 0;
        step->fil_d++;
    }
#endif
}

#else

/* W: the positions of y at which a work-item's pieces of b begin, and the step to the next block of terms. */
struct source {
    struct place first[B_LOADS / B_TURN], block;
};

DEVICE void find_positions(struct source *source, const struct sizes *s, int term, int item)
{
    source->block = place_of(BLOCK_K, IF_DEPTH(s->out_d, ) s->out_h, s->out_w);
UNIT_UNROLL
    for (int i = 0; i < B_LOADS / B_TURN; i++) {
        int piece = (item + i * ITEMS) / B_CHUNKS;
        source->first[i] =
            place_of(term + piece * B_TURN, IF_DEPTH(s->out_d, ) s->out_h, s->out_w);
    }
}

/* The position `by` behind `place`. Both are coordinates within an image, so one carry for each axis is enough. */
DEVICE struct place place_behind(struct place place, struct place by, const struct sizes *s)
{
    place.w += by.w;
    if (place.w >= s->out_w) {
        place.w -= s->out_w;
        place.h++;
    }
    place.h += by.h;
#if DEPTH
    if (place.h >= s->out_h) {
        place.h -= s->out_h;
        place.d++;
    }
    place.d += by.d;
    if (place.d >= s->out_d) {
        place.d -= s->out_d;
        place.image++;
    }
#else
    if (place.h >= s->out_h) {
        place.h -= s->out_h;
        place.image++;
    }
#endif
    place.image += by.image;
    return place;
}

/* W: loads chunks of y, channels k at a block's positions. */
DEVICE void fetch_y(struct fetched *fetched, GLOBAL const element *y, const struct sizes *s,
                    const struct step *step, int end, int row, int item)
{
    fetched->a_there = 0;
UNIT_UNROLL
    for (int i = 0; i < A_LOADS; i++) {
        int piece = item + i / A_TURN * ITEMS;
        int position = step->term + piece / A_CHUNKS * A_TURN + i % A_TURN;
        int k = row + piece % A_CHUNKS * CHUNK_ELEMENTS;
        int there = position < end && k < s->k;
        fetched->a[i] = load_chunk(y, there ? (i64)position * (s->k * s->groups) + k : 0);
        fetched->a_there |= (unsigned)there << i;
    }
}

/* W: loads chunks of x, channels c that the filter position meets from a block's positions, and advances to the next
 * block. */
DEVICE void fetch_x(struct fetched *fetched, GLOBAL const element *x, struct source *source,
                    const struct sizes *s, const struct step *step, int end, int column, int item)
{
    const struct place one = {0, IF_DEPTH(0, ) 0, 1}, line = {0, IF_DEPTH(0, ) 1, 0};
    fetched->b_there = 0;
UNIT_UNROLL
    for (int i = 0; i < B_LOADS / B_TURN; i++) {
        int piece = item + i * ITEMS, position = step->term + piece / B_CHUNKS * B_TURN;
        int c = column + piece % B_CHUNKS * CHUNK_ELEMENTS;
        struct place place = source->first[i];
UNIT_UNROLL
        for (int t = 0; t < B_TURN; t++) {
            int h = place.h * s->stride_h - s->pad_h + step->fil_h * s->dilation_h;
            int w = place.w * s->stride_w - s->pad_w + step->fil_w * s->dilation_w;
            IF_DEPTH(int d = place.d * s->stride_d - s->pad_d + step->fil_d * s->dilation_d;)
            int there = position + t < end && c < s->c && h >= 0 && h < s->in_h && w >= 0 &&
                        w < s->in_w IF_DEPTH(&& d >= 0 && d < s->in_d);
            i64 at = ((((i64)place.image IF_DEPTH(* s->in_d + d)) * s->in_h + h) * s->in_w + w) *
                         (s->c * s->groups) +
                     c;
            fetched->b[i * B_TURN + t] = load_chunk(x, there ? at : 0);
            fetched->b_there |= (unsigned)there << (i * B_TURN + t);
            place = place_behind(place, s->out_w > 1 ? one : line, s);
        }
        source->first[i] = place_behind(source->first[i], source->block, s);
    }
}

#endif

/* ---- local memory ---- */

#if !A_BY_TERM || !B_BY_TERM
DEVICE void lay_rows(LOCAL_POINTER chunk *tile, const chunk *loaded, unsigned there, int loads,
                     int item)
{
UNIT_UNROLL
    for (int i = 0; i < loads; i++)
        tile[chunk_at((item + i * ITEMS) / CHUNKS, item % CHUNKS)] =
            chunk_kept(loaded[i], there, i);
}
#endif

#if A_BY_TERM || B_BY_TERM
/* The lower halves of two words, or their upper ones. */
DEVICE unsigned halves_of(unsigned first, unsigned second, int upper)
{
    return upper ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
}

#if ELEMENT_BYTES == 1
/* The first two of the terms, of an even row in the lower 16 bits and of the next row in the upper ones. */
DEVICE unsigned turned_pairs(const chunk *terms, int even_row)
{
    const int bits = even_row % 4 * 8;
    const unsigned first = terms[0][even_row / 4] >> bits, second = terms[1][even_row / 4] >> bits;
    return (first & 0xffu) | (second & 0xffu) << 8 | (first & 0xff00u) << 8 |
           (second & 0xff00u) << 16;
}
#endif

/* Transposes: word `word` of the terms of row `row`; each of the chunks `terms` holds one term for several rows. */
DEVICE unsigned turned_word(const chunk *terms, int row, int word)
{
#if ELEMENT_BYTES == 4
    return terms[word][row];
#elif ELEMENT_BYTES == 2
    return halves_of(terms[2 * word][row / 2], terms[2 * word + 1][row / 2], row % 2);
#else
    const int even_row = row / 2 * 2;
    return halves_of(turned_pairs(terms + 4 * word, even_row),
                     turned_pairs(terms + 4 * word + 2, even_row), row % 2);
#endif
}

typedef unsigned word_pair __attribute__((ext_vector_type(2)));

DEVICE void lay_turned(LOCAL_POINTER chunk *tile, const chunk *loaded, unsigned there, int loads,
                       int turn, int chunks, int item)
{
    const int bytes = turn * ELEMENT_BYTES;
UNIT_UNROLL
    for (int i = 0; i < loads / turn; i++) {
        int piece = item + i * ITEMS, row = piece % chunks * CHUNK_ELEMENTS;
        chunk terms[CHUNK_ELEMENTS];
UNIT_UNROLL
        for (int t = 0; t < turn; t++)
            terms[t] = chunk_kept(loaded[i * turn + t], there, i * turn + t);
UNIT_UNROLL
        for (int r = 0; r < CHUNK_ELEMENTS; r++) {
            LOCAL_POINTER unsigned char *to =
                (LOCAL_POINTER unsigned char *)(tile + chunk_at(row + r, 0)) +
                piece / chunks * bytes;
            if (bytes == 16) {
                chunk whole = {turned_word(terms, r, 0), turned_word(terms, r, 1),
                               turned_word(terms, r, 2), turned_word(terms, r, 3)};
                *(LOCAL_POINTER chunk *)to = whole;
            } else if (bytes == 8) {
                word_pair pair = {turned_word(terms, r, 0), turned_word(terms, r, 1)};
                *(LOCAL_POINTER word_pair *)to = pair;
            } else if (bytes == 4) {
                *(LOCAL_POINTER unsigned *)to = turned_word(terms, r, 0);
            }
#if ELEMENT_BYTES == 1
            else
                *(LOCAL_POINTER unsigned short *)to =
                    (unsigned short)(turned_pairs(terms, r / 2 * 2) >> r % 2 * 16);
#endif
        }
    }
}
#endif

DEVICE void lay_blocks(LOCAL_POINTER chunk *tile, const struct fetched *fetched, int item)
{
    LOCAL_POINTER chunk *b = tile + TILE_CHUNKS(BLOCK_M);
#if A_BY_TERM
    lay_turned(tile, fetched->a, fetched->a_there, A_LOADS, A_TURN, A_CHUNKS, item);
#else
    lay_rows(tile, fetched->a, fetched->a_there, A_LOADS, item);
#endif
#if B_BY_TERM
    lay_turned(b, fetched->b, fetched->b_there, B_LOADS, B_TURN, B_CHUNKS, item);
#else
    lay_rows(b, fetched->b, fetched->b_there, B_LOADS, item);
#endif
}

/* ---- sums ---- */

#define BYTES_INT32    4
#define RESULT_BYTES   DIALECT_JOIN(BYTES_, RESULT_TYPE)
#define RESULT_CHUNK   (CHUNK_BYTES / RESULT_BYTES)
/* Chunks of a line in local memory that holds a wave's sums of one row, with one more against bank conflicts. */
#define STAGE_LINE     (WAVE_N / RESULT_CHUNK + 1)
#define STAGE_CHUNKS   (WAVES * UNIT * STAGE_LINE)

/* Where a wave's rows of sums are in the product: the first row, the number of all rows, the first column, and the
 * group. In F and B rows are positions of the output. */
struct wave_rows {
    int first, count, column, group;
};

/* Writes a row of a wave's tiles to local memory, with the epilogue done. */
DEVICE void stage_sums(LOCAL_POINTER chunk *stage, unit_sums sums[TILES_N],
                       const struct wave_rows *wave, const struct sizes *s,
                       int lane FINISH_PARAMETERS)
{
    (void)wave;
    (void)s;
UNIT_UNROLL
    for (int e = 0; e < UNIT_SUMS; e++) {
        LOCAL_POINTER STORAGE(RESULT_TYPE) *line =
            (LOCAL_POINTER STORAGE(RESULT_TYPE) *)(stage + sum_row(e, lane) * STAGE_LINE);
#ifdef EPILOGUE
        const int row = wave->first + sum_row(e, lane), position = row < wave->count ? row : -1;
#endif
UNIT_UNROLL
        for (int j = 0; j < TILES_N; j++) {
#ifdef EPILOGUE
            const int column = wave->column + j * UNIT + lane % UNIT;
            line[j * UNIT + lane % UNIT] =
                EPILOGUE_ROUND(RESULT_TYPE, finished(sums[j][e], position, wave->group, s->groups,
                                                     column FINISH_ARGUMENTS));
#else
            STORE(RESULT_TYPE, line, j * UNIT + lane % UNIT, sums[j][e]);
#endif
        }
    }
}

/* Stores rows of sums from local memory to the result, where rows are `line` elements apart and columns are
 * neighbours. */
DEVICE void store_rows(GLOBAL STORAGE(RESULT_TYPE) *to, LOCAL_POINTER const chunk *stage,
                       int first_row, int rows, int first_column, int columns, i64 line, int lane)
{
    const int chunks = WAVE_N / RESULT_CHUNK;
#pragma unroll 4
    for (int i = lane; i < UNIT * chunks; i += WAVE) {
        int row = first_row + i / chunks, column = first_column + i % chunks * RESULT_CHUNK;
        if (row < rows && column < columns)
            *(GLOBAL chunk *)(to + row * line + column) =
                stage[i / chunks * STAGE_LINE + i % chunks];
    }
}
