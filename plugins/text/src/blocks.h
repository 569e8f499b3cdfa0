/* Blocks of posting lists and streams of positions: from bytes of a file to numbers, checked.
 *
 * `lance_core_text.postings.blocks` and `positions` document the layouts.
 */
#ifndef LANCE_CORE_TEXT_BLOCKS_H
#define LANCE_CORE_TEXT_BLOCKS_H

#include "module.h"

#define LANE_VALUES 32
#define MAX_BLOCK 256 /* documents of a block */
#define GROUP 128     /* positions of a packed group */

typedef struct {
    int size;           /* documents of a full block: 128 or 256 */
    int has_score;      /* a block begins with its best score */
    int has_plain_rest; /* a block that is not full has plain numbers instead of varints */
} layout_t;

/* 0 for sizes of blocks that no format has. */
INLINE int layout_of(Py_ssize_t size, int has_score, int has_plain_rest, layout_t *layout) {
    *layout = (layout_t){(int)size, has_score, has_plain_rest};
    return size == 128 || size == 256;
}

INLINE uint32_t load_u32(const uint8_t *from) {
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* `LANE_VALUES` values of `width` bits in each of `lanes` interleaved lanes. */
INLINE void unpack_lanes(const uint8_t *from, int width, const int lanes, uint32_t *values) {
    const uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
    for (int i = 0; i < LANE_VALUES; i++, values += lanes) {
        const int bit = i * width, shift = bit & 31;
        const uint8_t *word = from + 4 * lanes * (bit >> 5);
        uint32_t low[8], high[8];
        memcpy(low, word, 4 * (size_t)lanes);
        if (shift + width > 32) {
            memcpy(high, word + 4 * lanes, 4 * (size_t)lanes);
            for (int lane = 0; lane < lanes; lane++)
                values[lane] = (low[lane] >> shift | high[lane] << (32 - shift)) & mask;
        } else {
            for (int lane = 0; lane < lanes; lane++)
                values[lane] = low[lane] >> shift & mask;
        }
    }
}

static inline void unpack_values(const uint8_t *from, int width, int lanes, uint32_t *values) {
    if (width == 0)
        memset(values, 0, 4 * (size_t)(LANE_VALUES * lanes));
    else if (lanes == 4)
        unpack_lanes(from, width, 4, values);
    else
        unpack_lanes(from, width, 8, values);
}

/* A varint of up to 32 bits; the place after it, or NULL. */
INLINE const uint8_t *read_varint(const uint8_t *at, const uint8_t *end, uint32_t *value) {
    uint64_t number = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        if (at == end)
            return NULL;
        const uint8_t byte = *at++;
        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = (uint32_t)number;
            return number > UINT32_MAX ? NULL : at;
        }
    }
    return NULL;
}

static inline const char *decode_full(const uint8_t *at, const uint8_t *end, layout_t layout,
                                      uint32_t *documents, uint32_t *frequencies) {
    const int lanes = layout.size / LANE_VALUES;
    if (end - at < 5)
        return "a block ends in its header";
    uint64_t document = load_u32(at);
    const int width = at[4], header = layout.has_score ? 1 : 2;
    at += 5;
    if (width > 32 || end - at < 4 * lanes * width + header)
        return "a block is shorter than its documents";
    unpack_values(at, width, lanes, documents);
    at += 4 * lanes * width;
    const int bits = at[0], exceptions = layout.has_score ? 0 : at[1];
    at += header;
    if (bits > 32 || end - at < 4 * lanes * bits)
        return "a block is shorter than its frequencies";
    unpack_values(at, bits, lanes, frequencies);
    at += 4 * lanes * bits;
    for (int i = 0; i < exceptions; i++) {
        uint32_t high;
        if (at >= end)
            return "a block ends in its exceptions";
        const int which = *at++;
        if (!(at = read_varint(at, end, &high)))
            return "an exception has no end";
        if (which >= layout.size || (uint64_t)high << bits > UINT32_MAX)
            return "a document has the term too often";
        frequencies[which] = (frequencies[which] & (uint32_t)((1ull << bits) - 1)) | (uint32_t)((uint64_t)high << bits);
    }
    if (at != end)
        return "a block has another length than its frequencies";
    for (int i = 0; i < layout.size; i++) {
        if (i && !documents[i])
            return "documents do not ascend";
        document += documents[i];
        documents[i] = (uint32_t)document;
    }
    return document > UINT32_MAX ? "documents do not ascend" : NULL;
}

static inline const char *decode_rest(const uint8_t *at, const uint8_t *end, int count, layout_t layout,
                                      uint32_t *documents, uint32_t *frequencies) {
    if (layout.has_plain_rest) {
        if (end - at != 8 * count)
            return "a block has other bytes than its documents";
        memcpy(documents, at, 4 * (size_t)count);
        memcpy(frequencies, at + 4 * count, 4 * (size_t)count);
        for (int i = 1; i < count; i++)
            if (documents[i] <= documents[i - 1])
                return "documents do not ascend";
        return NULL;
    }
    uint64_t document = 0;
    for (int i = 0; i < count; i++) {
        uint32_t delta;
        if (!(at = read_varint(at, end, &delta)))
            return "a block has another number of documents";
        document += delta;
        if ((i && !delta) || document > UINT32_MAX)
            return "documents do not ascend";
        documents[i] = (uint32_t)document;
    }
    for (int i = 0; i < count; i++)
        if (!(at = read_varint(at, end, &frequencies[i])))
            return "a block has another number of documents";
    return at == end ? NULL : "a block has another number of documents";
}

/* `count` documents, ascending, and how often each has the term, at least once. */
static inline const char *decode_block(const uint8_t *at, const uint8_t *end, int count, layout_t layout,
                                       uint32_t *documents, uint32_t *frequencies) {
    if (layout.has_score) {
        if (end - at < 4)
            return "a block ends in its header";
        at += 4;
    }
    const char *error = count == layout.size ? decode_full(at, end, layout, documents, frequencies)
                                             : decode_rest(at, end, count, layout, documents, frequencies);
    if (error)
        return error;
    int zeros = 0;
    for (int i = 0; i < count; i++)
        zeros += frequencies[i] == 0;
    return zeros ? "a document has the term not once" : NULL;
}

/* The `total` differences of positions of the documents of a block, from a stream. */
static inline const char *decode_stream(const uint8_t *at, const uint8_t *end, int64_t total, uint32_t *deltas) {
    int64_t number = 0;
    for (; number + GROUP <= total; number += GROUP) {
        if (at == end || at[0] > 32 || end - at < 1 + 16 * at[0])
            return "a stream of positions ends too early";
        unpack_values(at + 1, at[0], 4, deltas + number);
        at += 1 + 16 * at[0];
    }
    for (; number < total; number++)
        if (!(at = read_varint(at, end, &deltas[number])))
            return "a stream of positions has another number of them";
    return at == end ? NULL : "a stream of positions has another number of them";
}

#endif
