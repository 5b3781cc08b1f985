/* Real inputs, which are not in the tree: problem lists, MIOpen's databases. */
#ifndef TESTS_SUPPORT_REAL_DATA_H
#define TESTS_SUPPORT_REAL_DATA_H

/* The path of a folder ("problems", "miopen") of SKIPJACK_DATA; free with g_free(). NULL, and the test
 * is skipped, where that is unset, empty or has none. */
char *real_data(const char *folder);

#endif
