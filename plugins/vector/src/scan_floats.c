/* Scans of vectors of floats: products with a query, or squared differences from it. */
#include "best.h"

typedef struct {
    partitions_t partitions;
    int64_t width;
    const float *query;
} floats_scan_t;

INLINE float squared_difference(const float *vector, const float *query, int64_t count) {
    floats_t sums[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES)
        for (int at = 0; at < 4; at++) {
            const floats_t one = load_floats(vector + i + at * LANES) - load_floats(query + i + at * LANES);
            sums[at] += one * one;
        }
    for (; i + LANES <= count; i += LANES) {
        const floats_t one = load_floats(vector + i) - load_floats(query + i);
        sums[0] += one * one;
    }
    float sum = sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < count; i++)
        sum += (vector[i] - query[i]) * (vector[i] - query[i]);
    return sum;
}

INLINE float product(const float *vector, const float *query, int64_t count) {
    floats_t sums[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES)
        for (int at = 0; at < 4; at++)
            sums[at] += load_floats(vector + i + at * LANES) * load_floats(query + i + at * LANES);
    for (; i + LANES <= count; i += LANES)
        sums[0] += load_floats(vector + i) * load_floats(query + i);
    float sum = sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < count; i++)
        sum += vector[i] * query[i];
    return sum;
}

/* Also the square of the length of `vector`. */
INLINE float product_and_square(const float *vector, const float *query, int64_t count, float *square) {
    floats_t sums[2] = {{0}, {0}}, squares[2] = {{0}, {0}};
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES)
        for (int at = 0; at < 2; at++) {
            const floats_t some = load_floats(vector + i + at * LANES);
            sums[at] += some * load_floats(query + i + at * LANES);
            squares[at] += some * some;
        }
    float sum = sum_lanes(sums[0] + sums[1]), own = sum_lanes(squares[0] + squares[1]);
    for (; i < count; i++) {
        sum += vector[i] * query[i];
        own += vector[i] * vector[i];
    }
    *square = own;
    return sum;
}

enum { BY_DIFFERENCES, BY_PRODUCTS, BY_ANGLES };

/* The score of a vector. To leave a row whose sum is too great already would take longer: the processor
 * fetches what follows only where all is read. `square`: of the length of the vector, by angles. */
INLINE float score_of(const floats_scan_t *s, int kind, const float *vector, float *square) {
    if (kind == BY_DIFFERENCES)
        return squared_difference(vector, s->query, s->width);
    if (kind == BY_PRODUCTS)
        return -product(vector, s->query, s->width);
    const float found = product_and_square(vector, s->query, s->width, square);
    return -(found / sqrtf(*square)); /* NaN for a vector of zeros */
}

/* The size is -1 if the length of a vector is not finite, by angles. */
INLINE void scan_kind(const floats_scan_t *s, int kind, best_t *best) {
    int64_t position = 0;
    for (int64_t number = 0; number < s->partitions.number; number++) {
        const int64_t rows = s->partitions.rows[number].len / 8;
        const float *vector = s->partitions.codes[number].buf;
        const uint64_t *ids = s->partitions.rows[number].buf;
        const uint8_t *mask = s->partitions.masks ? s->partitions.masks[number].buf : NULL;
        float limit = limit_of(best);
        for (int64_t row = 0; row < rows; row++, vector += s->width) {
            if (mask && !mask[row])
                continue;
            float square = 1;
            const float score = score_of(s, kind, vector, &square);
            if (square == INFINITY) {
                best->size = -1;
                return;
            }
            if (score <= limit) {
                offer(best, score, ids[row], position + row);
                limit = limit_of(best);
            }
        }
        position += rows;
    }
}

/* Each kind is compiled apart. */
INLINE void scan_any(const floats_scan_t *s, int kind, best_t *best) {
    if (kind == BY_DIFFERENCES)
        scan_kind(s, BY_DIFFERENCES, best);
    else if (kind == BY_PRODUCTS)
        scan_kind(s, BY_PRODUCTS, best);
    else
        scan_kind(s, BY_ANGLES, best);
}

#ifdef WITH_FMA
WITH_FMA static void scan_fma(const floats_scan_t *s, int kind, best_t *best) {
    scan_any(s, kind, best);
}
#endif

static const char *scan_floats(const floats_scan_t *s, int kind, best_t *best) {
#ifdef WITH_FMA
    if (has_fma()) {
        scan_fma(s, kind, best);
        return NULL;
    }
#endif
    scan_any(s, kind, best);
    return NULL;
}

static PyObject *py_scan_floats(PyObject *self, PyObject *args) {
    PyObject *codes, *rows, *masks;
    Py_buffer query = {0};
    int kind;
    const char *error = NULL;
    scan_t scan = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOy*iw*w*w*", &codes, &rows, &masks, &query, &kind, &scan.out[0],
                          &scan.out[1], &scan.out[2]))
        return release(&query, 1), release(scan.out, 3), NULL;
    if (begin_scan(&scan, codes, rows, masks, query.len, 1, 4)) {
        const floats_scan_t s = {scan.partitions, query.len / 4, query.buf};
        if (!holds(&query, s.width, 4) || kind < BY_DIFFERENCES || kind > BY_ANGLES)
            error = MISMATCH;
        else
            WITHOUT_GIL(scan_floats(&s, kind, &scan.best))
    }
    release(&query, 1);
    return end_scan(&scan, error);
}

PyMethodDef scan_floats_methods[] = {
    {"scan_floats", py_scan_floats, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
