/* Merges of small files that a test writes, and keys for these files. */
#ifndef TESTS_SUPPORT_EXPORT_MERGE_TEXTS_H
#define TESTS_SUPPORT_EXPORT_MERGE_TEXTS_H

#include "export/merge/merge.h"

#define K1       "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K2       "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K3       "64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP32-F"
#define ALGO     "miopenConvolutionFwdAlgo"
#define DIRECT   "," ALGO "Direct"
#define WINOGRAD "," ALGO "Winograd"
#define INPUTS   3
#define R1                                                                                         \
    "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF" /* batch 16; sorts behind R2 */
#define R2 "2x64x56x56x1x3x3x1x64x8x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"

/* A copy of the bytes as a string. Free with g_free(). */
char *merge_texts_of(GBytes *bytes);
/* Writes the texts to files "a", "b", ... and merges these into a file `name`. Returns its content;
 * free with g_free(). */
char *merge_texts_into(const char *const texts[INPUTS], const char *name,
                       const struct merge_options *options, MergeReport **report);

#endif
