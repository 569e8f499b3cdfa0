/* Scans of the codes of RaBitQ, a signed byte for each number.
 *
 * With the signs of the codes apart, only rows are compared by all bits whose scores by signs are low
 * enough, if they are wrong by no more than so many times the error that is expected of each.
 */
#include "signs.h"

typedef struct {
    partitions_t partitions;
    const Py_buffer *added, *scales; /* of each partition, a number for each row */
    int64_t width;
    const float *query;
    float half;           /* added to the product of a code with the query */
    const float *factors; /* of each partition: by what `added` is multiplied */
    const float *bases;   /* of each partition */
    const signs_t *signs; /* of the same rows, or NULL */
} rabit_scan_t;

static float code_product(const int8_t *code, const float *query, int64_t width) {
    float sums[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= width; i += 4)
        for (int at = 0; at < 4; at++)
            sums[at] += (float)code[i + at] * query[i + at];
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; i < width; i++)
        sum += (float)code[i] * query[i];
    return sum;
}

#ifdef WITH_FMA
WITH_FMA static inline __m256 eight_products(const int8_t *code, const float *query, __m256 sum) {
    const __m256i some = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)code));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(some), _mm256_loadu_ps(query), sum);
}

WITH_FMA static inline float code_product_fma(const int8_t *code, const float *query, int64_t width) {
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
    int64_t i = 0;
    for (; i + 32 <= width; i += 32)
        for (int at = 0; at < 4; at++)
            sums[at] = eight_products(code + i + 8 * at, query + i + 8 * at, sums[at]);
    for (; i + 8 <= width; i += 8)
        sums[0] = eight_products(code + i, query + i, sums[0]);
    const __m256 all = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    float sum = _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
    for (; i < width; i++)
        sum += (float)code[i] * query[i];
    return sum;
}
#endif

/* A function of `product` makes the score of a row, and a scan of a partition from a row on. */
#define SCAN(score, scan, target, product)                                                            \
    target static float score(const void *context, int64_t number, int64_t row) {                     \
        const rabit_scan_t *s = context;                                                              \
        const int8_t *code = (const int8_t *)s->partitions.codes[number].buf + row * s->width;        \
        const float added = ((const float *)s->added[number].buf)[row];                               \
        const float scale = ((const float *)s->scales[number].buf)[row];                              \
        return (product(code, s->query, s->width) + s->half) * scale + added * s->factors[number] +   \
               s->bases[number];                                                                      \
    }                                                                                                 \
    target static void scan(const void *context, best_t *best, int64_t number, int64_t first,         \
                            int64_t position) {                                                       \
        const rabit_scan_t *s = context;                                                              \
        const int64_t rows = s->partitions.rows[number].len / 8;                                      \
        float scores[SCANNED];                                                                        \
        for (; first < rows; first += SCANNED) {                                                      \
            const int64_t count = rows - first < SCANNED ? rows - first : SCANNED;                    \
            for (int64_t i = 0; i < count; i++)                                                       \
                scores[i] = score(s, number, first + i);                                              \
            offer_all(best, &s->partitions, number, first, count, position, scores);                  \
        }                                                                                             \
    }

SCAN(code_score, scan_codes, , code_product)
#ifdef WITH_FMA
SCAN(code_score_fma, scan_codes_fma, WITH_FMA, code_product_fma)

WITH_FMA static void read_code(const void *context, int64_t number, int64_t row) {
    const rabit_scan_t *s = context;
    read_bytes_ahead((const char *)s->partitions.codes[number].buf + row * s->width, s->width);
    __builtin_prefetch((const float *)s->added[number].buf + row);
    __builtin_prefetch((const float *)s->scales[number].buf + row);
}

WITH_FMA static const char *scan_near(const rabit_scan_t *s, best_t *best) {
    const exact_t exact = {s, code_score_fma, read_code, scan_codes_fma};
    return scan_bounded(s->signs, best, &exact);
}
#endif

static const char *scan_rabit(const rabit_scan_t *s, best_t *best) {
    void (*scan)(const void *, best_t *, int64_t, int64_t, int64_t) = scan_codes;
    int64_t position = 0;
#ifdef WITH_FMA
    if (s->signs && has_bounds(s->signs))
        return scan_near(s, best);
    if (has_fma())
        scan = scan_codes_fma;
#endif
    for (int64_t number = 0; number < s->partitions.number; number++) {
        scan(s, best, number, 0, position);
        position += s->partitions.rows[number].len / 8;
    }
    return NULL;
}

/* Buffers of a list, one for each partition, with `width` grouped bytes a row; see `numbers_of`. */
static Py_buffer *grouped_bytes(PyObject *list, const partitions_t *partitions, int64_t width, const char **error) {
    Py_buffer *found = PyMem_Calloc((size_t)partitions->number + 1, sizeof *found);
    if (!found || !PyList_Check(list) || PyList_Size(list) != partitions->number) {
        *error = MISMATCH;
        return found;
    }
    for (int64_t i = 0; i < partitions->number && !*error; i++)
        if (PyObject_GetBuffer(PyList_GetItem(list, i), &found[i], PyBUF_SIMPLE) < 0) {
            PyErr_Clear();
            *error = MISMATCH;
        } else if ((partitions->rows[i].len / 8 + GROUPED - 1) / GROUPED * GROUPED * width != found[i].len)
            *error = MISMATCH;
    return found;
}

static PyObject *py_scan_rabit(PyObject *self, PyObject *args) {
    enum { QUERY, FACTORS, BASES, TABLES, REACHES, NUM };
    enum { ADDED, SCALES, SIGN_ADDED, SIGN_SCALES, ERRORS, NUM_LISTS };
    PyObject *codes, *rows, *masks, *signs, *lists[NUM_LISTS];
    Py_buffer b[NUM] = {0}, *numbers[NUM_LISTS] = {0}, *sign_bytes = NULL;
    double half, sign_half;
    const char *error = NULL;
    scan_t scan = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOy*dy*y*OOOOy*dy*w*w*w*", &codes, &rows, &masks, &lists[ADDED], &lists[SCALES],
                          &b[QUERY], &half, &b[FACTORS], &b[BASES], &signs, &lists[SIGN_ADDED],
                          &lists[SIGN_SCALES], &lists[ERRORS], &b[TABLES], &sign_half, &b[REACHES], &scan.out[0],
                          &scan.out[1], &scan.out[2]))
        return release(b, NUM), release(scan.out, 3), NULL;
    const int64_t width = b[QUERY].len / 4, sign_width = b[TABLES].len / 4 / 32;
    if (begin_scan(&scan, codes, rows, masks, width, 1, 1)) {
        const partitions_t *partitions = &scan.partitions;
        const int with_signs = signs != Py_None;
        for (int i = 0; i < (with_signs ? NUM_LISTS : SIGN_ADDED) && !error; i++)
            numbers[i] = numbers_of(lists[i], partitions, &error);
        if (!holds(&b[QUERY], width, 4) || !holds(&b[FACTORS], partitions->number, 4) ||
            !holds(&b[BASES], partitions->number, 4))
            error = MISMATCH;
        if (with_signs && !error)
            sign_bytes = grouped_bytes(signs, partitions, sign_width, &error);
        if (with_signs && (8 * sign_width != width || !holds(&b[TABLES], 32 * sign_width, 4) ||
                           !holds(&b[REACHES], partitions->number, 4)))
            error = MISMATCH;
        const signs_t bound = {{sign_bytes, partitions->rows, partitions->masks, partitions->number},
                               numbers[SIGN_ADDED],
                               numbers[SIGN_SCALES],
                               sign_width,
                               b[TABLES].buf,
                               (float)sign_half,
                               b[FACTORS].buf,
                               b[BASES].buf,
                               numbers[ERRORS],
                               b[REACHES].buf};
        const rabit_scan_t s = {*partitions, numbers[ADDED], numbers[SCALES], width, b[QUERY].buf,
                                (float)half, b[FACTORS].buf, b[BASES].buf,   with_signs ? &bound : NULL};
        if (!error)
            WITHOUT_GIL(scan_rabit(&s, &scan.best))
        for (int i = 0; i < NUM_LISTS; i++)
            free_numbers(numbers[i], partitions);
        free_numbers(sign_bytes, partitions);
    }
    release(b, NUM);
    return end_scan(&scan, error);
}

PyMethodDef scan_rabit_methods[] = {
    {"scan_rabit", py_scan_rabit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
