/*
 * A fingerprint of bytes: equal bytes have equal fingerprints, and different bytes have different ones except in one
 * case of 2^64. Fingerprints tell whether an input was changed and whether two runs gave the same bytes, without a copy
 * of either. The device computes the same ones (judge_fingerprints()).
 *
 * The bytes are read as little-endian words of 64 bits, the last one filled up with zeros. The fingerprint is the sum
 * of random_bits(word, place) over all words, modulo 2^64, so the words may be taken in any order.
 */
#ifndef WORKER_VERIFY_FINGERPRINT_H
#define WORKER_VERIFY_FINGERPRINT_H

#include <stdint.h>

uint64_t fingerprint(const void *data, int64_t bytes);

#endif
