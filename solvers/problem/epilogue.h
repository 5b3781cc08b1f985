/*
 * An epilogue is what a kernel does to its output before it stores the output, written as a suffix of the
 * canonical key. It is a list of steps, each begun by '+':
 *
 *   +bias                          adds one value for each channel
 *   +relu  +sigmoid  +tanh  +clip(LOW,HIGH)  +leaky(SLOPE)
 *   +add(TYPE,LAYOUT)              adds a second tensor
 *   +requant(TYPE,channel|tensor)  rescales into another type
 *
 * The text is canonical: parsing it and writing it again gives the same bytes.
 */
#ifndef SOLVERS_PROBLEM_EPILOGUE_H
#define SOLVERS_PROBLEM_EPILOGUE_H

#include "solvers/problem/problem.h"

/* Checks text against the grammar and writes its canonical form (numbers by "%.9g") into out. "" is the empty
 * epilogue. SOLVERS_ERROR_SYNTAX names the wrong step. */
bool epilogue_canonical(const char *text, char out[EPILOGUE_MAX], GError **error);

#endif
