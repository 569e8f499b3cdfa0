/* Bit packing in the FastLanes order.
 *
 * Word j of all lanes takes 128 bytes, whatever the bits of a word: rows are shifted as 16 words of
 * 64 bits, and masks take off what a shift carried from one lane into the next.
 */
#include "kernels.h"

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

static const char *check(int64_t packed, int64_t values, int64_t width, int64_t bits,
                         int64_t chunks) {
    if ((bits != 8 && bits != 16 && bits != 32 && bits != 64) || width < 0 || width > bits)
        return "values cannot be packed to this width";
    if (chunks < 0 || chunks > INT64_MAX / (CHUNK * 8))
        return "more chunks than memory can hold";
    if (packed != chunks * ROW * width || values != chunks * ROW * bits)
        return "chunks are of another size";
    return NULL;
}

static void unpack_chunk(const uint8_t *restrict packed, uint8_t *restrict values, unsigned width,
                         unsigned bits) {
    const uint64_t mask = ones(width);
    for (unsigned row = 0; row < bits; row++) {
        const unsigned word = row * width / bits, shift = row * width % bits;
        const uint8_t *low = packed + (size_t)word * ROW;
        uint8_t *out = values + place(row, bits);
        const uint64_t keep = repeated(mask & ones(bits - shift), bits);
        if (shift + width <= bits) {
            for (unsigned i = 0; i < ROW_WORDS; i++) {
                const uint64_t value = (load(low + 8 * i) >> shift) & keep;
                memcpy(out + 8 * i, &value, 8);
            }
        } else {
            const uint64_t keep_high = repeated(mask & ~ones(bits - shift), bits);
            for (unsigned i = 0; i < ROW_WORDS; i++) {
                const uint64_t high = (load(low + ROW + 8 * i) << (bits - shift)) & keep_high;
                const uint64_t value = ((load(low + 8 * i) >> shift) & keep) | high;
                memcpy(out + 8 * i, &value, 8);
            }
        }
    }
}

const char *unpack_fastlanes(bytes_t packed, int64_t width, int64_t bits, int64_t chunks,
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

static void pack_chunk(const uint8_t *restrict values, uint8_t *restrict packed, unsigned width,
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

const char *pack_fastlanes(bytes_t values, int64_t width, int64_t bits, int64_t chunks,
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
