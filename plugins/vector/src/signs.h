/* The signs of RaBitQ, 8 in a byte, in groups of rows (`small_tables.h`). Bounds of scores by
 * signs leave out most rows in little time.
 *
 * Bounds of all rows are computed first. The rows with the lowest ones give a limit that is nearly
 * the last one: with it, few others have to be compared. */
#ifndef LANCE_CORE_VECTOR_SIGNS_H
#define LANCE_CORE_VECTOR_SIGNS_H

#include "best.h"
#include "intrinsics.h"
#include "small_tables.h"

#include <float.h>
#include <stdlib.h>

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

/* How the score of a row of partition `number` is computed, what reads its code in advance, and what
 * offers all rows of a partition from `first` on. `position`: that of the first row of the partition. */
typedef struct {
    const void *context;
    float (*score)(const void *context, int64_t number, int64_t row);
    void (*read_ahead)(const void *context, int64_t number, int64_t row);
    void (*offer_rest)(const void *context, best_t *best, int64_t number, int64_t first, int64_t position);
} exact_t;

#define MAX_NEAR 64 /* rows that are compared one after the other */

/* Bounds of the scores of 8 rows: none is below its bound, which is not infinite. */
WITH_FMA static inline __m256 bounds_of(__m128i sums, const bounds_t *b, const float *added, const float *scales,
                                        const float *errors) {
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
    return _mm256_min_ps(_mm256_set1_ps(FLT_MAX), score); /* which keeps NaN */
}

/* A bit for each of `GROUPED` rows: 0 if its score is certainly above the limit. */
WITH_FMA static inline uint32_t near_rows(const float *bounds, float limit) {
    const __m256 limits = _mm256_set1_ps(limit);
    uint32_t near = 0;
    for (int at = 0; at < GROUPED; at += LANES)
        near |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(bounds + at), limits, _CMP_NGT_UQ)) << at;
    return near;
}

/* Computes the bounds of the rows of a partition, up to a multiple of `GROUPED`, and offers the lowest ones.
 * Those of rows that do not count are infinite. Returns the number of the rows. */
WITH_FMA INLINE int64_t bound_rows(const signs_t *s, const small_tables_t *small, int64_t number, float *bounds,
                                   best_t *lowest) {
    const int64_t rows = s->partitions.rows[number].len / 8, width = s->width;
    const uint8_t *codes = s->partitions.codes[number].buf;
    const uint8_t *mask = s->partitions.masks ? s->partitions.masks[number].buf : NULL;
    const float *added = s->added[number].buf, *scales = s->scales[number].buf;
    const float *errors = s->errors ? s->errors[number].buf : NULL;
    const __m256i low = _mm256_set1_epi8(15);
    /* Small numbers are rounded down, by less than one step each. */
    const double error = 0.5 * small->scale * (double)(2 * width);
    const double size = small->size + fabs((double)s->half) + 2 * 255 * error;
    const bounds_t terms = {
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
        for (int part = 0; part < 4; part++) {
            const int64_t at = first + 8 * part;
            _mm256_storeu_ps(bounds + at, bounds_of(sums[part], &terms, added + at, scales + at,
                                                    errors ? errors + at : NULL));
        }
        if (mask)
            for (int64_t row = first; row < first + GROUPED; row++)
                bounds[row] = mask[row] ? bounds[row] : INFINITY;
        for (uint32_t near = near_rows(bounds + first, limit_of(lowest)); near; near &= near - 1) {
            const int64_t row = first + __builtin_ctz(near);
            if (bounds[row] < INFINITY)
                offer(lowest, bounds[row], (uint64_t)number, row);
        }
    }
    return first;
}

/* Offers a row of a partition with its score, unless its bound is too high. */
INLINE void offer_row(const signs_t *s, best_t *best, const exact_t *exact, int64_t number, int64_t position,
                      const float *bounds, int64_t row) {
    if (bounds[row] > limit_of(best))
        return;
    const float score = exact->score(exact->context, number, row);
    if (score <= limit_of(best))
        offer(best, score, ((const uint64_t *)s->partitions.rows[number].buf)[row], position + row);
}

/* Offers some rows of a partition, with their scores. */
INLINE void offer_near(const signs_t *s, best_t *best, const exact_t *exact, int64_t number, int64_t position,
                       const float *bounds, const int64_t *rows, int count) {
    for (int i = 0; i < count && i < AHEAD; i++)
        exact->read_ahead(exact->context, number, rows[i]);
    for (int i = 0; i < count; i++) {
        if (i + AHEAD < count)
            exact->read_ahead(exact->context, number, rows[i + AHEAD]);
        offer_row(s, best, exact, number, position, bounds, rows[i]);
    }
}

/* Offers the rows of a partition that may be among the best; `count`: those that have bounds. */
WITH_FMA INLINE void offer_bounded(const signs_t *s, best_t *best, const exact_t *exact, int64_t number,
                                   int64_t position, const float *bounds, int64_t count) {
    int64_t rows[MAX_NEAR];
    int waiting = 0;
    for (int64_t first = 0; first < count; first += GROUPED) {
        for (uint32_t near = near_rows(bounds + first, limit_of(best)); near; near &= near - 1) {
            const int64_t row = first + __builtin_ctz(near);
            if (bounds[row] != INFINITY)
                rows[waiting++] = row;
        }
        if (waiting > MAX_NEAR - GROUPED) {
            offer_near(s, best, exact, number, position, bounds, rows, waiting);
            waiting = 0;
        }
    }
    offer_near(s, best, exact, number, position, bounds, rows, waiting);
}

/* Offers the rows with the lowest bounds, and makes these infinite. `starts`: the positions of the first rows. */
INLINE void offer_lowest(const signs_t *s, best_t *best, const exact_t *exact, best_t *lowest, float *bounds,
                         const int64_t *starts) {
    sort_best(lowest);
    for (int64_t i = 0; i < lowest->size && !(lowest->scores[i] > limit_of(best)); i++) {
        const int64_t number = (int64_t)lowest->rows[i], row = lowest->positions[i];
        if (i + AHEAD < lowest->size)
            exact->read_ahead(exact->context, (int64_t)lowest->rows[i + AHEAD], lowest->positions[i + AHEAD]);
        offer_row(s, best, exact, number, starts[number], bounds + starts[number], row);
        bounds[starts[number] + row] = INFINITY;
    }
}

/* Offers the rows of all partitions that may be among the best, with their exact scores. */
WITH_FMA INLINE const char *scan_bounded(const signs_t *s, best_t *best, const exact_t *exact) {
    const int64_t number_of = s->partitions.number;
    int64_t *starts = malloc((size_t)(2 * number_of + 1) * sizeof *starts), *counts = starts + number_of, rows = 0;
    if (!starts)
        return "no memory";
    for (int64_t number = 0; number < number_of; number++) {
        starts[number] = rows;
        rows += s->partitions.rows[number].len / 8;
    }
    const size_t capacity = (size_t)best->capacity;
    float *bounds = malloc(((size_t)rows + 1) * sizeof *bounds);
    best_t lowest = {malloc(capacity * sizeof *lowest.scores), malloc(capacity * sizeof *lowest.rows),
                     malloc(capacity * sizeof *lowest.positions), best->capacity, 0};
    const char *error = "no memory";
    if (bounds && lowest.scores && lowest.rows && lowest.positions) {
        small_tables_t small;
        error = NULL;
        make_small(s->tables, 2 * s->width, &small);
        for (int64_t number = 0; number < number_of; number++)
            counts[number] = bound_rows(s, &small, number, bounds + starts[number], &lowest);
        offer_lowest(s, best, exact, &lowest, bounds, starts);
        for (int64_t number = 0; number < number_of; number++) {
            offer_bounded(s, best, exact, number, starts[number], bounds + starts[number], counts[number]);
            exact->offer_rest(exact->context, best, number, counts[number], starts[number]);
        }
    }
    free(starts);
    free(bounds);
    free(lowest.scores);
    free(lowest.rows);
    free(lowest.positions);
    return error;
}

/* Tables of more numbers have sums that 16 bits do not hold. */
INLINE int has_bounds(const signs_t *s) {
    return has_fma() && 2 * s->width <= MAX_SUMMED;
}
#endif

#endif
