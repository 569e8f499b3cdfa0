/* From the terms of texts to posting lists: a counting sort by term. */
#include "module.h"

typedef struct {
    const int32_t *numbers, *documents, *positions; /* of each term of the texts, in their order */
    const int64_t *ranks;                           /* the list of each number */
    int64_t count, num_terms;
} occurrences_t;

/* The postings of each list, and for each posting its document and frequency, by list; `positions` are
 * NULL or those of all. */
typedef struct {
    int64_t *counts;
    int32_t *documents, *frequencies, *positions;
} postings_t;

/* Sorts; `starts`, `ends` and `position_ends` have a number for each list. */
static int64_t sort_by_list(const occurrences_t *o, const postings_t *p, int64_t *starts, int64_t *ends,
                            int64_t *position_ends) {
    memset(ends, 0, (size_t)o->num_terms * sizeof *ends);
    for (int64_t i = 0; i < o->count; i++)
        ends[o->ranks[o->numbers[i]]]++;
    int64_t start = 0;
    for (int64_t list = 0; list < o->num_terms; list++) {
        const int64_t count = ends[list];
        position_ends[list] = ends[list] = starts[list] = start;
        start += count;
    }
    for (int64_t i = 0; i < o->count; i++) {
        const int64_t list = o->ranks[o->numbers[i]], end = ends[list];
        if (end > starts[list] && p->documents[end - 1] == o->documents[i]) {
            p->frequencies[end - 1]++;
        } else {
            p->documents[end] = o->documents[i];
            p->frequencies[end] = 1;
            ends[list]++;
        }
        if (p->positions)
            p->positions[position_ends[list]++] = o->positions[i];
    }
    /* A list has had room for all occurrences of its term. */
    int64_t number = 0;
    for (int64_t list = 0; list < o->num_terms; list++) {
        p->counts[list] = ends[list] - starts[list];
        memmove(p->documents + number, p->documents + starts[list], (size_t)p->counts[list] * 4);
        memmove(p->frequencies + number, p->frequencies + starts[list], (size_t)p->counts[list] * 4);
        number += p->counts[list];
    }
    return number;
}

static const char *invert(const occurrences_t *o, const postings_t *p, int64_t *number) {
    for (int64_t i = 0; i < o->count; i++)
        if (o->numbers[i] < 0 || o->numbers[i] >= o->num_terms || (i && o->documents[i] < o->documents[i - 1]))
            return MISMATCH;
    for (int64_t i = 0; i < o->num_terms; i++)
        if (o->ranks[i] < 0 || o->ranks[i] >= o->num_terms)
            return MISMATCH;
    int64_t *numbers = malloc((size_t)(3 * o->num_terms + 1) * sizeof *numbers);
    if (!numbers)
        return NO_MEMORY;
    *number = sort_by_list(o, p, numbers, numbers + o->num_terms, numbers + 2 * o->num_terms);
    free(numbers);
    return NULL;
}

static PyObject *py_invert(PyObject *self, PyObject *args) {
    Py_buffer b[8] = {0};
    const char *error;
    int64_t number = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7]))
        return release(b, 8), NULL;
    const int64_t count = b[0].len / 4, terms = b[3].len / 8;
    const occurrences_t occurrences = {b[0].buf, b[1].buf, b[2].buf, b[3].buf, count, terms};
    const postings_t postings = {b[4].buf, b[5].buf, b[6].buf, b[7].len ? b[7].buf : NULL};
    if (!holds(&b[0], count, 4) || !holds(&b[1], count, 4) || !holds(&b[3], terms, 8) || !holds(&b[4], terms, 8) ||
        !holds(&b[5], count, 4) || !holds(&b[6], count, 4) ||
        (postings.positions && (!holds(&b[2], count, 4) || !holds(&b[7], count, 4))))
        return done(b, 8, MISMATCH, 0);
    WITHOUT_GIL(invert(&occurrences, &postings, &number))
    return done(b, 8, error, number);
}

PyMethodDef inversion_methods[] = {
    {"invert", py_invert, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
