/* Sorted terms: the index of one, and those that are a few edits away from a word. */
#include "module.h"

#define MAX_EDITS 8
#define MAX_WORD 1024 /* characters of a word */

typedef struct {
    const uint32_t *letters; /* the characters of all terms */
    const int64_t *offsets;  /* where those of each are, and the end */
    const uint16_t *shared;  /* characters that each has in common with the one before it */
    int64_t count, size; /* terms, characters */
} terms_t;

/* How many first characters each term has in common with the one before it, at most 65535. */
static const char *count_shared(const uint32_t *letters, const int64_t *offsets, int64_t count, uint16_t *shared) {
    for (int64_t i = 0; i < count; i++) {
        int64_t number = 0;
        if (i) {
            const uint32_t *own = letters + offsets[i], *before = letters + offsets[i - 1];
            const int64_t size = offsets[i + 1] - offsets[i], size_before = offsets[i] - offsets[i - 1];
            int64_t most = size < size_before ? size : size_before;
            most = most < UINT16_MAX ? most : UINT16_MAX;
            while (number < most && own[number] == before[number])
                number++;
        }
        shared[i] = (uint16_t)number;
    }
    return NULL;
}

/* The terms that become `word` by up to `edits` inserted, removed or other characters, and have its
 * first `prefix` ones; how many there are.
 *
 * Row i of the table has the distances of the first i characters of a term from all prefixes of the word.
 * A term keeps the rows of the characters that it shares with the one before it. Only 2 * edits + 1
 * numbers of a row can be at most `edits`; the others are one more. Where all of a row are, all terms
 * with these characters are left out. */
static const char *find_near(const terms_t *t, const uint32_t *word, int size, int edits, int prefix, int64_t *indices,
                             int64_t *distances, int64_t *number) {
    const int width = size + 2, most = size + edits, far = edits + 1;
    uint8_t *rows = malloc((size_t)width * (size_t)(most + 2));
    int64_t left_out = INT64_MAX; /* terms that share more characters than these are too far away */
    int known = 0;                /* characters of the term before whose rows are known */
    prefix = prefix < size ? prefix : size;
    *number = 0;
    if (!rows)
        return NO_MEMORY;
    memset(rows, far, (size_t)width * (size_t)(most + 2));
    for (int j = 0; j <= size && j <= edits; j++)
        rows[j] = (uint8_t)j;
    for (int64_t i = 0; i < t->count; i++) {
        if (t->shared[i] > left_out)
            continue;
        left_out = INT64_MAX;
        const int64_t start = t->offsets[i], length = t->offsets[i + 1] - start;
        if (start < 0 || length < 0 || start > t->size - length) {
            free(rows);
            return MISMATCH;
        }
        const uint32_t *own = t->letters + start;
        known = t->shared[i] < known ? t->shared[i] : known;
        const int last = length < most ? (int)length : most;
        int at = known;
        for (; at < last; at++) {
            const uint8_t *before = rows + (size_t)width * (size_t)at;
            uint8_t *row = rows + (size_t)width * (size_t)(at + 1);
            if (at < prefix && own[at] != word[at])
                break;
            const int low = at + 1 > edits ? at + 1 - edits : 0, high = at + 1 + edits < size ? at + 1 + edits : size;
            int least = far;
            if (low == 0)
                row[0] = (uint8_t)(at + 1 < far ? at + 1 : far), least = row[0];
            else
                row[low - 1] = (uint8_t)far;
            for (int j = low ? low : 1; j <= high; j++) {
                int cost = before[j - 1] + (word[j - 1] != own[at]);
                cost = before[j] + 1 < cost ? before[j] + 1 : cost;
                cost = row[j - 1] + 1 < cost ? row[j - 1] + 1 : cost;
                row[j] = (uint8_t)(cost < far ? cost : far);
                least = row[j] < least ? row[j] : least;
            }
            row[high + 1] = (uint8_t)far;
            if (least > edits)
                break;
        }
        known = at;
        if (at < last || length > most) {
            /* All terms with the characters so far, and the one that was too much, are too far away. */
            left_out = at;
            continue;
        }
        const uint8_t distance = rows[(size_t)width * (size_t)length + (size_t)size];
        if (length + edits >= size && length >= prefix && distance <= edits) {
            indices[*number] = i;
            distances[(*number)++] = distance;
        }
    }
    free(rows);
    return NULL;
}

/* The index of `term` among sorted strings, -1 if it is not there. */
static const char *find_term(const uint8_t *data, int64_t size, const int64_t *offsets, int64_t count,
                             const uint8_t *term, int64_t term_size, int64_t *index) {
    int64_t low = 0, high = count;
    *index = -1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2, start = offsets[middle], length = offsets[middle + 1] - start;
        if (start < 0 || length < 0 || start > size - length)
            return MISMATCH;
        int order = memcmp(data + start, term, (size_t)(length < term_size ? length : term_size));
        if (!order)
            order = (length > term_size) - (length < term_size);
        if (!order) {
            *index = middle;
            return NULL;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static PyObject *py_count_shared(PyObject *self, PyObject *args) {
    Py_buffer b[3] = {0};
    const char *error = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*w*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[2].len / 2, size = b[0].len / 4, *offsets = b[1].buf;
    if (!holds(&b[0], size, 4) || !holds(&b[1], count + 1, 8) || !holds(&b[2], count, 2))
        return done(b, 3, MISMATCH, 0);
    for (int64_t i = 0; i < count && !error; i++)
        if (offsets[i] < 0 || offsets[i] > offsets[i + 1] || offsets[i + 1] > size)
            error = MISMATCH;
    if (!error)
        WITHOUT_GIL(count_shared(b[0].buf, offsets, count, b[2].buf))
    return done(b, 3, error, 0);
}

static PyObject *py_near_terms(PyObject *self, PyObject *args) {
    Py_buffer b[6] = {0};
    Py_ssize_t edits, prefix;
    const char *error;
    int64_t number = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*nnw*w*", &b[0], &b[1], &b[2], &b[3], &edits, &prefix, &b[4], &b[5]))
        return release(b, 6), NULL;
    const terms_t terms = {b[0].buf, b[1].buf, b[2].buf, b[2].len / 2, b[0].len / 4};
    const int64_t size = b[3].len / 4;
    if (!holds(&b[0], terms.size, 4) || !holds(&b[1], terms.count + 1, 8) || !holds(&b[2], terms.count, 2) ||
        !holds(&b[3], size, 4) || size > MAX_WORD || edits < 0 || edits > MAX_EDITS || prefix < 0 ||
        !holds(&b[4], terms.count, 8) || !holds(&b[5], terms.count, 8))
        return done(b, 6, MISMATCH, 0);
    WITHOUT_GIL(find_near(&terms, b[3].buf, (int)size, (int)edits, prefix < MAX_WORD ? (int)prefix : MAX_WORD,
                          b[4].buf, b[5].buf, &number))
    return done(b, 6, error, number);
}

static PyObject *py_find_term(PyObject *self, PyObject *args) {
    Py_buffer b[3] = {0};
    int64_t index = -1;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[1].len / 8 - 1;
    if (!holds(&b[1], count + 1, 8))
        return done(b, 3, MISMATCH, 0);
    const char *error = find_term(b[0].buf, b[0].len, b[1].buf, count, b[2].buf, b[2].len, &index);
    return done(b, 3, error, index);
}

PyMethodDef vocabulary_methods[] = {
    {"count_shared", py_count_shared, METH_VARARGS, NULL},
    {"find_term", py_find_term, METH_VARARGS, NULL},
    {"near_terms", py_near_terms, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
