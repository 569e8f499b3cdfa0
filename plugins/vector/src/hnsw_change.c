/* Changing graphs: nodes are removed and inserted, and all neighbours are measured. */
#include "hnsw_graph.h"

#define MAX_LEVELS 64

/* Removes nodes from the lists of others: a node that loses neighbours chooses among the rest and
 * the neighbours of those that it loses. */
INLINE int remove_nodes(int space, graph_t *g, const uint8_t *removed, int64_t pool_size) {
    for (int64_t i = 0; i < g->v.count; i++) {
        const uint32_t node = (uint32_t)i;
        for (int level = 0; !removed[i] && level <= g->levels[i]; level++) {
            uint16_t *count;
            uint32_t *links = links_of(g, node, level, &count);
            int has_lost = 0;
            for (int j = 0; j < *count; j++)
                has_lost |= removed[links[j]];
            if (!has_lost)
                continue;
            int64_t size = 0;
            next_epoch(g);
            g->visited[node] = g->epoch;
            for (int j = 0; j < *count; j++) {
                uint16_t *more;
                const int is_lost = removed[links[j]];
                const uint32_t *others = is_lost ? links_of(g, links[j], level, &more) : links + j;
                const int num_others = is_lost ? *more : 1;
                for (int other = 0; other < num_others && size < pool_size; other++) {
                    const uint32_t near = others[other];
                    if (removed[near] || g->visited[near] == g->epoch)
                        continue;
                    g->visited[near] = g->epoch;
                    g->pool[size++] = measured(g, space, node, near);
                }
            }
            qsort(g->pool, (size_t)size, sizeof *g->pool, ascending);
            const int num_chosen = choose(g, space, salt_of(node), g->pool, size, level ? g->m : 2 * g->m, g->chosen);
            /* Lists of removed nodes stay as they are: others read them. */
            memcpy(links, g->chosen, (size_t)num_chosen * sizeof *links);
            *count = (uint16_t)num_chosen;
        }
    }
    return 0;
}

/* Sorts the neighbours of each list by distance, and returns the distances. */
INLINE int measure(int space, graph_t *g, float *distances, float *upper_distances) {
    for (int64_t i = 0; i < g->v.count; i++)
        for (int level = 0; level <= g->levels[i]; level++) {
            uint16_t *count;
            uint32_t *links = links_of(g, (uint32_t)i, level, &count);
            float *to = level ? upper_distances + (g->firsts[i] + level - 1) * g->m : distances + i * 2 * g->m;
            for (int j = 0; j < *count; j++)
                g->pool[j] = measured(g, space, (uint32_t)i, links[j]);
            qsort(g->pool, *count, sizeof *g->pool, ascending);
            for (int j = 0; j < *count; j++) {
                links[j] = node_of(g->pool[j], salt_of((uint32_t)i));
                to[j] = distance_of(g->pool[j]);
            }
        }
    return 0;
}

typedef struct {
    const uint32_t *order; /* nodes to insert */
    int64_t count, entry, pool_size;
    const uint8_t *removed; /* or NULL */
    float *distances, *upper_distances;
} change_t;

INLINE int remove_in(int space, graph_t *g, const uint8_t *removed, int64_t pool_size) {
    IN_SPACE_OF_ROWS(space, remove_nodes, g, removed, pool_size)
}

INLINE int measure_in(int space, graph_t *g, float *distances, float *upper_distances) {
    IN_SPACE_OF_ROWS(space, measure, g, distances, upper_distances)
}

#ifdef WITH_FMA
WITH_FMA static int remove_fma(int space, graph_t *g, const uint8_t *removed, int64_t pool_size) {
    return remove_in(space, g, removed, pool_size);
}

WITH_FMA static int measure_fma(int space, graph_t *g, float *distances, float *upper_distances) {
    return measure_in(space, g, distances, upper_distances);
}
#else
#define remove_fma remove_in
#define measure_fma measure_in
#endif

static int64_t change_graph(int space, graph_t *g, const change_t *c) {
    const int fma = has_fma();
    if (c->removed && fma)
        remove_fma(space, g, c->removed, c->pool_size);
    else if (c->removed)
        remove_in(space, g, c->removed, c->pool_size);
    const int64_t entry = hnsw_insert(space, g, c->order, c->count, c->entry);
    if (fma)
        measure_fma(space, g, c->distances, c->upper_distances);
    else
        measure_in(space, g, c->distances, c->upper_distances);
    return entry;
}

/* Sums for products of bytes, if the processor has a fast instruction for these; 0 without memory. */
static int add_sums(int space, graph_t *g) {
#ifdef WITH_AVX2
    if (space != L2_BYTES || g->v.width > MAX_SUMMED || !has_vnni())
        return 1;
    g->sums = malloc(((size_t)g->v.count + 1) * sizeof *g->sums);
    for (int64_t i = 0; g->sums && i < g->v.count; i++) {
        const uint8_t *row = row_of(&g->v, space, (uint32_t)i);
        sums_t sums = {0, 0};
        for (int64_t at = 0; at < g->v.width; at++) {
            sums.sum += row[at];
            sums.square += row[at] * row[at];
        }
        g->sums[i] = sums;
    }
    return g->sums != NULL;
#else
    (void)space, (void)g;
    return 1;
#endif
}

static const char *change(int space, graph_t *g, const change_t *c, int64_t *entry) {
    const char *error = "no memory";
    g->visited = calloc((size_t)g->v.count + 1, sizeof *g->visited);
    g->beam = (beam_t){malloc((size_t)g->ef * sizeof(candidate_t)), 0, g->ef};
    g->pool = malloc((size_t)c->pool_size * sizeof *g->pool);
    g->chosen = malloc((size_t)(2 * g->m) * sizeof *g->chosen);
    g->fresh = malloc((size_t)(2 * g->m) * sizeof *g->fresh);
    if (g->visited && g->beam.near && g->pool && g->chosen && g->fresh && add_sums(space, g)) {
        error = NULL;
        *entry = change_graph(space, g, c);
    }
    free(g->visited);
    free(g->beam.near);
    free(g->pool);
    free(g->chosen);
    free(g->fresh);
    free(g->sums);
    return error;
}

/* Whether the lists exist that nodes have, and have nodes that have a list on that level. */
static int is_sound(const graph_t *g, int64_t num_lists) {
    int64_t lists = 0;
    for (int64_t i = 0; i < g->v.count; i++) {
        if (g->firsts[i] != lists || g->levels[i] >= MAX_LEVELS)
            return 0;
        lists += g->levels[i];
        if (lists > num_lists)
            return 0;
    }
    for (int64_t i = 0; i < g->v.count; i++)
        for (int level = 0; level <= g->levels[i]; level++) {
            uint16_t *count;
            const uint32_t *links = links_of(g, (uint32_t)i, level, &count);
            if (*count > (level ? g->m : 2 * g->m))
                return 0;
            for (int j = 0; j < *count; j++)
                if (links[j] >= g->v.count || g->levels[links[j]] < level)
                    return 0;
        }
    return lists == num_lists;
}

static PyObject *py_hnsw_change(PyObject *self, PyObject *args) {
    enum { CODES, LEVELS, FIRSTS, LINKS, COUNTS, UPPER, UPPER_COUNTS, ORDER, REMOVED, FAR, UPPER_FAR, NUM };
    Py_buffer b[NUM] = {0};
    Py_ssize_t width, m, ef, entry;
    int space;
    const char *error = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "iny*nny*y*w*w*w*w*y*y*nw*w*", &space, &width, &b[CODES], &m, &ef, &b[LEVELS],
                          &b[FIRSTS], &b[LINKS], &b[COUNTS], &b[UPPER], &b[UPPER_COUNTS], &b[ORDER], &b[REMOVED],
                          &entry, &b[FAR], &b[UPPER_FAR]))
        return release(b, NUM), NULL;
    const int64_t count = b[LEVELS].len, lists = b[UPPER_COUNTS].len / 2, num_order = b[ORDER].len / 4;
    if (space < 0 || space > DOT_FLOATS || width < 1 || width > (1 << 24) || m < 1 || m > MAX_M || ef < 1 ||
        ef > (1 << 24) || count >= MAX_NODES || entry < -1 || entry >= count ||
        !holds(&b[CODES], count * bytes_per_row(space, width), 1) || !holds(&b[FIRSTS], count, 8) ||
        !holds(&b[LINKS], count * 2 * m, 4) || !holds(&b[COUNTS], count, 2) || !holds(&b[UPPER], lists * m, 4) ||
        !holds(&b[UPPER_COUNTS], lists, 2) || !holds(&b[ORDER], num_order, 4) ||
        (b[REMOVED].len && !holds(&b[REMOVED], count, 1)) || !holds(&b[FAR], count * 2 * m, 4) ||
        !holds(&b[UPPER_FAR], lists * m, 4) || !is_aligned(b[CODES].buf, has_float_rows(space)))
        return done(b, NUM, MISMATCH, 0);
    graph_t g = {.v = {b[CODES].buf, count, width},
                 .m = m,
                 .ef = ef,
                 .levels = b[LEVELS].buf,
                 .firsts = b[FIRSTS].buf,
                 .links = b[LINKS].buf,
                 .upper = b[UPPER].buf,
                 .counts = b[COUNTS].buf,
                 .upper_counts = b[UPPER_COUNTS].buf};
    const change_t c = {.order = b[ORDER].buf,
                        .count = num_order,
                        .entry = entry,
                        .pool_size = 2 * m * (2 * m + 1) + 1,
                        .removed = b[REMOVED].len ? b[REMOVED].buf : NULL,
                        .distances = b[FAR].buf,
                        .upper_distances = b[UPPER_FAR].buf};
    for (int64_t i = 0; i < num_order; i++)
        if (c.order[i] >= count)
            return done(b, NUM, MISMATCH, 0);
    if (!is_sound(&g, lists))
        return done(b, NUM, MISMATCH, 0);
    int64_t new_entry = entry;
    WITHOUT_GIL(change(space, &g, &c, &new_entry))
    return done(b, NUM, error, new_entry);
}

PyMethodDef hnsw_change_methods[] = {
    {"hnsw_change", py_hnsw_change, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
