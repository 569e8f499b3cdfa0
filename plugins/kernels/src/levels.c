/* What is read off repetition and definition levels. */
#include "kernels.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BLOCK 64 /* levels that are looked at together */

const char *level_items(levels_t levels, slots_t are_items, const int64_t *starts, int64_t lists,
                        int64_t *items, int64_t *offsets, int64_t *found) {
    int64_t list = 0, item = 0;
    for (int64_t i = 0; i < levels.count; i++) {
        if (list < lists && starts[list] <= i) {
            if (starts[list] < i)
                break; /* it descends, or is negative */
            offsets[list++] = item;
        }
        items[item] = i;
        item += levels.repetition[i] >= are_items.rank &&
                (!levels.definition || levels.definition[i] <= are_items.limit);
    }
    if (list < lists)
        return "lists do not start at ascending levels";
    offsets[lists] = item;
    *found = item;
    return NULL;
}

const char *check_levels(levels_t levels, int64_t most, const uint16_t *least,
                         int64_t definitions) {
    if (levels.count == 0)
        return NULL;
    if (levels.definition) {
        unsigned highest = 0;
        for (int64_t i = 0; i < levels.count; i++)
            highest = levels.definition[i] > highest ? levels.definition[i] : highest;
        if (highest >= definitions)
            return "a definition level is too high";
    }
    if (!levels.repetition)
        return NULL;
    if (levels.repetition[0] != most)
        return "the first level does not start a row";
    unsigned wrong = 0;
    if (levels.definition)
        for (int64_t i = 0; i < levels.count; i++)
            wrong |= (levels.repetition[i] > most) |
                     (levels.repetition[i] < least[levels.definition[i]]);
    else
        for (int64_t i = 0; i < levels.count; i++)
            wrong |= levels.repetition[i] > most;
    return wrong ? "a repetition level is too high, or a list that is null or empty has items"
                 : NULL;
}

/* A bound of levels as one of 16 bits; the levels at most it are below the result. */
static uint32_t above(int64_t top) {
    return top < 0 ? 0 : top >= UINT16_MAX ? UINT16_MAX + 1u : (uint32_t)top + 1;
}

#ifdef __SSE2__
/* Which of BLOCK levels are below `edge`, as bits. */
static uint64_t below(const uint16_t *levels, uint16_t edge) {
    const __m128i edges = _mm_set1_epi16((short)edge), zero = _mm_setzero_si128();
    uint64_t not_below = 0;
    for (int i = 0; i < BLOCK; i += 16) {
        const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(levels + i));
        const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(levels + i + 8));
        const __m128i reached = _mm_packs_epi16(_mm_cmpeq_epi16(_mm_subs_epu16(edges, low), zero),
                                                _mm_cmpeq_epi16(_mm_subs_epu16(edges, high), zero));
        not_below |= (uint64_t)(unsigned)_mm_movemask_epi8(reached) << i;
    }
    return ~not_below;
}
#else
static uint64_t below(const uint16_t *levels, uint16_t edge) {
    uint64_t bits = 0;
    for (int i = 0; i < BLOCK; i += 8) {
        uint8_t marks[8];
        uint64_t eight;
        for (int k = 0; k < 8; k++)
            marks[k] = levels[i + k] < edge;
        memcpy(&eight, marks, 8);
        bits |= (eight * 0x0102040810204080u >> 56) << i;
    }
    return bits;
}
#endif

/* Which of BLOCK levels, or of absent ones, are below a bound. */
static uint64_t are_below(const uint16_t *levels, uint32_t bound) {
    if (!levels)
        return bound ? UINT64_MAX : 0;
    return bound > UINT16_MAX ? UINT64_MAX : below(levels, (uint16_t)bound);
}

/* A stretch of at most BLOCK levels; a shorter one is filled up with zeros. */
typedef struct {
    uint16_t padding[2][BLOCK];
    const uint16_t *repetition;
    const uint16_t *definition;
    uint64_t used;
} block_t;

static void block_at(levels_t levels, int64_t at, block_t *block) {
    const int64_t left = levels.count - at;
    block->repetition = levels.repetition ? levels.repetition + at : NULL;
    block->definition = levels.definition ? levels.definition + at : NULL;
    block->used = left >= BLOCK ? UINT64_MAX : ((uint64_t)1 << left) - 1;
    if (left >= BLOCK)
        return;
    memset(block->padding, 0, sizeof block->padding);
    if (levels.repetition)
        block->repetition = memcpy(block->padding[0], block->repetition, 2 * (size_t)left);
    if (levels.definition)
        block->definition = memcpy(block->padding[1], block->definition, 2 * (size_t)left);
}

/* Which levels of a block are slots. */
static uint64_t are_slots(const block_t *block, slots_t slots) {
    return are_below(block->definition, above(slots.limit)) &
           ~are_below(block->repetition, above(slots.rank - 1)) & block->used;
}

/* Which levels of a block are valid: at most `top`, or `also`. */
static uint64_t are_valid(const block_t *block, int64_t top, int64_t also) {
    uint64_t bits = are_below(block->definition, above(top));
    if (also > top)
        bits |= are_below(block->definition, above(also)) &
                ~are_below(block->definition, above(also - 1));
    return bits;
}

/* Bits that are collected into bytes. */
typedef struct {
    room_t out;
    int64_t filled; /* bytes */
    uint64_t waiting;
    unsigned number;
} bits_t;

/* The `count` lowest bits; the others are 0. */
static void add_bits(bits_t *bits, uint64_t word, unsigned count) {
    bits->waiting |= word << bits->number;
    if (bits->number + count >= 64) {
        memcpy(bits->out.at + bits->filled, &bits->waiting, 8);
        bits->filled += 8;
        const unsigned taken = 64 - bits->number;
        bits->waiting = taken == 64 ? 0 : word >> taken;
        bits->number = count - taken;
    } else {
        bits->number += count;
    }
}

/* The bits of `word` where `mask` has one, together. */
static uint64_t extract(uint64_t word, uint64_t mask) {
    uint64_t result = 0;
    for (unsigned at = 0; mask; at++) {
        const uint64_t lowest = mask & (0 - mask);
        result |= (uint64_t)((word & lowest) != 0) << at;
        mask ^= lowest;
    }
    return result;
}

const char *layer_slots(levels_t levels, slots_t slots, int64_t top, int64_t also, room_t bitmap,
                        int64_t *found, int64_t *valid) {
    if (bitmap.size < 0 || bitmap.size / 8 < levels.count / BLOCK + 1)
        return "too little room for a bitmap";
    bits_t bits = {bitmap, 0, 0, 0};
    int64_t count = 0, good = 0;
    for (int64_t at = 0; at < levels.count; at += BLOCK) {
        block_t block;
        block_at(levels, at, &block);
        const uint64_t here = are_slots(&block, slots);
        const uint64_t kept = are_valid(&block, top, also) & here;
        const unsigned number = (unsigned)__builtin_popcountll(here);
        const int together = (here & (here + 1)) == 0;
        if (number)
            add_bits(&bits, together ? kept : extract(kept, here), number);
        good += __builtin_popcountll(kept);
        count += number;
    }
    memcpy(bitmap.at + bits.filled, &bits.waiting, 8);
    *found = count;
    *valid = good;
    return NULL;
}

const char *layer_offsets(levels_t levels, slots_t slots, slots_t items, int64_t *offsets,
                          int64_t *found) {
    int64_t list = 0, item = 0;
    for (int64_t at = 0; at < levels.count; at += BLOCK) {
        block_t block;
        block_at(levels, at, &block);
        const uint64_t held = are_slots(&block, items);
        uint64_t here = are_slots(&block, slots);
        while (here) {
            const uint64_t lowest = here & (0 - here);
            offsets[list++] = item + __builtin_popcountll(held & (lowest - 1));
            here ^= lowest;
        }
        item += __builtin_popcountll(held);
    }
    offsets[list] = item;
    *found = list;
    return NULL;
}

const char *count_upto(const uint16_t *levels, int64_t count, int64_t top, const int64_t *edges,
                       int64_t stretches, int64_t *counts) {
    const uint32_t bound = above(top);
    if (edges[0] < 0 || edges[0] > count)
        return "edges are not within the levels";
    for (int64_t i = 0; i < stretches; i++) {
        const int64_t start = edges[i], stop = edges[i + 1];
        if (stop < start || stop > count)
            return "edges descend or are not within the levels";
        int64_t sum = 0;
        for (int64_t at = start; at < stop;) {
            const int64_t end = stop - at > (1 << 15) ? at + (1 << 15) : stop;
            uint16_t below = 0;
            for (; at < end; at++)
                below = (uint16_t)(below + (levels[at] < bound));
            sum += below;
        }
        counts[i] = sum;
    }
    return NULL;
}
