/*
 * A farm of one on GPUs whose library is a double (gpu_double.c): campaigns of build/skipjack-faults, compiled by a
 * vendor's real toolchain, on devices that fail as they are told. Call gpu_farm_open() first.
 */
#ifndef TESTS_SUPPORT_GPU_FARM_H
#define TESTS_SUPPORT_GPU_FARM_H

#include "schema/store/store.h"

struct gpu_maker {
    const char *setting, *other, *toolchain, *target;
};
extern const struct gpu_maker gpu_cuda, gpu_hip;

void gpu_farm_open(void);
void gpu_farm_close(void);
/* This machine's devices from now on; false, and the test skipped, where its compiler is not here. */
bool gpu_farm_use(const struct gpu_maker *maker);
/* The path of skipjack-faults. */
const char *gpu_farm_program(void);
/* What goes wrong from now on: gpu_double.c has the words. Devices that were lost are there again. */
void gpu_farm_say(const char *words);

/* Of all events. */
guint gpu_farm_events(Store *store, const char *kind);
/* The first event of that kind, waited for. Free with g_free(). */
char *gpu_farm_await_event(Store *store, const char *kind);
/* Whether the farm lists the double's first device as out of service, with those words. */
bool gpu_farm_is_out(Store *store, const char *words);
/* Nobody holds a job any more: what was claimed went back. */
void gpu_farm_await_release(Store *store, int64_t campaign);
/* So many jobs ended. */
void gpu_farm_await_end(Store *store, int64_t campaign, int jobs);

#endif
