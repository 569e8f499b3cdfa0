/* Posting lists as bytes: blocks, streams of positions, impacts.
 *
 * `lance_core_text.write` has the same in numpy, and documents the layouts. Lists are given as blocks,
 * one after the other, with up to `layout.size` documents each.
 */
#include "blocks.h"

#define MAX_EXCEPTIONS 31
#define GROUP_BLOCKS 32 /* blocks with an entry of impacts together */
#define NUM_LENGTHS 256

typedef struct {
    const int32_t *documents, *frequencies;
    const int64_t *counts;   /* documents of each block */
    const int64_t *of_lists; /* blocks of each list */
    int64_t postings, blocks, lists;
} lists_t;

INLINE int bits_of(uint32_t value) {
    return value ? 32 - __builtin_clz(value) : 0;
}

INLINE uint8_t *write_u32(uint8_t *to, uint32_t value) {
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

INLINE uint8_t *write_varint(uint8_t *to, uint32_t value) {
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

/* The highest bits of values. */
INLINE int width_of(const uint32_t *values, int count) {
    uint32_t all = 0;
    for (int i = 0; i < count; i++)
        all |= values[i];
    return bits_of(all);
}

INLINE uint8_t *pack_lanes(uint8_t *to, const uint32_t *values, int width, const int lanes) {
    uint32_t words[8 * (LANE_VALUES + 1)] = {0};
    const uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
    for (int i = 0; i < LANE_VALUES; i++, values += lanes) {
        const int bit = i * width, shift = bit & 31;
        uint32_t *word = words + lanes * (bit >> 5);
        for (int lane = 0; lane < lanes; lane++)
            word[lane] |= (values[lane] & mask) << shift;
        if (shift + width > 32)
            for (int lane = 0; lane < lanes; lane++)
                word[lanes + lane] |= (values[lane] & mask) >> (32 - shift);
    }
    memcpy(to, words, 4 * (size_t)(lanes * width));
    return to + 4 * lanes * width;
}

static uint8_t *pack_values(uint8_t *to, const uint32_t *values, int width, int lanes) {
    return lanes == 4 ? pack_lanes(to, values, width, 4) : pack_lanes(to, values, width, 8);
}

/* The width of frequencies with which a block is shortest; the higher of equal ones. */
static int width_with_exceptions(const uint32_t *values, int size) {
    const int highest = width_of(values, size), unit = size / 8;
    int best = highest, least = unit * highest;
    for (int width = highest - 1; width >= 0; width--) {
        int bytes = unit * width, count = 0;
        for (int i = 0; i < size; i++) {
            const uint32_t high = values[i] >> width;
            if (high)
                count++, bytes += 1 + (bits_of(high) + 6) / 7;
        }
        if (count > MAX_EXCEPTIONS)
            break; /* with fewer bits there are as many at least */
        if (bytes < least)
            best = width, least = bytes;
    }
    return best;
}

static uint8_t *write_full(uint8_t *to, const int32_t *documents, const uint32_t *frequencies, layout_t layout) {
    uint32_t deltas[MAX_BLOCK];
    const int lanes = layout.size / LANE_VALUES;
    deltas[0] = 0;
    for (int i = 1; i < layout.size; i++)
        deltas[i] = (uint32_t)documents[i] - (uint32_t)documents[i - 1];
    const int width = width_of(deltas, layout.size);
    to = write_u32(to, (uint32_t)documents[0]);
    *to++ = (uint8_t)width;
    to = pack_values(to, deltas, width, lanes);
    if (layout.has_score) {
        const int bits = width_of(frequencies, layout.size);
        *to++ = (uint8_t)bits;
        return pack_values(to, frequencies, bits, lanes);
    }
    const int bits = width_with_exceptions(frequencies, layout.size);
    *to++ = (uint8_t)bits;
    uint8_t *number = to++;
    to = pack_values(to, frequencies, bits, lanes);
    *number = 0;
    for (int i = 0; i < layout.size; i++) {
        const uint32_t high = bits == 32 ? 0 : frequencies[i] >> bits;
        if (high) {
            ++*number;
            *to++ = (uint8_t)i;
            to = write_varint(to, high);
        }
    }
    return to;
}

static uint8_t *write_rest(uint8_t *to, const int32_t *documents, const uint32_t *frequencies, int count,
                           int has_plain_rest) {
    if (has_plain_rest) {
        memcpy(to, documents, 4 * (size_t)count);
        memcpy(to + 4 * count, frequencies, 4 * (size_t)count);
        return to + 8 * count;
    }
    for (int i = 0; i < count; i++)
        to = write_varint(to, (uint32_t)documents[i] - (i ? (uint32_t)documents[i - 1] : 0));
    for (int i = 0; i < count; i++)
        to = write_varint(to, frequencies[i]);
    return to;
}

#define MAX_BLOCK_BYTES(count) (24 + 12 * (count))

/* The bytes of blocks; `scores`: the best of each, if they have it. */
static const char *encode_blocks(const lists_t *l, layout_t layout, const float *scores, uint8_t *out,
                                 int64_t *offsets) {
    uint8_t *to = out;
    int64_t start = 0;
    for (int64_t block = 0; block < l->blocks; block++) {
        const int count = (int)l->counts[block];
        const uint32_t *frequencies = (const uint32_t *)l->frequencies + start;
        offsets[block] = to - out;
        if (layout.has_score) {
            memcpy(to, &scores[block], 4);
            to += 4;
        }
        to = count == layout.size
                 ? write_full(to, l->documents + start, frequencies, layout)
                 : write_rest(to, l->documents + start, frequencies, count, layout.has_plain_rest);
        start += count;
    }
    offsets[l->blocks] = to - out;
    return NULL;
}

#define MAX_STREAM_BYTES(count) (8 + 5 * (count))

/* The streams of positions of blocks. */
static const char *encode_streams(const lists_t *l, const int32_t *positions, int64_t number, uint8_t *out,
                                  int64_t *offsets) {
    uint8_t *to = out;
    uint32_t group[GROUP];
    int64_t start = 0, place = 0;
    for (int64_t block = 0; block < l->blocks; block++) {
        int filled = 0;
        offsets[block] = to - out;
        for (int64_t i = start; i < start + l->counts[block]; i++) {
            const int64_t stop = place + l->frequencies[i];
            if (l->frequencies[i] < 0 || stop > number)
                return MISMATCH;
            for (uint32_t before = 0; place < stop; place++) {
                group[filled++] = (uint32_t)positions[place] - before;
                before = (uint32_t)positions[place];
                if (filled == GROUP) {
                    const int width = width_of(group, GROUP);
                    *to++ = (uint8_t)width;
                    to = pack_values(to, group, width, 4);
                    filled = 0;
                }
            }
        }
        for (int i = 0; i < filled; i++)
            to = write_varint(to, group[i]);
        start += l->counts[block];
    }
    offsets[l->blocks] = to - out;
    return place == number ? NULL : MISMATCH;
}

/* The highest frequency for each rounded length that occurs. */
typedef struct {
    uint32_t frequencies[NUM_LENGTHS];
    uint64_t occurs[NUM_LENGTHS / 64];
} impacts_t;

INLINE void add_impact(impacts_t *impacts, uint8_t length, uint32_t frequency) {
    const uint64_t bit = 1ull << (length & 63);
    uint64_t *occurs = &impacts->occurs[length >> 6];
    if (!(*occurs & bit) || impacts->frequencies[length] < frequency)
        impacts->frequencies[length] = frequency;
    *occurs |= bit;
}

/* Writes the pairs that count, and forgets all; `group` gets them as well, if it is not NULL. */
static uint8_t *write_impacts(uint8_t *to, impacts_t *impacts, uint32_t last, impacts_t *group) {
    uint8_t lengths[NUM_LENGTHS];
    int number = 0;
    uint32_t highest = 0;
    for (int word = 0; word < NUM_LENGTHS / 64; word++) {
        for (uint64_t occurs = impacts->occurs[word]; occurs; occurs &= occurs - 1) {
            const int length = 64 * word + __builtin_ctzll(occurs);
            if (impacts->frequencies[length] > highest) {
                highest = impacts->frequencies[length];
                lengths[number++] = (uint8_t)length;
                if (group)
                    add_impact(group, (uint8_t)length, highest);
            }
        }
        impacts->occurs[word] = 0;
    }
    to = write_varint(to, last);
    to = write_varint(to, (uint32_t)number);
    uint32_t frequency = 0;
    uint8_t length = 0;
    for (int i = 0; i < number; i++) {
        const uint32_t own = impacts->frequencies[lengths[i]];
        const uint8_t longer = (uint8_t)(lengths[i] - length);
        to = write_varint(to, (own - frequency - 1) << 1 | (longer != 1));
        if (longer != 1)
            *to++ = longer;
        frequency = own;
        length = lengths[i];
    }
    return to;
}

#define MAX_IMPACT_BYTES(count) (8 + 6 * (count))

/* The entries of lists: those of blocks, then those of groups; how many there are. `groups` has the
 * room for those of one list. */
static const char *encode_impacts(const lists_t *l, const uint8_t *rounded, uint8_t *out, int64_t *offsets,
                                  int64_t *entries, uint8_t *groups) {
    impacts_t of_block = {.occurs = {0}}, of_group = {.occurs = {0}};
    uint8_t *to = out;
    int64_t block = 0, start = 0, entry = 0;
    for (int64_t list = 0; list < l->lists; list++) {
        const int64_t first_entry = entry, blocks = l->of_lists[list];
        uint8_t *group_at = groups;
        int64_t group_entry = entry + blocks;
        for (int64_t i = 0; i < blocks; i++, block++) {
            for (const int64_t stop = start + l->counts[block]; start < stop; start++)
                add_impact(&of_block, rounded[start], (uint32_t)l->frequencies[start]);
            const uint32_t last = (uint32_t)l->documents[start - 1];
            offsets[first_entry + i] = to - out;
            to = write_impacts(to, &of_block, last, &of_group);
            if ((i + 1) % GROUP_BLOCKS == 0 || i + 1 == blocks) {
                offsets[group_entry++] = group_at - groups;
                group_at = write_impacts(group_at, &of_group, last, NULL);
            }
        }
        for (int64_t i = first_entry + blocks; i < group_entry; i++)
            offsets[i] += to - out;
        memcpy(to, groups, (size_t)(group_at - groups));
        to += group_at - groups;
        entries[list] = group_entry - first_entry;
        entry = group_entry;
    }
    offsets[entry] = to - out;
    return NULL;
}

/* Takes documents, frequencies, counts and blocks of lists; 0 if they do not belong together. */
static int take_lists(const Py_buffer *b, int size, lists_t *l) {
    *l = (lists_t){b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[0].len / 4, b[2].len / 8, b[3].len / 8};
    if (!holds(&b[0], l->postings, 4) || !holds(&b[1], l->postings, 4) || !holds(&b[2], l->blocks, 8) ||
        !holds(&b[3], l->lists, 8))
        return 0;
    int64_t postings = 0, blocks = 0;
    for (int64_t i = 0; i < l->blocks; i++) {
        if (l->counts[i] < 1 || l->counts[i] > size)
            return 0;
        postings += l->counts[i];
    }
    for (int64_t i = 0; i < l->lists; i++) {
        if (l->of_lists[i] < 0 || l->of_lists[i] > l->blocks - blocks)
            return 0;
        blocks += l->of_lists[i];
    }
    return postings == l->postings && blocks == l->blocks;
}

static PyObject *py_encode_blocks(PyObject *self, PyObject *args) {
    Py_buffer b[7] = {0};
    Py_ssize_t size;
    int has_score, has_plain_rest;
    const char *error;
    lists_t lists;
    layout_t layout;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*nppy*w*w*", &b[0], &b[1], &b[2], &b[3], &size, &has_score, &has_plain_rest,
                          &b[4], &b[5], &b[6]))
        return release(b, 7), NULL;
    if (!layout_of(size, has_score, has_plain_rest, &layout) || !take_lists(b, (int)size, &lists) ||
        !holds(&b[4], has_score ? lists.blocks : 0, 4) || !holds(&b[6], lists.blocks + 1, 8) ||
        b[5].len < MAX_BLOCK_BYTES(0) * lists.blocks + MAX_BLOCK_BYTES(lists.postings) - MAX_BLOCK_BYTES(0))
        return done(b, 7, MISMATCH, 0);
    const int64_t *offsets = b[6].buf;
    WITHOUT_GIL(encode_blocks(&lists, layout, b[4].buf, b[5].buf, b[6].buf))
    return done(b, 7, error, error ? 0 : offsets[lists.blocks]);
}

static PyObject *py_encode_streams(PyObject *self, PyObject *args) {
    Py_buffer b[7] = {0};
    const char *error;
    lists_t lists;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6]))
        return release(b, 7), NULL;
    const int64_t number = b[4].len / 4, *offsets = b[6].buf;
    if (!take_lists(b, MAX_BLOCK, &lists) || !holds(&b[4], number, 4) || !holds(&b[6], lists.blocks + 1, 8) ||
        b[5].len < MAX_STREAM_BYTES(0) * lists.blocks + MAX_STREAM_BYTES(number) - MAX_STREAM_BYTES(0))
        return done(b, 7, MISMATCH, 0);
    WITHOUT_GIL(encode_streams(&lists, b[4].buf, number, b[5].buf, b[6].buf))
    return done(b, 7, error, error ? 0 : offsets[lists.blocks]);
}

static PyObject *py_encode_impacts(PyObject *self, PyObject *args) {
    Py_buffer b[8] = {0};
    const char *error;
    lists_t lists;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7]))
        return release(b, 8), NULL;
    if (!take_lists(b, MAX_BLOCK, &lists) || !holds(&b[4], lists.postings, 1) || !holds(&b[7], lists.lists, 8))
        return done(b, 8, MISMATCH, 0);
    int64_t entries = lists.blocks;
    for (int64_t i = 0; i < lists.lists; i++)
        entries += (lists.of_lists[i] + GROUP_BLOCKS - 1) / GROUP_BLOCKS;
    if (!holds(&b[6], entries + 1, 8) ||
        b[5].len < MAX_IMPACT_BYTES(0) * entries + 2 * (MAX_IMPACT_BYTES(lists.postings) - MAX_IMPACT_BYTES(0)))
        return done(b, 8, MISMATCH, 0);
    const int64_t *offsets = b[6].buf;
    uint8_t *groups = malloc((size_t)(MAX_IMPACT_BYTES(0) * entries + MAX_IMPACT_BYTES(lists.postings)));
    if (!groups)
        return done(b, 8, NO_MEMORY, 0);
    WITHOUT_GIL(encode_impacts(&lists, b[4].buf, b[5].buf, b[6].buf, b[7].buf, groups))
    free(groups);
    return done(b, 8, error, offsets[entries]);
}

PyMethodDef encoding_methods[] = {
    {"encode_blocks", py_encode_blocks, METH_VARARGS, NULL},
    {"encode_impacts", py_encode_impacts, METH_VARARGS, NULL},
    {"encode_streams", py_encode_streams, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
