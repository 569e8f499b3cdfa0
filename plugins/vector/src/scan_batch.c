/* The best rows for several queries, from the products of their vectors. */
#include "best.h"

#define SCORES 256 /* scores that are computed before they are compared with the best */

typedef struct {
    const float *products; /* [queries][rows] */
    const float *added, *factors; /* [rows]: a score is `added + factor * product` */
    const uint64_t *rows;
    const uint8_t *mask; /* or NULL */
    const int64_t *places; /* [queries]: which list of best rows each query has */
    int64_t count, queries, position, capacity, lists;
    float *scores; /* [lists][capacity]: heaps */
    uint64_t *best_rows;
    int64_t *positions, *sizes;
} batch_t;

INLINE void offer_scores(const batch_t *b, int64_t query) {
    const int64_t list = b->places[query];
    best_t best = {b->scores + list * b->capacity, b->best_rows + list * b->capacity, b->positions + list * b->capacity,
                   b->capacity, b->sizes[list]};
    const float *products = b->products + query * b->count;
    const Py_buffer rows = {.buf = (void *)b->rows}, mask = {.buf = (void *)b->mask};
    const partitions_t all = {NULL, &rows, b->mask ? &mask : NULL, 1};
    float scores[SCORES];
    for (int64_t first = 0; first < b->count; first += SCORES) {
        const int64_t count = b->count - first < SCORES ? b->count - first : SCORES;
        for (int64_t i = 0; i < count; i++)
            scores[i] = b->added[first + i] + b->factors[first + i] * products[first + i];
        offer_all(&best, &all, 0, first, count, b->position, scores);
    }
    b->sizes[list] = best.size;
}

INLINE void offer_queries(const batch_t *b) {
    for (int64_t query = 0; query < b->queries; query++)
        offer_scores(b, query);
}

#ifdef WITH_FMA
WITH_FMA static void offer_queries_fma(const batch_t *b) {
    offer_queries(b);
}
#endif

static const char *offer_batch(const batch_t *b) {
    for (int64_t query = 0; query < b->queries; query++)
        if (b->places[query] < 0 || b->places[query] >= b->lists || b->sizes[b->places[query]] < 0 ||
            b->sizes[b->places[query]] > b->capacity)
            return MISMATCH;
#ifdef WITH_FMA
    if (has_fma()) {
        offer_queries_fma(b);
        return NULL;
    }
#endif
    offer_queries(b);
    return NULL;
}

static PyObject *py_offer_batch(PyObject *self, PyObject *args) {
    Py_buffer b[10] = {0};
    Py_ssize_t position;
    const char *error;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*nw*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &position, &b[6],
                          &b[7], &b[8], &b[9]))
        return release(b, 10), NULL;
    const int64_t count = b[3].len / 8, queries = b[5].len / 8, lists = b[9].len / 8;
    const int64_t capacity = lists ? b[6].len / 4 / lists : 0;
    if (capacity < 1 || (queries && count > INT64_MAX / 4 / queries) || !holds(&b[0], queries * count, 4) ||
        !holds(&b[1], count, 4) || !holds(&b[2], count, 4) || !holds(&b[3], count, 8) ||
        (b[4].len && !holds(&b[4], count, 1)) || !holds(&b[5], queries, 8) || !holds(&b[6], lists * capacity, 4) ||
        !holds(&b[7], lists * capacity, 8) || !holds(&b[8], lists * capacity, 8) || !holds(&b[9], lists, 8))
        return done(b, 10, MISMATCH, 0);
    const batch_t batch = {b[0].buf, b[1].buf, b[2].buf, b[3].buf, b[4].len ? b[4].buf : NULL,
                           b[5].buf, count,    queries,  position, capacity,
                           lists,    b[6].buf, b[7].buf, b[8].buf, b[9].buf};
    WITHOUT_GIL(offer_batch(&batch))
    return done(b, 10, error, 0);
}

PyMethodDef scan_batch_methods[] = {
    {"offer_batch", py_offer_batch, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
