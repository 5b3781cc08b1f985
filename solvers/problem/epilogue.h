/*
 * An epilogue is what a kernel does to its output before storing it, spelled
 * as a suffix of the canonical key: steps that each begin with '+'.
 *   +bias                          adds one value a channel
 *   +relu  +sigmoid  +tanh  +clip(LOW,HIGH)  +leaky(SLOPE)
 *   +add(TYPE,LAYOUT)              adds a second tensor
 *   +requant(TYPE,channel|tensor)  rescales into another type
 * The text is canonical: parsing it and writing it again gives the same bytes.
 */
#ifndef SOLVERS_PROBLEM_EPILOGUE_H
#define SOLVERS_PROBLEM_EPILOGUE_H

#include "solvers/problem/problem.h"

/* Checks text against the grammar and writes its canonical form (numbers by "%.9g") into out.
 * SOLVERS_ERROR_SYNTAX names the step that is wrong. "" is the empty epilogue. */
bool epilogue_canonical(const char *text, char out[EPILOGUE_MAX], GError **error);

#endif
