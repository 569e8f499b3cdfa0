/* The inner loops, in plain C: none of them knows Python.
 *
 * Each checks every length, offset and code that it is given before it reads or writes there, and
 * returns NULL, or a text that says what is wrong. Sizes of arrays are numbers of elements. What
 * they compute is documented by lance_core.encodings.kernels.
 */
#ifndef LANCE_CORE_KERNELS_H
#define LANCE_CORE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "only little-endian machines are supported"
#endif

#define CHUNK 1024  /* values that are packed together */
#define ESCAPE 255  /* the FSST code before a byte that is meant literally */
#define ROOM 32     /* bytes that fsst_decode needs beyond what it returns */

typedef struct {
    const uint8_t *at;
    int64_t size;
} bytes_t;

typedef struct {
    uint8_t *at;
    int64_t size;
} room_t;

/* Symbols of 8 bytes each, padded with zeros, and the length of each. */
typedef struct {
    bytes_t texts;
    bytes_t lengths;
} symbols_t;

/* Strings at starts[i] to stops[i] of data. */
typedef struct {
    bytes_t data;
    const int64_t *starts;
    const int64_t *stops;
    int64_t count;
} spans_t;

const char *unpack_fastlanes(bytes_t packed, int64_t width, int64_t bits, int64_t chunks,
                             room_t values);
const char *pack_fastlanes(bytes_t values, int64_t width, int64_t bits, int64_t chunks,
                           room_t packed);

const char *check_symbols(symbols_t symbols);

/* At least what the codes decode to, without ROOM. */
const char *fsst_bound(bytes_t codes, symbols_t symbols, int64_t *bound);
/* count + 1 offsets. */
const char *fsst_decode(bytes_t codes, const int64_t *offsets, int64_t count, symbols_t symbols,
                        room_t text, int64_t *text_offsets);

/* The sum of all lengths. */
const char *spans_total(spans_t spans, int64_t *total);
/* count + 1 code_offsets; codes have room for twice the total. */
const char *fsst_encode(spans_t spans, symbols_t symbols, room_t codes, int64_t *code_offsets);

/* count + 1 offsets; room for 255 symbols. */
const char *fsst_train(bytes_t sample, const int64_t *offsets, int64_t count, uint8_t *texts,
                       uint8_t *lengths, int64_t *found);

typedef struct {
    const uint16_t *repetition;
    const uint16_t *definition; /* or NULL */
    int64_t count;
    int64_t depth;
    int64_t base;
} levels_t;

/* items has room for one number per level, offsets for one more than starts. */
const char *level_items(levels_t levels, const int64_t *starts, int64_t lists, int64_t *items,
                        int64_t *offsets, int64_t *found);

/* The spans ascend; text has room for the total, offsets for one more than spans. */
const char *gather_variable(spans_t spans, room_t text, int64_t *offsets);

#endif
