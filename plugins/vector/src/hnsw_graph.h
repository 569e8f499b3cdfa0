/* A graph that is built or changed. */
#ifndef LANCE_CORE_VECTOR_HNSW_GRAPH_H
#define LANCE_CORE_VECTOR_HNSW_GRAPH_H

#include <stdlib.h>

#include "hnsw.h"

/* A graph that is built: lists of fixed length. Node i has `levels[i]` lists above level 0, from
 * number `firsts[i]` on. */
typedef struct {
    vectors_t v;
    int64_t m, ef;
    const uint8_t *levels;
    const int64_t *firsts;
    uint32_t *links, *upper;          /* 2m and m for each list */
    uint16_t *counts, *upper_counts;  /* of neighbours */
    uint16_t *visited, epoch;
    beam_t beam;
    candidate_t *pool;                /* of candidates for the list of a node */
    uint32_t *chosen;
} graph_t;

INLINE uint32_t *links_of(const graph_t *g, uint32_t node, int level, uint16_t **count) {
    if (!level) {
        *count = g->counts + node;
        return g->links + (int64_t)node * 2 * g->m;
    }
    const int64_t list = g->firsts[node] + level - 1;
    *count = g->upper_counts + list;
    return g->upper + list * g->m;
}

INLINE void next_epoch(graph_t *g) {
    if (++g->epoch == 0) {
        memset(g->visited, 0, (size_t)g->v.count * sizeof *g->visited);
        g->epoch = 1;
    }
}

/* The distance of two vectors of a graph, as a candidate for the neighbours of the first one. */
INLINE candidate_t measured(const graph_t *g, int space, uint32_t node, uint32_t other) {
    const uint8_t *row = row_of(&g->v, space, node);
    return candidate_of(distance(space, row, row_of(&g->v, space, other), g->v.width), other, salt_of(node));
}

/* Keeps a candidate that is nearer to the node than to all that are kept, the nearest first, so that
 * neighbours lie in different directions; then the nearest others, if there are fewer than m.
 * `pool` ascends. */
INLINE int choose(const graph_t *g, int space, uint32_t salt, const candidate_t *pool, int64_t size,
                  int64_t most, uint32_t *chosen) {
    int count = 0;
    if (size <= most) { /* few candidates are all kept */
        for (int64_t i = 0; i < size; i++)
            chosen[i] = node_of(pool[i], salt);
        return (int)size;
    }
    for (int64_t i = 0; i < size && count < most; i++) {
        const uint32_t node = node_of(pool[i], salt);
        const uint8_t *row = row_of(&g->v, space, node);
        const float far = distance_of(pool[i]);
        int is_kept = 1;
        for (int j = 0; j < count && is_kept; j++)
            is_kept = distance(space, row, row_of(&g->v, space, chosen[j]), g->v.width) > far;
        if (is_kept)
            chosen[count++] = node;
    }
    const int num_kept = count;
    for (int64_t i = 0, kept = 0; i < size && count < g->m; i++) {
        if (kept < num_kept && chosen[kept] == node_of(pool[i], salt))
            kept++;
        else
            chosen[count++] = node_of(pool[i], salt);
    }
    return count;
}

static int ascending(const void *a, const void *b) {
    const candidate_t x = *(const candidate_t *)a, y = *(const candidate_t *)b;
    return (x > y) - (x < y);
}

/* Returns what `loop`, of which the first parameter is the space, does with vectors that are compared with
 * each other: each space is compiled apart. */
#define IN_SPACE_OF_ROWS(space, loop, ...)            \
    switch (space) {                                  \
    case L2_BYTES:                                    \
        return loop(L2_BYTES, __VA_ARGS__);           \
    case HAMMING:                                     \
        return loop(HAMMING, __VA_ARGS__);            \
    case L2_FLOATS:                                   \
        return loop(L2_FLOATS, __VA_ARGS__);          \
    default:                                          \
        return loop(DOT_FLOATS, __VA_ARGS__);         \
    }

/* Inserts the nodes `order`, one after the other, so that a graph depends only on its vectors and levels.
 * The first one may find no entry (-1). Returns the entry. */
int64_t hnsw_insert(int space, graph_t *g, const uint32_t *order, int64_t count, int64_t entry);

#endif
