/* FSST decoding: each code stands for up to 8 bytes, which are stored at once. */
#include "module.h"
#include "intrinsics.h"

#include <string.h>

/* The length of a symbol that there is not: longer than four that there are. */
#define MISSING 33

typedef struct {
    uint64_t text[256];
    uint8_t length[256]; /* or MISSING; 0 for an escape */
    int keeps_escapes;
} table_t;

const char *check_symbols(symbols_t symbols) {
    if (symbols.lengths.size > ESCAPE || symbols.texts.size != symbols.lengths.size * 8)
        return "too many FSST symbols, or not 8 bytes for each";
    for (int64_t i = 0; i < symbols.lengths.size; i++)
        if (symbols.lengths.at[i] < 1 || symbols.lengths.at[i] > 8)
            return "an FSST symbol is not 1 to 8 bytes long";
    return NULL;
}

static void fill(table_t *table, symbols_t symbols, int keeps_escapes) {
    memset(table->text, 0, sizeof table->text);
    memset(table->length, MISSING, sizeof table->length);
    for (int64_t i = 0; i < symbols.lengths.size; i++) {
        memcpy(&table->text[i], symbols.texts.at + 8 * i, 8);
        table->length[i] = symbols.lengths.at[i];
    }
    table->length[ESCAPE] = 0;
    table->keeps_escapes = keeps_escapes;
}

/* The sum of the length of each code. */
static uint64_t sum_any(bytes_t codes, const uint8_t *lengths) {
    uint64_t sums[4] = {0};
    int64_t at = 0;
    for (; at + 4 <= codes.size; at += 4) {
        sums[0] += lengths[codes.at[at]];
        sums[1] += lengths[codes.at[at + 1]];
        sums[2] += lengths[codes.at[at + 2]];
        sums[3] += lengths[codes.at[at + 3]];
    }
    for (; at < codes.size; at++)
        sums[0] += lengths[codes.at[at]];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

#ifdef WITH_AVX2
#define WITH_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

static inline int has_vbmi(void) {
    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw");
}

/* The same for 64 codes at a time: four registers have all lengths. */
WITH_VBMI static uint64_t sum_vbmi(bytes_t codes, const uint8_t *lengths) {
    const __m512i first = _mm512_loadu_si512(lengths), second = _mm512_loadu_si512(lengths + 64);
    const __m512i third = _mm512_loadu_si512(lengths + 128), last = _mm512_loadu_si512(lengths + 192);
    __m512i sums = _mm512_setzero_si512();
    int64_t at = 0;
    for (; at + 64 <= codes.size; at += 64) {
        const __m512i some = _mm512_loadu_si512(codes.at + at);
        const __m512i low = _mm512_permutex2var_epi8(first, some, second);
        const __m512i high = _mm512_permutex2var_epi8(third, some, last);
        const __m512i selected = _mm512_mask_blend_epi8(_mm512_movepi8_mask(some), low, high);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(selected, _mm512_setzero_si512()));
    }
    const bytes_t rest = {codes.at + at, codes.size - at};
    return (uint64_t)_mm512_reduce_add_epi64(sums) + sum_any(rest, lengths);
}
#else
static inline int has_vbmi(void) {
    return 0;
}
#define sum_vbmi sum_any
#endif

/* At least what the codes decode to, without ROOM. */
static const char *fsst_bound(bytes_t codes, symbols_t symbols, int keeps_escapes, int64_t *bound) {
    const char *error = check_symbols(symbols);
    if (error)
        return error;
    uint8_t lengths[256] = {0};
    if (symbols.lengths.size)
        memcpy(lengths, symbols.lengths.at, (size_t)symbols.lengths.size);
    /* A byte that is meant literally counts with its escape, and again like the code it is not. */
    lengths[ESCAPE] = keeps_escapes ? 2 : 1;
    *bound = (int64_t)(has_vbmi() ? sum_vbmi : sum_any)(codes, lengths);
    return NULL;
}

/* Which of four codes, the first in the lowest byte, are escapes: the highest bit of each byte. */
static uint32_t escapes(uint32_t four) {
    const uint32_t inverted = ~four; /* a zero byte where there was an escape */
    return (inverted - 0x01010101u) & ~inverted & 0x80808080u;
}

/* Decodes four codes, none of them an escape; at least MISSING if one has no symbol. What the others
 * stand for is written, too, and overwritten by what comes next. */
static inline size_t decode_four(const table_t *table, uint32_t four, uint8_t *out) {
    const uint32_t one = four & 0xFF, two = four >> 8 & 0xFF, three = four >> 16 & 0xFF;
    const size_t a = table->length[one], b = table->length[two];
    const size_t c = table->length[three], d = table->length[four >> 24];
    memcpy(out, &table->text[one], 8);
    memcpy(out + a, &table->text[two], 8);
    memcpy(out + a + b, &table->text[three], 8);
    memcpy(out + a + b + c, &table->text[four >> 24], 8);
    return a + b + c + d;
}

/* Decodes `count` codes one by one; `literal`: whether the first follows an escape, and afterwards
 * whether the next would. 0 if a code has no symbol. */
static int decode_some(const table_t *table, const uint8_t *codes, int64_t count, uint8_t **out,
                       uint32_t *literal) {
    for (int64_t i = 0; i < count; i++) {
        const uint8_t code = codes[i];
        if (*literal) {
            *(*out)++ = code;
            *literal = 0;
        } else if (code == ESCAPE) {
            *literal = 1;
            if (table->keeps_escapes)
                *(*out)++ = ESCAPE;
        } else if (table->length[code] == MISSING) {
            return 0;
        } else {
            memcpy(*out, &table->text[code], 8);
            *out += table->length[code];
        }
    }
    return 1;
}

/* The ends of strings are few among the codes, so all codes of a block are decoded in groups of four
 * as if they were one string, and the ends are found afterwards from marks: the bytes of text before
 * each group, with flags. */
#define BLOCK 4096
#define GROUPS (BLOCK / 4)
#define LINE 64
#define SLOW 0x80000000u    /* the group has an escape, starts within one, or has fewer codes, or none */
#define LITERAL 0x40000000u /* the group starts within an escape */

/* Decodes 1 to BLOCK codes. `literal` is that of decode_some. */
static const char *decode_block(const table_t *table, const uint8_t *codes, int64_t count,
                                uint8_t **text, const uint8_t *limit, uint32_t *literal,
                                uint32_t *marks) {
    uint8_t *out = *text;
    int64_t at = 0;
    for (; at < count; at += 4) {
        if (limit - out < ROOM)
            return "FSST codes decode to more than there is room for";
        uint32_t mark = (uint32_t)(out - *text), four = UINT32_MAX;
        if (count - at >= 4)
            memcpy(&four, codes + at, 4);
        if (!*literal && !escapes(four)) {
            const size_t length = decode_four(table, four, out);
            if (length >= MISSING)
                return "an FSST code has no symbol";
            out += length;
        } else {
            mark |= *literal ? SLOW | LITERAL : SLOW;
            if (!decode_some(table, codes + at, count - at < 4 ? count - at : 4, &out, literal))
                return "an FSST code has no symbol";
        }
        marks[at / 4] = mark;
    }
    marks[at / 4] = (uint32_t)(out - *text) | SLOW | (*literal ? LITERAL : 0);
    *text = out;
    return NULL;
}

/* The bytes of text before code `at` of a block; negative within an escape. */
static inline int64_t decoded_before(const table_t *table, const uint8_t *codes, int64_t at,
                                     const uint32_t *marks) {
    const uint32_t mark = marks[at / 4];
    const int64_t before = mark & ~(SLOW | LITERAL), first = at & ~(int64_t)3;
    if (__builtin_expect(!(mark & SLOW), 1)) {
        /* Escapes, whose length is 0, take the place of the codes from `at` on. */
        uint32_t four;
        memcpy(&four, codes + first, 4);
        four |= UINT32_MAX << 8 * (at - first);
        return before + table->length[four & 0xFF] + table->length[four >> 8 & 0xFF] +
               table->length[four >> 16 & 0xFF];
    }
    uint8_t unused[4 * 8 + 8], *out = unused;
    uint32_t literal = mark & LITERAL;
    (void)decode_some(table, codes + first, at - first, &out, &literal);
    return literal ? -1 : before + (out - unused);
}

/* Text that does not fit into the cache is decoded here, block by block, and streamed from here: else
 * each line of it is read before it is overwritten. */
typedef struct {
    uint8_t text[LINE + BLOCK * 8 + ROOM];
    int64_t partial; /* bytes at the start, of the line that comes next */
} stage_t;

/* What has been decoded, and where the strings end: offsets of 4 or of 8 bytes, one is NULL. A bit of
 * `seen` is set if it is in any byte of the text. `stage` may be NULL. */
typedef struct {
    room_t text;
    int64_t filled;
    stage_t *stage;
    uint8_t seen;
    int32_t *narrow;
    int64_t *wide;
} decoded_t;

/* The bits that are set in any of some bytes. */
static uint8_t bits_of(const uint8_t *bytes, int64_t size) {
    uint64_t seen[8] = {0};
    int64_t at = 0;
    for (; at + 64 <= size; at += 64)
        for (int i = 0; i < 8; i++) {
            uint64_t some;
            memcpy(&some, bytes + at + 8 * i, 8);
            seen[i] |= some;
        }
    for (int i = 1; i < 8; i++)
        seen[0] |= seen[i];
    uint8_t combined = 0;
    for (int i = 0; i < 8; i++)
        combined |= (uint8_t)(seen[0] >> 8 * i);
    for (; at < size; at++)
        combined |= bytes[at];
    return combined;
}

#ifdef WITH_AVX2
/* Whole lines, past the caches. */
WITH_AVX2 static void stream_lines(uint8_t *out, const uint8_t *lines, int64_t size) {
    for (int64_t at = 0; at < size; at += 32)
        _mm256_stream_si256((__m256i *)(void *)(out + at),
                            _mm256_loadu_si256((const __m256i *)(const void *)(lines + at)));
}
#else
#define stream_lines memcpy
#endif

/* Whether text for this room is to be streamed. */
static int may_stream(room_t text) {
    return has_avx2() && text.size > CACHE && (uintptr_t)text.at % LINE == 0;
}

/* Takes on the line that the text so far ends in. */
static void open_line(decoded_t *decoded) {
    stage_t *stage = decoded->stage;
    stage->partial = decoded->filled % LINE;
    memcpy(stage->text, decoded->text.at + decoded->filled - stage->partial, (size_t)stage->partial);
}

/* Writes what there is of the last line. */
static void close_line(decoded_t *decoded) {
    stage_t *stage = decoded->stage;
    memcpy(decoded->text.at + decoded->filled - stage->partial, stage->text, (size_t)stage->partial);
}

/* Streams `size` more bytes of text, which have been decoded. */
static void stream(decoded_t *decoded, int64_t size) {
    stage_t *stage = decoded->stage;
    const int64_t all = stage->partial + size, whole = all / LINE * LINE;
    stream_lines(decoded->text.at + decoded->filled - stage->partial, stage->text, whole);
    if (whole)
        memcpy(stage->text, stage->text + whole, (size_t)(all - whole));
    stage->partial = all - whole;
}

static inline void set_end(decoded_t *decoded, int64_t value, int64_t end) {
    if (decoded->narrow)
        decoded->narrow[value + 1] = (int32_t)end;
    else
        decoded->wide[value + 1] = end;
}

#define OFFSETS "offsets of strings descend or are not within the codes"

/* A block of `size` decoded codes, which starts at code `begin` and at byte `base` of the text. */
typedef struct {
    const table_t *table;
    const uint8_t *codes;
    const uint32_t *marks;
    int64_t begin;
    int64_t size;
    int64_t base;
} block_t;

/* Sets the ends of strings that are within a block, from `*string` on; `before` is where that starts,
 * `last` where all strings end. */
INLINE const char *set_ends(block_t block, const uint8_t *offsets, int64_t width, int64_t count,
                            int64_t last, int64_t *before, int64_t *string, decoded_t *decoded,
                            int64_t value) {
    const int64_t until = block.begin + block.size;
    int64_t previous = *before, i = *string;
    for (; i < count; i++) {
        const int64_t stop = load_offset(offsets, i + 1, width);
        if (stop < previous || stop > last)
            return OFFSETS;
        if (stop > until)
            break;
        const int64_t end = decoded_before(block.table, block.codes, stop - block.begin, block.marks);
        if (end < 0)
            return "a string ends within an FSST escape";
        set_end(decoded, value + i, block.base + end);
        previous = stop;
    }
    *before = previous;
    *string = i;
    return NULL;
}

/* The strings between count + 1 `offsets` of `width` bytes, which count from the start of `codes`;
 * `value` is the number of the first one. */
static const char *decode_strings(const table_t *table, bytes_t codes, const uint8_t *offsets,
                                  int64_t width, int64_t count, decoded_t *decoded, int64_t value) {
    const int64_t first = load_offset(offsets, 0, width), last = load_offset(offsets, count, width);
    if (first < 0 || last < first || last > codes.size)
        return OFFSETS;
    stage_t *stage = decoded->stage;
    uint32_t marks[GROUPS + 1], literal = 0;
    int64_t string = 0, before = first;
    for (int64_t begin = first; string < count; begin += BLOCK) {
        const int64_t size = last - begin < BLOCK ? last - begin : BLOCK;
        const block_t block = {table, codes.at + begin, marks, begin, size, decoded->filled};
        const int64_t left = decoded->text.size - decoded->filled;
        uint8_t *start = stage ? stage->text + stage->partial : decoded->text.at + decoded->filled;
        const uint8_t *limit = start + (!stage || left < BLOCK * 8 + ROOM ? left : BLOCK * 8 + ROOM);
        uint8_t *out = start;
        const char *error = decode_block(table, block.codes, size, &out, limit, &literal, marks);
        if (error)
            return error;
        const int64_t more = out - start;
        decoded->seen |= bits_of(start, more);
        if (stage)
            stream(decoded, more);
        decoded->filled += more;
        /* Twice, so that the compiler knows the width. */
        error = width == 4 ? set_ends(block, offsets, 4, count, last, &before, &string, decoded, value)
                           : set_ends(block, offsets, 8, count, last, &before, &string, decoded, value);
        if (error)
            return error;
    }
    return NULL;
}

/* The same strings if they are stored as they are. */
static const char *copy_strings(bytes_t stored, const uint8_t *offsets, int64_t width, int64_t count,
                                decoded_t *decoded, int64_t value) {
    const int64_t first = load_offset(offsets, 0, width), last = load_offset(offsets, count, width);
    if (first < 0 || last < first || last > stored.size)
        return OFFSETS;
    if (last - first > decoded->text.size - decoded->filled)
        return "strings are longer than there is room for";
    int64_t before = first;
    for (int64_t i = 0; i < count; i++) {
        const int64_t stop = load_offset(offsets, i + 1, width);
        if (stop < before || stop > last)
            return OFFSETS;
        set_end(decoded, value + i, decoded->filled + stop - first);
        before = stop;
    }
    if (decoded->stage)
        close_line(decoded);
    if (last > first)
        memcpy(decoded->text.at + decoded->filled, stored.at + first, (size_t)(last - first));
    decoded->seen |= bits_of(stored.at + first, last - first);
    decoded->filled += last - first;
    if (decoded->stage)
        open_line(decoded);
    return NULL;
}

/* count + 1 offsets. */
static const char *fsst_decode(bytes_t codes, const int64_t *offsets, int64_t count, symbols_t symbols,
                        room_t text, int64_t *text_offsets) {
    const char *error = check_symbols(symbols);
    if (error)
        return error;
    table_t table;
    fill(&table, symbols, 0);
    decoded_t decoded = {text, 0, NULL, 0, NULL, text_offsets};
    text_offsets[0] = 0;
    return decode_strings(&table, codes, (const uint8_t *)offsets, 8, count, &decoded, 0);
}

/* The symbols of several tables, one after the other: table t has sizes[t] of them, or -1 if strings
 * are stored as they are, and decodes the chunks from edges[t] to edges[t + 1]. With `keeps_escapes`,
 * the codes that follow escapes stay behind them. */
typedef struct {
    symbols_t symbols;
    const int64_t *sizes;
    const int64_t *edges;
    int64_t count;
    int keeps_escapes;
} tables_t;

/* The symbols of table t, which start at `first`; moves `first` to those of the next table. */
static const char *table_at(tables_t tables, int64_t t, chunks_t chunks, int64_t *first,
                            symbols_t *symbols) {
    const int64_t size = tables.sizes[t] < 0 ? 0 : tables.sizes[t];
    const int64_t start = tables.edges[t], stop = tables.edges[t + 1];
    if (start < 0 || stop < start || stop > chunks.number)
        return "edges of FSST tables descend or are not within the chunks";
    if (size > ESCAPE || size > tables.symbols.lengths.size - *first ||
        size > tables.symbols.texts.size / 8 - *first)
        return "too many FSST symbols, or not 8 bytes for each";
    symbols->texts = (bytes_t){tables.symbols.texts.at + 8 * *first, 8 * size};
    symbols->lengths = (bytes_t){tables.symbols.lengths.at + *first, size};
    *first += size;
    return check_symbols(*symbols);
}

/* Chunks as variable_total knows them. */
static const char *fsst_chunks_bound(chunks_t chunks, int64_t width, tables_t tables, int64_t *bound) {
    int64_t sum = 0, first = 0;
    const char *error = NULL;
    for (int64_t t = 0; t < tables.count && !error; t++) {
        symbols_t symbols;
        error = table_at(tables, t, chunks, &first, &symbols);
        for (int64_t i = tables.edges[t]; !error && i < tables.edges[t + 1]; i++) {
            int64_t head, here = 0;
            bytes_t chunk;
            error = chunk_at(chunks, i, &chunk);
            if (!error)
                error = variable_head(chunk, chunks.counts[i], width, &head);
            if (!error && tables.sizes[t] < 0)
                here = chunk.size - head;
            else if (!error)
                error = fsst_bound((bytes_t){chunk.at + head, chunk.size - head}, symbols,
                                   tables.keeps_escapes, &here);
            if (!error && here > INT64_MAX / 4 - sum)
                error = "more bytes than memory can hold";
            sum += error ? 0 : here;
        }
    }
    *bound = sum;
    return error;
}

/* The strings of one chunk, which are those from `value` on; without a table they are stored as they
 * are. */
static const char *decode_chunk(const table_t *table, bytes_t chunk, int64_t count, int64_t width,
                                decoded_t *decoded, int64_t value) {
    int64_t head;
    const char *error = variable_head(chunk, count, width, &head);
    if (error)
        return error;
    if (load_offset(chunk.at, 0, width) != head)
        return "the offsets of a chunk do not ascend within it";
    return table ? decode_strings(table, chunk, chunk.at, width, count, decoded, value)
                 : copy_strings(chunk, chunk.at, width, count, decoded, value);
}

/* The strings of the chunks from `start` to `stop`, `value` counts those before; `count` of all. */
static const char *decode_chunks(const table_t *table, chunks_t chunks, int64_t start, int64_t stop,
                                 int64_t width, decoded_t *decoded, int64_t count, int64_t *value) {
    for (int64_t i = start; i < stop; i++) {
        bytes_t chunk;
        const char *error = chunk_at(chunks, i, &chunk);
        if (!error && chunks.counts[i] > count - *value)
            error = "chunks have more values than there is room for";
        if (!error)
            error = decode_chunk(table, chunk, chunks.counts[i], width, decoded, *value);
        if (error)
            return error;
        *value += chunks.counts[i];
    }
    return NULL;
}

/* One more of the offsets, of 4 or 8 bytes each, than values of all chunks. `is_ascii`: whether all of
 * the text is, which costs little while it is in the cache. */
static const char *fsst_decode_chunks(chunks_t chunks, int64_t width, tables_t tables, room_t text,
                                      room_t offsets, int64_t offset_width, int64_t *size,
                                      int *is_ascii) {
    if ((offset_width != 4 && offset_width != 8) || offsets.size < offset_width)
        return "offsets do not fit";
    if (offset_width == 4 && text.size > INT32_MAX)
        return "offsets of 4 bytes do not reach all values";
    if (tables.edges[0] != 0 || tables.edges[tables.count] != chunks.number)
        return "FSST tables are not for all chunks";
    const int64_t count = offsets.size / offset_width - 1;
    stage_t stage = {.partial = 0};
    decoded_t decoded = {text, 0, may_stream(text) ? &stage : NULL, 0, NULL, NULL};
    if (offset_width == 4)
        decoded.narrow = (int32_t *)(void *)offsets.at;
    else
        decoded.wide = (int64_t *)(void *)offsets.at;
    memset(offsets.at, 0, (size_t)offset_width);
    int64_t value = 0, first = 0;
    for (int64_t t = 0; t < tables.count; t++) {
        symbols_t symbols;
        table_t table;
        const char *error = table_at(tables, t, chunks, &first, &symbols);
        if (error)
            return error;
        const int64_t start = tables.edges[t], stop = tables.edges[t + 1];
        const int is_coded = tables.sizes[t] >= 0;
        if (is_coded && start < stop)
            fill(&table, symbols, tables.keeps_escapes);
        error = decode_chunks(is_coded ? &table : NULL, chunks, start, stop, width, &decoded, count,
                              &value);
        if (error)
            return error;
    }
    if (decoded.stage) {
        close_line(&decoded);
        end_streaming();
    }
    *size = decoded.filled;
    *is_ascii = decoded.seen < 0x80;
    return value == count ? NULL : "chunks have fewer values than there is room for";
}

/* For Python. */

static PyObject *py_fsst_bound(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    int64_t bound = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const char *error;
    WITHOUT_GIL(fsst_bound(bytes_of(&b[0]), symbols_of(&b[1], &b[2]), 0, &bound))
    return done(b, 3, error, bound);
}

static PyObject *py_fsst_decode(PyObject *module, PyObject *args) {
    Py_buffer b[6] = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]))
        return release(b, 6), NULL;
    const int64_t count = b[1].len / 8 - 1;
    if (count < 0 || !holds(&b[1], count + 1, 8) || !holds(&b[5], count + 1, 8))
        return done(b, 6, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(fsst_decode(bytes_of(&b[0]), b[1].buf, count, symbols_of(&b[2], &b[3]), room_of(&b[4]),
                        b[5].buf))
    return done(b, 6, error, error ? 0 : ((const int64_t *)b[5].buf)[count]);
}

/* Symbols, lengths, sizes and edges of tables; 0 if they do not belong together. */
static int tables_of(const Py_buffer *b, int keeps_escapes, tables_t *tables) {
    const int64_t count = b[2].len / 8;
    *tables = (tables_t){symbols_of(&b[0], &b[1]), b[2].buf, b[3].buf, count, keeps_escapes};
    return holds(&b[2], count, 8) && holds(&b[3], count + 1, 8);
}

static PyObject *py_fsst_chunks_bound(PyObject *module, PyObject *args) {
    Py_buffer b[8] = {0};
    Py_ssize_t width;
    int keeps_escapes;
    chunks_t chunks;
    tables_t tables;
    int64_t bound = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*ny*y*y*y*p", &b[0], &b[1], &b[2], &b[3], &width, &b[4],
                          &b[5], &b[6], &b[7], &keeps_escapes))
        return release(b, 8), NULL;
    if (!chunks_of(b, &chunks) || !tables_of(b + 4, keeps_escapes, &tables))
        return done(b, 8, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(fsst_chunks_bound(chunks, width, tables, &bound))
    return done(b, 8, error, bound);
}

static PyObject *py_fsst_decode_chunks(PyObject *module, PyObject *args) {
    Py_buffer b[10] = {0};
    Py_ssize_t width, offset_width;
    int keeps_escapes;
    chunks_t chunks;
    tables_t tables;
    int64_t size = 0;
    int is_ascii = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*ny*y*y*y*pw*w*n", &b[0], &b[1], &b[2], &b[3], &width, &b[4],
                          &b[5], &b[6], &b[7], &keeps_escapes, &b[8], &b[9], &offset_width))
        return release(b, 10), NULL;
    if (!chunks_of(b, &chunks) || !tables_of(b + 4, keeps_escapes, &tables) ||
        (offset_width != 4 && offset_width != 8) ||
        !holds(&b[9], b[9].len / offset_width, offset_width))
        return done(b, 10, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(fsst_decode_chunks(chunks, width, tables, room_of(&b[8]), room_of(&b[9]),
                                   offset_width, &size, &is_ascii))
    if (error)
        return done(b, 10, error, 0);
    release(b, 10);
    return Py_BuildValue("(LO)", (long long)size, is_ascii ? Py_True : Py_False);
}

PyMethodDef fsst_decode_methods[] = {
    {"fsst_bound", py_fsst_bound, METH_VARARGS, "codes, symbols, lengths; most bytes decoded"},
    {"fsst_decode", py_fsst_decode, METH_VARARGS,
     "codes, offsets, symbols, lengths, text, text_offsets; bytes decoded"},
    {"fsst_chunks_bound", py_fsst_chunks_bound, METH_VARARGS,
     "data, starts, sizes, counts, width, symbols, lengths, table_sizes, edges, "
     "keeps_escapes; most bytes decoded"},
    {"fsst_decode_chunks", py_fsst_decode_chunks, METH_VARARGS,
     "data, starts, sizes, counts, width, symbols, lengths, table_sizes, edges, "
     "keeps_escapes, text, offsets, offset_width; bytes decoded, and whether all are ASCII"},
    {NULL, NULL, 0, NULL},
};
