/*
 * Depth, the axis that a convolution in three dimensions has before height and width. Kernels have it with the option
 * DEPTH (1) only: IF_DEPTH(text) is the text then, and nothing without the option.
 */
#ifndef DEPTH
#define DEPTH 0
#endif

#if DEPTH
#define IF_DEPTH(...) __VA_ARGS__
#else
#define IF_DEPTH(...)
#endif
