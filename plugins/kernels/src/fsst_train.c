/* Finding FSST symbols: what occurs often in a sample, and pairs of neighbours, joined. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 5
#define MOST_SYMBOLS 255
#define MOST_SAMPLE (1 << 24)
#define PREFIX_SLOTS 1024

/* A text of 1 to 8 bytes, the first byte highest; length 0: a free slot. */
typedef struct {
    uint64_t text;
    int64_t gain;
    uint8_t length;
} candidate_t;

/* Candidates by open addressing; `mask` + 1 slots, a power of two. */
typedef struct {
    candidate_t *slots;
    size_t mask;
} gains_t;

static candidate_t *find(gains_t gains, uint64_t text, uint8_t length) {
    uint64_t mixed = (text ^ length) * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(mixed ^ mixed >> 29) & gains.mask;
    while (gains.slots[at].length &&
           (gains.slots[at].length != length || gains.slots[at].text != text))
        at = (at + 1) & gains.mask;
    return &gains.slots[at];
}

static void gain(gains_t gains, uint64_t text, uint8_t length) {
    candidate_t *candidate = find(gains, text, length);
    candidate->text = text;
    candidate->length = length;
    candidate->gain += length;
}

/* Cut a text into symbols and add to each, and to each pair, the bytes that it covers. */
static void count_text(const uint8_t *text, int64_t size, gains_t symbols, gains_t gains) {
    uint64_t before = 0;
    uint8_t before_length = 0;
    for (int64_t at = 0; at < size;) {
        uint8_t length = (uint8_t)(size - at < 8 ? size - at : 8);
        uint64_t found = 0;
        for (uint8_t i = 0; i < length; i++)
            found |= (uint64_t)text[at + i] << (56 - 8 * i);
        while (length > 1 && !find(symbols, found, length)->length) {
            length--;
            found &= UINT64_MAX << (64 - 8 * length);
        }
        gain(gains, found, length);
        if (before_length && before_length + length <= 8)
            gain(gains, before | found >> 8 * before_length, (uint8_t)(before_length + length));
        before = found;
        before_length = length;
        at += length;
    }
}

/* The heaviest come first; what weighs the same, in the order of the texts. */
static int precedes(const candidate_t *a, const candidate_t *b) {
    if (a->gain != b->gain)
        return a->gain > b->gain;
    if (a->text != b->text)
        return a->text < b->text;
    return a->length < b->length;
}

/* Restores a heap, the first on top, of which only the element `at` may be out of place. */
static void sink(candidate_t *heap, size_t count, size_t at) {
    const candidate_t moving = heap[at];
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && precedes(&heap[child + 1], &heap[child]))
            child++;
        if (precedes(&moving, &heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

/* Whether three bytes are new; they are remembered. */
static int is_new(uint32_t *prefixes, uint32_t prefix) {
    size_t at = (prefix * 0x9E3779B1u) >> 22;
    while (prefixes[at] && prefixes[at] != prefix + 1)
        at = (at + 1) & (PREFIX_SLOTS - 1);
    if (prefixes[at])
        return 0;
    prefixes[at] = prefix + 1;
    return 1;
}

/* Moves the candidates that gain most to `best` and empties the slots; returns how many. */
static int64_t choose(gains_t gains, candidate_t *best) {
    size_t kept = 0;
    for (size_t i = 0; i <= gains.mask; i++) {
        if (!gains.slots[i].length)
            continue;
        gains.slots[kept] = gains.slots[i];
        if (gains.slots[kept].length == 1) /* it saves its escape, too */
            gains.slots[kept].gain *= 2;
        kept++;
    }
    /* Few of many are wanted: a heap orders no more than it has to. */
    for (size_t i = kept / 2; i-- > 0;)
        sink(gains.slots, kept, i);
    uint32_t prefixes[PREFIX_SLOTS] = {0};
    int64_t chosen = 0;
    while (kept > 0 && chosen < MOST_SYMBOLS) {
        const candidate_t top = gains.slots[0];
        gains.slots[0] = gains.slots[--kept];
        sink(gains.slots, kept, 0);
        if (top.length < 3 || is_new(prefixes, (uint32_t)(top.text >> 40)))
            best[chosen++] = top;
    }
    memset(gains.slots, 0, (gains.mask + 1) * sizeof *gains.slots);
    return chosen;
}

static const char *check_sample(bytes_t sample, const int64_t *offsets, int64_t count) {
    if (sample.size > MOST_SAMPLE)
        return "the sample of FSST strings is too large";
    if (offsets[0] != 0 || offsets[count] != sample.size)
        return "offsets do not cover the sample";
    for (int64_t i = 0; i < count; i++)
        if (offsets[i + 1] < offsets[i])
            return "offsets of the sample descend";
    return NULL;
}

const char *fsst_train(bytes_t sample, const int64_t *offsets, int64_t count, uint8_t *texts,
                       uint8_t *lengths, int64_t *found) {
    const char *error = check_sample(sample, offsets, count);
    if (error)
        return error;
    /* At most two candidates for each byte: never more than half full. */
    size_t size = 1024;
    while (size < 4 * (size_t)sample.size)
        size *= 2;
    candidate_t known[1024], best[MOST_SYMBOLS];
    const gains_t symbols = {known, 1023};
    const gains_t gains = {calloc(size, sizeof(candidate_t)), size - 1};
    if (!gains.slots)
        return "no memory for FSST candidates";
    int64_t chosen = 0;
    for (int round = 0; round < ROUNDS; round++) {
        memset(known, 0, sizeof known);
        for (int64_t i = 0; i < chosen; i++)
            *find(symbols, best[i].text, best[i].length) = best[i];
        for (int64_t i = 0; i < count; i++)
            count_text(sample.at + offsets[i], offsets[i + 1] - offsets[i], symbols, gains);
        chosen = choose(gains, best);
    }
    free(gains.slots);
    for (int64_t i = 0; i < chosen; i++) {
        for (int byte = 0; byte < 8; byte++)
            texts[8 * i + byte] = (uint8_t)(best[i].text >> (56 - 8 * byte));
        lengths[i] = best[i].length;
    }
    *found = chosen;
    return NULL;
}
