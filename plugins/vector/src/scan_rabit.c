/* Scans of the codes of RaBitQ, a signed byte for each number. */
#include "best.h"

typedef struct {
    partitions_t partitions;
    const Py_buffer *added, *scales; /* of each partition, a number for each row */
    int64_t width;
    const float *query;
    float half;           /* added to the product of a code with the query */
    const float *factors; /* of each partition: by what `added` is multiplied */
    const float *bases;   /* of each partition */
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

/* A function of `product` makes a scan. */
#define SCAN(name, target, product)                                                               \
    target static void name(const rabit_scan_t *s, best_t *best) {                                \
        float scores[SCANNED];                                                                    \
        int64_t position = 0;                                                                     \
        for (int64_t number = 0; number < s->partitions.number; number++) {                       \
            const int64_t rows = s->partitions.rows[number].len / 8;                              \
            const int8_t *codes = s->partitions.codes[number].buf;                                \
            const float *added = s->added[number].buf, *scales = s->scales[number].buf;           \
            const float factor = s->factors[number], base = s->bases[number];                     \
            for (int64_t first = 0; first < rows; first += SCANNED) {                             \
                const int64_t count = rows - first < SCANNED ? rows - first : SCANNED;            \
                for (int64_t i = 0; i < count; i++) {                                             \
                    const int64_t row = first + i;                                                \
                    const float sum = product(codes + row * s->width, s->query, s->width);        \
                    scores[i] = (sum + s->half) * scales[row] + added[row] * factor + base;       \
                }                                                                                 \
                offer_all(best, &s->partitions, number, first, count, position, scores);          \
            }                                                                                     \
            position += rows;                                                                     \
        }                                                                                         \
    }

SCAN(scan_codes, , code_product)
#ifdef WITH_FMA
SCAN(scan_codes_fma, WITH_FMA, code_product_fma)
#endif

static const char *scan_rabit(const rabit_scan_t *s, best_t *best) {
#ifdef WITH_FMA
    if (has_fma()) {
        scan_codes_fma(s, best);
        return NULL;
    }
#endif
    scan_codes(s, best);
    return NULL;
}

static PyObject *py_scan_rabit(PyObject *self, PyObject *args) {
    PyObject *codes, *rows, *masks, *added, *scales;
    Py_buffer b[3] = {0};
    double half;
    const char *error = NULL;
    scan_t scan = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOy*dy*y*w*w*w*", &codes, &rows, &masks, &added, &scales, &b[0], &half, &b[1],
                          &b[2], &scan.out[0], &scan.out[1], &scan.out[2]))
        return release(b, 3), release(scan.out, 3), NULL;
    if (begin_scan(&scan, codes, rows, masks, b[0].len / 4, 1)) {
        const partitions_t *partitions = &scan.partitions;
        Py_buffer *adds = numbers_of(added, partitions, &error), *factors = numbers_of(scales, partitions, &error);
        if (!holds(&b[0], b[0].len / 4, 4) || !holds(&b[1], partitions->number, 4) ||
            !holds(&b[2], partitions->number, 4))
            error = MISMATCH;
        const rabit_scan_t s = {*partitions, adds,     factors, b[0].len / 4, b[0].buf,
                                (float)half, b[1].buf, b[2].buf};
        if (!error)
            WITHOUT_GIL(scan_rabit(&s, &scan.best))
        free_numbers(adds, partitions);
        free_numbers(factors, partitions);
    }
    release(b, 3);
    return end_scan(&scan, error);
}

PyMethodDef scan_rabit_methods[] = {
    {"scan_rabit", py_scan_rabit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
