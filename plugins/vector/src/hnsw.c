/* Graphs of nearest neighbours in levels (HNSW): building, repairing and searching them.
 *
 * A node has up to 2m neighbours on level 0 and up to m on each level above, of which it has a
 * random number. A search descends from the entry point, a node of the highest level, to the
 * nearest node of level 1, and then follows the neighbours of the `ef` nearest nodes of level 0.
 * Nodes are inserted one after the other, so that a graph depends only on its vectors and levels.
 */
#include <stdlib.h>
#include <string.h>

#include "module.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* What vectors are compared by. The last two compare a query with codes, not codes with codes. */
enum { L2_BYTES, HAMMING, L2_FLOATS, DOT_FLOATS, DOT_BYTES, TABLES, NUM_SPACES };

#define MAX_NODES ((int64_t)1 << 31)
#define MAX_M 512
#define MAX_LEVELS 64
#define TABLE_SIZE 256
#define MAX_SUMMED 32768 /* squares of bytes whose sum an int32 holds */

typedef struct {
    const uint8_t *codes;
    int64_t count, width; /* numbers of a vector, or bytes of codes that have a table each */
} vectors_t;

INLINE int has_float_rows(int space) {
    return space == L2_FLOATS || space == DOT_FLOATS;
}

INLINE int has_float_queries(int space) {
    return space != L2_BYTES && space != HAMMING;
}

INLINE int64_t bytes_per_row(int space, int64_t width) {
    return has_float_rows(space) ? 4 * width : width;
}

/* Rows of bytes are slices of files and may begin anywhere. */
INLINE int is_aligned(const void *numbers, int are_floats) {
    return !are_floats || (uintptr_t)numbers % 4 == 0;
}

/* Distances are compared only with each other: dot products have no `1 -`. */
INLINE float distance(int space, const uint8_t *query, const uint8_t *row, int64_t width) {
    if (space == L2_BYTES) {
        int64_t total = 0;
        for (int64_t start = 0; start < width; start += MAX_SUMMED) {
            const int64_t stop = start + MAX_SUMMED < width ? start + MAX_SUMMED : width;
            int32_t sum = 0;
            for (int64_t i = start; i < stop; i++) {
                const int16_t difference = (int16_t)(query[i] - row[i]);
                sum += difference * difference;
            }
            total += sum;
        }
        return (float)total;
    }
    if (space == HAMMING) {
        int64_t sum = 0, i = 0;
        for (; i + 8 <= width; i += 8) {
            uint64_t a, b;
            memcpy(&a, query + i, 8);
            memcpy(&b, row + i, 8);
            sum += __builtin_popcountll(a ^ b);
        }
        for (; i < width; i++)
            sum += __builtin_popcount(query[i] ^ row[i]);
        return (float)sum;
    }
    const float *a = (const float *)query, *b = (const float *)row;
    if (space == TABLES) {
        float sums[4] = {0};
        int64_t i = 0;
        for (; i + 4 <= width; i += 4)
            for (int part = 0; part < 4; part++)
                sums[part] += a[(i + part) * TABLE_SIZE + row[i + part]];
        for (; i < width; i++)
            sums[0] += a[i * TABLE_SIZE + row[i]];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    floats_t first = {0}, second = {0};
    float rest = 0;
    int64_t i = 0;
    if (space == L2_FLOATS) {
        for (; i + 2 * LANES <= width; i += 2 * LANES) {
            const floats_t x = load_floats(a + i) - load_floats(b + i);
            const floats_t y = load_floats(a + i + LANES) - load_floats(b + i + LANES);
            first += x * x;
            second += y * y;
        }
        for (; i < width; i++)
            rest += (a[i] - b[i]) * (a[i] - b[i]);
        first += second;
        return sum_lanes(first) + rest;
    }
    if (space == DOT_FLOATS) {
        for (; i + 2 * LANES <= width; i += 2 * LANES) {
            first += load_floats(a + i) * load_floats(b + i);
            second += load_floats(a + i + LANES) * load_floats(b + i + LANES);
        }
        for (; i < width; i++)
            rest += a[i] * b[i];
        first += second;
        return -(sum_lanes(first) + rest);
    }
    for (; i + LANES <= width; i += LANES) /* DOT_BYTES */
        for (int lane = 0; lane < LANES; lane++)
            first[lane] += a[i + lane] * (float)row[i + lane];
    for (; i < width; i++)
        rest += a[i] * (float)row[i];
    return -(sum_lanes(first) + rest);
}

/* A node in a list of candidates: its distance, as a number that orders like it, in the upper half,
 * then the node, and in the lowest bit whether its neighbours were visited. Equally near nodes have
 * an order that looks random and differs with the `salt`, the node whose neighbours they may become:
 * else, of many equal vectors, all would be linked to the same few. */
typedef uint64_t candidate_t;

#define NODE_MASK 0x7fffffffu
#define MIX 0x2545f491u
#define UNMIX 0x41444c71u /* MIX * UNMIX is 1 */

INLINE uint32_t salt_of(uint32_t node) {
    return node * 0x9e3779b9u & NODE_MASK;
}

INLINE candidate_t candidate_of(float distance, uint32_t node, uint32_t salt) {
    uint32_t bits;
    memcpy(&bits, &distance, 4);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (uint64_t)bits << 32 | (uint64_t)((node ^ salt) * MIX & NODE_MASK) << 1;
}

INLINE uint32_t node_of(candidate_t candidate, uint32_t salt) {
    return (((uint32_t)candidate >> 1) * UNMIX & NODE_MASK) ^ salt;
}

INLINE float distance_of(candidate_t candidate) {
    uint32_t bits = (uint32_t)(candidate >> 32);
    bits = bits & 0x80000000u ? bits & 0x7fffffffu : ~bits;
    float found;
    memcpy(&found, &bits, 4);
    return found;
}

typedef struct {
    candidate_t *near; /* ascending */
    int64_t size, most;
} beam_t;

/* The place at which a candidate was inserted, or `most`. */
INLINE int64_t insert(beam_t *beam, candidate_t candidate) {
    if (beam->size == beam->most && candidate >= beam->near[beam->size - 1])
        return beam->most;
    int64_t low = 0, high = beam->size;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (beam->near[middle] < candidate)
            low = middle + 1;
        else
            high = middle;
    }
    if (beam->size < beam->most)
        beam->size++;
    memmove(beam->near + low + 1, beam->near + low, (size_t)(beam->size - 1 - low) * sizeof *beam->near);
    beam->near[low] = candidate;
    return low;
}

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

INLINE const uint8_t *row_of(const vectors_t *v, int space, uint32_t node) {
    return v->codes + (int64_t)node * bytes_per_row(space, v->width);
}

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

INLINE candidate_t nearest_on(const graph_t *g, int space, uint32_t own, candidate_t best, int level) {
    for (;;) {
        uint16_t *count;
        const uint32_t *links = links_of(g, node_of(best, salt_of(own)), level, &count);
        candidate_t found = best;
        for (int i = 0; i < *count; i++) {
            const candidate_t other = measured(g, space, own, links[i]);
            found = other < found ? other : found;
        }
        if (found == best)
            return best;
        best = found;
    }
}

/* Fills the beam with the nodes near a node on a level, without itself. */
INLINE void follow(graph_t *g, int space, uint32_t own, candidate_t from, int level) {
    const uint32_t salt = salt_of(own);
    beam_t *beam = &g->beam;
    next_epoch(g);
    g->visited[own] = g->epoch;
    beam->size = 0;
    insert(beam, from);
    g->visited[node_of(from, salt)] = g->epoch;
    for (int64_t next = 0; next < beam->size;) {
        if (beam->near[next] & 1) {
            next++;
            continue;
        }
        const uint32_t node = node_of(beam->near[next], salt);
        beam->near[next] |= 1;
        uint16_t *count;
        const uint32_t *links = links_of(g, node, level, &count);
        for (int i = 0; i < *count; i++)
            __builtin_prefetch(row_of(&g->v, space, links[i]));
        for (int i = 0; i < *count; i++) {
            const uint32_t other = links[i];
            if (g->visited[other] == g->epoch)
                continue;
            g->visited[other] = g->epoch;
            const int64_t place = insert(beam, measured(g, space, own, other));
            next = place < next ? place : next;
        }
    }
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

INLINE void link_back(graph_t *g, int space, uint32_t node, uint32_t other, int level) {
    const int64_t most = level ? g->m : 2 * g->m;
    uint16_t *count;
    uint32_t *links = links_of(g, node, level, &count);
    if (*count < most) {
        links[(*count)++] = other;
        return;
    }
    for (int i = 0; i < *count; i++)
        g->pool[i] = measured(g, space, node, links[i]);
    g->pool[*count] = measured(g, space, node, other);
    qsort(g->pool, (size_t)*count + 1, sizeof *g->pool, ascending);
    *count = (uint16_t)choose(g, space, salt_of(node), g->pool, *count + 1, most, links);
}

/* Inserts the nodes `order`, of which the first one may find no entry (-1). Returns the entry. */
INLINE int64_t insert_nodes(graph_t *g, int space, const uint32_t *order, int64_t count, int64_t entry) {
    for (int64_t at = 0; at < count; at++) {
        const uint32_t node = order[at];
        const int own = g->levels[node];
        if (entry < 0) {
            entry = node;
            continue;
        }
        candidate_t from = measured(g, space, node, (uint32_t)entry);
        const int top = g->levels[entry];
        for (int level = top; level > own; level--)
            from = nearest_on(g, space, node, from, level);
        for (int level = own < top ? own : top; level >= 0; level--) {
            follow(g, space, node, from, level);
            if (!g->beam.size) /* no other node is reached */
                break;
            from = g->beam.near[0] & ~(candidate_t)1;
            uint16_t *own_count;
            uint32_t *links = links_of(g, node, level, &own_count);
            const int64_t most = level ? g->m : 2 * g->m;
            *own_count = (uint16_t)choose(g, space, salt_of(node), g->beam.near, g->beam.size, most, links);
            for (int i = 0; i < *own_count; i++)
                link_back(g, space, links[i], node, level);
        }
        if (own > top)
            entry = node;
    }
    return entry;
}

/* Removes nodes from the lists of others: a node that loses neighbours chooses among the rest and
 * the neighbours of those that it loses. */
INLINE void remove_nodes(graph_t *g, int space, const uint8_t *removed, int64_t pool_size) {
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
            const int kept = choose(g, space, salt_of(node), g->pool, size, level ? g->m : 2 * g->m, g->chosen);
            /* Lists of removed nodes stay as they are: others read them. */
            memcpy(links, g->chosen, (size_t)kept * sizeof *links);
            *count = (uint16_t)kept;
        }
    }
}

/* Sorts the neighbours of each list by distance, and returns the distances. */
INLINE void measure(graph_t *g, int space, float *distances, float *upper_distances) {
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
}

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

/* The number of nodes that were found, or -1 if the lists of the graph are no lists of its nodes:
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
                const candidate_t found =
                    candidate_of(distance(space, query, row_of(&g->v, space, other), g->v.width), other, 0);
                if (found < best) {
                    best = found;
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
            const int64_t place = insert(beam, candidate_of(far, other, 0));
            next = place < next ? place : next;
        }
    }
    return beam->size;
}

/* Each space is compiled apart, and twice: for any processor, and for those with AVX2. */
typedef struct {
    const uint32_t *order; /* nodes to insert */
    int64_t count, entry, pool_size;
    const uint8_t *removed; /* or NULL */
    float *distances, *upper_distances;
} change_t;

INLINE int64_t change_graph(int space, graph_t *g, const change_t *c) {
    if (c->removed)
        remove_nodes(g, space, c->removed, c->pool_size);
    const int64_t entry = insert_nodes(g, space, c->order, c->count, c->entry);
    measure(g, space, c->distances, c->upper_distances);
    return entry;
}

INLINE int64_t change_in(int space, graph_t *g, const change_t *c) {
    switch (space) {
    case L2_BYTES:
        return change_graph(L2_BYTES, g, c);
    case HAMMING:
        return change_graph(HAMMING, g, c);
    case L2_FLOATS:
        return change_graph(L2_FLOATS, g, c);
    default:
        return change_graph(DOT_FLOATS, g, c);
    }
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
WITH_FMA static int64_t change_fma(int space, graph_t *g, const change_t *c) {
    return change_in(space, g, c);
}

WITH_FMA static int64_t search_fma(int space, const stored_t *g, const uint8_t *query, beam_t *beam,
                                   uint64_t *visited) {
    return search_in(space, g, query, beam, visited);
}
#endif

static const char *change(int space, graph_t *g, const change_t *c, int64_t *entry) {
    const char *error = "no memory";
    g->visited = calloc((size_t)g->v.count + 1, sizeof *g->visited);
    g->beam = (beam_t){malloc((size_t)g->ef * sizeof(candidate_t)), 0, g->ef};
    g->pool = malloc((size_t)c->pool_size * sizeof *g->pool);
    g->chosen = malloc((size_t)(2 * g->m) * sizeof *g->chosen);
    if (g->visited && g->beam.near && g->pool && g->chosen) {
        error = NULL;
#ifdef WITH_FMA
        if (has_fma())
            *entry = change_fma(space, g, c);
        else
#endif
            *entry = change_in(space, g, c);
    }
    free(g->visited);
    free(g->beam.near);
    free(g->pool);
    free(g->chosen);
    return error;
}

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
    int64_t found = entry;
    WITHOUT_GIL(change(space, &g, &c, &found))
    return done(b, NUM, error, found);
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
    int64_t found = 0;
    WITHOUT_GIL(find(space, &g, b[QUERY].buf, ef, b[FOUND].buf, &found))
    return done(b, NUM, error, found);
}

PyMethodDef hnsw_methods[] = {
    {"hnsw_change", py_hnsw_change, METH_VARARGS, NULL},
    {"hnsw_search", py_hnsw_search, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
