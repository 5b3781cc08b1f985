/*
 * The epilogue (epilogue.h) of a matrix product whose rows are positions of the output, image after image, and whose
 * columns are the channels of a group. The kernel may write a copy of the output in the workspace, in which channels
 * are innermost and a group's channels are filled up to whole chunks; another kernel then copies them to the output.
 * The residual is read in its own place, which is the problem's layout without such channels.
 *
 *   KERNEL(64, 1, 1) name(..., int groups FINISH_PARAMETERS)   last in an entry and in functions of the device
 *   helper(... FINISH_ARGUMENTS)                               passes them on
 *   finished(sum, position, group, groups, column FINISH_ARGUMENTS)   the result as a float that is not rounded
 *   finished_pair(...)                                                the same of sums[0] and sums[1] in two
 *                                                                     neighbouring columns, the first of them even
 *
 * Options beside epilogue.h's: OUTPUT_LAST, 1 where the problem's output has channels innermost (NHWC, NDHWC), 0 where
 * it has positions innermost (NCHW, NCDHW); OUTPUT_PAIRS, 1 where it has channels innermost and their number in a group
 * is even, so that two neighbours of the residual are loaded at once. Arguments before epilogue.h's: the channels of a
 * group, and the positions of an image.
 * Defined before it is included: LANE.
 */
#include "epilogue.h"

#ifndef EPILOGUE

#define FINISH_PARAMETERS
#define FINISH_ARGUMENTS

#else

#define FINISH_PARAMETERS , int output_channels, int output_plane EPILOGUE_PARAMETERS
#define FINISH_ARGUMENTS  , output_channels, output_plane EPILOGUE_ARGUMENTS

struct results {
    float value[2];
};

/* PoCL takes long to compile an epilogue twice. */
#if defined(__OPENCL_VERSION__)
#define EACH_OF_PAIR _Pragma("nounroll") for (int i = 0; i < 2; i++)
#else
#define EACH_OF_PAIR _Pragma("unroll") for (int i = 0; i < 2; i++)
#endif

/* The element's place in the problem's output. */
DEVICE i64 output_index(int position, int channel, int channels, int output_plane)
{
#if OUTPUT_LAST
    (void)output_plane;
    return (i64)position * channels + channel;
#else
    const int image = position / output_plane;
    return ((i64)image * channels + channel) * output_plane + (position - image * output_plane);
#endif
}

/* The result of a sum. A negative position is past the end, and a column may be past the group's channels: their
 * results are 0, and no operand is read. */
DEVICE float finished(LANE sum, int position, int group, int groups, int column FINISH_PARAMETERS)
{
    const int channel = group * output_channels + column;
    const i64 index = output_index(position, channel, groups * output_channels, output_plane);
    if (position < 0 || column >= output_channels)
        return 0;
    return epilogue_value(sum, channel, index EPILOGUE_ARGUMENTS);
}

#if OUTPUT_PAIRS && defined(EP_RESIDUAL)

struct ALIGNED(2 * sizeof(STORAGE(EP_RESIDUAL))) residual_pair {
    STORAGE(EP_RESIDUAL) element[2];
};

DEVICE struct results finished_pair(const LANE *sums, int position, int group, int groups,
                                    int column FINISH_PARAMETERS)
{
    const int channel = group * output_channels + column;
    const i64 index = output_index(position, channel, groups * output_channels, output_plane);
    struct results results = {{0, 0}};
    if (position >= 0 && column < output_channels) {
        const struct residual_pair pair =
            *(GLOBAL const struct residual_pair *)(GLOBAL const void *)(ep_residual + index);
        EACH_OF_PAIR
        {
            const float residual = (float)LOAD(EP_RESIDUAL, pair.element, i);
            results.value[i] = epilogue_with(sums[i], channel + i, residual EPILOGUE_ARGUMENTS);
        }
    }
    return results;
}

#else

DEVICE struct results finished_pair(const LANE *sums, int position, int group, int groups,
                                    int column FINISH_PARAMETERS)
{
    struct results results;
    EACH_OF_PAIR results.value[i] =
        finished(sums[i], position, group, groups, column + i FINISH_ARGUMENTS);
    return results;
}

#endif

#endif
