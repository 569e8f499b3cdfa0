/* FSST encoding: the longest symbol at each place, segment by segment. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT 256
#define SLOT_BITS 12
#define GROUP 4 /* segments that are encoded together */

/* A code, and from bit 8 on how many bytes it covers: at least one, so that nothing is 0. */
typedef uint16_t step_t;

/* A byte that is meant literally: no step has this code. */
#define LITERAL (step_t)(1 << 8 | ESCAPE)

/* The symbols, prepared for looking up the longest one that a text begins with. Of those of three
 * bytes or more, one for each hash of three bytes; of the others one for each pair and byte. */
typedef struct {
    uint64_t text[256]; /* of an unused code: what no masked text equals */
    uint64_t mask[256];
    uint16_t slot[1 << SLOT_BITS]; /* steps; of an unused code where there is none */
    step_t single[256];
    step_t pair[1 << 16];
} matcher_t;

static size_t hash(uint64_t word) {
    return (size_t)(((word & 0xFFFFFF) * 0x9E3779B97F4A7C15u) >> (64 - SLOT_BITS));
}

static void prepare(matcher_t *matcher, symbols_t symbols) {
    memset(matcher, 0, sizeof *matcher);
    for (size_t slot = 0; slot < 1 << SLOT_BITS; slot++)
        matcher->slot[slot] = LITERAL;
    for (size_t byte = 0; byte < 256; byte++)
        matcher->single[byte] = LITERAL;
    matcher->text[ESCAPE] = 1; /* with a mask of 0 */
    /* Backwards: the better symbol of two in one place stays. */
    for (int64_t code = symbols.lengths.size - 1; code >= 0; code--) {
        const unsigned length = symbols.lengths.at[code];
        const step_t step = (step_t)(length << 8 | (unsigned)code);
        uint64_t text;
        memcpy(&text, symbols.texts.at + 8 * code, 8);
        matcher->mask[code] = UINT64_MAX >> (64 - 8 * length);
        matcher->text[code] = text & matcher->mask[code];
        if (length >= 3)
            matcher->slot[hash(text)] = step;
        else if (length == 1)
            matcher->single[text & 0xFF] = step;
    }
    for (size_t pair = 0; pair < 1 << 16; pair++)
        matcher->pair[pair] = matcher->single[pair & 0xFF];
    for (int64_t code = symbols.lengths.size - 1; code >= 0; code--)
        if (symbols.lengths.at[code] == 2)
            matcher->pair[matcher->text[code]] = (step_t)(2 << 8 | code);
}

const char *spans_total(spans_t spans, int64_t *total) {
    int64_t sum = 0;
    for (int64_t i = 0; i < spans.count; i++) {
        const int64_t start = spans.starts[i], stop = spans.stops[i];
        if (start < 0 || stop < start || stop > spans.data.size)
            return "a string is not within the bytes of all";
        if (stop - start > INT64_MAX / 4 - sum)
            return "more bytes than memory can hold";
        sum += stop - start;
    }
    *total = sum;
    return NULL;
}

/* The step at a text of which `left` bytes belong to the segment; `word` starts with it. */
static inline step_t longest(const matcher_t *matcher, uint64_t word, int64_t left) {
    const step_t small = left > 1 ? matcher->pair[word & 0xFFFF] : matcher->single[word & 0xFF];
    const step_t large = matcher->slot[hash(word)];
    const uint64_t differs = (word & matcher->mask[large & 0xFF]) ^ matcher->text[large & 0xFF];
    /* Both are looked up, and one is taken without a branch: which one cannot be predicted. */
    const unsigned fits = (differs == 0) & ((large >> 8) <= left);
    return (step_t)(small ^ ((small ^ large) & (0u - fits)));
}

/* A segment that is being encoded: `left` of its bytes are, and `known` can be read. */
typedef struct {
    const uint8_t *text;
    int64_t left;
    int64_t known;
    int64_t string; /* which one it belongs to */
    int64_t size;   /* of the codes so far */
    uint8_t codes[2 * SEGMENT];
} segment_t;

static inline void advance(const matcher_t *matcher, segment_t *segment) {
    uint64_t word = 0;
    if (segment->known >= 8)
        memcpy(&word, segment->text, 8);
    else
        memcpy(&word, segment->text, (size_t)segment->known);
    const step_t step = longest(matcher, word, segment->left);
    const int64_t length = step >> 8;
    segment->codes[segment->size++] = (uint8_t)step;
    if ((step & 0xFF) == ESCAPE)
        segment->codes[segment->size++] = (uint8_t)word;
    segment->text += length;
    segment->left -= length;
    segment->known -= length;
}

/* Several segments advance together: the next look-up of one has to wait for the one before it, but
 * not for those of the others. */
static void encode_group(const matcher_t *matcher, segment_t *group, int count) {
    if (count == GROUP)
        while (group[0].left > 0 && group[1].left > 0 && group[2].left > 0 && group[3].left > 0)
            for (int i = 0; i < GROUP; i++)
                advance(matcher, &group[i]);
    for (int i = 0; i < count; i++)
        while (group[i].left > 0)
            advance(matcher, &group[i]);
}

/* Where codes go to, and how many bytes are there already. */
typedef struct {
    room_t codes;
    int64_t filled;
    int64_t *sizes; /* of each string */
} output_t;

static const char *finish(const matcher_t *matcher, segment_t *group, int count,
                          output_t *output) {
    encode_group(matcher, group, count);
    for (int i = 0; i < count; i++) {
        if (group[i].size > output->codes.size - output->filled)
            return "too little room for FSST codes";
        memcpy(output->codes.at + output->filled, group[i].codes, (size_t)group[i].size);
        output->filled += group[i].size;
        output->sizes[group[i].string] += group[i].size;
    }
    return NULL;
}

static const char *encode_all(const matcher_t *matcher, spans_t spans, room_t codes,
                              int64_t *code_offsets) {
    segment_t group[GROUP];
    int waiting = 0;
    output_t output = {codes, 0, code_offsets + 1};
    const char *error = NULL;
    memset(code_offsets, 0, (size_t)(spans.count + 1) * sizeof *code_offsets);
    for (int64_t i = 0; i < spans.count && !error; i++) {
        const int64_t start = spans.starts[i], stop = spans.stops[i];
        if (start < 0 || stop < start || stop > spans.data.size)
            return "a string is not within the bytes of all";
        for (int64_t at = start; at < stop && !error; at += SEGMENT) {
            segment_t *segment = &group[waiting++];
            segment->text = spans.data.at + at;
            segment->left = stop - at < SEGMENT ? stop - at : SEGMENT;
            segment->known = spans.data.size - at;
            segment->string = i;
            segment->size = 0;
            if (waiting == GROUP) {
                error = finish(matcher, group, waiting, &output);
                waiting = 0;
            }
        }
    }
    if (!error)
        error = finish(matcher, group, waiting, &output);
    for (int64_t i = 0; i < spans.count; i++)
        code_offsets[i + 1] += code_offsets[i];
    return error;
}

const char *fsst_encode(spans_t spans, symbols_t symbols, room_t codes, int64_t *code_offsets) {
    const char *error = check_symbols(symbols);
    if (error)
        return error;
    matcher_t *matcher = malloc(sizeof *matcher);
    if (!matcher)
        return "no memory for FSST symbols";
    prepare(matcher, symbols);
    error = encode_all(matcher, spans, codes, code_offsets);
    free(matcher);
    return error;
}
