#include "tests/support/export/import_totals.h"

#include "solvers/problem/problem_key.h"

void import_has_totals(const Import *import, int64_t lines, int64_t convolutions, int shapes,
                       int problems, guint skipped)
{
    g_assert_cmpint(import->lines, ==, lines);
    g_assert_cmpint(import->convolutions, ==, convolutions);
    g_assert_cmpint(problem_list_shapes(import->problems), ==, shapes);
    g_assert_cmpint(problem_list_count(import->problems), ==, problems);
    g_assert_cmpint(import->skipped->len, ==, skipped);
}

void import_has_entry(const Import *import, int index, int64_t multiplicity, const char *key)
{
    char buffer[PROBLEM_KEY_MAX];
    const struct problem_entry *entry = problem_list_get(import->problems, index);
    g_assert_cmpint(entry->multiplicity, ==, multiplicity);
    g_assert_cmpstr(problem_key(&entry->problem, buffer), ==, key);
}
