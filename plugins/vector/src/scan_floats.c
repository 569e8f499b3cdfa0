/* Scans of vectors of floats: products with a query, or squared differences from it. */
#include "best.h"

#define CHECKED 64 /* numbers after which a row that is too far already is left */

typedef struct {
    partitions_t partitions;
    int64_t width;
    const float *query;
} floats_scan_t;

INLINE float sum_lanes(floats_t sums) {
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

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

/* Squared differences; the sum of a row is not completed once it is above that of the best rows. */
INLINE void scan_differences(const floats_scan_t *s, best_t *best) {
    int64_t position = 0;
    for (int64_t number = 0; number < s->partitions.number; number++) {
        const int64_t rows = s->partitions.rows[number].len / 8;
        const float *vector = s->partitions.codes[number].buf;
        const uint64_t *ids = s->partitions.rows[number].buf;
        const uint8_t *mask = s->partitions.masks ? s->partitions.masks[number].buf : NULL;
        float limit = limit_of(best);
        for (int64_t row = 0; row < rows; row++, vector += s->width) {
            float sum = 0;
            int64_t at = 0;
            if (mask && !mask[row])
                continue;
            for (; at + CHECKED < s->width && sum <= limit; at += CHECKED)
                sum += squared_difference(vector + at, s->query + at, CHECKED);
            if (sum > limit)
                continue;
            sum += squared_difference(vector + at, s->query + at, s->width - at);
            if (sum <= limit) {
                offer(best, sum, ids[row], position + row);
                limit = limit_of(best);
            }
        }
        position += rows;
    }
}

/* Minus the products. */
INLINE void scan_products(const floats_scan_t *s, best_t *best) {
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
            const float score = -product(vector, s->query, s->width);
            if (score <= limit) {
                offer(best, score, ids[row], position + row);
                limit = limit_of(best);
            }
        }
        position += rows;
    }
}

INLINE void scan_either(const floats_scan_t *s, int is_product, best_t *best) {
    if (is_product)
        scan_products(s, best);
    else
        scan_differences(s, best);
}

#ifdef WITH_FMA
WITH_FMA static void scan_fma(const floats_scan_t *s, int is_product, best_t *best) {
    scan_either(s, is_product, best);
}
#endif

static const char *scan_floats(const floats_scan_t *s, int is_product, best_t *best) {
#ifdef WITH_FMA
    if (has_fma()) {
        scan_fma(s, is_product, best);
        return NULL;
    }
#endif
    scan_either(s, is_product, best);
    return NULL;
}

static PyObject *py_scan_floats(PyObject *self, PyObject *args) {
    PyObject *codes, *rows, *masks;
    Py_buffer query = {0};
    int is_product;
    const char *error = NULL;
    scan_t scan = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOy*pw*w*w*", &codes, &rows, &masks, &query, &is_product, &scan.out[0],
                          &scan.out[1], &scan.out[2]))
        return release(&query, 1), release(scan.out, 3), NULL;
    if (begin_scan(&scan, codes, rows, masks, query.len, 4)) {
        const floats_scan_t s = {scan.partitions, query.len / 4, query.buf};
        if (!holds(&query, s.width, 4))
            error = MISMATCH;
        else
            WITHOUT_GIL(scan_floats(&s, is_product, &scan.best))
    }
    release(&query, 1);
    return end_scan(&scan, error);
}

PyMethodDef scan_floats_methods[] = {
    {"scan_floats", py_scan_floats, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
