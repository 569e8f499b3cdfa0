/* Finding FSST symbols: what occurs often in a sample, and pairs of neighbours, joined. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 8
#define MOST_SYMBOLS 255
#define MOST_SAMPLE (1 << 24)
#define PREFIX_SLOTS 1024

/* A text of 1 to 8 bytes, the first byte highest. */
typedef struct {
    uint64_t text;
    int64_t gain;
    uint8_t length;
} candidate_t;

/* Candidates, found by open addressing: `mask` + 1 slots, a power of two, have 0 or the number of
 * a candidate, counted from 1. */
typedef struct {
    candidate_t *all;
    uint32_t *slots;
    size_t mask;
    unsigned shift; /* of a hash of 64 bits */
    uint32_t count;
} gains_t;

static void gain(gains_t *gains, uint64_t text, uint8_t length) {
    /* Short texts differ in their highest bits only: so do their products. */
    size_t at = (size_t)(((text ^ length) * 0x9E3779B97F4A7C15u) >> gains->shift);
    for (uint32_t number; (number = gains->slots[at]); at = (at + 1) & gains->mask) {
        candidate_t *candidate = &gains->all[number - 1];
        if (candidate->text == text && candidate->length == length) {
            candidate->gain += length;
            return;
        }
    }
    gains->all[gains->count] = (candidate_t){text, length, length};
    gains->slots[at] = ++gains->count;
}

/* The symbols of a round: no two of three bytes or more have the same first three. */
typedef struct {
    candidate_t longer[PREFIX_SLOTS]; /* by open addressing; length 0: a free slot */
    uint8_t pairs[1 << 16];           /* whether there is one of these two bytes */
    uint8_t singles[1 << 8];          /* whether there is one of this byte */
} symbols_of_round_t;

static size_t prefix_slot(uint32_t prefix) {
    return (prefix * 0x9E3779B1u) >> 22;
}

static void know(symbols_of_round_t *symbols, const candidate_t *symbol) {
    if (symbol->length == 1)
        symbols->singles[symbol->text >> 56] = 1;
    if (symbol->length == 2)
        symbols->pairs[symbol->text >> 48] = 1;
    if (symbol->length < 3)
        return;
    size_t at = prefix_slot((uint32_t)(symbol->text >> 40));
    while (symbols->longer[at].length)
        at = (at + 1) & (PREFIX_SLOTS - 1);
    symbols->longer[at] = *symbol;
}

/* The highest `length` bytes, 1 to 8. */
static uint64_t cut(uint64_t text, uint8_t length) {
    return text & (UINT64_MAX << (64 - 8 * length));
}

/* How many bytes the longest symbol takes that a text of `left` bytes begins with; or one. */
static uint8_t longest(const symbols_of_round_t *symbols, uint64_t text, int64_t left) {
    const candidate_t *symbol = &symbols->longer[prefix_slot((uint32_t)(text >> 40))];
    while (symbol->length && symbol->text >> 40 != text >> 40)
        symbol = symbol + 1 < symbols->longer + PREFIX_SLOTS ? symbol + 1 : symbols->longer;
    if (symbol->length && symbol->length <= left && cut(text, symbol->length) == symbol->text)
        return symbol->length;
    return left > 1 && symbols->pairs[text >> 48] ? 2 : 1;
}

/* The next bytes, the first one highest; `known` can be read. */
static uint64_t load(const uint8_t *text, int64_t known) {
    uint64_t word = 0;
    if (known >= 8)
        memcpy(&word, text, 8);
    else
        memcpy(&word, text, (size_t)known);
    return __builtin_bswap64(word);
}

/* Cut a text into symbols and add to each, to each pair and to each with the first byte of the next
 * one the bytes that it covers. Returns the bytes of codes that the symbols take. */
static int64_t count_text(bytes_t sample, int64_t at, int64_t stop,
                          const symbols_of_round_t *symbols, gains_t *gains) {
    int64_t codes = 0;
    uint64_t before = 0;
    uint8_t before_length = 0;
    while (at < stop) {
        const uint64_t word = load(sample.at + at, sample.size - at);
        const uint8_t length = longest(symbols, word, stop - at);
        const uint64_t symbol = cut(word, length);
        codes += length == 1 && !symbols->singles[symbol >> 56] ? 2 : 1;
        gain(gains, symbol, length);
        if (before_length && before_length + length <= 8)
            gain(gains, before | symbol >> 8 * before_length, (uint8_t)(before_length + length));
        if (before_length && before_length < 8 && length > 1)
            gain(gains, before | cut(symbol, 1) >> 8 * before_length, (uint8_t)(before_length + 1));
        before = symbol;
        before_length = length;
        at += length;
    }
    return codes;
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
    size_t at = prefix_slot(prefix);
    while (prefixes[at] && prefixes[at] != prefix + 1)
        at = (at + 1) & (PREFIX_SLOTS - 1);
    if (prefixes[at])
        return 0;
    prefixes[at] = prefix + 1;
    return 1;
}

/* Moves the candidates that gain most to `best`, and forgets the others; returns how many. */
static int64_t choose(gains_t *gains, candidate_t *best) {
    size_t count = 0;
    for (size_t i = 0; i < gains->count; i++) {
        candidate_t candidate = gains->all[i];
        candidate.gain -= candidate.length; /* what occurs once does so by chance */
        if (candidate.length == 1)
            candidate.gain *= 2; /* it saves its escape, too */
        if (candidate.gain > 0)
            gains->all[count++] = candidate;
    }
    /* Few of many are wanted: a heap orders no more than it has to. */
    for (size_t i = count / 2; i-- > 0;)
        sink(gains->all, count, i);
    uint32_t prefixes[PREFIX_SLOTS] = {0};
    int64_t chosen = 0;
    while (count > 0 && chosen < MOST_SYMBOLS) {
        const candidate_t top = gains->all[0];
        gains->all[0] = gains->all[--count];
        sink(gains->all, count, 0);
        if (top.length < 3 || is_new(prefixes, (uint32_t)(top.text >> 40)))
            best[chosen++] = top;
    }
    gains->count = 0;
    memset(gains->slots, 0, (gains->mask + 1) * sizeof *gains->slots);
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

/* The symbols of the round that made the fewest codes; each begins with those of the one before. */
static int64_t train(bytes_t sample, const int64_t *offsets, int64_t count, gains_t *gains,
                     symbols_of_round_t *symbols, candidate_t *best) {
    candidate_t current[MOST_SYMBOLS];
    int64_t chosen = 0, best_count = 0, fewest = 2 * sample.size;
    for (int round = 0; round <= ROUNDS; round++) {
        memset(symbols, 0, sizeof *symbols);
        for (int64_t i = 0; i < chosen; i++)
            know(symbols, &current[i]);
        int64_t codes = 0;
        for (int64_t i = 0; i < count; i++)
            codes += count_text(sample, offsets[i], offsets[i + 1], symbols, gains);
        if (round && codes < fewest) {
            fewest = codes;
            best_count = chosen;
            memcpy(best, current, (size_t)chosen * sizeof *best);
        }
        chosen = choose(gains, current);
    }
    return best_count;
}

/* count + 1 offsets; room for 255 symbols. */
static const char *fsst_train(bytes_t sample, const int64_t *offsets, int64_t count, uint8_t *texts,
                       uint8_t *lengths, int64_t *symbol_count) {
    const char *error = check_sample(sample, offsets, count);
    if (error)
        return error;
    /* At most two candidates for each byte: no more than two thirds of the slots are full. */
    const size_t most = 2 * (size_t)sample.size;
    unsigned bits = 10;
    while ((size_t)1 << bits < most + most / 2)
        bits++;
    const size_t size = (size_t)1 << bits;
    gains_t gains = {calloc(most + 1, sizeof(candidate_t)), calloc(size, sizeof(uint32_t)),
                     size - 1, 64 - bits, 0};
    symbols_of_round_t *symbols = malloc(sizeof *symbols);
    if (gains.all && gains.slots && symbols) {
        candidate_t best[MOST_SYMBOLS];
        *symbol_count = train(sample, offsets, count, &gains, symbols, best);
        for (int64_t i = 0; i < *symbol_count; i++) {
            for (int byte = 0; byte < 8; byte++)
                texts[8 * i + byte] = (uint8_t)(best[i].text >> (56 - 8 * byte));
            lengths[i] = best[i].length;
        }
    } else {
        error = "no memory for FSST candidates";
    }
    free(symbols);
    free(gains.slots);
    free(gains.all);
    return error;
}

/* For Python. */

static PyObject *py_fsst_train(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    int64_t symbol_count = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*w*w*", &b[0], &b[1], &b[2], &b[3]))
        return release(b, 4), NULL;
    const int64_t count = b[1].len / 8 - 1;
    if (count < 0 || !holds(&b[1], count + 1, 8) || b[2].len != 8 * ESCAPE || b[3].len != ESCAPE)
        return done(b, 4, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(fsst_train(bytes_of(&b[0]), b[1].buf, count, b[2].buf, b[3].buf, &symbol_count))
    return done(b, 4, error, symbol_count);
}

PyMethodDef fsst_train_methods[] = {
    {"fsst_train", py_fsst_train, METH_VARARGS,
     "sample, offsets, symbols, lengths; number of symbols"},
    {NULL, NULL, 0, NULL},
};
