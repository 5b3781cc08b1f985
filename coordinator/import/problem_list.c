#include "coordinator/import/problem_list.h"

#include "solvers/problem/problem_key.h"

struct problem_list {
    /* struct problem_entry *, in the order of adding; each is also a key of `index` */
    GPtrArray *entries;
    GHashTable *index;
    GHashTable *shapes; /* shape keys */
};

static guint entry_hash(gconstpointer entry)
{
    return problem_hash(&((const struct problem_entry *)entry)->problem);
}

static gboolean entry_equal(gconstpointer a, gconstpointer b)
{
    return problem_equal(&((const struct problem_entry *)a)->problem,
                         &((const struct problem_entry *)b)->problem);
}

ProblemList *problem_list_new(void)
{
    ProblemList *list = g_new0(ProblemList, 1);
    list->entries = g_ptr_array_new_with_free_func(g_free);
    list->index = g_hash_table_new(entry_hash, entry_equal);
    list->shapes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return list;
}

void problem_list_free(ProblemList *list)
{
    if (list == NULL) {
        return;
    }
    g_hash_table_unref(list->index);
    g_hash_table_unref(list->shapes);
    g_ptr_array_unref(list->entries);
    g_free(list);
}

void problem_list_add(ProblemList *list, const struct problem *p, int64_t multiplicity)
{
    char key[PROBLEM_KEY_MAX];
    struct problem_entry wanted = {.problem = *p, .multiplicity = multiplicity};
    struct problem_entry *entry = g_hash_table_lookup(list->index, &wanted);
    if (entry != NULL) {
        entry->multiplicity += multiplicity;
        return;
    }
    entry = g_memdup2(&wanted, sizeof wanted);
    entry->index = (int)list->entries->len;
    g_ptr_array_add(list->entries, entry);
    g_hash_table_add(list->index, entry);
    g_hash_table_add(list->shapes, g_strdup(problem_shape_key(p, key)));
}

int problem_list_count(const ProblemList *list)
{
    return (int)list->entries->len;
}

const struct problem_entry *problem_list_get(const ProblemList *list, int index)
{
    g_assert(index >= 0 && index < (int)list->entries->len);
    return g_ptr_array_index(list->entries, index);
}

int problem_list_find(const ProblemList *list, const struct problem *p)
{
    struct problem_entry wanted = {.problem = *p};
    const struct problem_entry *entry = g_hash_table_lookup(list->index, &wanted);
    return entry != NULL ? entry->index : -1;
}

int problem_list_shapes(const ProblemList *list)
{
    return (int)g_hash_table_size(list->shapes);
}
