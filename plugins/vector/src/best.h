/* The best rows of partitions: what the scans of codes of all kinds share. */
#ifndef LANCE_CORE_VECTOR_BEST_H
#define LANCE_CORE_VECTOR_BEST_H

#include "module.h"

#include <math.h>

#define SCANNED 1024 /* rows whose scores are computed before they are compared with the best */

/* A heap of the rows with the lowest scores, and of these the lowest row numbers; the worst first. */
typedef struct {
    float *scores;
    uint64_t *rows;
    int64_t *positions; /* in all partitions, one after the other */
    int64_t capacity, size;
} best_t;

/* Partition i: `counts[i]` row numbers, codes, and a byte that is 0 for rows that are left out. */
typedef struct {
    const Py_buffer *codes, *rows, *masks; /* `masks` is NULL if all rows count */
    int64_t number;
} partitions_t;

INLINE int is_before(float score, uint64_t row, float other_score, uint64_t other_row) {
    return score < other_score || (score == other_score && row < other_row);
}

INLINE void place_best(best_t *best, int64_t at, float score, uint64_t row, int64_t position) {
    best->scores[at] = score;
    best->rows[at] = row;
    best->positions[at] = position;
}

/* Puts a row in the place `at`, whose descendants below `size` are a heap each. */
static inline void sift_down(best_t *best, int64_t at, int64_t size, float score, uint64_t row,
                             int64_t position) {
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && is_before(best->scores[child], best->rows[child], best->scores[child + 1],
                                          best->rows[child + 1]))
            child++;
        if (!is_before(score, row, best->scores[child], best->rows[child]))
            break;
        place_best(best, at, best->scores[child], best->rows[child], best->positions[child]);
    }
    place_best(best, at, score, row, position);
}

/* The score above which a row is not among the best. */
INLINE float limit_of(const best_t *best) {
    return best->size < best->capacity ? INFINITY : best->scores[0];
}

static inline void offer(best_t *best, float score, uint64_t row, int64_t position) {
    if (best->size == best->capacity) {
        if (is_before(score, row, best->scores[0], best->rows[0]))
            sift_down(best, 0, best->size, score, row, position);
        return;
    }
    int64_t at = best->size++;
    for (int64_t parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (!is_before(best->scores[parent], best->rows[parent], score, row))
            break;
        place_best(best, at, best->scores[parent], best->rows[parent], best->positions[parent]);
    }
    place_best(best, at, score, row, position);
}

/* The best row first. */
static inline void sort_best(best_t *best) {
    for (int64_t last = best->size - 1; last > 0; last--) {
        const float score = best->scores[last];
        const uint64_t row = best->rows[last];
        const int64_t position = best->positions[last];
        place_best(best, last, best->scores[0], best->rows[0], best->positions[0]);
        sift_down(best, 0, last, score, row, position);
    }
}

#define FOUR 4

/* Four numbers, whose comparisons are one instruction on any processor, other than those of `floats_t`. */
typedef float four_floats_t __attribute__((vector_size(4 * FOUR)));
typedef int32_t four_ints_t __attribute__((vector_size(4 * FOUR)));

INLINE four_floats_t load_four(const float *from) {
    four_floats_t loaded;
    __builtin_memcpy(&loaded, from, sizeof loaded);
    return loaded;
}

INLINE int has_any(four_ints_t flags) {
    int64_t any[FOUR / 2];
    __builtin_memcpy(any, &flags, sizeof any);
    return (any[0] | any[1]) != 0;
}

/* Whether one of 4 * LANES scores is at most `limit`. */
INLINE int has_near(const float *scores, float limit) {
    const four_floats_t limits = limit - (four_floats_t){0};
    four_ints_t near = {0};
    for (int64_t at = 0; at < 4 * LANES; at += FOUR)
        near |= load_four(scores + at) <= limits;
    return has_any(near);
}

/* Offers the rows with these scores, which are those of `first` on of partition `number`. */
INLINE void offer_all(best_t *best, const partitions_t *p, int64_t number, int64_t first, int64_t count,
                      int64_t position, const float *scores) {
    const uint64_t *rows = (const uint64_t *)p->rows[number].buf + first;
    const uint8_t *mask = p->masks ? (const uint8_t *)p->masks[number].buf + first : NULL;
    float limit = limit_of(best);
    for (int64_t start = 0; start < count; start += 4 * LANES) {
        const int64_t stop = count - start < 4 * LANES ? count : start + 4 * LANES;
        if (stop == start + 4 * LANES && !has_near(scores + start, limit))
            continue;
        for (int64_t i = start; i < stop; i++)
            if (scores[i] <= limit && (!mask || mask[i])) {
                offer(best, scores[i], rows[i], position + first + i);
                limit = limit_of(best);
            }
    }
}

/* What a scan of a function of Python is given: lists of buffers, and where the best rows go. */
typedef struct {
    Py_buffer *buffers;
    int64_t number_of_buffers;
    partitions_t partitions;
    Py_buffer out[3];
    best_t best;
} scan_t;

/* Takes the lists (codes, rows, and masks or none) and `out`; 0 with an exception. Call `end_scan`
 * in any case. Codes have `width` bytes a row, and there are those of a multiple of `group` rows. */
int begin_scan(scan_t *scan, PyObject *codes, PyObject *rows, PyObject *masks, int64_t width, int64_t group,
               int64_t alignment);

/* Buffers of a list, as many as there are partitions, with a number for each row. Call `free_numbers`
 * in any case, also with an error. */
Py_buffer *numbers_of(PyObject *list, const partitions_t *partitions, const char **error);

void free_numbers(Py_buffer *numbers, const partitions_t *partitions);

/* The number of best rows, which are sorted. */
PyObject *end_scan(scan_t *scan, const char *error);

#endif
