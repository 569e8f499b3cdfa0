/* Values of variable width: in chunks with offsets of their own, and copying of spans. */
#include "module.h"

#include <string.h>

typedef struct {
    bytes_t text;
    const int64_t *offsets; /* count + 1 */
    int64_t count;
} strings_t;

/* Pieces of `sizes` bytes, one after the other in data, to `places` in out, each followed by
 * bytes of `fill` up to a multiple of `align` after its place. */
typedef struct {
    bytes_t data;
    const int64_t *sizes;
    const int64_t *places;
    int64_t count;
} pieces_t;

#define MOST_VALUES 2048
#define PADDING 0x48

const char *variable_head(bytes_t chunk, int64_t count, int64_t width, int64_t *head) {
    if (width != 4 && width != 8)
        return "offsets are neither of 4 nor of 8 bytes";
    if (count >= chunk.size / width)
        return "a chunk has fewer bytes than the offsets of its values";
    *head = (count + 1) * width;
    return NULL;
}

/* Bytes of the values of all chunks. */
static const char *variable_total(chunks_t chunks, int64_t width, int64_t *total) {
    int64_t sum = 0;
    for (int64_t i = 0; i < chunks.number; i++) {
        const int64_t count = chunks.counts[i];
        int64_t head;
        bytes_t chunk;
        const char *error = chunk_at(chunks, i, &chunk);
        if (!error)
            error = variable_head(chunk, count, width, &head);
        if (error)
            return error;
        const int64_t last = load_offset(chunk.at, count, width);
        if (load_offset(chunk.at, 0, width) != head || last < head || last > chunk.size)
            return "the offsets of a chunk do not ascend within it";
        if (last - head > INT64_MAX / 4 - sum)
            return "more bytes than memory can hold";
        sum += last - head;
    }
    *total = sum;
    return NULL;
}

/* Offsets as they are stored, moved by `shift`; they are looked at only once they are ours. */
#define MOVE_OFFSETS(name, stored_t, moved_t)                                                     \
    static int name(const uint8_t *stored, int64_t count, int64_t shift, uint8_t *out) {          \
        moved_t *moved = (moved_t *)(void *)out;                                                  \
        for (int64_t i = 0; i < count; i++) {                                                     \
            stored_t offset;                                                                      \
            memcpy(&offset, stored + i * (int64_t)sizeof offset, sizeof offset);                  \
            moved[i] = (moved_t)((uint64_t)offset + (uint64_t)shift);                             \
        }                                                                                         \
        int descends = 0;                                                                         \
        for (int64_t i = 1; i < count; i++)                                                       \
            descends |= moved[i] < moved[i - 1];                                                  \
        return descends;                                                                          \
    }

MOVE_OFFSETS(move_4_to_4, uint32_t, int32_t)
MOVE_OFFSETS(move_4_to_8, uint32_t, int64_t)
MOVE_OFFSETS(move_8_to_8, uint64_t, int64_t)

typedef int (*move_t)(const uint8_t *, int64_t, int64_t, uint8_t *);

static const char *join_one(bytes_t chunk, int64_t count, int64_t width, move_t move,
                            int64_t filled, uint8_t *offsets, int64_t offset_width,
                            room_t *text) {
    int64_t head;
    const char *error = variable_head(chunk, count, width, &head);
    if (error)
        return error;
    const int descends = move(chunk.at, count + 1, filled - head, offsets);
    int32_t narrow[2] = {0, 0};
    int64_t first = 0, last = 0;
    if (offset_width == 4) {
        memcpy(&narrow[0], offsets, 4);
        memcpy(&narrow[1], offsets + 4 * count, 4);
        first = narrow[0];
        last = narrow[1];
    } else {
        memcpy(&first, offsets, 8);
        memcpy(&last, offsets + 8 * count, 8);
    }
    if (descends || first != filled || last < first || last - first > chunk.size - head)
        return "the offsets of a chunk do not ascend within it";
    if (last - first > text->size - filled)
        return "too little room for values";
    if (last > first)
        memcpy(text->at + filled, chunk.at + head, (size_t)(last - first));
    return NULL;
}

/* One more of the offsets, of 4 or 8 bytes each, than there are values in all. */
static const char *join_variable(chunks_t chunks, int64_t width, room_t text, room_t offsets,
                          int64_t offset_width) {
    if ((offset_width != 4 && offset_width != 8) || offset_width < width ||
        offsets.size < offset_width)
        return "offsets do not fit";
    if (offset_width == 4 && text.size > INT32_MAX)
        return "offsets of 4 bytes do not reach all values";
    const move_t move = offset_width == 4 ? move_4_to_4 : width == 4 ? move_4_to_8 : move_8_to_8;
    const int64_t most = offsets.size / offset_width - 1;
    int64_t value = 0, filled = 0;
    memset(offsets.at, 0, (size_t)offset_width);
    for (int64_t i = 0; i < chunks.number; i++) {
        const int64_t count = chunks.counts[i];
        bytes_t chunk;
        const char *error = chunk_at(chunks, i, &chunk);
        if (error)
            return error;
        if (count > most - value)
            return "chunks have more values than there is room for";
        uint8_t *here = offsets.at + value * offset_width;
        error = join_one(chunk, count, width, move, filled, here, offset_width, &text);
        if (error)
            return error;
        value += count;
        if (offset_width == 4) {
            int32_t end;
            memcpy(&end, offsets.at + 4 * value, 4);
            filled = end;
        } else {
            memcpy(&filled, offsets.at + 8 * value, 8);
        }
    }
    return value == most && filled == text.size ? NULL : "chunks are not as large as the room";
}

static const char *check_strings(strings_t strings) {
    if (strings.offsets[0] < 0 || strings.offsets[strings.count] > strings.text.size)
        return "strings are not within their bytes";
    int descends = 0;
    for (int64_t i = 0; i < strings.count; i++)
        descends |= strings.offsets[i + 1] < strings.offsets[i];
    return descends ? "the offsets of strings descend" : NULL;
}

/* Whether the offsets and bytes of so many strings are at most `limit`. */
static int fits(const int64_t *offsets, int64_t count, int64_t width, int64_t limit) {
    return offsets[count] - offsets[0] <= limit - (count + 1) * width;
}

/* How many of `left` strings, more than 0, the next chunk takes. */
static int64_t next_chunk(const int64_t *offsets, int64_t left, int64_t width, int64_t limit) {
    if (left <= 2 || (left < 2 * MOST_VALUES && fits(offsets, left, width, limit)))
        return left;
    int64_t size = 2;
    while (size < MOST_VALUES && 2 * size <= left && fits(offsets, 2 * size, width, limit))
        size *= 2;
    return size;
}

/* The strings are those of `columns` of equal length, and no chunk has strings of two of them. edges
 * has room for one more than strings, and for two; returns how many are used. */
static const char *variable_edges(strings_t strings, int64_t columns, int64_t width, int64_t limit,
                           int64_t *edges, int64_t *used) {
    const char *error = check_strings(strings);
    if (error)
        return error;
    if ((width != 4 && width != 8) || limit < 0 || strings.count > INT64_MAX / 16 - 2)
        return "chunks cannot be like that";
    if (columns < 1 || strings.count % columns)
        return "columns are not of equal length";
    int64_t start = 0, chunk = 0;
    edges[0] = 0;
    for (int64_t i = 1; i <= columns; i++) {
        const int64_t stop = strings.count / columns * i;
        while (start < stop) {
            start += next_chunk(strings.offsets + start, stop - start, width, limit);
            edges[++chunk] = start;
        }
    }
    if (strings.count == 0)
        edges[++chunk] = 0;
    *used = chunk;
    return NULL;
}

static void store_offsets(uint8_t *out, const int64_t *offsets, int64_t count, int64_t shift,
                          int64_t width) {
    if (width == 4)
        for (int64_t i = 0; i < count; i++) {
            const uint32_t moved = (uint32_t)(offsets[i] + shift);
            memcpy(out + 4 * i, &moved, 4);
        }
    else
        for (int64_t i = 0; i < count; i++) {
            const int64_t moved = offsets[i] + shift;
            memcpy(out + 8 * i, &moved, 8);
        }
}

static const char *split_variable(strings_t strings, const int64_t *edges, int64_t chunks, int64_t width,
                           room_t out) {
    const char *error = check_strings(strings);
    if (error)
        return error;
    if (width != 4 && width != 8)
        return "offsets are neither of 4 nor of 8 bytes";
    int64_t filled = 0;
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t start = edges[i], stop = edges[i + 1];
        if (start < 0 || stop < start || stop > strings.count)
            return "edges descend or are not within the strings";
        const int64_t first = strings.offsets[start], size = strings.offsets[stop] - first;
        const int64_t head = (stop - start + 1) * width, room = out.size - filled;
        if (width == 4 && size > UINT32_MAX - head)
            return "a chunk is too large for its offsets";
        const int64_t padding = (width - (head + size) % width) % width;
        if (size > room - head || padding > room - head - size)
            return "too little room for chunks";
        store_offsets(out.at + filled, strings.offsets + start, stop - start + 1, head - first,
                      width);
        if (size)
            memcpy(out.at + filled + head, strings.text.at + first, (size_t)size);
        memset(out.at + filled + head + size, PADDING, (size_t)padding);
        filled += head + size + padding;
    }
    return filled == out.size ? NULL : "too much room for chunks";
}

/* Where in the data of chunks single values are: of chunk[i] the one at position[i]. */
static const char *pick_spans(chunks_t chunks, int64_t width, const int64_t *chunk,
                       const int64_t *position, int64_t count, int64_t *starts, int64_t *stops) {
    int64_t head;
    for (int64_t i = 0; i < chunks.number; i++) {
        bytes_t data;
        const char *error = chunk_at(chunks, i, &data);
        if (!error)
            error = variable_head(data, chunks.counts[i], width, &head);
        if (error)
            return error;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = chunk[i], at = position[i];
        if (c < 0 || c >= chunks.number)
            return "a value of a chunk that is not there";
        if (at < 0 || at >= chunks.counts[c])
            return "a position is not among the values of its chunk";
        const uint8_t *stored = chunks.data.at + chunks.starts[c];
        const int64_t first = load_offset(stored, at, width);
        const int64_t last = load_offset(stored, at + 1, width);
        if (first < (chunks.counts[c] + 1) * width || last < first || last > chunks.sizes[c])
            return "the offsets of a chunk do not ascend within it";
        starts[i] = chunks.starts[c] + first;
        stops[i] = chunks.starts[c] + last;
    }
    return NULL;
}

/* Numbers of strings: unsigned, of `width` bytes, which are 1, 2, 4 or 8. */
typedef struct {
    const uint8_t *at;
    int64_t count;
    int64_t width;
} places_t;

INLINE uint64_t place_at(places_t places, int64_t i, int64_t width) {
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (width) {
    case 1:
        return places.at[i];
    case 2:
        memcpy(&two, places.at + 2 * i, 2);
        return two;
    case 4:
        memcpy(&four, places.at + 4 * i, 4);
        return four;
    default:
        memcpy(&eight, places.at + 8 * i, 8);
        return eight;
    }
}

/* The lowest and the highest of places, at least one. Compilers compare many of a type at once. */
#define RANGE_OF(name, place_t)                                                                   \
    static void name(places_t places, uint64_t *lowest, uint64_t *highest) {                      \
        const place_t *at = (const place_t *)(const void *)places.at;                             \
        place_t low = at[0], high = at[0];                                                        \
        for (int64_t i = 1; i < places.count; i++) {                                              \
            low = at[i] < low ? at[i] : low;                                                      \
            high = at[i] > high ? at[i] : high;                                                   \
        }                                                                                         \
        *lowest = low;                                                                            \
        *highest = high;                                                                          \
    }

RANGE_OF(range_of_1, uint8_t)
RANGE_OF(range_of_2, uint16_t)
RANGE_OF(range_of_4, uint32_t)
RANGE_OF(range_of_8, uint64_t)

static void range_of(places_t places, uint64_t *lowest, uint64_t *highest) {
    switch (places.width) {
    case 1:
        range_of_1(places, lowest, highest);
        break;
    case 2:
        range_of_2(places, lowest, highest);
        break;
    case 4:
        range_of_4(places, lowest, highest);
        break;
    default:
        range_of_8(places, lowest, highest);
    }
}

/* Checks all places, and the strings between the lowest and the highest one; sets the length of the
 * longest of these. */
static const char *check_places(strings_t strings, places_t places, int64_t *longest) {
    uint64_t first, last;
    *longest = 0;
    if (!places.count)
        return NULL;
    range_of(places, &first, &last);
    if (last >= (uint64_t)strings.count)
        return "a string that is not there";
    if (strings.offsets[first] < 0 || strings.offsets[last + 1] > strings.text.size)
        return "a string is not within the bytes of all";
    int descends = 0;
    for (uint64_t i = first; i <= last; i++) {
        const int64_t start = strings.offsets[i], stop = strings.offsets[i + 1];
        descends |= start > stop;
        /* Not a difference: that of numbers which are not checked yet may overflow. */
        if (stop > start && stop <= strings.text.size && start >= 0 && stop - start > *longest)
            *longest = stop - start;
    }
    return descends ? "the offsets of strings descend" : NULL;
}

INLINE int64_t sum_lengths(strings_t strings, places_t places, int64_t width) {
    int64_t sum = 0;
    for (int64_t i = 0; i < places.count; i++) {
        const uint64_t place = place_at(places, i, width);
        sum += strings.offsets[place + 1] - strings.offsets[place];
    }
    return sum;
}

/* Bytes of the strings at `places`. */
static const char *taken_total(strings_t strings, places_t places, int64_t *total) {
    int64_t longest;
    const char *error = check_places(strings, places, &longest);
    if (error)
        return error;
    if (strings.text.size && places.count > INT64_MAX / 4 / strings.text.size)
        return "more bytes than memory can hold";
    switch (places.width) { /* so that the compiler knows the width */
    case 1:
        *total = sum_lengths(strings, places, 1);
        break;
    case 2:
        *total = sum_lengths(strings, places, 2);
        break;
    case 4:
        *total = sum_lengths(strings, places, 4);
        break;
    default:
        *total = sum_lengths(strings, places, 8);
    }
    return NULL;
}

/* Strings of up to so many bytes are copied with what follows them, which is overwritten by the next
 * one: to copy a fixed number of bytes takes a fraction of the time of a call of memcpy. */
#define SHORT 64

/* Strings of so many bytes in all are copied before they are taken. */
#define FEW_BYTES 1024

/* Where taken strings go: the room for text is SHORT bytes more than they take. `narrow` or `wide` has
 * room for one more offset than strings, the other one is NULL. */
typedef struct {
    room_t text;
    int32_t *narrow;
    int64_t *wide;
} taken_t;

/* The places are checked, and no string is longer than `step`, the bytes to copy of each; 0: SHORT of
 * those that are not longer, and of the others as many as they have. */
INLINE const char *copy_taken(strings_t strings, places_t places, int64_t width, taken_t taken,
                              int64_t step) {
    const int64_t bytes = strings.text.size, room = taken.text.size - SHORT;
    const int64_t copied = step ? step : SHORT;
    /* Few strings as a whole, else the last ones: behind them there may be no bytes to read. */
    uint8_t copy[FEW_BYTES + SHORT];
    const int64_t edge = bytes > FEW_BYTES ? bytes - SHORT : 0;
    const int64_t left = edge ? bytes - copied : -1;
    memset(copy, 0, sizeof copy);
    if (bytes)
        memcpy(copy, strings.text.at + edge, (size_t)(bytes - edge));
    int64_t filled = 0;
    for (int64_t i = 0; i < places.count; i++) {
        const uint64_t place = place_at(places, i, width);
        const int64_t start = strings.offsets[place], size = strings.offsets[place + 1] - start;
        if (size > room - filled)
            return "too little room for strings";
        if (step || size <= SHORT) {
            const uint8_t *from = start > left ? copy + (start - edge) : strings.text.at + start;
            memcpy(taken.text.at + filled, from, (size_t)copied);
        } else {
            memcpy(taken.text.at + filled, strings.text.at + start, (size_t)size);
        }
        filled += size;
        if (taken.narrow)
            taken.narrow[i + 1] = (int32_t)filled;
        else
            taken.wide[i + 1] = filled;
    }
    return NULL;
}

/* So that the compiler knows how many bytes it copies. */
INLINE const char *copy_by_step(strings_t strings, places_t places, int64_t width, taken_t taken,
                                int64_t longest) {
    if (longest <= 16)
        return copy_taken(strings, places, width, taken, 16);
    if (longest <= 32)
        return copy_taken(strings, places, width, taken, 32);
    if (longest <= 48)
        return copy_taken(strings, places, width, taken, 48);
    if (longest <= SHORT)
        return copy_taken(strings, places, width, taken, SHORT);
    return copy_taken(strings, places, width, taken, 0);
}

/* The strings at `places`; their offsets have 4 or 8 bytes. */
static const char *take_strings(strings_t strings, places_t places, room_t text, room_t offsets,
                                int64_t offset_width) {
    const int is_narrow = offset_width == 4;
    const taken_t taken = {text, is_narrow ? (int32_t *)(void *)offsets.at : NULL,
                           is_narrow ? NULL : (int64_t *)(void *)offsets.at};
    memset(offsets.at, 0, (size_t)offset_width);
    if (is_narrow && text.size - SHORT > INT32_MAX)
        return "offsets of 4 bytes do not reach all values";
    int64_t longest;
    const char *error = check_places(strings, places, &longest);
    if (error)
        return error;
    switch (places.width) { /* so that the compiler knows the width */
    case 1:
        return copy_by_step(strings, places, 1, taken, longest);
    case 2:
        return copy_by_step(strings, places, 2, taken, longest);
    case 4:
        return copy_by_step(strings, places, 4, taken, longest);
    default:
        return copy_by_step(strings, places, 8, taken, longest);
    }
}

/* The spans ascend; text has room for the total, offsets for one more than spans. */
static const char *gather_variable(spans_t spans, room_t text, int64_t *offsets) {
    int64_t before = 0, filled = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < spans.count; i++) {
        const int64_t start = spans.starts[i], stop = spans.stops[i];
        if (start < before || stop < start || stop > spans.data.size)
            return "spans descend, overlap or are not within the bytes of all";
        if (stop - start > text.size - filled)
            return "too little room for spans";
        if (stop > start)
            memcpy(text.at + filled, spans.data.at + start, (size_t)(stop - start));
        filled += stop - start;
        offsets[i + 1] = filled;
        before = stop;
    }
    return NULL;
}

static const char *place_pieces(pieces_t pieces, int64_t align, int64_t fill, room_t out) {
    int64_t at = 0;
    if (align < 1 || align > 4096)
        return "pieces cannot be aligned";
    for (int64_t i = 0; i < pieces.count; i++) {
        const int64_t size = pieces.sizes[i], place = pieces.places[i];
        if (size < 0 || size > pieces.data.size - at)
            return "pieces are not within their bytes";
        if (place < 0 || place > out.size || size > out.size - place)
            return "too little room for pieces";
        const int64_t padding = (align - size % align) % align;
        if (padding > out.size - place - size)
            return "too little room for padding";
        if (size)
            memcpy(out.at + place, pieces.data.at + at, (size_t)size);
        memset(out.at + place + size, (int)(fill & 0xFF), (size_t)padding);
        at += size;
    }
    return at == pieces.data.size ? NULL : "pieces are not all of their bytes";
}

/* For Python. */

static PyObject *py_variable_total(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t width;
    chunks_t chunks;
    int64_t total = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*n", &b[0], &b[1], &b[2], &b[3], &width))
        return release(b, 4), NULL;
    if (!chunks_of(b, &chunks))
        return done(b, 4, MISMATCH, 0);
    WITHOUT_GIL(variable_total(chunks, width, &total))
    return done(b, 4, error, total);
}

static PyObject *py_join_variable(PyObject *module, PyObject *args) {
    Py_buffer b[6] = {0};
    Py_ssize_t width, offset_width;
    chunks_t chunks;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*nw*w*n", &b[0], &b[1], &b[2], &b[3], &width, &b[4], &b[5],
                          &offset_width))
        return release(b, 6), NULL;
    if (!chunks_of(b, &chunks) || (offset_width != 4 && offset_width != 8) ||
        !holds(&b[5], b[5].len / offset_width, offset_width))
        return done(b, 6, MISMATCH, 0);
    WITHOUT_GIL(join_variable(chunks, width, room_of(&b[4]), room_of(&b[5]), offset_width))
    return done(b, 6, error, 0);
}

/* Text and offsets, one more than strings. */
static int strings_of(const Py_buffer *b, strings_t *strings) {
    const int64_t count = b[1].len / 8 - 1;
    *strings = (strings_t){bytes_of(&b[0]), b[1].buf, count};
    return count >= 0 && holds(&b[1], count + 1, 8);
}

static PyObject *py_variable_edges(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t columns, width, limit;
    strings_t strings;
    int64_t used = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*nnnw*", &b[0], &b[1], &columns, &width, &limit, &b[2]))
        return release(b, 3), NULL;
    if (!strings_of(b, &strings) || !holds(&b[2], strings.count + 2, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(variable_edges(strings, columns, width, limit, b[2].buf, &used))
    return done(b, 3, error, used);
}

static PyObject *py_split_variable(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t width;
    strings_t strings;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nw*", &b[0], &b[1], &b[2], &width, &b[3]))
        return release(b, 4), NULL;
    const int64_t chunks = b[2].len / 8 - 1;
    if (!strings_of(b, &strings) || chunks < 0 || !holds(&b[2], chunks + 1, 8))
        return done(b, 4, MISMATCH, 0);
    WITHOUT_GIL(split_variable(strings, b[2].buf, chunks, width, room_of(&b[3])))
    return done(b, 4, error, 0);
}

static PyObject *py_pick_spans(PyObject *module, PyObject *args) {
    Py_buffer b[8] = {0};
    Py_ssize_t width;
    chunks_t chunks;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*ny*y*w*w*", &b[0], &b[1], &b[2], &b[3], &width, &b[4],
                          &b[5], &b[6], &b[7]))
        return release(b, 8), NULL;
    const int64_t count = b[4].len / 8;
    if (!chunks_of(b, &chunks) || !holds(&b[4], count, 8) || !holds(&b[5], count, 8) ||
        !holds(&b[6], count, 8) || !holds(&b[7], count, 8))
        return done(b, 8, MISMATCH, 0);
    WITHOUT_GIL(pick_spans(chunks, width, b[4].buf, b[5].buf, count, b[6].buf, b[7].buf))
    return done(b, 8, error, 0);
}

/* Places of `width` bytes; 0 if it is none of the widths, or the bytes are not whole places. */
static int places_of(const Py_buffer *buffer, Py_ssize_t width, places_t *places) {
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return 0;
    *places = (places_t){buffer->buf, buffer->len / width, width};
    return holds(buffer, places->count, width);
}

static PyObject *py_taken_total(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t width;
    strings_t strings;
    places_t places;
    int64_t total = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*n", &b[0], &b[1], &b[2], &width))
        return release(b, 3), NULL;
    if (!strings_of(b, &strings) || !places_of(&b[2], width, &places))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(taken_total(strings, places, &total))
    return done(b, 3, error, total);
}

static PyObject *py_take_strings(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    Py_ssize_t width, offset_width;
    strings_t strings;
    places_t places;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nw*w*n", &b[0], &b[1], &b[2], &width, &b[3], &b[4],
                          &offset_width))
        return release(b, 5), NULL;
    if (!strings_of(b, &strings) || !places_of(&b[2], width, &places) ||
        (offset_width != 4 && offset_width != 8) || !holds(&b[4], places.count + 1, offset_width) ||
        b[3].len < SHORT)
        return done(b, 5, MISMATCH, 0);
    WITHOUT_GIL(take_strings(strings, places, room_of(&b[3]), room_of(&b[4]), offset_width))
    return done(b, 5, error, 0);
}

static PyObject *py_gather_variable(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t count = b[1].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8) || !holds(&b[4], count + 1, 8))
        return done(b, 5, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(gather_variable((spans_t){bytes_of(&b[0]), b[1].buf, b[2].buf, count}, room_of(&b[3]),
                            b[4].buf))
    return done(b, 5, error, 0);
}

static PyObject *py_place_pieces(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t align, fill;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nnw*", &b[0], &b[1], &b[2], &align, &fill, &b[3]))
        return release(b, 4), NULL;
    const int64_t count = b[1].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8))
        return done(b, 4, MISMATCH, 0);
    const pieces_t pieces = {bytes_of(&b[0]), b[1].buf, b[2].buf, count};
    WITHOUT_GIL(place_pieces(pieces, align, fill, room_of(&b[3])))
    return done(b, 4, error, 0);
}

PyMethodDef variable_methods[] = {
    {"variable_total", py_variable_total, METH_VARARGS,
     "data, starts, sizes, counts, width; bytes of values"},
    {"join_variable", py_join_variable, METH_VARARGS,
     "data, starts, sizes, counts, width, text, offsets, offset_width"},
    {"variable_edges", py_variable_edges, METH_VARARGS,
     "text, offsets, columns, width, limit, edges; number of chunks"},
    {"split_variable", py_split_variable, METH_VARARGS, "text, offsets, edges, width, chunks"},
    {"pick_spans", py_pick_spans, METH_VARARGS,
     "data, starts, sizes, counts, width, chunk, position, starts, stops"},
    {"taken_total", py_taken_total, METH_VARARGS, "text, offsets, places, place_width; the sum of lengths"},
    {"take_strings", py_take_strings, METH_VARARGS, "text, offsets, places, place_width, text, offsets, offset_width"},
    {"gather_variable", py_gather_variable, METH_VARARGS, "data, starts, stops, text, offsets"},
    {"place_pieces", py_place_pieces, METH_VARARGS, "data, sizes, places, align, fill, out"},
    {NULL, NULL, 0, NULL},
};
