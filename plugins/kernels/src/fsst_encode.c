/* FSST encoding: the longest symbol at each place, segment by segment. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT 256
#define SLOT_BITS 12
#define NONE (-1)

/* The symbols, prepared for looking up the longest one that a text begins with. Of those of three
 * bytes or more, one for each hash of three bytes; of the others one for each pair and byte. */
typedef struct {
    uint64_t text[256];
    uint64_t mask[256];
    uint8_t length[256];
    int16_t slot[1 << SLOT_BITS];
    int16_t single[256];
    int16_t pair[1 << 16];
} matcher_t;

static size_t hash(uint64_t word) {
    return (size_t)(((word & 0xFFFFFF) * 0x9E3779B97F4A7C15u) >> (64 - SLOT_BITS));
}

static void prepare(matcher_t *matcher, symbols_t symbols) {
    memset(matcher->slot, 0xFF, sizeof matcher->slot);
    memset(matcher->single, 0xFF, sizeof matcher->single);
    /* Backwards: the better symbol of two in one place stays. */
    for (int64_t code = symbols.lengths.size - 1; code >= 0; code--) {
        const uint8_t length = symbols.lengths.at[code];
        uint64_t text;
        memcpy(&text, symbols.texts.at + 8 * code, 8);
        matcher->length[code] = length;
        matcher->mask[code] = UINT64_MAX >> (64 - 8 * length);
        matcher->text[code] = text & matcher->mask[code];
        if (length >= 3)
            matcher->slot[hash(text)] = (int16_t)code;
        else if (length == 1)
            matcher->single[text & 0xFF] = (int16_t)code;
    }
    for (size_t pair = 0; pair < 1 << 16; pair++)
        matcher->pair[pair] = matcher->single[pair & 0xFF];
    for (int64_t code = symbols.lengths.size - 1; code >= 0; code--)
        if (matcher->length[code] == 2)
            matcher->pair[matcher->text[code]] = (int16_t)code;
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

/* Writes the codes of `left` bytes, of which `known` can be read, and returns behind them. */
static uint8_t *encode_segment(const matcher_t *matcher, const uint8_t *text, int64_t left,
                               int64_t known, uint8_t *out) {
    while (left > 0) {
        uint64_t word = 0;
        if (known >= 8)
            memcpy(&word, text, 8);
        else
            memcpy(&word, text, (size_t)known);
        int16_t code = matcher->slot[hash(word)];
        if (code == NONE || (word & matcher->mask[code]) != matcher->text[code] ||
            matcher->length[code] > left)
            code = left > 1 ? matcher->pair[word & 0xFFFF] : matcher->single[word & 0xFF];
        int64_t length = 1;
        if (code == NONE) {
            *out++ = ESCAPE;
            *out++ = (uint8_t)word;
        } else {
            *out++ = (uint8_t)code;
            length = matcher->length[code];
        }
        text += length;
        left -= length;
        known -= length;
    }
    return out;
}

static const char *encode_all(const matcher_t *matcher, spans_t spans, room_t codes,
                              int64_t *code_offsets) {
    uint8_t *out = codes.at;
    code_offsets[0] = 0;
    for (int64_t i = 0; i < spans.count; i++) {
        const int64_t start = spans.starts[i], stop = spans.stops[i];
        if (start < 0 || stop < start || stop > spans.data.size)
            return "a string is not within the bytes of all";
        for (int64_t at = start; at < stop; at += SEGMENT) {
            const int64_t left = stop - at < SEGMENT ? stop - at : SEGMENT;
            if (codes.at + codes.size - out < 2 * left)
                return "too little room for FSST codes";
            out = encode_segment(matcher, spans.data.at + at, left, spans.data.size - at, out);
        }
        code_offsets[i + 1] = out - codes.at;
    }
    return NULL;
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
