/* What the inner loops share.
 *
 * Each file has loops in plain C, which know no Python, and behind them what makes functions of the
 * module `_native` of them. A loop checks every length, offset and code that it is given before it
 * reads or writes there, and returns NULL, or a text that says what is wrong; sizes of arrays are
 * numbers of elements. What loops compute is documented by lance_core.encodings.kernels.Kernels.
 *
 * Every function of the module takes contiguous buffers, checks that they have whole and aligned
 * elements and that as many as belong together, and runs without the GIL. What is wrong is a
 * ValueError.
 */
#ifndef LANCE_CORE_MODULE_H
#define LANCE_CORE_MODULE_H

#include "buffers.h"

#define CHUNK 1024  /* values that are packed together */
#define ESCAPE 255  /* the FSST code before a byte that is meant literally */
#define ROOM 128    /* bytes that decoding FSST needs beyond what it returns */

/* Results of more bytes are written past the caches ("streamed"), where they do not fit: that takes
 * half the time, and nobody reads them from there afterwards. */
#define CACHE (2 << 20)

/* Makes what was streamed visible to other threads. */
static inline void end_streaming(void) {
#ifdef WITH_AVX2
    __builtin_ia32_sfence();
#endif
}

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

/* Chunks of sizes[i] bytes at starts[i] of data, with counts[i] values in each. */
typedef struct {
    bytes_t data;
    const int64_t *starts;
    const int64_t *sizes;
    const int64_t *counts;
    int64_t number;
} chunks_t;

/* The bytes of one chunk. */
static inline const char *chunk_at(chunks_t chunks, int64_t i, bytes_t *chunk) {
    const int64_t start = chunks.starts[i], size = chunks.sizes[i];
    if (start < 0 || size < 0 || start > chunks.data.size || size > chunks.data.size - start)
        return "a chunk is not within the bytes of all";
    if (chunks.counts[i] < 0)
        return "a chunk has a negative number of values";
    chunk->at = chunks.data.at + start;
    chunk->size = size;
    return NULL;
}

/* Words that need not be aligned. */
static inline int64_t load_u16(const uint8_t *from) {
    uint16_t word;
    __builtin_memcpy(&word, from, 2);
    return word;
}

static inline int64_t load_u32(const uint8_t *from) {
    uint32_t word;
    __builtin_memcpy(&word, from, 4);
    return word;
}

static inline uint64_t load_u64(const uint8_t *from) {
    uint64_t word;
    __builtin_memcpy(&word, from, 8);
    return word;
}

/* What the files share. fastlanes.c: */

/* One chunk of at most CHUNK values that begins with its width: `count` values to `out`. */
const char *unpack_with_width(bytes_t chunk, int64_t count, unsigned bits, uint8_t *out);

/* slices.c: */

/* Slice i has the bytes from starts[i] to stops[i] of the buffer of number owners[i]. */
typedef struct {
    const Py_buffer *buffers;
    int64_t number;
    const int64_t *owners;
    const int64_t *starts;
    const int64_t *stops;
    int64_t count;
} slices_t;

/* The bytes of one slice. */
const char *slice_at(slices_t slices, int64_t i, bytes_t *slice);

/* The buffers of a list, NULL with an exception; *number counts those to release. */
Py_buffer *views_of(PyObject *list, int64_t *number);

/* variable.c: */

/* Where the offsets of a chunk end and its bytes begin. */
const char *variable_head(bytes_t chunk, int64_t count, int64_t width, int64_t *head);
static inline int64_t load_offset(const uint8_t *offsets, int64_t i, int64_t width) {
    if (width == 4)
        return load_u32(offsets + 4 * i);
    const uint64_t wide = load_u64(offsets + 8 * i);
    return wide > INT64_MAX ? -1 : (int64_t)wide;
}

/* fsst_encode.c: */

/* The sum of all lengths. */
const char *spans_total(spans_t spans, int64_t *total);

/* fsst_decode.c: */

const char *check_symbols(symbols_t symbols);

static inline symbols_t symbols_of(const Py_buffer *texts, const Py_buffer *lengths) {
    return (symbols_t){bytes_of(texts), bytes_of(lengths)};
}

/* Data, starts, sizes and counts of chunks; 0 if they do not belong together. */
static inline int chunks_of(const Py_buffer *b, chunks_t *chunks) {
    const int64_t number = b[1].len / 8;
    *chunks = (chunks_t){bytes_of(&b[0]), b[1].buf, b[2].buf, b[3].buf, number};
    return holds(&b[1], number, 8) && holds(&b[2], number, 8) && holds(&b[3], number, 8);
}

/* A kernel that fills one array from all chunks, told a width. */
static inline PyObject *from_chunks(PyObject *args, const char *(*kernel)(chunks_t, int64_t, room_t)) {
    Py_buffer b[5] = {0};
    Py_ssize_t width;
    chunks_t chunks;
    const char *error;
    if (!PyArg_ParseTuple(args, "y*y*y*y*nw*", &b[0], &b[1], &b[2], &b[3], &width, &b[4]))
        return release(b, 5), NULL;
    if (!chunks_of(b, &chunks))
        return done(b, 5, MISMATCH, 0);
    WITHOUT_GIL(kernel(chunks, width, room_of(&b[4])))
    return done(b, 5, error, 0);
}

extern PyMethodDef arrays_methods[];
extern PyMethodDef crc32c_methods[];
extern PyMethodDef dictionary_methods[];
extern PyMethodDef fastlanes_methods[];
extern PyMethodDef files_methods[];
extern PyMethodDef fsst_decode_methods[];
extern PyMethodDef fsst_encode_methods[];
extern PyMethodDef fsst_train_methods[];
extern PyMethodDef headers_methods[];
extern PyMethodDef json_methods[];
extern PyMethodDef levels_methods[];
extern PyMethodDef rows_methods[];
extern PyMethodDef runs_methods[];
extern PyMethodDef search_methods[];
extern PyMethodDef slices_methods[];
extern PyMethodDef streams_methods[];
extern PyMethodDef variable_methods[];
extern PyMethodDef zipped_methods[];

int add_failing(PyObject *module);
void fill_crc32c_tables(void);

#endif
