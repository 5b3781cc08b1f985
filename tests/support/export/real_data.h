/* Real inputs that are not in the tree: published problem lists, MIOpen's databases. */
#ifndef TESTS_SUPPORT_EXPORT_REAL_DATA_H
#define TESTS_SUPPORT_EXPORT_REAL_DATA_H

/* The path of a folder ("problems", "miopen") below SKIPJACK_DATA; free with g_free(). Returns
 * NULL, after skipping the test, if SKIPJACK_DATA is unset or lacks that folder. */
char *real_data(const char *folder);

#endif
