#include "coordinator/network/order.h"

/* Distance between nodes that are appended: more nodes than int can count fit below 2^63. */
#define STEP (1ULL << 32)

/*
 * Two nodes without a number between them: numbers are spread again over the smallest aligned range of 2^i numbers
 * around them that is not crowded. A range is crowded if it holds more than (2/OVERFLOW)^i nodes; the larger a range,
 * the sparser it must be, which makes the cost per insertion O(log n) (M. Bender, R. Cole, E. Demaine, M.
 * Farach-Colton, J. Zito: Two Simplified Algorithms for Maintaining Order in a List, 2002).
 */
#define OVERFLOW 1.5

static void spread(struct node *first, uint64_t count, uint64_t low, uint64_t gap)
{
    struct node *node = first;
    for (uint64_t i = 0; i < count; i++, node = node->next)
        node->order = low + i * gap + gap / 2;
}

static void make_room(struct node *around)
{
    struct node *first = around, *last = around;
    uint64_t count = 1;
    double capacity = 1;
    for (int bits = 1; bits < 63; bits++) {
        uint64_t low = around->order >> bits << bits, high = low + (1ULL << bits) - 1;
        capacity *= 2 / OVERFLOW;
        for (; first->previous && first->previous->order >= low; count++)
            first = first->previous;
        for (; last->next && last->next->order <= high; count++)
            last = last->next;
        uint64_t gap = (1ULL << bits) / count;
        if ((double)count <= capacity && gap >= 4) {
            spread(first, count, low, gap);
            return;
        }
    }
    g_assert_not_reached();
}

static bool has_room(const struct node *after, const struct node *before)
{
    return !before || before->order - (after ? after->order : 0) >= 2;
}

void order_insert(struct node *node, struct node *before)
{
    struct graph *graph = node->graph;
    struct node *after = before ? before->previous : graph->last;
    if (!has_room(after, before))
        make_room(before);
    uint64_t low = after ? after->order : 0;
    node->order = before ? low + (before->order - low) / 2 : low + STEP;
    node->previous = after;
    node->next = before;
    *(after ? &after->next : &graph->first) = node;
    *(before ? &before->previous : &graph->last) = node;
}

void order_remove(struct node *node)
{
    struct graph *graph = node->graph;
    *(node->previous ? &node->previous->next : &graph->first) = node->next;
    *(node->next ? &node->next->previous : &graph->last) = node->previous;
}

static int by_order(gconstpointer a, gconstpointer b)
{
    const struct node *const *left = a, *const *right = b;
    return (*left)->order < (*right)->order ? -1 : (*left)->order > (*right)->order;
}

bool order_before_users(struct node *node, struct node *first, uint64_t user_mark)
{
    uint64_t seen = ++node->graph->walks;
    g_autoptr(GPtrArray) needed = g_ptr_array_new();
    if (node->mark == user_mark)
        return false;
    node->mark = seen;
    g_ptr_array_add(needed, node);
    for (guint i = 0; i < needed->len; i++) {
        const struct node *from = g_ptr_array_index(needed, i);
        for (int input = 0; input < from->input_count; input++) {
            struct node *source = from->inputs[input] ? from->inputs[input]->producer : NULL;
            if (!source || source->mark == seen || source->order < first->order)
                continue;
            if (source->mark == user_mark)
                return false;
            source->mark = seen;
            g_ptr_array_add(needed, source);
        }
    }
    if (node->order < first->order)
        return true;
    g_ptr_array_sort(needed, by_order);
    for (guint i = 0; i < needed->len; i++) {
        struct node *moved = g_ptr_array_index(needed, i);
        order_remove(moved);
        order_insert(moved, first);
    }
    node->graph->queue_is_loose = true;
    return true;
}
