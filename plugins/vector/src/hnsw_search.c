/* Searching graphs as they are stored. */
#include <stdlib.h>

#include "hnsw.h"

/* A graph as it is stored: lists one after the other, level by level. */
typedef struct {
    vectors_t v;
    const uint32_t *nodes;   /* of each list; on level 0 its number */
    const int32_t *starts;   /* of each list among the neighbours, and the end */
    const uint32_t *neighbours;
    const int64_t *levels;   /* the first list of each level, and the end */
    int64_t num_levels, entry, num_neighbours;
} stored_t;

/* Whether the neighbours of a list are among those of the graph. */
INLINE int has_list(const stored_t *g, int64_t list) {
    return 0 <= g->starts[list] && g->starts[list] <= g->starts[list + 1] &&
           g->starts[list + 1] <= g->num_neighbours;
}

INLINE int64_t list_of(const stored_t *g, uint32_t node, int64_t level) {
    if (!level)
        return node;
    int64_t low = g->levels[level], high = g->levels[level + 1];
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (g->nodes[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->levels[level + 1] && g->nodes[low] == node ? low : -1;
}

/* The number of nodes near the query, or -1 if the lists of the graph are no lists of its nodes:
 * they are checked where they are followed, which takes less than to check all of them before. */
INLINE int64_t search(const stored_t *g, int space, const uint8_t *query, beam_t *beam, uint64_t *visited) {
    candidate_t best =
        candidate_of(distance(space, query, row_of(&g->v, space, (uint32_t)g->entry), g->v.width), (uint32_t)g->entry, 0);
    for (int64_t level = g->num_levels - 1; level > 0; level--)
        for (int is_nearer = 1; is_nearer;) {
            const int64_t list = list_of(g, node_of(best, 0), level);
            is_nearer = 0;
            if (list >= 0 && !has_list(g, list))
                return -1;
            for (int64_t i = list < 0 ? 0 : g->starts[list]; list >= 0 && i < g->starts[list + 1]; i++) {
                const uint32_t other = g->neighbours[i];
                if (other >= g->v.count)
                    return -1;
                const candidate_t nearest =
                    candidate_of(distance(space, query, row_of(&g->v, space, other), g->v.width), other, 0);
                if (nearest < best) {
                    best = nearest;
                    is_nearer = 1;
                }
            }
        }
    insert(beam, best);
    visited[node_of(best, 0) / 64] |= (uint64_t)1 << node_of(best, 0) % 64;
    for (int64_t next = 0; next < beam->size;) {
        if (beam->near[next] & 1) {
            next++;
            continue;
        }
        const uint32_t node = node_of(beam->near[next], 0);
        beam->near[next] |= 1;
        if (!has_list(g, node))
            return -1;
        const int64_t start = g->starts[node], stop = g->starts[node + 1];
        for (int64_t i = start; i < stop; i++)
            __builtin_prefetch(row_of(&g->v, space, g->neighbours[i]));
        for (int64_t i = start; i < stop; i++) {
            const uint32_t other = g->neighbours[i];
            if (other >= g->v.count)
                return -1;
            const uint64_t bit = (uint64_t)1 << other % 64;
            if (visited[other / 64] & bit)
                continue;
            visited[other / 64] |= bit;
            const float far = distance(space, query, row_of(&g->v, space, other), g->v.width);
            const int64_t position = insert(beam, candidate_of(far, other, 0));
            next = position < next ? position : next;
        }
    }
    return beam->size;
}

INLINE int64_t search_in(int space, const stored_t *g, const uint8_t *query, beam_t *beam, uint64_t *visited) {
    switch (space) {
    case L2_BYTES:
        return search(g, L2_BYTES, query, beam, visited);
    case HAMMING:
        return search(g, HAMMING, query, beam, visited);
    case L2_FLOATS:
        return search(g, L2_FLOATS, query, beam, visited);
    case DOT_FLOATS:
        return search(g, DOT_FLOATS, query, beam, visited);
    case DOT_BYTES:
        return search(g, DOT_BYTES, query, beam, visited);
    default:
        return search(g, TABLES, query, beam, visited);
    }
}

#ifdef WITH_FMA
WITH_FMA static int64_t search_fma(int space, const stored_t *g, const uint8_t *query, beam_t *beam,
                                   uint64_t *visited) {
    return search_in(space, g, query, beam, visited);
}
#endif

static const char *find(int space, const stored_t *g, const uint8_t *query, int64_t ef, uint32_t *nodes,
                        int64_t *count) {
    const char *error = "no memory";
    uint64_t *visited = calloc((size_t)(g->v.count / 64 + 1), sizeof *visited);
    beam_t beam = {malloc((size_t)ef * sizeof(candidate_t)), 0, ef};
    if (visited && beam.near) {
        error = NULL;
#ifdef WITH_FMA
        if (has_fma())
            *count = search_fma(space, g, query, &beam, visited);
        else
#endif
            *count = search_in(space, g, query, &beam, visited);
        if (*count < 0)
            error = MISMATCH;
        for (int64_t i = 0; i < *count; i++)
            nodes[i] = node_of(beam.near[i], 0);
    }
    free(visited);
    free(beam.near);
    return error;
}

static PyObject *py_hnsw_search(PyObject *self, PyObject *args) {
    enum { CODES, QUERY, NODES, STARTS, NEIGHBOURS, LEVELS, FOUND, NUM };
    Py_buffer b[NUM] = {0};
    Py_ssize_t width, count, entry;
    int space;
    const char *error = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "inny*y*y*y*y*y*nw*", &space, &width, &count, &b[CODES], &b[QUERY], &b[NODES],
                          &b[STARTS], &b[NEIGHBOURS], &b[LEVELS], &entry, &b[FOUND]))
        return release(b, NUM), NULL;
    const int64_t lists = b[NODES].len / 4, levels = b[LEVELS].len / 8 - 1, ef = b[FOUND].len / 4;
    if (space < 0 || space >= NUM_SPACES || width < 1 || width > (1 << 24) || count < 1 || count >= MAX_NODES)
        return done(b, NUM, MISMATCH, 0);
    const int64_t of_query = space == TABLES ? 4 * width * TABLE_SIZE : has_float_queries(space) ? 4 * width : width;
    if (!holds(&b[CODES], count * bytes_per_row(space, width), 1) || !holds(&b[QUERY], of_query, 1) ||
        !holds(&b[NODES], lists, 4) || !holds(&b[STARTS], lists + 1, 4) || levels < 1 ||
        !holds(&b[LEVELS], levels + 1, 8) || !holds(&b[NEIGHBOURS], b[NEIGHBOURS].len / 4, 4) || ef < 1 ||
        !holds(&b[FOUND], ef, 4) || entry < 0 || entry >= count ||
        !is_aligned(b[CODES].buf, has_float_rows(space)) || !is_aligned(b[QUERY].buf, has_float_queries(space)))
        return done(b, NUM, MISMATCH, 0);
    const stored_t g = {.v = {b[CODES].buf, count, width},
                        .nodes = b[NODES].buf,
                        .starts = b[STARTS].buf,
                        .neighbours = b[NEIGHBOURS].buf,
                        .levels = b[LEVELS].buf,
                        .num_levels = levels,
                        .entry = entry,
                        .num_neighbours = b[NEIGHBOURS].len / 4};
    int is_right = g.levels[0] == 0 && g.levels[1] == count && g.levels[levels] == lists && g.starts[0] >= 0 &&
                   g.starts[lists] <= g.num_neighbours;
    for (int64_t level = 0; level < levels; level++)
        is_right &= g.levels[level] <= g.levels[level + 1];
    if (!is_right)
        return done(b, NUM, MISMATCH, 0);
    int64_t number = 0;
    WITHOUT_GIL(find(space, &g, b[QUERY].buf, ef, b[FOUND].buf, &number))
    return done(b, NUM, error, number);
}

PyMethodDef hnsw_search_methods[] = {
    {"hnsw_search", py_hnsw_search, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
