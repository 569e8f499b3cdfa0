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
#define ROOM 128    /* bytes that decoding FSST needs beyond what it returns */

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

/* fastlanes.c */

const char *unpack_fastlanes(bytes_t packed, int64_t width, int64_t bits, int64_t chunks,
                             room_t values);
const char *pack_fastlanes(bytes_t values, int64_t width, int64_t bits, int64_t chunks,
                           room_t packed);
/* Chunks that begin with a word for their width; there is one at least. */
const char *unpack_inline(chunks_t chunks, int64_t bits, room_t values);
/* Of the same chunks single values: of chunk[i] the one at position[i], for `count` of them. */
const char *pick_inline(chunks_t chunks, int64_t bits, const int64_t *chunk,
                        const int64_t *position, int64_t count, room_t values);
const char *chunk_widths(bytes_t values, int64_t bits, int64_t *widths, int64_t chunks);
/* Levels of 16 bits, out of line: whole units of CHUNK packed to `width`, the rest of each chunk
 * packed like a unit, or as it is where the chunk is that large. */
const char *unpack_levels(chunks_t chunks, int64_t width, room_t levels);
const char *pack_inline(bytes_t values, int64_t bits, const int64_t *widths, int64_t chunks,
                        room_t packed);

/* fsst_decode.c, fsst_encode.c, fsst_train.c */

const char *check_symbols(symbols_t symbols);
/* At least what the codes decode to, without ROOM. */
const char *fsst_bound(bytes_t codes, symbols_t symbols, int64_t *bound);
/* count + 1 offsets. */
const char *fsst_decode(bytes_t codes, const int64_t *offsets, int64_t count, symbols_t symbols,
                        room_t text, int64_t *text_offsets);
/* The same of chunks as variable_total knows them; one more of the offsets, of 4 or 8 bytes each,
 * than values of all. */
const char *fsst_chunks_bound(chunks_t chunks, int64_t width, symbols_t symbols, int64_t *bound);
const char *fsst_decode_chunks(chunks_t chunks, int64_t width, symbols_t symbols, room_t text,
                               room_t offsets, int64_t offset_width, int64_t *size);

/* The sum of all lengths. */
const char *spans_total(spans_t spans, int64_t *total);
/* count + 1 code_offsets; codes have room for twice the total, and for two. */
const char *fsst_encode(spans_t spans, symbols_t symbols, room_t codes, int64_t *code_offsets);
/* count + 1 offsets; room for 255 symbols. */
const char *fsst_train(bytes_t sample, const int64_t *offsets, int64_t count, uint8_t *texts,
                       uint8_t *lengths, int64_t *found);

/* variable.c: chunks of count + 1 offsets of `width` bytes, 4 or 8, and the bytes of values */

typedef struct {
    bytes_t text;
    const int64_t *offsets; /* count + 1 */
    int64_t count;
} strings_t;

/* Where the offsets of a chunk end and its bytes begin. */
const char *variable_head(bytes_t chunk, int64_t count, int64_t width, int64_t *head);
static inline int64_t load_offset(const uint8_t *offsets, int64_t i, int64_t width) {
    uint32_t narrow;
    uint64_t wide;
    if (width == 4)
        return __builtin_memcpy(&narrow, offsets + 4 * i, 4), (int64_t)narrow;
    __builtin_memcpy(&wide, offsets + 8 * i, 8);
    return wide > INT64_MAX ? -1 : (int64_t)wide;
}
/* Bytes of the values of all chunks. */
const char *variable_total(chunks_t chunks, int64_t width, int64_t *total);
/* One more of the offsets, of 4 or 8 bytes each, than there are values in all. */
const char *join_variable(chunks_t chunks, int64_t width, room_t text, room_t offsets,
                          int64_t offset_width);
/* edges has room for one more than strings, and for two; returns how many are used. */
const char *variable_edges(strings_t strings, int64_t width, int64_t limit, int64_t *edges,
                           int64_t *found);
const char *split_variable(strings_t strings, const int64_t *edges, int64_t chunks, int64_t width,
                           room_t out);

/* Where in the data of chunks single values are: of chunk[i] the one at position[i]. */
const char *pick_spans(chunks_t chunks, int64_t width, const int64_t *chunk,
                       const int64_t *position, int64_t count, int64_t *starts, int64_t *stops);
/* Bytes of the strings at `places`, and these strings; offsets has room for one more. */
const char *taken_total(strings_t strings, const int64_t *places, int64_t count, int64_t *total);
const char *take_strings(strings_t strings, const int64_t *places, int64_t count, room_t text,
                         int64_t *offsets);
/* The spans ascend; text has room for the total, offsets for one more than spans. */
const char *gather_variable(spans_t spans, room_t text, int64_t *offsets);
/* Pieces of `sizes` bytes, one after the other in data, to `places` in out, each followed by
 * bytes of `fill` up to a multiple of `align` after its place. */
typedef struct {
    bytes_t data;
    const int64_t *sizes;
    const int64_t *places;
    int64_t count;
} pieces_t;
const char *place_pieces(pieces_t pieces, int64_t align, int64_t fill, room_t out);

/* headers.c */

/* Chunks with so many kinds of levels and value buffers, sizes of which take 4 bytes if large. */
typedef struct {
    int64_t levels;
    int64_t buffers;
    int64_t large;
} header_t;

/* For each chunk, whose size is in `stops`, its number of levels; then, part by part, where in the
 * data it starts; then how large it is. The table has room for all. */
const char *chunk_headers(spans_t chunks, header_t form, int64_t *table);

/* levels.c */

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

/* least has the lowest repetition of each definition. */
const char *check_levels(levels_t levels, int64_t most, const uint16_t *least,
                         int64_t definitions);

/* Which slots have a definition of at most `top`, or `also`, as a bitmap with room for all levels;
 * how many slots there are, and how many of these. */
const char *layer_slots(levels_t levels, slots_t slots, int64_t top, int64_t also, room_t bitmap,
                        int64_t *found, int64_t *valid);
/* For each slot how many items are before it, then all: `count` + 1 numbers of 8 bytes if they are
 * `wide`, else of 4, which is enough for all levels. */
const char *layer_offsets(levels_t levels, slots_t slots, slots_t items, void *offsets, int wide,
                          int64_t count);
/* How many levels are at most `top` between each of the edges and the next. */
const char *count_upto(const uint16_t *levels, int64_t count, int64_t top, const int64_t *edges,
                       int64_t stretches, int64_t *counts);
/* Where the numbers[i]-th level is that is at least `least`; the end of levels behind the last. */
const char *nth_levels(const uint16_t *levels, int64_t count, int64_t least,
                       const int64_t *numbers, int64_t wanted, int64_t *places);

/* rows.c */

/* Of chunks whose rows begin at edges[0] and end at edges[chunks]: those that ascending `rows` are
 * in, which of these each row is in, and where there; `used` has room for as many as rows. */
const char *locate_rows(const int64_t *edges, int64_t chunks, const int64_t *rows, int64_t count,
                        int64_t *used, int64_t *which, int64_t *position, int64_t *found);

/* zipped.c */

/* Control words of `word` bytes, their lowest `bits` the definition; a value follows up to `limit`,
 * of `value` bytes or, if that is 0, behind a length of `length` bytes. */
typedef struct {
    int64_t word;
    int64_t bits;
    int64_t limit;
    int64_t value;
    int64_t length;
    int64_t single; /* a row has one level */
} zipped_t;

/* Where the levels of rows begin, to `places` unless that is NULL; how many there are. */
const char *zipped_places(spans_t rows, zipped_t form, int64_t *places, int64_t room,
                          int64_t *found);

/* runs.c */

/* Runs of chunks: values in the first buffer, lengths of a byte each in the second. */
const char *expand_runs(chunks_t values, chunks_t lengths, int64_t width, room_t out);
/* How many runs of equal values there are in each chunk of `per_chunk`. */
const char *count_runs(bytes_t words, int64_t width, int64_t per_chunk, int64_t *runs,
                       int64_t chunks);

/* What a chunk of runs may be: a power of two of values, `least` to `most`, in `room` runs. */
typedef struct {
    int64_t most;
    int64_t least;
    int64_t room;
} run_rule_t;

/* Room for a value, a length, a count and a number of runs for each of the words, at least one. */
typedef struct {
    room_t values;
    room_t lengths;
    int64_t *counts;
    int64_t *runs;
    int64_t most_chunks;
    int64_t chunks; /* found */
    int64_t total;  /* runs found */
} run_output_t;
const char *encode_runs(bytes_t words, int64_t width, run_rule_t rule, run_output_t *output);

/* streams.c: byte k of all values of a chunk together */

const char *join_streams(chunks_t chunks, int64_t width, room_t values);
const char *split_streams(bytes_t values, int64_t width, int64_t per_chunk, room_t streams);

#endif
