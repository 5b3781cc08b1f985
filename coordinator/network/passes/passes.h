/*
 * The smaller passes. Each edits a graph in place and leaves it propagated; none changes what the graph computes,
 * except by the rounding of types. PASSES.md shows their order and what they do to a block of ResNet.
 */
#ifndef COORDINATOR_NETWORK_PASSES_PASSES_H
#define COORDINATOR_NETWORK_PASSES_PASSES_H

#include "coordinator/network/graph.h"

/* ---- On graphs of ONNX's operators. */

/* Gives constants that have no data random ones, drawn from the seed and the constant's place alone: filters as He's
 * initialisation has them, variances from 0.5 to 1.5, other lists from -0.1 to 0.1, scales about 1. A large filter
 * whose elements are all equal, as in models for tests of speed, gets random data, too. Returns how many constants got
 * data. */
int network_fill_weights(struct graph *graph, guint64 seed);

/* Sets the batch of all inputs: axis 0 of those that have the batch of the first one. Constant shapes of Reshape and
 * Expand, and sizes of Resize, that begin with the old batch follow. NETWORK_ERROR_INVALID names a node that has no
 * shape with the new batch. */
bool network_set_batch(struct graph *graph, int64_t batch, GError **error);

/* Computes nodes whose inputs are all known and puts constants in their place. Returns how many. A node that the host
 * cannot compute stays. */
int network_fold_constants(struct graph *graph);

/* Makes a QLinearConv of each convolution of dequantised tensors whose result is quantised again, as quantisers write
 * them (QDQ), a relu between included where saturation does it. Constants must not be folded yet. Returns how many. */
int network_match_quantised(struct graph *graph);

/* ---- On lowered graphs. */

/* Folds scales, numbers and biases behind a convolution into its filter and one bias: batch normalisation goes away.
 * Returns the number of pointwise kernels that are gone. */
int network_fold_scales(struct graph *graph);

/* Turns borders into the padding of the convolution or pool behind them: zeros in front of a convolution, if equal
 * padding on both sides gives the same output size; zeros in front of an average pool, which then counts its padding;
 * the least numbers in front of a max pool. Returns how many borders are gone. */
int network_fold_borders(struct graph *graph);

/* Makes all that the kernels compute with floats be of this type, inputs and outputs of the graph too: each kernel gets
 * casts before and behind it, which cancel where kernels meet. Biases, scales and integers stay. The graph is
 * resolved. */
bool network_set_type(struct graph *graph, enum element_type type, GError **error);

#endif
