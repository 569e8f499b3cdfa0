/* What is read off repetition and definition levels. */
#include "module.h"

#include <string.h>

/* Absent levels, NULL, are all 0. */
typedef struct {
    const uint16_t *repetition;
    const uint16_t *definition;
    int64_t count;
} levels_t;

/* Slots: levels with a repetition of at least `rank` and a definition of at most `limit`. */
typedef struct {
    int64_t rank;
    int64_t limit;
} slots_t;

#if defined(__SSE2__) && !defined(PLAIN_C)
#include <emmintrin.h>
#endif

#define BLOCK 64 /* levels that are looked at together */

/* What goes with the definitions of levels: `from[k]` is the first that needs a repetition of at
 * least k + 1. The least repetitions of more than STEPS, or that do not ascend, have none. */
#define STEPS 8

typedef struct {
    uint16_t from[STEPS];
    int count;
} steps_t;

static int steps_of(const uint16_t *least, int64_t definitions, steps_t *steps) {
    steps->count = 0;
    for (int64_t i = 0; i < definitions; i++) {
        if (least[i] < steps->count || least[i] > STEPS || i > UINT16_MAX)
            return 0;
        while (steps->count < least[i])
            steps->from[steps->count++] = (uint16_t)i;
    }
    return 1;
}

static uint16_t highest(const uint16_t *levels, int64_t count) {
    uint16_t largest = 0;
    for (int64_t i = 0; i < count; i++)
        largest = levels[i] > largest ? levels[i] : largest;
    return largest;
}

/* Whether a repetition is below what its definition needs. */
static int is_below(levels_t levels, const uint16_t *least, int64_t definitions) {
    steps_t steps;
    unsigned wrong = 0;
    if (!steps_of(least, definitions, &steps)) {
        for (int64_t i = 0; i < levels.count; i++)
            wrong |= levels.repetition[i] < least[levels.definition[i]];
        return wrong != 0;
    }
    for (int step = 0; step < steps.count; step++) {
        const uint16_t from = steps.from[step], needed = (uint16_t)(step + 1);
        uint16_t below = 0;
        for (int64_t i = 0; i < levels.count; i++)
            below |= (uint16_t)((levels.definition[i] >= from) & (levels.repetition[i] < needed));
        wrong |= below;
    }
    return wrong != 0;
}

/* least has the lowest repetition of each definition. */
static const char *check_levels(levels_t levels, int64_t most, const uint16_t *least,
                         int64_t definitions) {
    if (levels.count == 0)
        return NULL;
    if (levels.definition && highest(levels.definition, levels.count) >= definitions)
        return "a definition level is too high";
    if (!levels.repetition)
        return NULL;
    if (levels.repetition[0] != most)
        return "the first level does not start a row";
    if (highest(levels.repetition, levels.count) > most)
        return "a repetition level is too high";
    if (levels.definition && is_below(levels, least, definitions))
        return "a list that is null or empty has items";
    return NULL;
}

/* A bound of levels as one of 16 bits; the levels at most it are below the result. */
static uint32_t above(int64_t top) {
    return top < 0 ? 0 : top >= UINT16_MAX ? UINT16_MAX + 1u : (uint32_t)top + 1;
}

#if defined(__SSE2__) && !defined(PLAIN_C)
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
typedef uint64_t (*extract_t)(uint64_t word, uint64_t mask);

static inline uint64_t extract_any(uint64_t word, uint64_t mask) {
    uint64_t result = 0;
    for (unsigned at = 0; mask; at++) {
        const uint64_t lowest = mask & (0 - mask);
        result |= (uint64_t)((word & lowest) != 0) << at;
        mask ^= lowest;
    }
    return result;
}

/* A bitmap of the slots that are valid; how many slots there are, and how many valid ones. */
typedef struct {
    room_t bitmap;
    int64_t count;
    int64_t valid;
} slot_bitmap_t;

/* These two are compiled for any processor, and for those that count and extract bits. */
#define FOR_ALL static inline __attribute__((always_inline))

FOR_ALL void find_slots(levels_t levels, slots_t slots, int64_t top, int64_t also,
                        slot_bitmap_t *result, extract_t extract) {
    bits_t bits = {result->bitmap, 0, 0, 0};
    for (int64_t at = 0; at < levels.count; at += BLOCK) {
        block_t block;
        block_at(levels, at, &block);
        const uint64_t here = are_slots(&block, slots);
        const uint64_t valid = are_valid(&block, top, also) & here;
        const unsigned number = (unsigned)__builtin_popcountll(here);
        const int together = (here & (here + 1)) == 0;
        if (number)
            add_bits(&bits, together ? valid : extract(valid, here), number);
        result->count += number;
        result->valid += __builtin_popcountll(valid);
    }
    memcpy(result->bitmap.at + bits.filled, &bits.waiting, 8);
}

FOR_ALL void put_offset(void *offsets, int wide, int64_t at, int64_t value) {
    if (wide)
        ((int64_t *)offsets)[at] = value;
    else
        ((int32_t *)offsets)[at] = (int32_t)value;
}

/* 0 if there are more or fewer than `count` slots. */
FOR_ALL int find_offsets(levels_t levels, slots_t slots, slots_t items, void *offsets, int wide,
                         int64_t count) {
    int64_t list = 0, item = 0;
    for (int64_t at = 0; at < levels.count; at += BLOCK) {
        block_t block;
        block_at(levels, at, &block);
        const uint64_t held = are_slots(&block, items);
        uint64_t here = are_slots(&block, slots);
        if (__builtin_popcountll(here) > count - list)
            return 0;
        while (here) {
            const uint64_t before = (here & (0 - here)) - 1;
            put_offset(offsets, wide, list++, item + __builtin_popcountll(held & before));
            here &= here - 1;
        }
        item += __builtin_popcountll(held);
    }
    put_offset(offsets, wide, list, item);
    return list == count;
}

static void find_slots_any(levels_t levels, slots_t slots, int64_t top, int64_t also,
                           slot_bitmap_t *result) {
    find_slots(levels, slots, top, also, result, extract_any);
}

static int find_offsets_any(levels_t levels, slots_t slots, slots_t items, void *offsets, int wide,
                            int64_t count) {
    return wide ? find_offsets(levels, slots, items, offsets, 1, count)
                : find_offsets(levels, slots, items, offsets, 0, count);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(PLAIN_C)
#define WITH_BITS __attribute__((target("popcnt,bmi,bmi2")))

WITH_BITS static inline uint64_t extract_fast(uint64_t word, uint64_t mask) {
    return __builtin_ia32_pext_di(word, mask);
}

WITH_BITS static void find_slots_fast(levels_t levels, slots_t slots, int64_t top, int64_t also,
                                      slot_bitmap_t *result) {
    find_slots(levels, slots, top, also, result, extract_fast);
}

WITH_BITS static int find_offsets_fast(levels_t levels, slots_t slots, slots_t items,
                                       void *offsets, int wide, int64_t count) {
    return wide ? find_offsets(levels, slots, items, offsets, 1, count)
                : find_offsets(levels, slots, items, offsets, 0, count);
}

static int has_bits(void) {
    return __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}
#else
#define find_slots_fast find_slots_any
#define find_offsets_fast find_offsets_any

static int has_bits(void) {
    return 0;
}
#endif

/* Which slots have a definition of at most `top`, or `also`, as a bitmap with room for all levels;
 * how many slots there are, and how many of these. */
static const char *layer_slots(levels_t levels, slots_t slots, int64_t top, int64_t also, room_t bitmap,
                        int64_t *slot_count, int64_t *valid) {
    if (bitmap.size < 0 || bitmap.size / 8 < levels.count / BLOCK + 1)
        return "too little room for a bitmap";
    slot_bitmap_t all = {bitmap, 0, 0};
    (has_bits() ? find_slots_fast : find_slots_any)(levels, slots, top, also, &all);
    *slot_count = all.count;
    *valid = all.valid;
    return NULL;
}

/* For each slot how many items are before it, then all: `count` + 1 numbers of 8 bytes if they are
 * `wide`, else of 4, which is enough for all levels. */
static const char *layer_offsets(levels_t levels, slots_t slots, slots_t items, void *offsets, int wide,
                          int64_t count) {
    if (!wide && levels.count > INT32_MAX)
        return "too many levels for offsets of 4 bytes";
    if (!(has_bits() ? find_offsets_fast : find_offsets_any)(levels, slots, items, offsets, wide,
                                                            count))
        return "the levels are of another number of lists";
    return NULL;
}

/* How many levels are at most `top` between each of the edges and the next. */
static const char *rank_levels(const uint16_t *levels, int64_t count, int64_t top, const int64_t *edges,
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

/* Which of the next BLOCK levels, or of those that are left, are not below a bound, as bits. */
static uint64_t reaching(const uint16_t *levels, int64_t left, uint32_t bound) {
    if (left >= BLOCK)
        return ~are_below(levels, bound);
    uint64_t bits = 0;
    for (int64_t i = 0; i < left; i++)
        bits |= (uint64_t)(levels[i] >= bound) << i;
    return bits;
}

/* Where the numbers[i]-th level is that is at least `least`; the end of levels behind the last. */
static const char *select_levels(const uint16_t *levels, int64_t count, int64_t least,
                       const int64_t *numbers, int64_t number_count, int64_t *places) {
    const uint32_t bound = least < 1 ? 0 : above(least - 1);
    int64_t at = 0, before = 0; /* a block, and how many are before what is left in `bits` of it */
    uint64_t bits = reaching(levels, count, bound);
    for (int64_t i = 0; i < number_count; i++) {
        if (numbers[i] < 0 || (i && numbers[i] < numbers[i - 1]))
            return "numbers of levels descend";
        for (int some; at < count && before + (some = __builtin_popcountll(bits)) <= numbers[i];) {
            before += some;
            at += BLOCK;
            bits = at < count ? reaching(levels + at, count - at, bound) : 0;
        }
        if (at < count) {
            for (; before < numbers[i]; before++)
                bits &= bits - 1;
            places[i] = at + __builtin_ctzll(bits);
        } else if (before == numbers[i]) {
            places[i] = count;
        } else {
            return "a level that is not there";
        }
    }
    return NULL;
}

/* For Python. */

/* Repetition and definition levels, each of which may be empty: all are 0 then. */
static int levels_of(const Py_buffer *b, int64_t count, levels_t *levels) {
    *levels = (levels_t){b[0].len ? b[0].buf : NULL, b[1].len ? b[1].buf : NULL, count};
    return count >= 0 && (b[0].len == 0 || holds(&b[0], count, 2)) &&
           (b[1].len == 0 || holds(&b[1], count, 2));
}

static PyObject *py_check_levels(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t count, most;
    levels_t levels;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*nny*", &b[0], &b[1], &count, &most, &b[2]))
        return release(b, 3), NULL;
    const int64_t definitions = b[2].len / 2;
    if (!levels_of(b, count, &levels) || !holds(&b[2], definitions, 2))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(check_levels(levels, most, b[2].buf, definitions))
    return done(b, 3, error, 0);
}

static PyObject *py_layer_slots(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t count, rank, limit, top, also;
    levels_t levels;
    int64_t slot_count = 0, valid = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*nnnnnw*", &b[0], &b[1], &count, &rank, &limit, &top, &also,
                          &b[2]))
        return release(b, 3), NULL;
    if (!levels_of(b, count, &levels))
        return done(b, 3, MISMATCH, 0);
    const slots_t slots = {rank, limit};
    WITHOUT_GIL(layer_slots(levels, slots, top, also, room_of(&b[2]), &slot_count, &valid))
    if (error)
        return done(b, 3, error, 0);
    release(b, 3);
    return Py_BuildValue("LL", slot_count, valid);
}

static PyObject *py_layer_offsets(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t count, rank, limit, base, lists;
    int wide;
    levels_t levels;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*nnnnnpw*", &b[0], &b[1], &count, &rank, &limit, &base, &lists,
                          &wide, &b[2]))
        return release(b, 3), NULL;
    if (!levels_of(b, count, &levels) || lists < 0 || lists == PY_SSIZE_T_MAX ||
        !holds(&b[2], lists + 1, wide ? 8 : 4))
        return done(b, 3, MISMATCH, 0);
    const slots_t slots = {rank, limit}, items = {rank - 1, base};
    WITHOUT_GIL(layer_offsets(levels, slots, items, b[2].buf, wide, lists))
    return done(b, 3, error, 0);
}

static PyObject *py_rank_levels(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t top;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*w*", &b[0], &top, &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[0].len / 2, stretches = b[2].len / 8;
    if (!holds(&b[0], count, 2) || !holds(&b[1], stretches + 1, 8) || !holds(&b[2], stretches, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(rank_levels(b[0].buf, count, top, b[1].buf, stretches, b[2].buf))
    return done(b, 3, error, 0);
}

/* Places may be empty: they are only counted then. */
static PyObject *py_select_levels(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t least;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*w*", &b[0], &least, &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[0].len / 2, number_count = b[1].len / 8;
    if (!holds(&b[0], count, 2) || !holds(&b[1], number_count, 8) || !holds(&b[2], number_count, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(select_levels(b[0].buf, count, least, b[1].buf, number_count, b[2].buf))
    return done(b, 3, error, 0);
}

PyMethodDef levels_methods[] = {
    {"check_levels", py_check_levels, METH_VARARGS, "repetition, definition, count, most, least"},
    {"layer_slots", py_layer_slots, METH_VARARGS,
     "repetition, definition, count, rank, limit, top, also, bitmap; numbers of slots and valid ones"},
    {"layer_offsets", py_layer_offsets, METH_VARARGS,
     "repetition, definition, count, rank, limit, base, lists, wide, offsets"},
    {"rank_levels", py_rank_levels, METH_VARARGS, "levels, top, edges, counts"},
    {"select_levels", py_select_levels, METH_VARARGS, "levels, least, numbers, places"},
    {NULL, NULL, 0, NULL},
};
