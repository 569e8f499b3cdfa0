/* Search for values among distinct integers.
 *
 * The integers have slots, by the highest bits of a product. Most values that are none of them meet
 * an unused slot. See lance_core.encodings.kernels.numpy.integer_index.
 */
#include "module.h"

#define MIX 0x9E3779B97F4A7C15u

typedef struct {
    const int64_t *members;
    const uint8_t *is_used;
    const int32_t *owners;
    const uint8_t *is_shared;
    int64_t count;
    unsigned shift;
} slots_t;

/* Where to write what is found, and how much is there. */
typedef struct {
    int64_t *rows;
    int64_t *numbers;
    int64_t count;
} matches_t;

/* The first member of at least `value`, counted from 0. */
static int64_t first_from(slots_t slots, int64_t value) {
    int64_t low = 0, high = slots.count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (slots.members[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The number of a member, -1 if `value` is none. */
static int64_t search(slots_t slots, int64_t value) {
    const int64_t number = first_from(slots, value);
    return number < slots.count && slots.members[number] == value ? number : -1;
}

/* Adds a value whose slot is in use to `found` if it is a member. */
static void add_member(int64_t value, int64_t row, slots_t slots, matches_t *matches) {
    const uint64_t slot = (uint64_t)value * MIX >> slots.shift;
    int64_t number = slots.owners[slot];
    if (number < 0 || number >= slots.count || slots.members[number] != value)
        number = slots.is_shared[slot] ? search(slots, value) : -1;
    if (number >= 0) {
        matches->rows[matches->count] = row;
        matches->numbers[matches->count++] = number;
    }
}

/* Sets `range` to the first and the last of some values; 1 if no value is below the one before. */
#define ASCENDS_AS(type)                                                                          \
    const type *all = values;                                                                     \
    type descents = 0;                                                                            \
    for (int64_t i = 1; i < count; i++)                                                           \
        descents |= all[i] < all[i - 1];                                                          \
    range[0] = all[0], range[1] = all[count - 1];                                                 \
    return !descents;

INLINE int ascends(const void *values, int64_t count, int64_t bits, int64_t range[2]) {
    if (bits == 64) {
        ASCENDS_AS(int64_t)
    } else if (bits == 32) {
        ASCENDS_AS(int32_t)
    } else if (bits == 16) {
        ASCENDS_AS(int16_t)
    } else {
        ASCENDS_AS(int8_t)
    }
}

static int ascends_any(const void *values, int64_t count, int64_t bits, int64_t range[2]) {
    return ascends(values, count, bits, range);
}

#ifdef WITH_AVX2
WITH_AVX2 static int ascends_avx2(const void *values, int64_t count, int64_t bits,
                                  int64_t range[2]) {
    return ascends(values, count, bits, range);
}
#else
#define ascends_avx2 ascends_any
#endif

/* Whether a member may be among some values: most chunks of sorted data have none. */
static int may_have_members(const void *values, int64_t count, int64_t bits, slots_t slots) {
    int64_t range[2];
    if (count == 0 || !(has_avx2() ? ascends_avx2 : ascends_any)(values, count, bits, range))
        return count > 0;
    const int64_t first = first_from(slots, range[0]);
    return first < slots.count && slots.members[first] <= range[1];
}

/* Looks up at most CHUNK values of an integer type; `first` is the row of the first one. A branch
 * for each value would take longer than to note those whose slot is in use. */
#define FIND_AS(type)                                                                             \
    for (int64_t i = 0; i < count; i++) {                                                         \
        const int64_t value = ((const type *)values)[i];                                          \
        candidates[number] = (uint16_t)i;                                                         \
        number += slots.is_used[(uint64_t)value * MIX >> slots.shift] != 0;                       \
    }                                                                                             \
    for (int64_t i = 0; i < number; i++)                                                          \
        add_member(((const type *)values)[candidates[i]], first + candidates[i], slots, matches);

static void find_values(const void *values, int64_t count, int64_t bits, int64_t first,
                        slots_t slots, matches_t *matches) {
    uint16_t candidates[CHUNK];
    int64_t number = 0;
    if (bits == 64) {
        FIND_AS(int64_t)
    } else if (bits == 32) {
        FIND_AS(int32_t)
    } else if (bits == 16) {
        FIND_AS(int16_t)
    } else {
        FIND_AS(int8_t)
    }
}

/* Of chunks that begin with a word for their width; `capacity` is the room for what is found. */
static const char *find_inline(chunks_t chunks, int64_t bits, slots_t slots, int64_t capacity,
                               matches_t *matches) {
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
        return "values cannot be packed to this width";
    uint64_t values[CHUNK];
    int64_t first = 0;
    for (int64_t i = 0; i < chunks.number; i++) {
        const int64_t count = chunks.counts[i];
        bytes_t chunk;
        const char *error = chunk_at(chunks, i, &chunk);
        if (error)
            return error;
        if (count > CHUNK || count > capacity - first)
            return "a chunk has more values than there is room for";
        error = unpack_with_width(chunk, count, (unsigned)bits, (uint8_t *)values);
        if (error)
            return error;
        if (may_have_members(values, count, bits, slots))
            find_values(values, count, bits, first, slots, matches);
        first += count;
    }
    return NULL;
}

/* Of integers of 64 bits; there is room for all. */
static const char *find_integers(const int64_t *values, int64_t count, slots_t slots,
                                 matches_t *matches) {
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t some = count - first < CHUNK ? count - first : CHUNK;
        if (may_have_members(values + first, some, 64, slots))
            find_values(values + first, some, 64, first, slots, matches);
    }
    return NULL;
}

/* For Python. */

/* Members, is_used, owners and is_shared; 0 if they do not belong together. */
static int slots_of(const Py_buffer *b, slots_t *slots) {
    const int64_t members = b[0].len / 8, number = b[1].len;
    if (number < 2 || (number & (number - 1)) || !holds(&b[0], members, 8) ||
        !holds(&b[1], number, 1) || !holds(&b[2], number, 4) || !holds(&b[3], number, 1))
        return 0;
    *slots = (slots_t){b[0].buf, b[1].buf, b[2].buf, b[3].buf, members,
                       64 - (unsigned)__builtin_ctzll((uint64_t)number)};
    return 1;
}

static PyObject *py_find_inline(PyObject *module, PyObject *args) {
    Py_buffer b[10] = {0};
    Py_ssize_t bits;
    chunks_t chunks;
    slots_t slots;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*ny*y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &bits, &b[4],
                          &b[5], &b[6], &b[7], &b[8], &b[9]))
        return release(b, 10), NULL;
    const int64_t capacity = b[8].len / 8;
    if (!chunks_of(b, &chunks) || !slots_of(b + 4, &slots) || !holds(&b[8], capacity, 8) ||
        !holds(&b[9], capacity, 8))
        return done(b, 10, MISMATCH, 0);
    matches_t matches = {b[8].buf, b[9].buf, 0};
    WITHOUT_GIL(find_inline(chunks, bits, slots, capacity, &matches))
    return done(b, 10, error, matches.count);
}

static PyObject *py_find_integers(PyObject *module, PyObject *args) {
    Py_buffer b[7] = {0};
    slots_t slots;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6]))
        return release(b, 7), NULL;
    const int64_t count = b[0].len / 8;
    if (!slots_of(b + 1, &slots) || !holds(&b[0], count, 8) || !holds(&b[5], count, 8) ||
        !holds(&b[6], count, 8))
        return done(b, 7, MISMATCH, 0);
    matches_t matches = {b[5].buf, b[6].buf, 0};
    WITHOUT_GIL(find_integers(b[0].buf, count, slots, &matches))
    return done(b, 7, error, matches.count);
}

PyMethodDef search_methods[] = {
    {"find_integers", py_find_integers, METH_VARARGS,
     "values, members, is_used, owners, is_shared, rows, numbers"},
    {"find_inline", py_find_inline, METH_VARARGS,
     "data, starts, sizes, counts, bits, members, is_used, owners, is_shared, rows, numbers"},
    {NULL, NULL, 0, NULL},
};
