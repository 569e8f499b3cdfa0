/* The best rows for several queries, by the products of all vectors of a block with all queries. */
#include <stdlib.h>

#include "best.h"
#include "products.h"

typedef struct {
    const float *vectors; /* [count][width] */
    const float *queries; /* [queries][width] */
    const float *added, *factors; /* [count]: a score is `added + factor * product` */
    const uint64_t *rows;
    const uint8_t *mask; /* or NULL */
    const int64_t *places; /* [queries]: which list of best rows each query has */
    int64_t count, width, num_queries, position, capacity, lists;
    const float *limits; /* [lists]: scores above are left out */
    float *scores; /* [lists][capacity]: heaps */
    uint64_t *best_rows;
    int64_t *positions, *sizes;
} batch_t;

/* The queries in panels, with what scores may enter their lists, and products. */
typedef struct {
    float *turned;
    float *limits;   /* [panels][PANEL] */
    best_t *best;    /* [queries] */
    float *products; /* [ROWS][STRIDE] */
} panels_t;

/* Offers a row to the queries of a panel for which its score is low enough. */
INLINE void offer_row(const batch_t *b, int64_t row, const float *products, float *limits, best_t *best) {
    const float added = b->added[row], factor = b->factors[row];
    float scores[PANEL];
    int near = 0;
    for (int i = 0; i < PANEL; i++) {
        scores[i] = added + factor * products[i];
        near |= scores[i] <= limits[i];
    }
    for (int i = 0; near && i < PANEL; i++)
        if (scores[i] <= limits[i]) {
            offer(&best[i], scores[i], b->rows[row], b->position + row);
            limits[i] = limit_of(&best[i]) < limits[i] ? limit_of(&best[i]) : limits[i];
        }
}

INLINE void offer_vectors(const batch_t *b, const panels_t *p, add_products_t add) {
    const int64_t all = panels_of(b->num_queries);
    turn(b->queries, b->num_queries, b->width, p->turned);
    for (int64_t panel = 0; panel < all; panel += PANELS) {
        const int64_t panels = all - panel < PANELS ? all - panel : PANELS;
        const int64_t rest = b->num_queries - panel * PANEL, others = rest < STRIDE ? rest : STRIDE;
        for (int64_t first = 0; first < b->count; first += ROWS) {
            const int64_t rows = b->count - first < ROWS ? b->count - first : ROWS;
            multiply(b->vectors + first * b->width, b->count - first, b->width, p->turned + panel * b->width * PANEL,
                     others, add, p->products);
            for (int64_t row = 0; row < rows; row++)
                for (int64_t i = 0; i < panels && (!b->mask || b->mask[first + row]); i++)
                    offer_row(b, first + row, p->products + row * STRIDE + i * PANEL,
                              p->limits + (panel + i) * PANEL, p->best + (panel + i) * PANEL);
        }
    }
}

#ifdef WITH_FMA
WITH_FMA static void offer_vectors_fma(const batch_t *b, const panels_t *p) {
    offer_vectors(b, p, add_products_fma);
}
#endif

/* Sets the lists of the queries, and what scores may enter them. */
static void begin_lists(const batch_t *b, const panels_t *p) {
    const int64_t all = panels_of(b->num_queries) * PANEL;
    for (int64_t query = 0; query < all; query++) {
        p->limits[query] = NAN; /* which no score is below */
        if (query >= b->num_queries)
            continue;
        const int64_t list = b->places[query], at = list * b->capacity;
        p->best[query] =
            (best_t){b->scores + at, b->best_rows + at, b->positions + at, b->capacity, b->sizes[list]};
        const float worst = limit_of(&p->best[query]);
        p->limits[query] = worst < b->limits[list] ? worst : b->limits[list];
    }
}

static const char *offer_batch(const batch_t *b) {
    const char *error = "no memory";
    for (int64_t query = 0; query < b->num_queries; query++)
        if (b->places[query] < 0 || b->places[query] >= b->lists || b->sizes[b->places[query]] < 0 ||
            b->sizes[b->places[query]] > b->capacity)
            return MISMATCH;
    const size_t all = (size_t)(panels_of(b->num_queries) * PANEL);
    const panels_t p = {malloc((all * (size_t)b->width + 1) * sizeof *p.turned), malloc((all + 1) * sizeof *p.limits),
                        malloc((all + 1) * sizeof *p.best), calloc(ROWS * STRIDE, sizeof *p.products)};
    if (p.turned && p.limits && p.best && p.products) {
        error = NULL;
        begin_lists(b, &p);
#ifdef WITH_FMA
        if (has_fma())
            offer_vectors_fma(b, &p);
        else
#endif
            offer_vectors(b, &p, add_products);
        for (int64_t query = 0; query < b->num_queries; query++)
            b->sizes[b->places[query]] = p.best[query].size;
    }
    free(p.turned);
    free(p.limits);
    free(p.best);
    free(p.products);
    return error;
}

static PyObject *py_offer_batch(PyObject *self, PyObject *args) {
    enum { VECTORS, QUERIES, ADDED, FACTORS, NUMBERS, MASK, PLACES, LIMITS, SCORES, BEST, POSITIONS, SIZES, NUM };
    Py_buffer b[NUM] = {0};
    Py_ssize_t width, position;
    const char *error;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*ny*y*y*y*y*y*ny*w*w*w*w*", &b[VECTORS], &width, &b[QUERIES], &b[ADDED],
                          &b[FACTORS], &b[NUMBERS], &b[MASK], &b[PLACES], &position, &b[LIMITS], &b[SCORES],
                          &b[BEST], &b[POSITIONS], &b[SIZES]))
        return release(b, NUM), NULL;
    const int64_t count = b[NUMBERS].len / 8, queries = b[PLACES].len / 8, lists = b[SIZES].len / 8;
    const int64_t capacity = lists ? b[SCORES].len / 4 / lists : 0;
    if (capacity < 1 || width < 1 || width > (1 << 24) || count > INT64_MAX / 4 / width ||
        queries > INT64_MAX / 128 / width || !holds(&b[VECTORS], count * width, 4) ||
        !holds(&b[QUERIES], queries * width, 4) || !holds(&b[ADDED], count, 4) || !holds(&b[FACTORS], count, 4) ||
        !holds(&b[NUMBERS], count, 8) || (b[MASK].len && !holds(&b[MASK], count, 1)) ||
        !holds(&b[PLACES], queries, 8) || !holds(&b[LIMITS], lists, 4) || !holds(&b[SCORES], lists * capacity, 4) ||
        !holds(&b[BEST], lists * capacity, 8) || !holds(&b[POSITIONS], lists * capacity, 8) ||
        !holds(&b[SIZES], lists, 8))
        return done(b, NUM, MISMATCH, 0);
    const batch_t batch = {.vectors = b[VECTORS].buf,
                           .queries = b[QUERIES].buf,
                           .added = b[ADDED].buf,
                           .factors = b[FACTORS].buf,
                           .rows = b[NUMBERS].buf,
                           .mask = b[MASK].len ? b[MASK].buf : NULL,
                           .places = b[PLACES].buf,
                           .count = count,
                           .width = width,
                           .num_queries = queries,
                           .position = position,
                           .capacity = capacity,
                           .lists = lists,
                           .limits = b[LIMITS].buf,
                           .scores = b[SCORES].buf,
                           .best_rows = b[BEST].buf,
                           .positions = b[POSITIONS].buf,
                           .sizes = b[SIZES].buf};
    WITHOUT_GIL(offer_batch(&batch))
    return done(b, NUM, error, 0);
}

PyMethodDef scan_batch_methods[] = {
    {"offer_batch", py_offer_batch, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
