/* Merges of small files that a test writes, and keys for them. */
#ifndef TESTS_SUPPORT_MERGE_TEXTS_H
#define TESTS_SUPPORT_MERGE_TEXTS_H

#include "export/merge/merge.h"

#define K1       "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K2       "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K3       "64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP32-F"
#define ALGO     "miopenConvolutionFwdAlgo"
#define DIRECT   "," ALGO "Direct"
#define WINOGRAD "," ALGO "Winograd"
#define INPUTS   3
#define R1                                                                                         \
    "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF" /* sorts behind R2: batch 16 */
#define R2 "2x64x56x56x1x3x3x1x64x8x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"

/* Free with g_free(), as what the next one returns. */
char *merge_texts_of(GBytes *bytes);
/* Merges texts, each a file "a", "b", ..., into a file of that name, whose bytes are returned. */
char *merge_texts_into(const char *const texts[INPUTS], const char *name,
                       const struct merge_options *options, MergeReport **report);

#endif
