/*
 * A team: workgroups of a cluster (sm_90) that share a tile, each with a part of its terms, and add up their
 * sums. Each writes its sums over its own stages in local memory. Then each adds up and stores a share of the
 * columns, which it reads from all workgroups' local memories (distributed shared memory) in a fixed order. The
 * PTX manual's sections on mapa, shared::cluster and barrier.cluster describe the instructions.
 *
 * Defined before it is included: tma_store.h, CONSUMERS. A team's stages have room for BLOCK_M by BLOCK_N sums,
 * and a team has one tile.
 */
/* columns that one workgroup of the team adds up and stores, in groups of eight */
#define SHARE (TILES_N / TEAM)

#if TEAM > 1 && !defined(MATRIX_EMULATED)

/* Waits until all work-items that multiply have arrived: the stages' contents are then no longer needed and may be
 * overwritten. */
DEVICE void await_consumers(void)
{
    asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
}

/* come_together(): arrives at the team's barrier without waiting. await_team(): waits until all work-items of
 * the team's workgroups have arrived, except those that have ended. */
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

/* Adds up this workgroup's share of the columns over the team and stores it. The last wait keeps a workgroup from
 * ending while others read sums in its local memory. */
DEVICE void store_share(GLOBAL RESULT *to, unsigned memory, LANE sums[TILES_N][4],
                        const struct stored_rows *rows, const struct shape *s,
                        const struct tile *tile, int item FINISH_PARAMETERS)
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
    store_sums(to, totals, first, SHARE, rows, s, tile, item FINISH_ARGUMENTS);
    await_team();
}

#endif
