/* From the terms of texts to posting lists: a counting sort by term. */
#include "module.h"

typedef struct {
    const int32_t *numbers, *documents, *positions; /* of each term of the texts, in their order */
    const int64_t *ranks;                           /* the list of each number */
    int64_t count, num_terms;
} occurrences_t;

/* For each posting its list, document and frequency, by list; `positions` are NULL or those of all. */
typedef struct {
    int64_t *lists, *documents, *frequencies, *positions;
} postings_t;

static const char *invert(const occurrences_t *o, const postings_t *p, int64_t *number) {
    const char *error = NULL;
    int64_t *starts = calloc((size_t)o->num_terms + 1, sizeof *starts);
    int64_t *places = malloc((size_t)(o->num_terms + 1) * sizeof *places);
    int64_t *position_places = malloc((size_t)(o->num_terms + 1) * sizeof *position_places);
    int32_t *documents = malloc((size_t)(o->count + 1) * sizeof *documents);
    int32_t *frequencies = malloc((size_t)(o->count + 1) * sizeof *frequencies);
    if (!starts || !places || !position_places || !documents || !frequencies)
        error = NO_MEMORY;
    for (int64_t i = 0; i < o->count && !error; i++) {
        if (o->numbers[i] < 0 || o->numbers[i] >= o->num_terms || (i && o->documents[i] < o->documents[i - 1]))
            error = MISMATCH;
        else
            starts[o->numbers[i]]++;
    }
    for (int64_t i = 0; i < o->num_terms && !error; i++)
        if (o->ranks[i] < 0 || o->ranks[i] >= o->num_terms)
            error = MISMATCH;
    if (!error) {
        /* Counts by list in `places`, then where the room of each number begins in `starts`. */
        memset(places, 0, (size_t)(o->num_terms + 1) * sizeof *places);
        for (int64_t i = 0; i < o->num_terms; i++)
            places[o->ranks[i]] += starts[i];
        int64_t start = 0;
        for (int64_t list = 0; list < o->num_terms; list++) {
            const int64_t count = places[list];
            position_places[list] = places[list] = start;
            start += count;
        }
        memcpy(starts, places, (size_t)o->num_terms * sizeof *starts);
        starts[o->num_terms] = start;
        for (int64_t i = 0; i < o->count; i++) {
            const int64_t list = o->ranks[o->numbers[i]], place = places[list];
            if (place > starts[list] && documents[place - 1] == o->documents[i]) {
                frequencies[place - 1]++;
            } else {
                documents[place] = o->documents[i];
                frequencies[place] = 1;
                places[list]++;
            }
            if (p->positions)
                p->positions[position_places[list]++] = o->positions[i];
        }
        int64_t count = 0;
        for (int64_t list = 0; list < o->num_terms; list++)
            for (int64_t place = starts[list]; place < places[list]; place++, count++) {
                p->lists[count] = list;
                p->documents[count] = documents[place];
                p->frequencies[count] = frequencies[place];
            }
        *number = count;
    }
    free(starts), free(places), free(position_places), free(documents), free(frequencies);
    return error;
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
    if (!holds(&b[0], count, 4) || !holds(&b[1], count, 4) || !holds(&b[3], terms, 8) || !holds(&b[4], count, 8) ||
        !holds(&b[5], count, 8) || !holds(&b[6], count, 8) ||
        (postings.positions && (!holds(&b[2], count, 4) || !holds(&b[7], count, 8))))
        return done(b, 8, MISMATCH, 0);
    WITHOUT_GIL(invert(&occurrences, &postings, &number))
    return done(b, 8, error, number);
}

PyMethodDef inversion_methods[] = {
    {"invert", py_invert, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
