/*
 * The epilogue (epilogue.h) of a matrix product whose rows are positions of the output, image after image, and whose
 * columns are the channels of a group. The kernel may write a copy of the output in the workspace, in which channels
 * are innermost and a group's channels are filled up to whole chunks; another kernel then copies them to the output.
 * The residual is read in its own place, which is the problem's layout without such channels.
 *
 *   KERNEL(64, 1, 1) name(..., int groups FINISH_PARAMETERS)   last in an entry and in functions of the device
 *   helper(... FINISH_ARGUMENTS)                               passes them on
 *   finished(sum, position, group, groups, column FINISH_ARGUMENTS)   the result as a float that is not rounded
 *
 * Options beside epilogue.h's: OUTPUT_LAST, 1 where the problem's output has channels innermost (NHWC), 0 where it has
 * positions innermost (NCHW). Arguments before epilogue.h's: the channels of a group, and the positions of an image.
 * Defined before it is included: LANE.
 */
#include "epilogue.h"

#ifndef EPILOGUE

#define FINISH_PARAMETERS
#define FINISH_ARGUMENTS

#else

#define FINISH_PARAMETERS , int output_channels, int output_plane EPILOGUE_PARAMETERS
#define FINISH_ARGUMENTS  , output_channels, output_plane EPILOGUE_ARGUMENTS

/* The result of a sum. A negative position is past the end, and a column may be past the group's channels: their
 * results are 0, and no operand is read. */
DEVICE float finished(LANE sum, int position, int group, int groups, int column FINISH_PARAMETERS)
{
    const int channel = group * output_channels + column, channels = groups * output_channels;
#if OUTPUT_LAST
    const i64 index = (i64)position * channels + channel;
    (void)output_plane;
#else
    const int image = position / output_plane;
    const i64 index =
        ((i64)image * channels + channel) * output_plane + (position - image * output_plane);
#endif
    if (position < 0 || column >= output_channels)
        return 0;
    (void)channels;
    return epilogue_value(sum, channel, index EPILOGUE_ARGUMENTS);
}

#endif
