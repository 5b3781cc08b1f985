/*
 * Splits a flat index over up to four axes, the last one fastest, into one index for each axis ("digits").
 */
#include "dialect.h"

/* Lengths of the second to fourth axis. Splitting an index does not need the first axis' length, because the
 * first digit is what is left of the index. */
struct tile_digits {
    int second, third, fourth;
};

struct tile_place {
    int at[4];
};

DEVICE struct tile_place tile_split(struct tile_digits digits, int index)
{
    struct tile_place place;
    place.at[3] = index % digits.fourth;
    index /= digits.fourth;
    place.at[2] = index % digits.third;
    index /= digits.third;
    place.at[1] = index % digits.second;
    place.at[0] = index / digits.second;
    return place;
}

/* The place of the next index. */
DEVICE struct tile_place tile_step(struct tile_digits digits, struct tile_place place)
{
    if (++place.at[3] < digits.fourth)
        return place;
    place.at[3] = 0;
    if (++place.at[2] < digits.third)
        return place;
    place.at[2] = 0;
    if (++place.at[1] < digits.second)
        return place;
    place.at[1] = 0;
    place.at[0]++;
    return place;
}
