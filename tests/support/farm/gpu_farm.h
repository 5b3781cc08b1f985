/* A farm of one node on GPUs whose library is a double (gpu_double.c): campaigns of
 * build/skipjack-faults, compiled by a vendor's real toolchain, on devices that fail on command.
 * Call gpu_farm_open() first. */
#ifndef TESTS_SUPPORT_FARM_GPU_FARM_H
#define TESTS_SUPPORT_FARM_GPU_FARM_H

#include "schema/store/store.h"

struct gpu_maker {
    const char *setting, *other, *toolchain, *target;
};
extern const struct gpu_maker gpu_cuda, gpu_hip;

void gpu_farm_open(void);
void gpu_farm_close(void);
/* Makes the double's devices of this vendor the machine's devices. Returns false, after skipping
 * the test, if this machine lacks the vendor's compiler. */
bool gpu_farm_use(const struct gpu_maker *maker);
/* The path of skipjack-faults. */
const char *gpu_farm_program(void);
/* Sets the faults, in the words of gpu_double.c, from now on. Lost devices return. */
void gpu_farm_say(const char *words);

/* Counts the farm's events of that kind. */
guint gpu_farm_events(Store *store, const char *kind);
/* Waits for the first event of that kind and returns its text. Free with g_free(). */
char *gpu_farm_await_event(Store *store, const char *kind);
/* Whether the farm lists the double's device 0 as out of service, with a reason that contains these
 * words. */
bool gpu_farm_is_out(Store *store, const char *words);
/* Waits until all jobs that workers claimed have been given back. */
void gpu_farm_await_release(Store *store, int64_t campaign);
/* Waits until that many jobs have ended. */
void gpu_farm_await_end(Store *store, int64_t campaign, int jobs);

#endif
