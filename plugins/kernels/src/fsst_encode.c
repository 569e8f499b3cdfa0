/* FSST encoding: the longest symbol at each place, segment by segment. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT 256
#define SLOT_BITS 12
#define LANES 4 /* parts of the strings that are encoded together */
#define PAIRS (1 << 16)

/* A code, from bit 8 on how many bytes it covers, and from bit 12 on how many are written for it. */
typedef uint16_t step_t;

#define STEP(code, covers, written) (step_t)((code) | (covers) << 8 | (written) << 12)

/* A byte that is meant literally: no step has this code. */
#define LITERAL STEP(ESCAPE, 1, 2)

/* The symbols, prepared for looking up the longest one that a text begins with. Of those of three
 * bytes or more, one for each hash of three bytes; of the others one for each pair and byte. */
typedef struct {
    uint64_t text[256]; /* of an unused code: what no masked text equals */
    uint64_t mask[256];
    uint16_t slot[1 << SLOT_BITS]; /* steps; of an unused code where there is none */
    step_t small[PAIRS + 256]; /* of pairs, then of single bytes */
} matcher_t;

static size_t hash(uint64_t word) {
    return (size_t)(((word & 0xFFFFFF) * 0x9E3779B97F4A7C15u) >> (64 - SLOT_BITS));
}

static void prepare(matcher_t *matcher, symbols_t symbols) {
    memset(matcher, 0, sizeof *matcher);
    for (size_t slot = 0; slot < 1 << SLOT_BITS; slot++)
        matcher->slot[slot] = LITERAL;
    step_t *single = matcher->small + PAIRS;
    for (size_t byte = 0; byte < 256; byte++)
        single[byte] = LITERAL;
    matcher->text[ESCAPE] = 1; /* with a mask of 0 */
    /* Backwards: the better symbol of two in one place stays. */
    for (int64_t code = symbols.lengths.size - 1; code >= 0; code--) {
        const unsigned length = symbols.lengths.at[code];
        const step_t step = STEP((unsigned)code, length, 1);
        uint64_t text;
        memcpy(&text, symbols.texts.at + 8 * code, 8);
        matcher->mask[code] = UINT64_MAX >> (64 - 8 * length);
        matcher->text[code] = text & matcher->mask[code];
        if (length >= 3)
            matcher->slot[hash(text)] = step;
        else if (length == 1)
            single[text & 0xFF] = step;
    }
    for (size_t pair = 0; pair < PAIRS; pair++)
        matcher->small[pair] = single[pair & 0xFF];
    for (int64_t code = symbols.lengths.size - 1; code >= 0; code--)
        if (symbols.lengths.at[code] == 2)
            matcher->small[matcher->text[code]] = STEP((unsigned)code, 2, 1);
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
static inline step_t longest(const matcher_t *matcher, uint64_t word, size_t left) {
    const unsigned small = matcher->small[left > 1 ? (word & 0xFFFF) : PAIRS + (word & 0xFF)];
    const unsigned large = matcher->slot[hash(word)], code = large & 0xFF;
    const uint64_t differs = (word & matcher->mask[code]) ^ matcher->text[code];
    /* Both are looked up, and one is taken without a branch: which one cannot be predicted. */
    const unsigned fits = (differs == 0) & ((large >> 8 & 15) <= left);
    return (step_t)(small ^ ((small ^ large) & (0u - fits)));
}

/* A part of the strings, encoded one after the other to a place of its own. */
typedef struct {
    const uint8_t *text;
    const uint8_t *segment_end;
    uint8_t *out;
    const uint8_t *string_end;
    uint8_t *begin; /* where its codes begin */
    int64_t first; /* string of all */
    int64_t next;  /* string to begin with */
    int64_t stop;  /* string that belongs to the next lane */
} lane_t;

/* What all lanes use. */
typedef struct {
    const matcher_t *matcher;
    spans_t spans;
    const uint8_t *safe; /* from up to here, 8 bytes can be read */
    int64_t *ends;       /* of the codes of each string, from the beginning of its lane */
} job_t;

static uint64_t load_last(const job_t *job, const uint8_t *text) {
    uint64_t word = 0;
    memcpy(&word, text, (size_t)(job->spans.data.at + job->spans.data.size - text));
    return word;
}

static inline uint64_t load_word(const job_t *job, const uint8_t *text) {
    uint64_t word;
    if (text > job->safe)
        return load_last(job, text);
    memcpy(&word, text, 8);
    return word;
}

/* Encodes one symbol; there are bytes left in the segment. */
static inline void advance(const job_t *job, const uint8_t **text, const uint8_t *segment_end,
                           uint8_t **out) {
    const uint64_t word = load_word(job, *text);
    const step_t step = longest(job->matcher, word, (size_t)(segment_end - *text));
    (*out)[0] = (uint8_t)step;
    (*out)[1] = (uint8_t)word; /* overwritten by what comes next unless it is meant literally */
    *out += step >> 12;
    *text += step >> 8 & 15;
}

/* Goes on to the next segment that has bytes; 0 if there is none. */
static int next_segment(const job_t *job, lane_t *lane) {
    while (lane->text == lane->string_end) {
        if (lane->next > lane->first)
            job->ends[lane->next - 1] = lane->out - lane->begin;
        lane->segment_end = lane->text;
        if (lane->next == lane->stop)
            return 0;
        lane->text = job->spans.data.at + job->spans.starts[lane->next];
        lane->string_end = job->spans.data.at + job->spans.stops[lane->next++];
    }
    const int64_t left = lane->string_end - lane->text;
    lane->segment_end = lane->text + (left < SEGMENT ? left : SEGMENT);
    return 1;
}

static void encode_lane(const job_t *job, lane_t *lane) {
    do
        while (lane->text < lane->segment_end)
            advance(job, &lane->text, lane->segment_end, &lane->out);
    while (next_segment(job, lane));
}

/* Goes on in a lane whose segment is at its end. */
#define REFILL(lane, at, end, to)                                                                 \
    if (at == end) {                                                                              \
        (lane)->text = at;                                                                        \
        (lane)->out = to;                                                                         \
        const int goes_on = next_segment(job, lane);                                              \
        at = (lane)->text;                                                                        \
        end = (lane)->segment_end;                                                                \
        if (!goes_on)                                                                             \
            break;                                                                                \
    }

/* The lanes advance together: the next look-up of one has to wait for the one before it, but not
 * for those of the others. What changes all the time is kept out of memory. */
static void encode_together(const job_t *job, lane_t *lanes) {
    const uint8_t *text0 = lanes[0].text, *end0 = lanes[0].segment_end;
    const uint8_t *text1 = lanes[1].text, *end1 = lanes[1].segment_end;
    const uint8_t *text2 = lanes[2].text, *end2 = lanes[2].segment_end;
    const uint8_t *text3 = lanes[3].text, *end3 = lanes[3].segment_end;
    uint8_t *out0 = lanes[0].out, *out1 = lanes[1].out;
    uint8_t *out2 = lanes[2].out, *out3 = lanes[3].out;
    for (;;) {
        REFILL(&lanes[0], text0, end0, out0)
        REFILL(&lanes[1], text1, end1, out1)
        REFILL(&lanes[2], text2, end2, out2)
        REFILL(&lanes[3], text3, end3, out3)
        advance(job, &text0, end0, &out0);
        advance(job, &text1, end1, &out1);
        advance(job, &text2, end2, &out2);
        advance(job, &text3, end3, &out3);
    }
    const uint8_t *texts[LANES] = {text0, text1, text2, text3};
    uint8_t *outs[LANES] = {out0, out1, out2, out3};
    for (int i = 0; i < LANES; i++) {
        lanes[i].text = texts[i];
        lanes[i].out = outs[i];
    }
}

/* Cuts the strings into parts of about as many bytes; their codes have room for twice that. */
static void make_lanes(spans_t spans, int64_t total, uint8_t *codes, lane_t *lanes) {
    int64_t string = 0, before = 0;
    for (int i = 0; i < LANES; i++) {
        lane_t *lane = &lanes[i];
        lane->text = lane->segment_end = lane->string_end = spans.data.at;
        lane->out = lane->begin = codes + 2 * before;
        lane->first = lane->next = string;
        const int64_t share_end = total / LANES * (i + 1);
        while (string < spans.count && (i == LANES - 1 || before < share_end)) {
            before += spans.stops[string] - spans.starts[string];
            string++;
        }
        lane->stop = string;
    }
}

/* Moves the codes of all lanes together and makes offsets of their ends. */
static void join_lanes(lane_t *lanes, uint8_t *codes, int64_t *ends) {
    uint8_t *to = codes;
    int64_t string = 0;
    for (int i = 0; i < LANES; i++) {
        const int64_t size = lanes[i].out - lanes[i].begin, moved = to - codes;
        memmove(to, lanes[i].begin, (size_t)size);
        for (; string < lanes[i].stop; string++)
            ends[string] += moved;
        to += size;
    }
}

/* count + 1 code_offsets; codes have room for twice the total, and for two. */
static const char *fsst_encode(spans_t spans, symbols_t symbols, room_t codes, int64_t *code_offsets) {
    int64_t total = 0;
    const char *error = check_symbols(symbols);
    if (!error)
        error = spans_total(spans, &total);
    if (!error && (codes.size < 2 || codes.size - 2 < 2 * total))
        error = "too little room for FSST codes";
    if (error)
        return error;
    matcher_t *matcher = malloc(sizeof *matcher);
    if (!matcher)
        return "no memory for FSST symbols";
    prepare(matcher, symbols);
    code_offsets[0] = 0;
    const int64_t size = spans.data.size;
    const uint8_t *safe = size >= 8 ? spans.data.at + size - 8 : NULL;
    const job_t job = {matcher, spans, safe, code_offsets + 1};
    lane_t lanes[LANES];
    make_lanes(spans, total, codes.at, lanes);
    encode_together(&job, lanes);
    for (int i = 0; i < LANES; i++)
        encode_lane(&job, &lanes[i]);
    join_lanes(lanes, codes.at, code_offsets + 1);
    free(matcher);
    return NULL;
}

/* For Python. */

static PyObject *py_spans_total(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    int64_t total = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[1].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8))
        return done(b, 3, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(spans_total((spans_t){bytes_of(&b[0]), b[1].buf, b[2].buf, count}, &total))
    return done(b, 3, error, total);
}

static PyObject *py_fsst_encode(PyObject *module, PyObject *args) {
    Py_buffer b[7] = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6]))
        return release(b, 7), NULL;
    const int64_t count = b[1].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8) || !holds(&b[6], count + 1, 8))
        return done(b, 7, MISMATCH, 0);
    const spans_t spans = {bytes_of(&b[0]), b[1].buf, b[2].buf, count};
    const char *error;
    WITHOUT_GIL(fsst_encode(spans, symbols_of(&b[3], &b[4]), room_of(&b[5]), b[6].buf))
    return done(b, 7, error, error ? 0 : ((const int64_t *)b[6].buf)[count]);
}

PyMethodDef fsst_encode_methods[] = {
    {"spans_total", py_spans_total, METH_VARARGS, "data, starts, stops; the sum of lengths"},
    {"fsst_encode", py_fsst_encode, METH_VARARGS,
     "data, starts, stops, symbols, lengths, codes, code_offsets; bytes of codes"},
    {NULL, NULL, 0, NULL},
};
