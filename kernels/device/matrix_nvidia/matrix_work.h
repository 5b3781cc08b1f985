/*
 * A workgroup's share of the matrix product of matrix_nhwc.h, and the main loop that kernels with different matrix
 * instructions share.
 */
/* Finds a workgroup's share. Blocks of columns run fastest, so that workgroups that read the same rows run at once;
 * then blocks of rows, phases, groups and, slowest, split-K parts. */
DEVICE struct work find_work(const struct sizes *s, int column_blocks)
{
    struct work work;
    int block = GROUP_ID(0), layer = GROUP_ID(2);
    int row_block = block / column_blocks;
    work.first_row = row_block * BLOCK_M;
    work.first_column = (block - row_block * column_blocks) * BLOCK_N;
    work.phase_h = work.phase_w = 0;
    IF_DEPTH(work.phase_d = 0;)
#if defined(DIRECTION_B)
    work.phase_w = layer % s->stride_w;
    layer /= s->stride_w;
    work.phase_h = layer % s->stride_h;
    layer /= s->stride_h;
#if DEPTH
    work.phase_d = layer % s->stride_d;
    layer /= s->stride_d;
#endif
#endif
    work.group = layer % s->groups;
    work.part = layer / s->groups;
#if defined(DIRECTION_W)
    work.rows = s->k;
    work.columns = IF_DEPTH(s->fil_d *) s->fil_h * s->fil_w * NUMBERS_C(s);
#else
    work.rows = s->n * IF_DEPTH(s->plane_d *) s->plane_h * s->plane_w;
    work.columns = COLUMNS;
#endif
    work.first = work.steps = 0;
    return work;
}

/* Divides all `all` blocks of terms among `splits` split-K parts, and sets the range of this workgroup's part. */
DEVICE void share_steps(struct work *work, int all, int splits)
{
    int share = (all + splits - 1) / splits, left;
    work->first = work->part * share;
    left = all - work->first;
    work->steps = left < share ? left : share;
}

/* The main loop of an entry with operands a and b, its `work`, its `item`, and the place of the blocks of terms in
 * local memory. PREPARE(number) computes what the load of that block needs; a barrier must follow before the load
 * (BARRIER_TO_LOAD() where the loop has no other barrier). LOAD_BLOCK(stage, number) starts the load of that block,
 * counted from the part's first; blocks are loaded in order. */
#if defined(DIRECTION_W)
#define OPEN_WORK                                                                                  \
    struct column columns[COLUMN_COUNT];                                                           \
    const int end = s->n * IF_DEPTH(s->out_d *) s->out_h * s->out_w;                               \
    share_steps(&work, (end + TERMS - 1) / TERMS, splits);                                         \
    find_columns(columns, s, work.first_column, item);                                             \
    a += (i64)work.group * ELEMENTS_K(s);                                                          \
    b += (i64)work.group * s->c;
#define PREPARE(number)   note_meetings(local_memory, s, work.first + (number), end, item)
#define BARRIER_TO_LOAD() BARRIER()
#define LOAD_BLOCK(stage, number)                                                                  \
    do {                                                                                           \
        unsigned to = tiles + (stage)*STAGE_BYTES;                                                 \
        load_outputs(local_memory, to, a, s, work.first + (number), end, work.first_row, item);    \
        load_inputs(local_memory, to + A_BYTES, b, columns, s, work.first + (number), item);       \
    } while (0)
#define FIRST_RESULT ((i64)work.group * s->k * work.columns)
#else
#define FIND_TAPS(axis)                                                                            \
    find_axis_taps(work.phase_##axis, s->fil_##axis, s->pad_##axis, s->stride_##axis,              \
                   s->dilation_##axis, s->period_##axis)
#define OPEN_WORK                                                                                  \
    struct rows rows;                                                                              \
    struct step step;                                                                              \
    const struct taps taps = {                                                                     \
        IF_DEPTH(FIND_TAPS(d), ) FIND_TAPS(h), FIND_TAPS(w)};                                      \
    share_steps(&work, count_steps(s, &taps), splits);                                             \
    step = step_at(work.first, s, &taps);                                                          \
    find_rows(&rows, s, &taps, work.first_row, work.rows, item);                                   \
    a += (i64)work.group * CHANNELS;                                                               \
    b += (i64)work.group * s->k * IF_DEPTH(s->fil_d *) s->fil_h * s->fil_w * s->c;
#define PREPARE(number)
#define BARRIER_TO_LOAD()
#define LOAD_BLOCK(stage, number)                                                                  \
    do {                                                                                           \
        unsigned to = tiles + (stage)*STAGE_BYTES;                                                 \
        load_rows(local_memory, to, a, &rows, s, &taps, &step, item);                              \
        load_filter(local_memory, to + A_BYTES, b, s, &taps, &step, work.first_column, item);      \
        advance(&step, s, &taps);                                                                  \
    } while (0)
#define FIRST_RESULT ((i64)work.group * COLUMNS)
#endif

#if SPLIT
#define STORE_WORK                                                                                 \
    store_part(result + work.part * part_elements + FIRST_RESULT, sums, s, &work, warp_m, warp_n,  \
               lane);
#elif STORES_SUMS
#define STORE_WORK                                                                                 \
    (void)part_elements;                                                                           \
    store_part(result + FIRST_RESULT, sums, s, &work, warp_m, warp_n, lane FINISH_ARGUMENTS);
#else
#define STORE_WORK                                                                                 \
    (void)part_elements;                                                                           \
    stage_sums(local_memory, sums, s, &work, warp_m, warp_n, lane FINISH_ARGUMENTS);               \
    BARRIER();                                                                                     \
    store_rows(result + FIRST_RESULT, local_memory, s, &work, item);
#endif
