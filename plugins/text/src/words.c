/* Words of texts: runs of bytes or characters of some kinds, as numbers of distinct words. */
#include "module.h"

enum { IS_NONE, IS_WORD, IS_LEAD }; /* of a byte; the first one of a character that is looked up */

#define NUM_POINTS 0x110000

typedef struct {
    const uint8_t *data;
    const int64_t *offsets; /* where the bytes of each text are, and the end */
    int64_t count;
    const uint8_t *kinds;  /* of each byte */
    const uint8_t *points; /* 1 for characters that are in words */
} texts_t;

/* Distinct words, by their first place in the texts. */
typedef struct {
    int64_t *starts, *stops;
    uint32_t *hashes;
    uint32_t *slots; /* one more than a number, 0 for none */
    int64_t count, num_slots;
} distinct_t;

/* For each word; `starts` and `stops` are NULL if nobody asks for them. */
typedef struct {
    int64_t *codes, *texts, *positions, *starts, *stops;
    int64_t count, capacity;
} words_t;

/* The bytes of the character that begins with a lead byte, 0 if it is in no word. */
INLINE int word_bytes(const texts_t *t, const uint8_t *at, const uint8_t *end) {
    const uint32_t first = at[0];
    const int size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (end - at < size)
        return 0;
    uint32_t point = first & (0x7Fu >> size);
    for (int i = 1; i < size; i++)
        point = point << 6 | (at[i] & 0x3F);
    return point < NUM_POINTS && t->points[point] ? size : 0;
}

/* The bytes of a word that are at a place: none, one, or those of a character. */
INLINE int in_word(const texts_t *t, const uint8_t *at, const uint8_t *end) {
    const uint8_t kind = t->kinds[*at];
    return kind == IS_LEAD ? word_bytes(t, at, end) : kind;
}

static int grow(distinct_t *d) {
    const int64_t num_slots = d->num_slots ? 2 * d->num_slots : 1 << 12;
    uint32_t *slots = calloc((size_t)num_slots, sizeof *slots);
    uint32_t *hashes = realloc(d->hashes, (size_t)(num_slots / 2) * sizeof *hashes);
    d->hashes = hashes ? hashes : d->hashes;
    if (!slots || !hashes)
        return free(slots), 0;
    for (int64_t i = 0; i < d->count; i++) {
        int64_t slot = hashes[i] & (num_slots - 1);
        while (slots[slot])
            slot = (slot + 1) & (num_slots - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    free(d->slots);
    d->slots = slots;
    d->num_slots = num_slots;
    return 1;
}

/* The number of a word, -1 without memory. */
INLINE int64_t number_of(distinct_t *d, const uint8_t *data, int64_t start, int64_t stop, uint32_t hash) {
    if (2 * d->count >= d->num_slots && !grow(d))
        return -1;
    int64_t slot = hash & (d->num_slots - 1);
    for (uint32_t found; (found = d->slots[slot]); slot = (slot + 1) & (d->num_slots - 1)) {
        const int64_t number = (int64_t)found - 1;
        if (d->hashes[number] == hash && d->stops[number] - d->starts[number] == stop - start &&
            !memcmp(data + d->starts[number], data + start, (size_t)(stop - start)))
            return number;
    }
    d->hashes[d->count] = hash;
    d->starts[d->count] = start;
    d->stops[d->count] = stop;
    d->slots[slot] = (uint32_t)++d->count;
    return d->count - 1;
}

static const char *split_words(const texts_t *t, words_t *words, distinct_t *d) {
    for (int64_t text = 0; text < t->count; text++) {
        const uint8_t *begin = t->data + t->offsets[text], *end = t->data + t->offsets[text + 1], *at = begin;
        for (int64_t position = 0;; position++) {
            while (at < end && !in_word(t, at, end))
                at++;
            if (at == end)
                break;
            const uint8_t *start = at;
            uint64_t hash = 0;
            for (int size; at < end && (size = in_word(t, at, end)); at += size)
                for (int i = 0; i < size; i++)
                    hash = (hash ^ at[i]) * 0x9E3779B97F4A7C15ull;
            const int64_t number =
                number_of(d, t->data, start - t->data, at - t->data, (uint32_t)(hash >> 32 ^ hash >> 13));
            if (number < 0 || words->count == words->capacity)
                return NO_MEMORY;
            words->codes[words->count] = number;
            words->texts[words->count] = text;
            words->positions[words->count] = position;
            if (words->starts) {
                words->starts[words->count] = start - begin;
                words->stops[words->count] = at - begin;
            }
            words->count++;
        }
    }
    return NULL;
}

static PyObject *py_split_words(PyObject *self, PyObject *args) {
    Py_buffer b[11] = {0};
    const char *error = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*w*w*w*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7],
                          &b[8], &b[9], &b[10]))
        return release(b, 11), NULL;
    const texts_t texts = {b[0].buf, b[1].buf, b[1].len / 8 - 1, b[2].buf, b[3].buf};
    words_t words = {b[4].buf, b[5].buf, b[6].buf, b[7].len ? b[7].buf : NULL, b[8].buf, 0, b[4].len / 8};
    distinct_t distinct = {.starts = b[9].buf, .stops = b[10].buf};
    int64_t *counts = b[10].buf;
    /* A word has at least a byte, and all but the last one of a text a byte after it. */
    if (texts.count < 0 || !holds(&b[1], texts.count + 1, 8) || !holds(&b[2], 256, 1) ||
        (b[3].len != NUM_POINTS && memchr(b[2].buf, IS_LEAD, 256)) || words.capacity < (b[0].len + texts.count) / 2 ||
        words.capacity > UINT32_MAX - 1 || !holds(&b[4], words.capacity, 8) || !holds(&b[5], words.capacity, 8) ||
        !holds(&b[6], words.capacity, 8) || (words.starts && !holds(&b[7], words.capacity, 8)) ||
        (words.starts && !holds(&b[8], words.capacity, 8)) || !holds(&b[9], words.capacity, 8) ||
        !holds(&b[10], words.capacity + 1, 8))
        return done(b, 11, MISMATCH, 0);
    for (int64_t i = 0; i < texts.count && !error; i++)
        if (texts.offsets[i] < 0 || texts.offsets[i] > texts.offsets[i + 1] || texts.offsets[i + 1] > b[0].len)
            error = MISMATCH;
    if (!error)
        WITHOUT_GIL(split_words(&texts, &words, &distinct))
    free(distinct.hashes), free(distinct.slots);
    counts[words.capacity] = distinct.count;
    return done(b, 11, error, words.count);
}

/* Replaces the number of each word by that of its term, and leaves out words without one. */
static const char *replace_codes(const int64_t *numbers, int64_t distinct, words_t *words) {
    int64_t count = 0;
    for (int64_t i = 0; i < words->count; i++) {
        if (words->codes[i] < 0 || words->codes[i] >= distinct)
            return MISMATCH;
        const int64_t number = numbers[words->codes[i]];
        words->codes[count] = number;
        words->texts[count] = words->texts[i];
        words->positions[count] = words->positions[i];
        if (words->starts) {
            words->starts[count] = words->starts[i];
            words->stops[count] = words->stops[i];
        }
        count += number >= 0;
    }
    words->count = count;
    return NULL;
}

static PyObject *py_replace_codes(PyObject *self, PyObject *args) {
    Py_buffer b[6] = {0};
    const char *error;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*w*w*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]))
        return release(b, 6), NULL;
    const int64_t distinct = b[0].len / 8, count = b[1].len / 8;
    words_t words = {b[1].buf, b[2].buf, b[3].buf, b[4].len ? b[4].buf : NULL, b[5].buf, count, count};
    if (!holds(&b[0], distinct, 8) || !holds(&b[1], count, 8) || !holds(&b[2], count, 8) || !holds(&b[3], count, 8) ||
        (words.starts && !holds(&b[4], count, 8)) || (words.starts && !holds(&b[5], count, 8)))
        return done(b, 6, MISMATCH, 0);
    WITHOUT_GIL(replace_codes(b[0].buf, distinct, &words))
    return done(b, 6, error, words.count);
}

PyMethodDef words_methods[] = {
    {"replace_codes", py_replace_codes, METH_VARARGS, NULL},
    {"split_words", py_split_words, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
