/* Scans of scalar-quantised codes, one byte a number: sums of squared differences from the codes of a query. */
#include "best.h"
#include "intrinsics.h"

#define MAX_WIDTH 32768 /* numbers whose squared differences 32 bits hold the sum of */

typedef struct {
    partitions_t partitions;
    int64_t width;
    const uint8_t *query;
    float scale; /* a distance is a sum times `scale` */
} scalar_t;

/* The sum over `count` numbers. */
INLINE int32_t differences(const uint8_t *codes, const uint8_t *query, int64_t count) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const int32_t difference = (int32_t)codes[i] - query[i];
        sum += difference * difference;
    }
    return sum;
}

#ifdef WITH_AVX2
WITH_AVX2 static inline int32_t differences_avx2(const uint8_t *codes, const uint8_t *query, int64_t count) {
    __m256i sums = _mm256_setzero_si256(), others = sums;
    int64_t i = 0;
    for (; i + 32 <= count; i += 32) {
        const __m256i one = _mm256_sub_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(codes + i))),
                                             _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(query + i))));
        const __m256i two =
            _mm256_sub_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(codes + i + 16))),
                             _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(query + i + 16))));
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(one, one));
        others = _mm256_add_epi32(others, _mm256_madd_epi16(two, two));
    }
    sums = _mm256_add_epi32(sums, others);
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
    return _mm_cvtsi128_si32(half) + differences(codes + i, query + i, count - i);
}
#endif

/* A function of `differences` makes a scan. To leave a row whose sum is too great already saves nothing:
 * the codes are read either way. */
#define SCAN(name, target, differences)                                                         \
    target static void name(const scalar_t *s, best_t *best) {                                  \
        int64_t position = 0;                                                                   \
        for (int64_t number = 0; number < s->partitions.number; number++) {                     \
            const int64_t rows = s->partitions.rows[number].len / 8;                            \
            const uint8_t *codes = s->partitions.codes[number].buf;                             \
            const uint64_t *ids = s->partitions.rows[number].buf;                               \
            const uint8_t *mask = s->partitions.masks ? s->partitions.masks[number].buf : NULL; \
            float limit = limit_of(best);                                                       \
            for (int64_t row = 0; row < rows; row++, codes += s->width) {                       \
                if (mask && !mask[row])                                                         \
                    continue;                                                                   \
                const float score = (float)differences(codes, s->query, s->width) * s->scale;   \
                if (score <= limit) {                                                           \
                    offer(best, score, ids[row], position + row);                               \
                    limit = limit_of(best);                                                     \
                }                                                                               \
            }                                                                                   \
            position += rows;                                                                   \
        }                                                                                       \
    }

SCAN(scan_plain, , differences)
#ifdef WITH_AVX2
SCAN(scan_avx2, WITH_AVX2, differences_avx2)
#endif

static const char *scan_scalar(const scalar_t *s, best_t *best) {
#ifdef WITH_AVX2
    if (has_avx2()) {
        scan_avx2(s, best);
        return NULL;
    }
#endif
    scan_plain(s, best);
    return NULL;
}

static PyObject *py_scan_scalar(PyObject *self, PyObject *args) {
    PyObject *codes, *rows, *masks;
    Py_buffer query = {0};
    double scale;
    const char *error = NULL;
    scan_t scan = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOy*dw*w*w*", &codes, &rows, &masks, &query, &scale, &scan.out[0],
                          &scan.out[1], &scan.out[2]))
        return release(&query, 1), release(scan.out, 3), NULL;
    if (begin_scan(&scan, codes, rows, masks, query.len, 1, 1)) {
        const scalar_t s = {scan.partitions, query.len, query.buf, (float)scale};
        if (query.len > MAX_WIDTH)
            error = MISMATCH;
        else
            WITHOUT_GIL(scan_scalar(&s, &scan.best))
    }
    release(&query, 1);
    return end_scan(&scan, error);
}

PyMethodDef scan_scalar_methods[] = {
    {"scan_scalar", py_scan_scalar, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
