/* The signs of RaBitQ, 8 in a byte, in groups of rows (`small_tables.h`). Bounds of scores by
 * signs leave out most rows in little time. */
#ifndef LANCE_CORE_VECTOR_SIGNS_H
#define LANCE_CORE_VECTOR_SIGNS_H

#include "best.h"
#include "small_tables.h"

/* A query, and the codes that it is compared with. */
typedef struct {
    partitions_t partitions;
    const Py_buffer *added, *scales; /* of each partition, a number for each row */
    int64_t width;                   /* bytes of a row */
    const float *tables;             /* [2 * width][16]: the products of four signs with the query */
    float half;                      /* added to the sum of the products */
    const float *factors;            /* of each partition: by what `added` is multiplied */
    const float *bases;              /* of each partition */
    const Py_buffer *errors;         /* of each partition, a number for each row; or NULL */
    const float *reaches;            /* of each partition: `errors` times it are added to bounds */
} signs_t;

#ifdef WITH_FMA
/* What turns sums of small numbers into scores that no exact score is below. */
typedef struct {
    __m256 step, least; /* a sum of products is least + step * sum, within `error` */
    __m256 error, factor, base, reach;
} bounds_t;

#define ROUNDING 1e-6f /* more than what scores are rounded by, relatively */

/* A bit for each of 8 rows: 0 if its score is certainly above the limit. */
WITH_FMA static inline uint32_t near_rows(__m128i sums, const bounds_t *b, const float *added,
                                          const float *scales, const float *errors, __m256 limit) {
    const __m256 sign = _mm256_set1_ps(-0.0f), rounding = _mm256_set1_ps(ROUNDING);
    const __m256 sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(sums)), b->step, b->least);
    const __m256 scale = _mm256_loadu_ps(scales);
    const __m256 product = _mm256_mul_ps(sum, scale), add = _mm256_mul_ps(_mm256_loadu_ps(added), b->factor);
    const __m256 size = _mm256_add_ps(
        _mm256_add_ps(_mm256_andnot_ps(sign, product), _mm256_andnot_ps(sign, add)), _mm256_andnot_ps(sign, b->base));
    __m256 score = _mm256_add_ps(_mm256_add_ps(product, add), b->base);
    score = _mm256_fnmadd_ps(b->error, _mm256_andnot_ps(sign, scale), score);
    score = _mm256_fnmadd_ps(rounding, size, score);
    if (errors)
        score = _mm256_fnmadd_ps(b->reach, _mm256_loadu_ps(errors), score);
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(score, limit, _CMP_NGT_UQ));
}

/* Offers the rows of a partition that may be among the best, up to a multiple of `GROUPED`, with the scores that
 * `score_of` computes. Returns the number of the rows. */
WITH_FMA INLINE int64_t scan_shuffled(const signs_t *s, const small_tables_t *small, best_t *best, int64_t number,
                                      int64_t position, const void *context,
                                      float (*score_of)(const void *context, int64_t number, int64_t row)) {
    const int64_t rows = s->partitions.rows[number].len / 8, width = s->width;
    const uint8_t *codes = s->partitions.codes[number].buf;
    const uint64_t *ids = s->partitions.rows[number].buf;
    const uint8_t *mask = s->partitions.masks ? s->partitions.masks[number].buf : NULL;
    const float *added = s->added[number].buf, *scales = s->scales[number].buf;
    const float *errors = s->errors ? s->errors[number].buf : NULL;
    const __m256i low = _mm256_set1_epi8(15);
    /* Small numbers are rounded down, by less than one step each. */
    const double error = 0.5 * small->scale * (double)(2 * width);
    const double size = small->size + fabs((double)s->half) + 2 * 255 * error;
    const bounds_t bounds = {
        _mm256_set1_ps((float)small->scale), _mm256_set1_ps((float)(small->least + error + s->half)),
        _mm256_set1_ps((float)(error + ROUNDING * (double)(width + 1) * size)), _mm256_set1_ps(s->factors[number]),
        _mm256_set1_ps(s->bases[number]), _mm256_set1_ps(errors ? s->reaches[number] : 0)};
    int64_t first = 0;
    for (; first + GROUPED <= rows; first += GROUPED) {
        /* Sums of the bytes of all 16-bit words, and of the upper ones only. */
        __m256i both = _mm256_setzero_si256(), upper = both;
        for (int64_t byte = 0; byte < width; byte++) {
            const __m256i code = _mm256_loadu_si256((const __m256i *)(codes + first * width + byte * GROUPED));
            const __m256i one =
                _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)small->numbers[2 * byte]));
            const __m256i two =
                _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)small->numbers[2 * byte + 1]));
            const __m256i x = _mm256_shuffle_epi8(one, _mm256_and_si256(code, low));
            const __m256i y = _mm256_shuffle_epi8(two, _mm256_and_si256(_mm256_srli_epi16(code, 4), low));
            both = _mm256_add_epi16(both, _mm256_add_epi16(x, y));
            upper = _mm256_add_epi16(upper, _mm256_add_epi16(_mm256_srli_epi16(x, 8), _mm256_srli_epi16(y, 8)));
        }
        const __m256i lower = _mm256_sub_epi16(both, _mm256_slli_epi16(upper, 8));
        /* Rows 0 to 7 with 16 to 23, and 8 to 15 with 24 to 31. */
        const __m256i even = _mm256_unpacklo_epi16(lower, upper), odd = _mm256_unpackhi_epi16(lower, upper);
        const __m128i sums[4] = {_mm256_castsi256_si128(even), _mm256_castsi256_si128(odd),
                                 _mm256_extracti128_si256(even, 1), _mm256_extracti128_si256(odd, 1)};
        const __m256 limit = _mm256_set1_ps(limit_of(best));
        uint32_t near = 0;
        for (int part = 0; part < 4; part++)
            near |= near_rows(sums[part], &bounds, added + first + 8 * part, scales + first + 8 * part,
                              errors ? errors + first + 8 * part : NULL, limit)
                    << (8 * part);
        for (; near; near &= near - 1) {
            const int64_t row = first + __builtin_ctz(near);
            if (mask && !mask[row])
                continue;
            const float score = score_of(context, number, row);
            if (score <= limit_of(best))
                offer(best, score, ids[row], position + row);
        }
    }
    return first;
}
#endif

#endif
