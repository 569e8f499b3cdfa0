/* Scans of the signs of RaBitQ. */
#include "signs.h"

/* The score of a row, from the products in the order of its bytes. */
INLINE float sign_score(const signs_t *s, int64_t number, int64_t row) {
    const uint8_t *code = grouped_code(s->partitions.codes[number].buf, s->width, row);
    const float added = ((const float *)s->added[number].buf)[row];
    float sum = 0;
    for (int64_t byte = 0; byte < s->width; byte++) {
        const uint8_t both = code[byte * GROUPED];
        sum += s->tables[32 * byte + 16 + (both >> 4)] + s->tables[32 * byte + (both & 15)];
    }
    return (sum + s->half) * ((const float *)s->scales[number].buf)[row] + added * s->factors[number] +
           s->bases[number];
}

static void offer_rest(const void *context, best_t *best, int64_t number, int64_t first, int64_t position) {
    const signs_t *s = context;
    const int64_t rows = s->partitions.rows[number].len / 8;
    float scores[SCANNED];
    for (; first < rows; first += SCANNED) {
        const int64_t count = rows - first < SCANNED ? rows - first : SCANNED;
        for (int64_t i = 0; i < count; i++)
            scores[i] = sign_score(s, number, first + i);
        offer_all(best, &s->partitions, number, first, count, position, scores);
    }
}

#ifdef WITH_FMA
WITH_FMA static float score_of_signs(const void *context, int64_t number, int64_t row) {
    return sign_score(context, number, row);
}

static void read_nothing(const void *context, int64_t number, int64_t row) {
    (void)context, (void)number, (void)row; /* the bounds were computed from the same code */
}

WITH_FMA static const char *scan_signs_fma(const signs_t *s, best_t *best) {
    const exact_t exact = {s, score_of_signs, read_nothing, offer_rest};
    return scan_bounded(s, best, &exact);
}
#endif

static const char *scan_signs(const signs_t *s, best_t *best) {
    int64_t position = 0;
#ifdef WITH_FMA
    if (has_bounds(s))
        return scan_signs_fma(s, best);
#endif
    for (int64_t number = 0; number < s->partitions.number; number++) {
        offer_rest(s, best, number, 0, position);
        position += s->partitions.rows[number].len / 8;
    }
    return NULL;
}

static PyObject *py_scan_signs(PyObject *self, PyObject *args) {
    PyObject *codes, *rows, *masks, *added, *scales;
    Py_ssize_t width;
    Py_buffer b[3] = {0};
    double half;
    const char *error = NULL;
    scan_t scan = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOny*dy*y*w*w*w*", &codes, &rows, &masks, &added, &scales, &width, &b[0], &half,
                          &b[1], &b[2], &scan.out[0], &scan.out[1], &scan.out[2]))
        return release(b, 3), release(scan.out, 3), NULL;
    if (begin_scan(&scan, codes, rows, masks, width, GROUPED, 1)) {
        const partitions_t *partitions = &scan.partitions;
        Py_buffer *adds = numbers_of(added, partitions, &error), *factors = numbers_of(scales, partitions, &error);
        if (width > (1 << 20) || !holds(&b[0], 32 * width, 4) || !holds(&b[1], partitions->number, 4) ||
            !holds(&b[2], partitions->number, 4))
            error = MISMATCH;
        const signs_t s = {*partitions, adds, factors, width, b[0].buf, (float)half, b[1].buf, b[2].buf, NULL, NULL};
        if (!error)
            WITHOUT_GIL(scan_signs(&s, &scan.best))
        free_numbers(adds, partitions);
        free_numbers(factors, partitions);
    }
    release(b, 3);
    return end_scan(&scan, error);
}

PyMethodDef scan_signs_methods[] = {
    {"scan_signs", py_scan_signs, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
