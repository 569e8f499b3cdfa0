/* Passes over all vectors of a build: lengths, sums by partition, scalar codes. */
#include "module.h"

#include <math.h>

/* The square of the length of a vector, summed in four lanes. */
INLINE double square_of(const float *vector, int64_t width) {
    double sums[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= width; i += 4)
        for (int lane = 0; lane < 4; lane++)
            sums[lane] += (double)vector[i + lane] * vector[i + lane];
    double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; i < width; i++)
        sum += (double)vector[i] * vector[i];
    return sum;
}

/* The square of the length of each vector. */
INLINE const char *squares_of(const float *vectors, int64_t rows, int64_t width, float *squares) {
    for (int64_t row = 0; row < rows; row++, vectors += width) {
        floats_t sums[4] = {{0}, {0}, {0}, {0}};
        int64_t i = 0;
        for (; i + 4 * LANES <= width; i += 4 * LANES)
            for (int at = 0; at < 4; at++)
                sums[at] += load_floats(vectors + i + at * LANES) * load_floats(vectors + i + at * LANES);
        for (; i + LANES <= width; i += LANES)
            sums[0] += load_floats(vectors + i) * load_floats(vectors + i);
        float sum = sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
        for (; i < width; i++)
            sum += vectors[i] * vectors[i];
        squares[row] = sum;
    }
    return NULL;
}

/* Divides vectors by their lengths; those of zeros stay. */
INLINE void units(const float *vectors, int64_t rows, int64_t width, float *scaled) {
    for (int64_t row = 0; row < rows; row++, vectors += width, scaled += width) {
        const double square = square_of(vectors, width), length = square > 0 ? sqrt(square) : 1;
        for (int64_t i = 0; i < width; i++)
            scaled[i] = (float)(vectors[i] / length);
    }
}

/* Adds each vector to the sum of its owner, in their order. */
INLINE const char *sums_by_owner(const float *vectors, const int64_t *owners, int64_t rows, int64_t width,
                                 int64_t count, double *sums) {
    for (int64_t row = 0; row < rows; row++, vectors += width) {
        if (owners[row] < 0 || owners[row] >= count)
            return "there is no such owner";
        double *sum = sums + owners[row] * width;
        for (int64_t i = 0; i < width; i++)
            sum[i] += vectors[i];
    }
    return NULL;
}

/* The steps of `step` from `low` to each number, from 0 to 255. */
INLINE void scalar_codes(const float *numbers, int64_t count, double low, double step, uint8_t *codes) {
    for (int64_t i = 0; i < count; i++) {
        const double scaled = ((double)numbers[i] - low) / step;
        const double above = scaled > 0 ? scaled : 0; /* also of NaN */
        codes[i] = (uint8_t)(int32_t)(above < 255 ? above : 255);
    }
}

/* Each loop is compiled twice. */
#ifdef WITH_FMA
#define TWICE(kind, name, parameters, arguments)              \
    WITH_FMA static kind name##_fma parameters {              \
        return name arguments;                                \
    }                                                         \
    static kind name##_any parameters {                       \
        return has_fma() ? name##_fma arguments : name arguments; \
    }
#else
#define TWICE(kind, name, parameters, arguments) \
    static kind name##_any parameters {          \
        return name arguments;                   \
    }
#endif

INLINE const char *units_of(const float *vectors, int64_t rows, int64_t width, float *scaled) {
    units(vectors, rows, width, scaled);
    return NULL;
}

INLINE const char *scalar_codes_of(const float *numbers, int64_t count, double low, double step, uint8_t *codes) {
    scalar_codes(numbers, count, low, step, codes);
    return NULL;
}

TWICE(const char *, squares_of, (const float *vectors, int64_t rows, int64_t width, float *squares),
      (vectors, rows, width, squares))
TWICE(const char *, units_of, (const float *vectors, int64_t rows, int64_t width, float *scaled),
      (vectors, rows, width, scaled))
TWICE(const char *, sums_by_owner,
      (const float *vectors, const int64_t *owners, int64_t rows, int64_t width, int64_t count, double *sums),
      (vectors, owners, rows, width, count, sums))
TWICE(const char *, scalar_codes_of, (const float *numbers, int64_t count, double low, double step, uint8_t *codes),
      (numbers, count, low, step, codes))

/* A function of vectors, their number and width, and an array of `num_results` numbers. */
#define PASS(name, pass, num_results)                                                       \
    static PyObject *name(PyObject *self, PyObject *args) {                                 \
        Py_buffer b[2] = {0};                                                               \
        Py_ssize_t width;                                                                   \
        const char *error;                                                                  \
        (void)self;                                                                         \
        if (!PyArg_ParseTuple(args, "y*nw*", &b[0], &width, &b[1]))                         \
            return release(b, 2), NULL;                                                     \
        const int64_t rows = width > 0 ? b[0].len / 4 / width : -1;                         \
        if (rows < 0 || !holds(&b[0], rows * width, 4) || !holds(&b[1], num_results, 4))    \
            return done(b, 2, MISMATCH, 0);                                                 \
        WITHOUT_GIL(pass(b[0].buf, rows, width, b[1].buf))                                  \
        return done(b, 2, error, 0);                                                        \
    }

PASS(py_squares, squares_of_any, rows)
PASS(py_unit_vectors, units_of_any, rows * width)

static PyObject *py_sum_by_owner(PyObject *self, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t width;
    const char *error;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*nw*", &b[0], &b[1], &width, &b[2]))
        return release(b, 3), NULL;
    const int64_t rows = b[1].len / 8, count = width > 0 ? b[2].len / 8 / width : -1;
    if (count < 0 || rows > INT64_MAX / 4 / width || !holds(&b[0], rows * width, 4) || !holds(&b[1], rows, 8) ||
        !holds(&b[2], count * width, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(sums_by_owner_any(b[0].buf, b[1].buf, rows, width, count, b[2].buf))
    return done(b, 3, error, 0);
}

static PyObject *py_scalar_codes(PyObject *self, PyObject *args) {
    Py_buffer b[2] = {0};
    double low, step;
    const char *error;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*ddw*", &b[0], &low, &step, &b[1]))
        return release(b, 2), NULL;
    if (!holds(&b[0], b[1].len, 4))
        return done(b, 2, MISMATCH, 0);
    WITHOUT_GIL(scalar_codes_of_any(b[0].buf, b[1].len, low, step, b[1].buf))
    return done(b, 2, error, 0);
}

PyMethodDef training_methods[] = {
    {"scalar_codes", py_scalar_codes, METH_VARARGS, NULL},
    {"squares", py_squares, METH_VARARGS, NULL},
    {"sum_by_owner", py_sum_by_owner, METH_VARARGS, NULL},
    {"unit_vectors", py_unit_vectors, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
