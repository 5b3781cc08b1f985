/*
 * The loads of matrix_nhwc.h in DIRECTION_W. Terms are positions of y. For each block of terms the workgroup computes
 * once, for all its work-items, which position of x each term reads through the filter's first position.
 */
/* For a position of y: the position of x that the filter's first position reads, as coordinates and as one number. d is
 * 0 without depth. */
struct ALIGNED(CHUNK_BYTES) meeting {
    int h, w, at, d;
};

/* Writes the positions of x for a block of terms to local memory, one term by each work-item. Other work-items may
 * read them after a barrier. */
DEVICE void note_meetings(LOCAL_POINTER unsigned char *memory, const struct sizes *s, int number,
                          int end, int item)
{
    LOCAL_POINTER struct meeting *to = (LOCAL_POINTER struct meeting *)(LOCAL_POINTER void *)memory;
    struct meeting meeting;
    int position = number * TERMS + item;
    struct place place = place_of(position, s);
    int h = place.h * s->stride_h - s->pad_h, w = place.w * s->stride_w - s->pad_w;
    /* a term past the last position gets a coordinate so far outside that every filter position reads zero */
    meeting.h = position < end ? h : -0x7fffffff - 1;
    meeting.w = w;
    IF_DEPTH(int d = place.d * s->stride_d - s->pad_d;)
    meeting.at = ((place.image IF_DEPTH(* s->in_d + d)) * s->in_h + h) * s->in_w + w;
    meeting.d = IF_DEPTH(d +) 0;
    if (item < TERMS)
        to[number % 2 * TERMS + item] = meeting;
}

DEVICE void load_outputs(LOCAL_POINTER unsigned char *memory, unsigned tile,
                         GLOBAL const half_bits *y, const struct sizes *s, int number, int end,
                         int first, int item)
{
    UNROLL for (int i = 0; i < A_LOADS; i++)
    {
        int line = line_of(i, item, A_LINES, A_CHUNKS);
        int chunk = chunk_of(i, item, A_LINES, A_CHUNKS);
        int position = number * TERMS + line, k = first * WIDTH + chunk * 8;
        int there = position < end && k < ELEMENTS_K(s);
        i64 at = (i64)position * (ELEMENTS_K(s) * s->groups) + k;
        load_chunk(memory, tile + chunk_at(line, chunk, A_LINES, A_CHUNKS), y + (there ? at : 0),
                   there);
    }
}

/* The chunk of a panel that a work-item loads: the offset of its filter position in x (as coordinates and as one
 * number), and its channel. */
struct column {
    /* d, h, w: the filter position's offset in x along each axis; at: the same as a number of positions; c: the channel,
     * negative for a column past the last one */
    int IF_DEPTH(d, ) h, w, at, c;
};

/* Chunks of a panel, and the number of panels from which a work-item loads. */
#define PANEL_CHUNKS    (B_LINES * 8)
#define COLUMN_COUNT    (PANEL_CHUNKS >= ITEMS ? B_CHUNKS / 8 : B_LOADS)
#define COLUMN_OF(i)    (PANEL_CHUNKS >= ITEMS ? (i)*ITEMS / PANEL_CHUNKS : (i))
#define LOAD_OF(column) (PANEL_CHUNKS >= ITEMS ? (column)*PANEL_CHUNKS / ITEMS : (column))

DEVICE void find_columns(struct column *columns, const struct sizes *s, int first, int item)
{
    UNROLL for (int i = 0; i < COLUMN_COUNT; i++)
    {
        int column = first * WIDTH + chunk_of(LOAD_OF(i), item, B_LINES, B_CHUNKS) * 8;
        int tap = column / s->c, h = tap / s->fil_w;
        IF_DEPTH(int d = h / s->fil_h;)
        IF_DEPTH(columns[i].d = d * s->dilation_d;)
        columns[i].h = (h IF_DEPTH(- d * s->fil_h)) * s->dilation_h;
        columns[i].w = (tap - h * s->fil_w) * s->dilation_w;
        columns[i].at =
            (IF_DEPTH(columns[i].d * s->in_h +) columns[i].h) * s->in_w + columns[i].w;
        columns[i].c =
            tap < IF_DEPTH(s->fil_d *) s->fil_h * s->fil_w ? column - tap * s->c : -1;
    }
}

DEVICE void load_inputs(LOCAL_POINTER unsigned char *memory, unsigned tile,
                        GLOBAL const half_bits *x, const struct column *columns,
                        const struct sizes *s, int number, int item)
{
    LOCAL_POINTER const struct meeting *meetings =
        (LOCAL_POINTER const struct meeting *)(LOCAL_POINTER const void *)memory +
        number % 2 * TERMS;
    UNROLL for (int i = 0; i < B_LOADS; i++)
    {
        int line = line_of(i, item, B_LINES, B_CHUNKS);
        int chunk = chunk_of(i, item, B_LINES, B_CHUNKS);
        const struct column *column = &columns[COLUMN_OF(i)];
        struct meeting meeting = meetings[line];
        int there = (unsigned)(meeting.h + column->h) < (unsigned)s->in_h &&
                    (unsigned)(meeting.w + column->w) < (unsigned)s->in_w &&
                    IF_DEPTH((unsigned)(meeting.d + column->d) < (unsigned)s->in_d &&)
                    column->c >= 0;
        i64 at = (i64)(meeting.at + column->at) * (s->c * s->groups) + column->c;
        load_shared_chunk(memory, tile + chunk_at(line, chunk, B_LINES, B_CHUNKS),
                          x + (there ? at : 0), there);
    }
}
