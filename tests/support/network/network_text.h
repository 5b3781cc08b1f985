/*
 * Small networks for tests, written as lines:
 *
 *   "input x 1,3,8,8"      an input of floats
 *   "weight w 4,3,3,3"     a constant of floats from -1 to 1, which follow from its name
 *   "scale s 4"            the same from 0.5 to 1.5
 *   "ints i 1,-1", "floats f 0.5,2", "int8 z 3"  constant lists
 *   "number n 0.5"         a constant without axes
 *   "Conv x w - y pads=[1,1,1,1] group=2"        a node: inputs, then "=", outputs and attributes
 *
 * A node's line is "OP INPUTS = OUTPUTS ATTRIBUTES". "output y" makes y an output. The opset is 17.
 */
#ifndef TESTS_SUPPORT_NETWORK_NETWORK_TEXT_H
#define TESTS_SUPPORT_NETWORK_NETWORK_TEXT_H

#include "coordinator/network/graph.h"
#include "coordinator/network/samples.h"

/* The network of the lines, which end with NULL. A line that cannot be read ends the test. */
Graph *network_of(const char *const *lines);
/* A model of the shared data by its file name; NULL, and the test is skipped, without them. */
Graph *network_of_model(const char *file);

/* How far the outputs of two graphs with the same inputs are apart, for random inputs. */
void networks_compare(struct graph *got, struct graph *right, struct samples_distance *distance);

#endif
