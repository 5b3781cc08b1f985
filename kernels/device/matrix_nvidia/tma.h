/*
 * Hopper's copy engine (TMA, sm_90a): one lane starts the copy of a box (a cuboid of a tensor with four axes, or
 * five with depth), and the engine copies the box into local memory, with zeros outside of the tensor. The PTX
 * manual's sections on tensormap.replace, cp.async.bulk.tensor and mbarrier describe the fields, coordinates and
 * phases.
 *
 * A box has 64 "elements" of channels (of 16 bits, matrix_nvidia.h), a line of 128 bytes for each position, with chunks
 * permuted as in wgmma.h. FP32 numbers are copied as TF32, to which the engine converts them. Tensor maps are made on
 * the device: each workgroup has its own slots in the workspace. With MATRIX_EMULATED all work-items of a workgroup
 * copy a box at once, and copies have no barriers.
 *
 * Defined before it is included: matrix_nvidia.h, ITEMS.
 */
#include "depth.h"

#define MAP_BYTES     128
#define CHANNELS_LINE 64
#define LINE_BYTES    128

/* A tensor of packed channels; axes from the fastest: elements of channels, w, h, with depth d, images. A box has `box` of
 * each axis, `stride` apart. */
#define MAP_AXES   (4 + DEPTH)
#define MAP_IMAGES (3 + DEPTH) /* the images' axis */
struct map {
    GLOBAL const half_bits *source;
    int size[MAP_AXES], box[MAP_AXES], stride[MAP_AXES];
    u64 slot;
};

DEVICE struct map open_map(GLOBAL const half_bits *source, int channels, int w, int h,
                           IF_DEPTH(int d, ) int images)
{
    struct map map = {source,
                      {channels, w, h, IF_DEPTH(d, ) images},
                      {CHANNELS_LINE, 1, 1, IF_DEPTH(1, ) 1},
                      {1, 1, 1, IF_DEPTH(1, ) 1},
                      0};
    return map;
}

#if defined(MATRIX_EMULATED)

#define ENTRY(items, resident, team) KERNEL(items, 1, 1)

/* Starts the copy of the box at the given coordinates; lines outside of the tensor arrive as zeros. */
DEVICE void copy_box(LOCAL_POINTER unsigned char *memory, unsigned to, unsigned barrier,
                     const struct map *map, int channel, int w, int h, IF_DEPTH(int d, ) int image,
                     int item)
{
    const int lines = map->box[1] * map->box[2] * map->box[3] IF_DEPTH(* map->box[4]);
    (void)barrier;
    LOOP for (int i = item; i < lines * 8; i += ITEMS)
    {
        int line = i / 8, chunk = i % 8, c = channel + chunk * 8;
        int at_w = w + line % map->box[1] * map->stride[1];
        int at_h = h + line / map->box[1] % map->box[2] * map->stride[2];
        int plane = line / (map->box[1] * map->box[2]);
        IF_DEPTH(int at_d = d + plane % map->box[3] * map->stride[3]; plane /= map->box[3];)
        int at_n = image + plane * map->stride[MAP_IMAGES];
        int there = c >= 0 && c < map->size[0] && at_w >= 0 && at_w < map->size[1] && at_h >= 0 &&
                    at_h < map->size[2] IF_DEPTH(&& at_d >= 0 && at_d < map->size[3]) &&
                    at_n >= 0 && at_n < map->size[MAP_IMAGES];
        i64 at = (((i64)at_n IF_DEPTH(* map->size[3] + at_d)) * map->size[2] + at_h);
        at = (at * map->size[1] + at_w) * map->size[0] + c;
        load_chunk(memory, to + line * LINE_BYTES + ((chunk ^ line) & 7) * CHUNK_BYTES,
                   map->source + (there ? at : 0), there);
    }
}

#else

/* Declares an entry. Its registers allow `resident` workgroups on a multiprocessor; `team` workgroups are launched as
 * one cluster, which share a tile. */
#define ENTRY(items, resident, team)                                                               \
    extern "C" __global__ void __cluster_dims__((team), 1, 1)                                      \
        __launch_bounds__((items), (resident))

#define REPLACE(field, type, constraint, value)                                                    \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type                        \
                 " [%0], %1;" ::"r"(at),                                                           \
                 constraint(value)                                                                 \
                 : "memory")
#define REPLACE_AXIS(field, axis, type, constraint, value)                                         \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type                        \
                 " [%0], %1, %2;" ::"r"(at),                                                       \
                 "n"(axis), constraint(value)                                                      \
                 : "memory")
#define REPLACE_KIND(field, value)                                                                 \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024.b32 [%0], %1;" ::"r"(at),     \
                 "n"(value)                                                                        \
                 : "memory")
/* The value of a tensor map's type field: 16 bits of any kind, or TF32. */
#define KIND_ELEMENT (LONG_NUMBERS ? 11 : 1)
#define KIND_128     3 /* value of a tensor map's swizzle field for lines of 128 bytes */

#define REPLACE_SIZES(axis, width)                                                                 \
    do {                                                                                           \
        int span = (map->box[axis] - 1) * map->stride[axis] + 1;                                   \
        REPLACE_AXIS("box_dim", axis, "b32", "r", span / (width));                                 \
        REPLACE_AXIS("global_dim", axis, "b32", "r", map->size[axis] / (width));                   \
        REPLACE_AXIS("element_stride", axis, "b32", "r", map->stride[axis]);                       \
    } while (0)

/* Writes a tensor map's image to local memory; called by one lane. The map's field for the rank holds the number of
 * axes less one. */
DEVICE void write_map(unsigned at, const struct map *map)
{
    const u64 w = (u64)map->size[0] * 2, h = w * (unsigned)map->size[1];
    REPLACE("global_address", "b64", "l", (u64)map->source);
    REPLACE("rank", "b32", "r", MAP_AXES - 1);
    REPLACE_SIZES(0, WIDTH);
    REPLACE_SIZES(1, 1);
    REPLACE_SIZES(2, 1);
    REPLACE_SIZES(3, 1);
    IF_DEPTH(REPLACE_SIZES(4, 1);)
    REPLACE_AXIS("global_stride", 0, "b64", "l", w);
    REPLACE_AXIS("global_stride", 1, "b64", "l", h);
    REPLACE_AXIS("global_stride", 2, "b64", "l", h * (unsigned)map->size[2]);
    IF_DEPTH(REPLACE_AXIS("global_stride", 3, "b64", "l",
                          h * (unsigned)map->size[2] * (unsigned)map->size[3]);)
    REPLACE_KIND("elemtype", KIND_ELEMENT);
    REPLACE_KIND("interleave_layout", 0);
    REPLACE_KIND("swizzle_mode", KIND_128);
    REPLACE_KIND("fill_mode", 0);
}

/* Writes a tensor map's image at `at` in local memory and copies it to its slot in the workspace. All lanes of
 * a warp call it. */
DEVICE void make_map(unsigned at, const struct map *map, int lane)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(at + lane * 4), "r"(0) : "memory");
    __syncwarp();
    if (lane == 0)
        write_map(at, map);
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
                 "aligned [%0], [%1], 128;" ::"l"(map->slot),
                 "r"(at)
                 : "memory");
}

/* The lane that starts copies calls this once a barrier has shown that other lanes have made the map; only then may
 * copies use it. */
DEVICE void see_map(const struct map *map)
{
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map->slot)
                 : "memory");
}

DEVICE void copy_box(const unsigned char *memory, unsigned to, unsigned barrier,
                     const struct map *map, int channel, int w, int h, IF_DEPTH(int d, ) int image,
                     int item)
{
    (void)memory;
    (void)item;
#if DEPTH
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(to),
                 "l"(map->slot), "r"(channel / WIDTH), "r"(w), "r"(h), "r"(d), "r"(image),
                 "r"(barrier)
                 : "memory");
#else
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(map->slot), "r"(channel / WIDTH), "r"(w), "r"(h), "r"(image), "r"(barrier)
                 : "memory");
#endif
}

/* ---- barriers in local memory ---- */

DEVICE void open_barrier(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

/* Makes writes so far, and opened barriers, visible to the copy engine and the matrix units. */
DEVICE void show_writes(void)
{
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::
                     : "memory");
}

DEVICE void arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives at the barrier. The barrier's phase ends only after the copy engine has also written `bytes` bytes. */
DEVICE void expect_bytes(unsigned barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* Waits until the barrier's phase of the given parity has ended. The phase before the first one has parity 1 and
 * counts as ended. */
DEVICE void await_phase(unsigned barrier, unsigned parity)
{
    unsigned done;
    do {
        asm volatile("{ .reg .pred ended; mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;"
                     " selp.u32 %0, 1, 0, ended; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}

/* Called by all four warps of a group: raises (inc) or lowers (dec) the registers of each work-item to `count`. */
#define MORE_REGISTERS(count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))
#define LESS_REGISTERS(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))

#endif
