/* Bit packing in the FastLanes order.
 *
 * Word j of all lanes takes 128 bytes, whatever the bits of a word: rows are shifted as 16 words of
 * 64 bits, and masks take off what a shift carried from one lane into the next.
 */
#include "module.h"
#include "intrinsics.h"

#include <string.h>

#define ROW 128
#define ROW_WORDS (ROW / 8)

static const uint8_t ORDER[8] = {0, 4, 2, 6, 1, 5, 3, 7};

/* Bytes from the start of a chunk to the values of a row. */
static size_t place(unsigned row, unsigned bits) {
    return (size_t)(ORDER[row / 8] * 16 + row % 8 * 128) * (bits / 8);
}

/* The lowest `count` bits; count is 0 to 64. */
static uint64_t ones(unsigned count) {
    return count == 0 ? 0 : UINT64_MAX >> (64 - count);
}

/* A pattern of `bits` bits in every lane. */
static uint64_t repeated(uint64_t pattern, unsigned bits) {
    return pattern * (UINT64_MAX / ones(bits));
}

static inline uint64_t load(const uint8_t *from) {
    uint64_t word;
    memcpy(&word, from, 8);
    return word;
}

static int is_width(int64_t bits) {
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static const char *check(int64_t packed, int64_t values, int64_t width, int64_t bits,
                         int64_t chunks) {
    if (!is_width(bits) || width < 0 || width > bits)
        return "values cannot be packed to this width";
    if (chunks < 0 || chunks > INT64_MAX / (CHUNK * 8))
        return "more chunks than memory can hold";
    if (packed != chunks * ROW * width || values != chunks * ROW * bits)
        return "chunks are of another size";
    return NULL;
}

/* The loops over words are compiled twice: for any processor, and for those with AVX2, which take
 * half the time. `put` writes the words of a row to their place; NULL writes each where it belongs. */
INLINE void unpack_words(const uint8_t *restrict packed, uint8_t *restrict values, unsigned width,
                         unsigned bits, void (*put)(uint8_t *, const uint64_t *)) {
    const uint64_t mask = ones(width);
    for (unsigned row = 0; row < bits; row++) {
        const unsigned word = row * width / bits, shift = row * width % bits;
        const uint8_t *low = packed + (size_t)word * ROW;
        const uint64_t keep = repeated(mask & ones(bits - shift), bits);
        uint64_t words[ROW_WORDS];
        uint8_t *out = values + place(row, bits), *to = put ? (uint8_t *)words : out;
        if (shift + width <= bits) {
            for (unsigned i = 0; i < ROW_WORDS; i++) {
                const uint64_t value = (load(low + 8 * i) >> shift) & keep;
                memcpy(to + 8 * i, &value, 8);
            }
        } else {
            const uint64_t keep_high = repeated(mask & ~ones(bits - shift), bits);
            for (unsigned i = 0; i < ROW_WORDS; i++) {
                const uint64_t high = (load(low + ROW + 8 * i) << (bits - shift)) & keep_high;
                const uint64_t value = ((load(low + 8 * i) >> shift) & keep) | high;
                memcpy(to + 8 * i, &value, 8);
            }
        }
        if (put)
            put(out, words);
    }
}

static void unpack_any(const uint8_t *restrict packed, uint8_t *restrict values, unsigned width,
                       unsigned bits) {
    unpack_words(packed, values, width, bits, NULL);
}

#ifdef WITH_AVX2
WITH_AVX2 static void unpack_avx2(const uint8_t *restrict packed, uint8_t *restrict values,
                                  unsigned width, unsigned bits) {
    unpack_words(packed, values, width, bits, NULL);
}

/* Past the caches, which takes half the time for more values than they hold. */
WITH_AVX2 static inline void stream_row(uint8_t *out, const uint64_t *words) {
    if ((uintptr_t)out % 32) {
        memcpy(out, words, ROW);
        return;
    }
    for (unsigned i = 0; i < ROW / 32; i++)
        _mm256_stream_si256((__m256i *)(void *)(out + 32 * i),
                            _mm256_loadu_si256((const __m256i *)(const void *)(words + 4 * i)));
}

WITH_AVX2 static void unpack_streaming(const uint8_t *restrict packed, uint8_t *restrict values,
                                       unsigned width, unsigned bits) {
    unpack_words(packed, values, width, bits, stream_row);
}
#else
#define unpack_avx2 unpack_any
#endif

typedef void unpack_t(const uint8_t *, uint8_t *, unsigned, unsigned);

static void unpack_chunk(const uint8_t *packed, uint8_t *values, unsigned width, unsigned bits) {
    (has_avx2() ? unpack_avx2 : unpack_any)(packed, values, width, bits);
}

/* Unpacks to any place of `values`. */
static unpack_t *unpack_for(room_t values) {
#ifdef WITH_AVX2
    if (has_avx2() && values.size > CACHE)
        return unpack_streaming;
#endif
    (void)values;
    return unpack_chunk;
}

static const char *unpack_fastlanes(bytes_t packed, int64_t width, int64_t bits, int64_t chunks,
                             room_t values) {
    const char *error = check(packed.size, values.size, width, bits, chunks);
    if (error)
        return error;
    if (width == 0) {
        if (values.size)
            memset(values.at, 0, (size_t)values.size);
        return NULL;
    }
    for (int64_t chunk = 0; chunk < chunks; chunk++)
        unpack_chunk(packed.at + chunk * ROW * width, values.at + chunk * ROW * bits,
                     (unsigned)width, (unsigned)bits);
    return NULL;
}

INLINE void pack_words(const uint8_t *restrict values, uint8_t *restrict packed, unsigned width,
                       unsigned bits) {
    memset(packed, 0, (size_t)width * ROW);
    for (unsigned row = 0; row < bits; row++) {
        const unsigned word = row * width / bits, shift = row * width % bits;
        const uint8_t *from = values + place(row, bits);
        uint8_t *low = packed + (size_t)word * ROW;
        const uint64_t keep = repeated(ones(bits) & ~ones(shift), bits);
        for (unsigned i = 0; i < ROW_WORDS; i++) {
            const uint64_t sum = load(low + 8 * i) | ((load(from + 8 * i) << shift) & keep);
            memcpy(low + 8 * i, &sum, 8);
        }
        if (shift + width > bits) {
            const uint64_t keep_high = repeated(ones(shift), bits);
            for (unsigned i = 0; i < ROW_WORDS; i++) {
                const uint64_t value = (load(from + 8 * i) >> (bits - shift)) & keep_high;
                memcpy(low + ROW + 8 * i, &value, 8);
            }
        }
    }
}

static void pack_any(const uint8_t *restrict values, uint8_t *restrict packed, unsigned width,
                     unsigned bits) {
    pack_words(values, packed, width, bits);
}

#ifdef WITH_AVX2
WITH_AVX2 static void pack_avx2(const uint8_t *restrict values, uint8_t *restrict packed,
                                unsigned width, unsigned bits) {
    pack_words(values, packed, width, bits);
}
#else
#define pack_avx2 pack_any
#endif

static void pack_chunk(const uint8_t *values, uint8_t *packed, unsigned width, unsigned bits) {
    (has_avx2() ? pack_avx2 : pack_any)(values, packed, width, bits);
}

static const char *pack_fastlanes(bytes_t values, int64_t width, int64_t bits, int64_t chunks,
                           room_t packed) {
    const char *error = check(packed.size, values.size, width, bits, chunks);
    if (error)
        return error;
    uint64_t all = 0;
    for (int64_t i = 0; i < values.size; i += 8)
        all |= load(values.at + i);
    if (all & ~repeated(ones((unsigned)width), (unsigned)bits))
        return "a value does not fit into the width";
    if (width == 0)
        return NULL;
    for (int64_t chunk = 0; chunk < chunks; chunk++)
        pack_chunk(values.at + chunk * ROW * bits, packed.at + chunk * ROW * width,
                   (unsigned)width, (unsigned)bits);
    return NULL;
}

/* The bits that the widest of some values takes; they are a whole number of 8 bytes or less. */
static unsigned widest(const uint8_t *values, int64_t size, unsigned bits) {
    uint64_t all[4] = {0}, last = 0;
    int64_t at = 0;
    for (; at + 32 <= size; at += 32)
        for (int lane = 0; lane < 4; lane++)
            all[lane] |= load(values + at + 8 * lane);
    for (; at + 8 <= size; at += 8)
        all[0] |= load(values + at);
    memcpy(&last, values + at, (size_t)(size - at));
    uint64_t sum = all[0] | all[1] | all[2] | all[3] | last;
    for (unsigned shift = 32; shift >= bits; shift /= 2) /* all lanes into the lowest one */
        sum |= sum >> shift;
    sum &= ones(bits);
    return sum ? 64 - (unsigned)__builtin_clzll(sum) : 0;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static const char *check_inline(int64_t values, int64_t bits, int64_t chunks) {
    if (!is_width(bits) || values % (bits / 8))
        return "values cannot be packed to this width";
    const int64_t full = CHUNK * (bits / 8);
    const int64_t needed = values ? (values - 1) / full + 1 : 1;
    return chunks == needed ? NULL : "chunks are not as many as values need";
}

static const char *chunk_widths(bytes_t values, int64_t bits, int64_t *widths, int64_t chunks) {
    const char *error = check_inline(values.size, bits, chunks);
    if (error)
        return error;
    const int64_t full = CHUNK * (bits / 8);
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t begin = chunk * full;
        widths[chunk] =
            values.size ? widest(values.at + begin, least(full, values.size - begin),
                                 (unsigned)bits) : 0;
    }
    return NULL;
}

static const char *pack_inline(bytes_t values, int64_t bits, const int64_t *widths, int64_t chunks,
                        room_t packed) {
    const char *error = check_inline(values.size, bits, chunks);
    if (error)
        return error;
    const int64_t word = bits / 8, full = CHUNK * word;
    uint8_t padded[ROW * 64];
    int64_t filled = 0;
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t begin = chunk * full, size = least(full, values.size - begin);
        const uint8_t *from = values.at + begin;
        if (size < full) {
            memset(padded, 0, sizeof padded);
            if (size)
                memcpy(padded, from, (size_t)size);
            from = padded;
        }
        const unsigned width = widest(from, full, (unsigned)bits);
        if (width != widths[chunk])
            return "a chunk is not as wide as its values";
        if (word + (int64_t)width * ROW > packed.size - filled)
            return "too little room for packed values";
        const uint64_t head = width;
        memcpy(packed.at + filled, &head, (size_t)word);
        filled += word;
        if (width)
            pack_chunk(from, packed.at + filled, width, (unsigned)bits);
        filled += (int64_t)width * ROW;
    }
    return filled == packed.size ? NULL : "too much room for packed values";
}

static const char *unpack_by(unpack_t *unpack, bytes_t chunk, int64_t count, unsigned bits,
                             uint8_t *out) {
    const int64_t word = bits / 8;
    if (chunk.size < word)
        return "a chunk has no width";
    uint64_t width = 0;
    memcpy(&width, chunk.at, (size_t)word);
    if (width > bits || (int64_t)width * ROW > chunk.size - word)
        return "a chunk has fewer bytes than its packed values";
    if (width == 0) {
        if (count)
            memset(out, 0, (size_t)(count * word));
    } else if (count == CHUNK) {
        unpack(chunk.at + word, out, (unsigned)width, bits);
    } else {
        uint8_t all[ROW * 64];
        unpack_chunk(chunk.at + word, all, (unsigned)width, bits);
        if (count)
            memcpy(out, all, (size_t)(count * word));
    }
    return NULL;
}

const char *unpack_with_width(bytes_t chunk, int64_t count, unsigned bits, uint8_t *out) {
    return unpack_by(unpack_chunk, chunk, count, bits, out);
}

/* Chunks that begin with a word for their width; there is one at least. */
static const char *unpack_inline(chunks_t chunks, int64_t bits, room_t values) {
    if (!is_width(bits))
        return "values cannot be packed to this width";
    const int64_t word = bits / 8;
    unpack_t *unpack = unpack_for(values);
    int64_t filled = 0;
    for (int64_t i = 0; i < chunks.number; i++) {
        const int64_t count = chunks.counts[i];
        bytes_t chunk;
        const char *error = chunk_at(chunks, i, &chunk);
        if (error)
            return error;
        if (count > CHUNK || count * word > values.size - filled)
            return "a chunk has more values than there is room for";
        error = unpack_by(unpack, chunk, count, (unsigned)bits, values.at + filled);
        if (error)
            return error;
        filled += count * word;
    }
    end_streaming();
    return filled == values.size ? NULL : "chunks have fewer values than there is room for";
}

/* Chunks of mini-block pages with one value buffer and no levels. */
#define HEAD 8    /* bytes of the header and its padding */
#define FILL 0xFE /* padding */

/* Packs CHUNK values, and returns the bytes of the chunk. */
static int64_t put_chunk(const uint8_t *values, unsigned bits, int64_t large, uint8_t *out) {
    const unsigned width = widest(values, (int64_t)ROW * bits, bits);
    const int64_t size = bits / 8 + (int64_t)width * ROW, padded = (size + 7) / 8 * 8;
    const uint64_t head = width, length = (uint64_t)size << 16; /* behind the number of levels */
    memset(out, FILL, HEAD);
    memcpy(out, &length, large ? 6 : 4);
    memcpy(out + HEAD, &head, bits / 8);
    if (width)
        pack_chunk(values, out + HEAD + bits / 8, width, bits);
    memset(out + HEAD + size, FILL, (size_t)(padded - size));
    return HEAD + padded;
}

/* The values of all chunks in chunks of CHUNK values, of which the last is padded with zeros. */
static const char *repack_chunks(slices_t slices, const int64_t *counts, int64_t bits,
                                 int64_t large, room_t out, int64_t *sizes, int64_t most) {
    if (!is_width(bits))
        return "values cannot be packed to this width";
    const int64_t word = bits / 8, full = ROW * bits, room = HEAD + (word + full + 7) / 8 * 8;
    if (most < 1 || out.size / room < most)
        return "too little room for packed values";
    uint8_t values[2 * ROW * 64];
    int64_t waiting = 0, filled = 0, made = 0;
    for (int64_t i = 0; i < slices.count; i++) {
        bytes_t chunk;
        const char *error = slice_at(slices, i, &chunk);
        if (error)
            return error;
        if (chunk.size < (large ? 6 : 4))
            return "a chunk is shorter than its header";
        const int64_t size = large ? load_u32(chunk.at + 2) : load_u16(chunk.at + 2);
        if (HEAD + size > chunk.size)
            return "the parts of a chunk do not fit into it";
        if (counts[i] < 0 || counts[i] > CHUNK)
            return "a chunk has more values than are packed together";
        const bytes_t packed = {chunk.at + HEAD, size};
        error = unpack_with_width(packed, counts[i], (unsigned)bits, values + waiting * word);
        if (error)
            return error;
        waiting += counts[i];
        if (waiting < CHUNK)
            continue;
        if (made == most)
            return "too little room for packed values";
        filled += sizes[made++] = put_chunk(values, (unsigned)bits, large, out.at + filled);
        waiting -= CHUNK;
        memmove(values, values + full, (size_t)(waiting * word));
    }
    if (waiting || !made) {
        if (made == most)
            return "too little room for packed values";
        memset(values + waiting * word, 0, (size_t)(full - waiting * word));
        sizes[made++] = put_chunk(values, (unsigned)bits, large, out.at + filled);
    }
    return made == most ? NULL : "too much room for packed values";
}

/* The value at a position of a unit that is packed to `width` bits, 1 or more. */
static uint64_t packed_value(const uint8_t *packed, unsigned width, unsigned bits,
                             unsigned position) {
    const unsigned lanes = CHUNK / bits, within = position % ROW, word = bits / 8;
    /* ORDER is its own inverse. */
    const unsigned row = (unsigned)ORDER[within / lanes * lanes / 16] * 8 + position / ROW;
    const unsigned number = row * width / bits, shift = row * width % bits;
    const uint8_t *at = packed + (size_t)number * ROW + (size_t)(within % lanes) * word;
    uint64_t low = 0, high = 0;
    memcpy(&low, at, word);
    low >>= shift;
    if (shift + width > bits) {
        memcpy(&high, at + ROW, word);
        low |= high << (bits - shift);
    }
    return low & ones(width);
}

/* Of the same chunks single values: of chunk[i] the one at position[i], for `count` of them. */
static const char *pick_inline(chunks_t chunks, int64_t bits, const int64_t *chunk,
                        const int64_t *position, int64_t count, room_t values) {
    if (!is_width(bits))
        return "values cannot be packed to this width";
    const int64_t word = bits / 8;
    if (count < 0 || values.size % word || values.size / word != count)
        return "values are not as many as there is room for";
    for (int64_t i = 0; i < chunks.number; i++) {
        bytes_t data;
        uint64_t width = 0;
        const char *error = chunk_at(chunks, i, &data);
        if (error)
            return error;
        if (chunks.counts[i] > CHUNK || data.size < word)
            return "a chunk has more values than can be packed, or no width";
        memcpy(&width, data.at, (size_t)word);
        if (width > (uint64_t)bits || (int64_t)width * ROW > data.size - word)
            return "a chunk has fewer bytes than its packed values";
    }
    for (int64_t i = 0; i < count; i++) {
        if (chunk[i] < 0 || chunk[i] >= chunks.number)
            return "a value of a chunk that is not there";
        if (position[i] < 0 || position[i] >= chunks.counts[chunk[i]])
            return "a position is not among the values of its chunk";
        const uint8_t *at = chunks.data.at + chunks.starts[chunk[i]];
        uint64_t width = 0, value = 0;
        memcpy(&width, at, (size_t)word);
        if (width)
            value = packed_value(at + word, (unsigned)width, (unsigned)bits,
                                 (unsigned)position[i]);
        memcpy(values.at + i * word, &value, (size_t)word);
    }
    return NULL;
}

/* A unit of levels. */
static void unpack_unit(const uint8_t *packed, uint8_t *levels, unsigned width) {
    if (width)
        unpack_chunk(packed, levels, width, 16);
    else
        memset(levels, 0, CHUNK * 2);
}

/* The levels of one chunk. */
static const char *unpack_level_chunk(bytes_t chunk, int64_t count, unsigned width, uint8_t *out) {
    const int64_t units = count / CHUNK, rest = count % CHUNK, unit = (int64_t)width * ROW;
    if (unit && units > chunk.size / unit)
        return "a chunk has fewer bytes than its packed levels";
    const int64_t tail = chunk.size - units * unit;
    const int is_packed = rest && tail != 2 * rest;
    if (tail != (is_packed ? unit : 2 * rest))
        return "a chunk does not have the stated number of packed levels";
    for (int64_t i = 0; i < units; i++)
        unpack_unit(chunk.at + i * unit, out + i * CHUNK * 2, width);
    const uint8_t *last = chunk.at + units * unit;
    uint8_t all[ROW * 16];
    if (is_packed) {
        unpack_unit(last, all, width);
        last = all;
    }
    if (rest)
        memcpy(out + units * CHUNK * 2, last, (size_t)(2 * rest));
    return NULL;
}

/* Levels of 16 bits, out of line: whole units of CHUNK packed to `width`, the rest of each chunk
 * packed like a unit, or as it is where the chunk is that large. */
static const char *unpack_levels(chunks_t chunks, int64_t width, room_t levels) {
    if (width < 0 || width > 16)
        return "levels cannot be packed to this width";
    int64_t filled = 0;
    for (int64_t i = 0; i < chunks.number; i++) {
        const int64_t count = chunks.counts[i];
        bytes_t chunk;
        const char *error = chunk_at(chunks, i, &chunk);
        if (!error && count > (levels.size - filled) / 2)
            error = "chunks have more levels than there is room for";
        if (!error)
            error = unpack_level_chunk(chunk, count, (unsigned)width, levels.at + filled);
        if (error)
            return error;
        filled += 2 * count;
    }
    return filled == levels.size ? NULL : "chunks have fewer levels than there is room for";
}

/* For Python. */

/* A kernel between packed and unpacked values. */
static PyObject *with_lanes(PyObject *args, const char *(*kernel)(bytes_t, int64_t, int64_t,
                                                                  int64_t, room_t)) {
    Py_buffer b[2] = {0};
    Py_ssize_t width, bits, chunks;
    const char *error;
    if (!PyArg_ParseTuple(args, "y*nnnw*", &b[0], &width, &bits, &chunks, &b[1]))
        return release(b, 2), NULL;
    WITHOUT_GIL(kernel(bytes_of(&b[0]), width, bits, chunks, room_of(&b[1])))
    return done(b, 2, error, 0);
}

static PyObject *py_unpack(PyObject *module, PyObject *args) {
    (void)module;
    return with_lanes(args, unpack_fastlanes);
}

static PyObject *py_pack(PyObject *module, PyObject *args) {
    (void)module;
    return with_lanes(args, pack_fastlanes);
}

static PyObject *py_unpack_inline(PyObject *module, PyObject *args) {
    (void)module;
    return from_chunks(args, unpack_inline);
}

static PyObject *py_unpack_levels(PyObject *module, PyObject *args) {
    (void)module;
    return from_chunks(args, unpack_levels);
}

static PyObject *py_pick_inline(PyObject *module, PyObject *args) {
    Py_buffer b[7] = {0};
    Py_ssize_t bits;
    chunks_t chunks;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*nw*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &bits,
                          &b[6]))
        return release(b, 7), NULL;
    const int64_t count = b[4].len / 8;
    if (!chunks_of(b, &chunks) || !holds(&b[4], count, 8) || !holds(&b[5], count, 8))
        return done(b, 7, MISMATCH, 0);
    WITHOUT_GIL(pick_inline(chunks, bits, b[4].buf, b[5].buf, count, room_of(&b[6])))
    return done(b, 7, error, 0);
}

static PyObject *py_chunk_widths(PyObject *module, PyObject *args) {
    Py_buffer b[2] = {0};
    Py_ssize_t bits;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nw*", &b[0], &bits, &b[1]))
        return release(b, 2), NULL;
    const int64_t chunks = b[1].len / 8;
    if (!holds(&b[1], chunks, 8))
        return done(b, 2, MISMATCH, 0);
    WITHOUT_GIL(chunk_widths(bytes_of(&b[0]), bits, b[1].buf, chunks))
    return done(b, 2, error, 0);
}

static PyObject *py_pack_inline(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t bits;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*w*", &b[0], &bits, &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t chunks = b[1].len / 8;
    if (!holds(&b[1], chunks, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(pack_inline(bytes_of(&b[0]), bits, b[1].buf, chunks, room_of(&b[2])))
    return done(b, 3, error, 0);
}

static PyObject *py_repack_chunks(PyObject *module, PyObject *args) {
    Py_buffer b[6] = {0};
    PyObject *list;
    Py_ssize_t bits, large;
    int64_t number;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oy*y*y*y*nnw*w*", &list, &b[0], &b[1], &b[2], &b[3], &bits,
                          &large, &b[4], &b[5]))
        return release(b, 6), NULL;
    const int64_t count = b[0].len / 8, most = b[5].len / 8;
    if (!holds(&b[0], count, 8) || !holds(&b[1], count, 8) || !holds(&b[2], count, 8) ||
        !holds(&b[3], count, 8) || !holds(&b[5], most, 8))
        return done(b, 6, MISMATCH, 0);
    Py_buffer *views = views_of(list, &number);
    if (!views)
        return release(b, 6), NULL;
    const slices_t slices = {views, number, b[0].buf, b[1].buf, b[2].buf, count};
    WITHOUT_GIL(repack_chunks(slices, b[3].buf, bits, large, room_of(&b[4]), b[5].buf, most))
    release(views, (int)number);
    PyMem_Free(views);
    return done(b, 6, error, 0);
}

PyMethodDef fastlanes_methods[] = {
    {"unpack_fastlanes", py_unpack, METH_VARARGS, "packed, width, bits, chunks, values"},
    {"pack_fastlanes", py_pack, METH_VARARGS, "values, width, bits, chunks, packed"},
    {"unpack_inline", py_unpack_inline, METH_VARARGS, "data, starts, sizes, counts, bits, values"},
    {"unpack_levels", py_unpack_levels, METH_VARARGS, "data, starts, sizes, counts, width, levels"},
    {"pick_inline", py_pick_inline, METH_VARARGS,
     "data, starts, sizes, counts, chunk, position, bits, values"},
    {"chunk_widths", py_chunk_widths, METH_VARARGS, "values, bits, widths"},
    {"pack_inline", py_pack_inline, METH_VARARGS, "values, bits, widths, packed"},
    {"repack_chunks", py_repack_chunks, METH_VARARGS,
     "buffers, owners, starts, stops, counts, bits, large, out, sizes"},
    {NULL, NULL, 0, NULL},
};
