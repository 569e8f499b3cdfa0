/* A graph that is built or changed. */
#ifndef LANCE_CORE_VECTOR_HNSW_GRAPH_H
#define LANCE_CORE_VECTOR_HNSW_GRAPH_H

#include <stdlib.h>

#include "hnsw.h"
#include "intrinsics.h"

/* A sum of the bytes of a node, and of their squares. */
typedef struct {
    int32_t sum, square;
} sums_t;

/* A graph that is built: lists of fixed length. Node i has `levels[i]` lists above level 0, from
 * number `firsts[i]` on. `sums`: of each node, where products of bytes are faster than differences;
 * else NULL. */
typedef struct {
    vectors_t v;
    int64_t m, ef;
    const uint8_t *levels;
    const int64_t *firsts;
    uint32_t *links, *upper;          /* 2m and m for each list */
    uint16_t *counts, *upper_counts;  /* of neighbours */
    sums_t *sums;
    uint16_t *visited, epoch;
    beam_t beam;
    candidate_t *pool;                /* of candidates for the list of a node */
    uint32_t *chosen, *fresh;         /* `fresh`: neighbours that are still to be compared */
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

INLINE void read_row(const graph_t *g, int space, uint32_t node) {
    read_bytes_ahead(row_of(&g->v, space, node), bytes_per_row(space, g->v.width));
}

#ifdef WITH_AVX2
#define WITH_VNNI __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vnni")))

static inline int has_vnni(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

/* The product of two rows of bytes; the instruction takes signed bytes on one side. */
WITH_VNNI static inline int32_t product_vnni(const uint8_t *a, const uint8_t *b, int64_t width, int32_t sum_of_a) {
    const __m512i sign = _mm512_set1_epi8(-128);
    __m512i first = _mm512_setzero_si512(), second = first;
    int64_t i = 0;
    for (; i + 128 <= width; i += 128) {
        first = _mm512_dpbusd_epi32(first, _mm512_loadu_si512(a + i),
                                    _mm512_xor_si512(_mm512_loadu_si512(b + i), sign));
        second = _mm512_dpbusd_epi32(second, _mm512_loadu_si512(a + i + 64),
                                     _mm512_xor_si512(_mm512_loadu_si512(b + i + 64), sign));
    }
    for (; i < width; i += 64) {
        const __mmask64 some = width - i < 64 ? ((uint64_t)1 << (width - i)) - 1 : ~(uint64_t)0;
        first = _mm512_dpbusd_epi32(first, _mm512_maskz_loadu_epi8(some, a + i),
                                    _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, b + i), sign));
    }
    return _mm512_reduce_add_epi32(_mm512_add_epi32(first, second)) + 128 * sum_of_a;
}

/* The squared distance of rows of at most `MAX_SUMMED` bytes. */
WITH_VNNI static float square_vnni(const graph_t *g, uint32_t node, uint32_t other) {
    const uint8_t *row = row_of(&g->v, L2_BYTES, node), *other_row = row_of(&g->v, L2_BYTES, other);
    const sums_t own = g->sums[node], others = g->sums[other];
    return (float)((int64_t)own.square + others.square - 2 * (int64_t)product_vnni(row, other_row, g->v.width, own.sum));
}
#endif

/* The distance of two vectors of a graph. */
INLINE float between(const graph_t *g, int space, uint32_t node, uint32_t other) {
#ifdef WITH_AVX2
    if (space == L2_BYTES && g->sums)
        return square_vnni(g, node, other);
#endif
    return distance(space, row_of(&g->v, space, node), row_of(&g->v, space, other), g->v.width);
}

/* The distance as a candidate for the neighbours of the first node. */
INLINE candidate_t measured(const graph_t *g, int space, uint32_t node, uint32_t other) {
    return candidate_of(between(g, space, node, other), other, salt_of(node));
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
        const float far = distance_of(pool[i]);
        if (i + 1 < size)
            read_row(g, space, node_of(pool[i + 1], salt));
        int is_kept = 1;
        for (int j = 0; j < count && is_kept; j++)
            is_kept = between(g, space, node, chosen[j]) > far;
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
