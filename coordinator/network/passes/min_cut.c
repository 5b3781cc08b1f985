#include "coordinator/network/passes/min_cut.h"

#include <glib.h>
#include <string.h>

struct arc {
    int to, next; /* next: of the same node, -1 at the end */
    double left;  /* capacity that is not yet used */
};

struct min_cut {
    GArray *arcs;  /* struct arc; arc i ^ 1 goes back */
    GArray *first; /* int, by node: source, sink, then the caller's */
    int *level, *at;
};

enum { SOURCE, SINK, FIRST_NODE };

static int add(struct min_cut *cut)
{
    int none = -1;
    g_array_append_val(cut->first, none);
    return (int)cut->first->len - 1;
}

struct min_cut *min_cut_new(int nodes)
{
    struct min_cut *cut = g_new0(struct min_cut, 1);
    cut->arcs = g_array_new(FALSE, FALSE, sizeof(struct arc));
    cut->first = g_array_new(FALSE, FALSE, sizeof(int));
    for (int i = 0; i < nodes + FIRST_NODE; i++) {
        add(cut);
    }
    return cut;
}

void min_cut_free(struct min_cut *cut)
{
    g_array_unref(cut->arcs);
    g_array_unref(cut->first);
    g_free(cut->level);
    g_free(cut->at);
    g_free(cut);
}

int min_cut_add_node(struct min_cut *cut)
{
    return add(cut) - FIRST_NODE;
}

static struct arc *arc_at(const struct min_cut *cut, int index)
{
    return &g_array_index(cut->arcs, struct arc, index);
}

static void half_arc(struct min_cut *cut, int from, int to, double capacity)
{
    struct arc arc = {to, g_array_index(cut->first, int, from), capacity};
    g_array_append_val(cut->arcs, arc);
    g_array_index(cut->first, int, from) = (int)cut->arcs->len - 1;
}

static void connect(struct min_cut *cut, int from, int to, double capacity)
{
    if (capacity > 0) {
        half_arc(cut, from, to, MIN(capacity, MIN_CUT_NEVER));
        half_arc(cut, to, from, 0);
    }
}

void min_cut_labels(struct min_cut *cut, int node, double cost_of_0, double cost_of_1)
{
    /* Only the difference decides; the common part would be flow through each node. */
    double common = MIN(cost_of_0, cost_of_1);
    connect(cut, SOURCE, node + FIRST_NODE, cost_of_1 - common);
    connect(cut, node + FIRST_NODE, SINK, cost_of_0 - common);
}

void min_cut_edge(struct min_cut *cut, int a, int b, double cost)
{
    connect(cut, a + FIRST_NODE, b + FIRST_NODE, cost);
}

/* Capacities below this are rounding. */
#define SMALLEST 1e-12

/* Numbers nodes by their distance from the source. */
static bool find_levels(struct min_cut *cut)
{
    int count = (int)cut->first->len, read = 0, written = 0;
    g_autofree int *queue = g_new(int, count);
    for (int i = 0; i < count; i++) {
        cut->level[i] = -1;
    }
    cut->level[SOURCE] = 0;
    queue[written++] = SOURCE;
    while (read < written) {
        int node = queue[read++];
        for (int i = g_array_index(cut->first, int, node); i >= 0; i = arc_at(cut, i)->next) {
            const struct arc *arc = arc_at(cut, i);
            if (arc->left > SMALLEST && cut->level[arc->to] < 0) {
                cut->level[arc->to] = cut->level[node] + 1;
                queue[written++] = arc->to;
            }
        }
    }
    return cut->level[SINK] >= 0;
}

static double push(struct min_cut *cut, int node, double most)
{
    if (node == SINK) {
        return most;
    }
    for (; cut->at[node] >= 0; cut->at[node] = arc_at(cut, cut->at[node])->next) {
        int index = cut->at[node];
        struct arc *arc = arc_at(cut, index);
        if (arc->left > SMALLEST && cut->level[arc->to] == cut->level[node] + 1) {
            double pushed = push(cut, arc->to, MIN(most, arc->left));
            if (pushed > 0) {
                arc_at(cut, index)->left -= pushed;
                arc_at(cut, index ^ 1)->left += pushed;
                return pushed;
            }
        }
    }
    return 0;
}

double min_cut_solve(struct min_cut *cut)
{
    gsize count = cut->first->len;
    double flow = 0, pushed;
    g_free(cut->level);
    g_free(cut->at);
    cut->level = g_new0(int, count);
    cut->at = g_new(int, count);
    while (find_levels(cut)) {
        memcpy(cut->at, cut->first->data, sizeof(int) * count);
        while ((pushed = push(cut, SOURCE, 2 * MIN_CUT_NEVER)) > 0) {
            flow += pushed;
        }
    }
    /* Nodes from which the sink can be reached have label 1; all others may have 0. */
    for (gsize i = 0; i < count; i++) {
        cut->at[i] = 0;
    }
    g_autofree int *queue = g_new(int, count);
    gsize read = 0, written = 0;
    queue[written++] = SINK;
    cut->at[SINK] = 1;
    while (read < written) {
        int node = queue[read++];
        for (int i = g_array_index(cut->first, int, node); i >= 0; i = arc_at(cut, i)->next) {
            int from = arc_at(cut, i)->to;
            if (arc_at(cut, i ^ 1)->left > SMALLEST && cut->at[from] == 0) {
                cut->at[from] = 1;
                queue[written++] = from;
            }
        }
    }
    return flow;
}

bool min_cut_label(const struct min_cut *cut, int node)
{
    return cut->at[node + FIRST_NODE] != 0;
}
