/* Graphs of nearest neighbours in levels (HNSW): what building and searching them share.
 *
 * A node has up to 2m neighbours on level 0 and up to m on each level above, of which it has a
 * random number. A search descends from the entry point, a node of the highest level, to the
 * nearest node of level 1, and then follows the neighbours of the `ef` nearest nodes of level 0.
 */
#ifndef LANCE_CORE_VECTOR_HNSW_H
#define LANCE_CORE_VECTOR_HNSW_H

#include <string.h>

#include "module.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* What vectors are compared by. The last two compare a query with codes, not codes with codes. */
enum { L2_BYTES, HAMMING, L2_FLOATS, DOT_FLOATS, DOT_BYTES, TABLES, NUM_SPACES };

#define MAX_NODES ((int64_t)1 << 31)
#define MAX_M 512
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
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

typedef struct {
    candidate_t *near; /* ascending */
    int64_t size, most;
} beam_t;

/* The position at which a candidate was inserted, or `most`. */
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

INLINE const uint8_t *row_of(const vectors_t *v, int space, uint32_t node) {
    return v->codes + (int64_t)node * bytes_per_row(space, v->width);
}

#endif
