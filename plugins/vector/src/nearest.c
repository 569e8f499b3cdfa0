/* The nearest centroid of each vector. */
#include <math.h>
#include <stdlib.h>

#include "products.h"

typedef struct {
    const float *vectors; /* [rows][width] */
    int64_t rows, width;
    const float *centroids; /* [count][width] */
    int64_t count;
    const float *halves; /* [count]: half the squared length of each centroid, or 0 to compare angles */
    int64_t *owners;     /* [rows] */
} nearest_t;

/* The best centroids of a row so far, each of the lanes for itself. */
typedef struct {
    floats_t least;
    ints_t which;
} lanes_t;

INLINE void compare(lanes_t *best, floats_t distances, ints_t numbers) {
    const ints_t is_less = distances < best->least;
    best->least = (floats_t)(((ints_t)distances & is_less) | ((ints_t)best->least & ~is_less));
    best->which = (numbers & is_less) | (best->which & ~is_less);
}

/* The first of the equally near centroids. */
INLINE int64_t first_of(const lanes_t *best) {
    float least = best->least[0];
    int32_t number = best->which[0];
    for (int lane = 1; lane < LANES; lane++)
        if (best->least[lane] < least || (best->least[lane] == least && best->which[lane] < number)) {
            least = best->least[lane];
            number = best->which[lane];
        }
    return number;
}

INLINE void nearest(const nearest_t *n, const float *turned, const float *halves, float *products,
                    add_products_t add) {
    const int64_t all = panels_of(n->count);
    for (int64_t first = 0; first < n->rows; first += ROWS) {
        const int64_t rows = n->rows - first < ROWS ? n->rows - first : ROWS;
        lanes_t best[ROWS];
        for (int row = 0; row < ROWS; row++)
            best[row] = (lanes_t){same_floats(INFINITY), (ints_t){0}};
        for (int64_t panel = 0; panel < all; panel += PANELS) {
            const int64_t panels = all - panel < PANELS ? all - panel : PANELS;
            const int64_t rest = n->count - panel * PANEL, others = rest < STRIDE ? rest : STRIDE;
            multiply(n->vectors + first * n->width, n->rows - first, n->width, turned + panel * n->width * PANEL,
                     others, add, products);
            for (int64_t row = 0; row < rows; row++) {
                ints_t numbers = {0, 1, 2, 3, 4, 5, 6, 7};
                numbers += (int32_t)(panel * PANEL);
                for (int64_t at = 0; at < panels * PANEL; at += LANES, numbers += LANES)
                    compare(&best[row],
                            load_floats(halves + panel * PANEL + at) - load_floats(products + row * STRIDE + at),
                            numbers);
            }
        }
        for (int64_t row = 0; row < rows; row++)
            n->owners[first + row] = first_of(&best[row]);
    }
}

#ifdef WITH_FMA
WITH_FMA static void nearest_fma(const nearest_t *n, const float *turned, const float *halves, float *products) {
    nearest(n, turned, halves, products, add_products_fma);
}
#endif

static const char *nearest_centroids(const nearest_t *n) {
    const char *error = "no memory";
    const size_t all = (size_t)(panels_of(n->count) * PANEL);
    float *turned = malloc(all * (size_t)n->width * sizeof *turned), *halves = malloc(all * sizeof *halves);
    float *products = calloc(ROWS * STRIDE, sizeof *products);
    if (turned && halves && products) {
        error = NULL;
        turn(n->centroids, n->count, n->width, turned);
        for (size_t i = 0; i < all; i++)
            halves[i] = (int64_t)i < n->count ? n->halves[i] : INFINITY;
#ifdef WITH_FMA
        if (has_fma())
            nearest_fma(n, turned, halves, products);
        else
#endif
            nearest(n, turned, halves, products, add_products);
    }
    free(turned);
    free(halves);
    free(products);
    return error;
}

static PyObject *py_nearest_centroids(PyObject *self, PyObject *args) {
    enum { VECTORS, CENTROIDS, HALVES, OWNERS, NUM };
    Py_buffer b[NUM] = {0};
    Py_ssize_t width;
    const char *error;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*ny*y*w*", &b[VECTORS], &width, &b[CENTROIDS], &b[HALVES], &b[OWNERS]))
        return release(b, NUM), NULL;
    const int64_t rows = b[OWNERS].len / 8, count = b[HALVES].len / 4;
    if (width < 1 || width > (1 << 24) || count < 1 || count > INT32_MAX - PANEL || count > INT64_MAX / 128 / width ||
        rows > INT64_MAX / 4 / width || !holds(&b[VECTORS], rows * width, 4) ||
        !holds(&b[CENTROIDS], count * width, 4) || !holds(&b[HALVES], count, 4) || !holds(&b[OWNERS], rows, 8))
        return done(b, NUM, MISMATCH, 0);
    const nearest_t n = {b[VECTORS].buf, rows, width, b[CENTROIDS].buf, count, b[HALVES].buf, b[OWNERS].buf};
    WITHOUT_GIL(nearest_centroids(&n))
    return done(b, NUM, error, 0);
}

PyMethodDef nearest_methods[] = {
    {"nearest_centroids", py_nearest_centroids, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
