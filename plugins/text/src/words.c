/* Words of texts: runs of bytes or characters of some kinds, as numbers of distinct words. */
#include "module.h"

enum { IS_NONE, IS_WORD, IS_LEAD }; /* of a byte; the first one of a character that is looked up */

#define NUM_POINTS 0x110000

typedef struct {
    const uint8_t *data;
    const int64_t *offsets; /* where the bytes of each text are, and the end */
    int64_t count;
    const uint8_t *classes;  /* of each byte */
    const uint8_t *points; /* 1 for characters that are in words */
} texts_t;

#define SHORT 8 /* bytes of a word that is compared as a number */

/* A place of the hash table. */
typedef struct {
    uint64_t key;    /* the bytes of a short word, the hash of a longer one */
    uint32_t number; /* one more than that of the word, 0 for none */
    uint32_t size;   /* bytes, at most UINT32_MAX */
} slot_t;

/* Distinct words, by their first place in the texts. */
typedef struct {
    int64_t *starts, *stops;
    slot_t *slots;
    int64_t count, num_slots;
} distinct_t;

/* For each word; `starts` and `stops` are NULL if nobody asks for them. */
typedef struct {
    int32_t *codes, *texts, *positions;
    int64_t *starts, *stops;
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

/* Where a run of bytes and characters that are in words ends. */
INLINE const uint8_t *end_of_word(const texts_t *t, const uint8_t *at, const uint8_t *end) {
    for (;;) {
        while (at < end && t->classes[*at] == IS_WORD)
            at++;
        const int size = at < end && t->classes[*at] == IS_LEAD ? word_bytes(t, at, end) : 0;
        if (!size)
            return at;
        at += size;
    }
}

/* The first byte from `at` on that is in a word. */
INLINE const uint8_t *start_of_word(const texts_t *t, const uint8_t *at, const uint8_t *end) {
    for (;; at++) {
        while (at < end && t->classes[*at] == IS_NONE)
            at++;
        if (at == end || t->classes[*at] == IS_WORD || word_bytes(t, at, end))
            return at;
    }
}

INLINE uint64_t mixed(uint64_t number) {
    number *= 0x9E3779B97F4A7C15ull;
    return number ^ number >> 32;
}

INLINE uint64_t load_u64(const uint8_t *from) {
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* The bytes of a word of up to 8 bytes as a number, or the hash of a longer one. Up to `end` there are
 * bytes to read. */
INLINE uint64_t key_of(const uint8_t *at, int64_t size, const uint8_t *end) {
    if (size > SHORT) {
        uint64_t hash = 0;
        for (int64_t i = 0; i + SHORT < size; i += SHORT)
            hash = mixed(hash ^ load_u64(at + i));
        return mixed(hash ^ load_u64(at + size - SHORT));
    }
    if (end - at >= SHORT)
        return load_u64(at) & UINT64_MAX >> (8 * (SHORT - size));
    uint64_t key = 0;
    for (int64_t i = 0; i < size; i++)
        key |= (uint64_t)at[i] << (8 * i);
    return key;
}

INLINE int64_t slot_of(const distinct_t *d, uint64_t key) {
    return (int64_t)(mixed(key) & (uint64_t)(d->num_slots - 1));
}

static int grow(distinct_t *d) {
    const distinct_t before = *d;
    d->num_slots = d->num_slots ? 2 * d->num_slots : 1 << 12;
    d->slots = calloc((size_t)d->num_slots, sizeof *d->slots);
    for (int64_t i = 0; i < before.num_slots && d->slots; i++) {
        if (!before.slots[i].number)
            continue;
        int64_t at = slot_of(d, before.slots[i].key);
        while (d->slots[at].number)
            at = (at + 1) & (d->num_slots - 1);
        d->slots[at] = before.slots[i];
    }
    free(before.slots);
    return d->slots != NULL;
}

/* The number of a word, -1 without memory. */
INLINE int64_t number_of(distinct_t *d, const uint8_t *data, int64_t start, int64_t stop, uint64_t key) {
    const int64_t size = stop - start;
    int64_t at = slot_of(d, key);
    for (; d->slots[at].number; at = (at + 1) & (d->num_slots - 1)) {
        const slot_t *slot = &d->slots[at];
        const int64_t number = (int64_t)slot->number - 1;
        if (slot->key == key && slot->size == (uint32_t)size &&
            (size <= SHORT || (d->stops[number] - d->starts[number] == size &&
                               !memcmp(data + d->starts[number], data + start, (size_t)size))))
            return number;
    }
    d->starts[d->count] = start;
    d->stops[d->count] = stop;
    d->slots[at] = (slot_t){key, (uint32_t)++d->count, (uint32_t)size};
    const int64_t number = d->count - 1;
    return 2 * d->count >= d->num_slots && !grow(d) ? -1 : number;
}

static const char *split_words(const texts_t *t, words_t *words, distinct_t *d) {
    const uint8_t *last = t->data + t->offsets[t->count];
    if (!grow(d))
        return NO_MEMORY;
    for (int64_t text = 0; text < t->count; text++) {
        const uint8_t *begin = t->data + t->offsets[text], *end = t->data + t->offsets[text + 1], *at = begin;
        for (int64_t position = 0;; position++) {
            const uint8_t *start = start_of_word(t, at, end);
            if (start == end)
                break;
            at = end_of_word(t, start, end);
            const uint64_t key = key_of(start, at - start, last);
            const int64_t number = number_of(d, t->data, start - t->data, at - t->data, key);
            if (number < 0 || words->count == words->capacity)
                return NO_MEMORY;
            words->codes[words->count] = (int32_t)number;
            words->texts[words->count] = (int32_t)text;
            words->positions[words->count] = (int32_t)position;
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
    words_t words = {b[4].buf, b[5].buf, b[6].buf, b[7].len ? b[7].buf : NULL, b[8].buf, 0, b[4].len / 4};
    distinct_t distinct = {.starts = b[9].buf, .stops = b[10].buf};
    int64_t *counts = b[10].buf;
    /* A word has at least a byte, and all but the last one of a text a byte after it. */
    if (texts.count < 0 || !holds(&b[1], texts.count + 1, 8) || !holds(&b[2], 256, 1) ||
        (b[3].len != NUM_POINTS && memchr(b[2].buf, IS_LEAD, 256)) || words.capacity < (b[0].len + texts.count) / 2 ||
        words.capacity > INT32_MAX || texts.count > INT32_MAX || !holds(&b[4], words.capacity, 4) ||
        !holds(&b[5], words.capacity, 4) || !holds(&b[6], words.capacity, 4) || (words.starts && !holds(&b[7], words.capacity, 8)) ||
        (words.starts && !holds(&b[8], words.capacity, 8)) || !holds(&b[9], words.capacity, 8) ||
        !holds(&b[10], words.capacity + 1, 8))
        return done(b, 11, MISMATCH, 0);
    for (int64_t i = 0; i < texts.count && !error; i++)
        if (texts.offsets[i] < 0 || texts.offsets[i] > texts.offsets[i + 1] || texts.offsets[i + 1] > b[0].len)
            error = MISMATCH;
    if (!error)
        WITHOUT_GIL(split_words(&texts, &words, &distinct))
    free(distinct.slots);
    counts[words.capacity] = distinct.count;
    return done(b, 11, error, words.count);
}

/* Replaces the number of each word by that of its term, and leaves out words without one. */
static const char *replace_codes(const int64_t *numbers, int64_t distinct, words_t *words) {
    int64_t count = 0;
    for (int64_t i = 0; i < words->count; i++) {
        if (words->codes[i] < 0 || words->codes[i] >= distinct || numbers[words->codes[i]] > INT32_MAX)
            return MISMATCH;
        const int64_t number = numbers[words->codes[i]];
        words->codes[count] = (int32_t)number;
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
    const int64_t distinct = b[0].len / 8, count = b[1].len / 4;
    words_t words = {b[1].buf, b[2].buf, b[3].buf, b[4].len ? b[4].buf : NULL, b[5].buf, count, count};
    if (!holds(&b[0], distinct, 8) || !holds(&b[1], count, 4) || !holds(&b[2], count, 4) || !holds(&b[3], count, 4) ||
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
