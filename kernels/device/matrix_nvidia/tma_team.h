/*
 * Workgroups of a cluster (sm_90) that have a tile in common and add up their sums: each lays its own where its stages
 * were, and adds up and stores a share of the columns, which it reads from all of them, in their order. The PTX manual's
 * sections on mapa, shared::cluster and barrier.cluster have what is used.
 *
 * Before it is included: tma_store.h, CONSUMERS. A team's stages hold BLOCK_M by BLOCK_N sums, and it has one tile.
 */
#define SHARE (TILES_N / TEAM) /* times eight columns */

#if TEAM > 1 && !defined(MATRIX_EMULATED)

/* Of all items that multiply: the stages are read. */
DEVICE void await_consumers(void)
{
    asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
}

/* Of all items of the team that have not ended. */
DEVICE void come_together(void)
{
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

DEVICE void await_team(void)
{
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

DEVICE unsigned place_of_sums(unsigned memory, int number, int item)
{
    return memory + (unsigned)(number * CONSUMERS + item) * 16;
}

DEVICE void lay_out_sums(unsigned memory, LANE sums[TILES_N][4], int item)
{
    UNROLL for (int j = 0; j < TILES_N; j++)
    {
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(
                         place_of_sums(memory, j, item)),
                     "f"(sums[j][0]), "f"(sums[j][1]), "f"(sums[j][2]), "f"(sums[j][3])
                     : "memory");
    }
}

DEVICE void add_sums_of(int member, unsigned memory, int first, LANE totals[SHARE][4], int item)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(memory), "r"(member));
    UNROLL for (int j = 0; j < SHARE; j++)
    {
        float part[4];
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(part[0]), "=f"(part[1]), "=f"(part[2]), "=f"(part[3])
                     : "r"(place_of_sums(there, first + j, item))
                     : "memory");
        UNROLL for (int e = 0; e < 4; e++) totals[j][e] += part[e];
    }
}

/* Nobody ends while others read its sums. */
DEVICE void store_share(GLOBAL RESULT *to, unsigned memory, LANE sums[TILES_N][4],
                        const struct stored_rows *rows, const struct shape *s,
                        const struct tile *tile, int item)
{
    const int first = MEMBER * SHARE;
    LANE totals[SHARE][4];
    await_consumers();
    lay_out_sums(memory, sums, item);
    come_together();
    UNROLL for (int j = 0; j < SHARE; j++) UNROLL for (int e = 0; e < 4; e++) totals[j][e] = 0;
    await_team();
    UNROLL for (int member = 0; member < TEAM; member++)
        add_sums_of(member, memory, first, totals, item);
    come_together();
    store_sums(to, totals, first, SHARE, rows, s, tile, item);
    await_team();
}

#endif
