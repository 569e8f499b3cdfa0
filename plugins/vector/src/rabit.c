/* The codes of RaBitQ: the rotation of vectors, and the extra bits of their numbers.
 *
 * The loops equal their twins in numpy bit for bit but for the sums, which have another order: no
 * product is fused with a sum.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define ROUNDS 4
#define MAX_WIDTH (1 << 20)
#define MAX_EXTRA_BITS 8

/* Butterflies of neighbours at a distance of 1, 2 and 4, of eight numbers. */
INLINE void transform_eight(float *at) {
    for (int step = 1; step < 8; step *= 2)
        for (int i = 0; i < 8; i += 2 * step)
            for (int j = i; j < i + step; j++) {
                const float low = at[j], high = at[j + step];
                at[j] = low + high;
                at[j + step] = low - high;
            }
}

/* The Walsh-Hadamard transform of `size` numbers, a power of two of at least 8. */
INLINE void transform(float *at, int64_t size) {
    for (int64_t i = 0; i < size; i += 8)
        transform_eight(at + i);
    for (int64_t step = 8; step < size; step *= 2)
        for (int64_t i = 0; i < size; i += 2 * step) {
            float *low = at + i, *high = at + i + step;
            for (int64_t j = 0; j < step; j += LANES) {
                const floats_t a = load_floats(low + j), b = load_floats(high + j);
                const floats_t sum = a + b, difference = a - b;
                memcpy(low + j, &sum, sizeof sum);
                memcpy(high + j, &difference, sizeof difference);
            }
        }
}

INLINE void rotate(float *vectors, int64_t count, int64_t width, const uint8_t *signs, int32_t *flips) {
    int64_t size = 8;
    while (2 * size <= width)
        size *= 2;
    const float scale = (float)(1 / sqrt((double)size));
    const int64_t half = width / 2;
    for (int64_t i = 0; i < ROUNDS * width; i++) /* the sign bits as bits of floats */
        flips[i] = (int32_t)((uint32_t)(signs[i / width * (width / 8) + i % width / 8] >> (i % 8) & 1) << 31);
    for (int64_t row = 0; row < count; row++) {
        float *at = vectors + row * width;
        for (int round = 0; round < ROUNDS; round++) {
            for (int64_t i = 0; i < width; i++) {
                int32_t bits;
                memcpy(&bits, at + i, 4);
                bits ^= flips[round * width + i];
                memcpy(at + i, &bits, 4);
            }
            float *part = round % 2 ? at + width - size : at;
            transform(part, size);
            for (int64_t i = 0; i < size; i++)
                part[i] *= scale;
            if (size != width)
                for (int64_t i = 0; i < half; i++) {
                    const float first = at[i], second = at[half + i];
                    at[i] = first + second;
                    at[half + i] = first - second;
                }
        }
        if (size != width)
            for (int64_t i = 0; i < width; i++)
                at[i] *= 0.25f;
    }
}

typedef struct {
    const float *rotated; /* rows of `width` numbers */
    int64_t count, width;
    int bits;                /* extra bits; 0 for none */
    const float *centroids;  /* rotated */
    const int64_t *owners;   /* the centroid of each row */
    uint8_t *codes;          /* the extra bits of each number */
    double *sums;            /* six of each row */
} rabit_t;

typedef struct {
    float *lengths; /* the absolute numbers */
    uint64_t *steps, *sorted;
    uint16_t *buckets;
    uint32_t *starts;
} scratch_t;

#define MAX_BUCKETS 2048

/* Where the search for the best factor begins, as a share of the greatest factor, by extra bits. */
static const float FIRST_SHARES[] = {0.f, .15f, .20f, .52f, .59f, .71f, .75f, .77f, .81f};

/* Rounding up of a number that a factor has made whole. */
#define SLACK 1e-5f

INLINE int32_t level_of(float factor, float length, int32_t most) {
    const int32_t level = (int32_t)(factor * length + SLACK);
    return level < most ? level : most;
}

/* Steps are numbers with the factor of a step in the upper half, which order them by it, then the
 * position and the level that is reached; the lowest step comes first. */
INLINE const uint64_t *sort_steps(scratch_t *s, int64_t count, float first, float last) {
    int64_t buckets = 16;
    while (buckets < count && buckets < MAX_BUCKETS)
        buckets *= 2;
    const float scale = (float)buckets / (last - first);
    memset(s->starts, 0, (size_t)(buckets + 1) * sizeof *s->starts);
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)(s->steps[i] >> 32);
        float factor;
        memcpy(&factor, &bits, 4);
        int32_t bucket = (int32_t)((factor - first) * scale);
        bucket = bucket < 0 ? 0 : bucket < buckets ? bucket : (int32_t)buckets - 1;
        s->buckets[i] = (uint16_t)bucket;
        s->starts[bucket + 1]++;
    }
    for (int64_t i = 0; i < buckets; i++)
        s->starts[i + 1] += s->starts[i];
    for (int64_t i = 0; i < count; i++)
        s->sorted[s->starts[s->buckets[i]]++] = s->steps[i];
    for (int64_t i = 1; i < count; i++) { /* few are out of order, and only in their bucket */
        const uint64_t step = s->sorted[i];
        int64_t at = i - 1;
        while (at >= 0 && s->sorted[at] > step) {
            s->sorted[at + 1] = s->sorted[at];
            at--;
        }
        s->sorted[at + 1] = step;
    }
    return s->sorted;
}

/* The factor whose levels are most nearly parallel to the vector: of all at which a level changes. */
INLINE float best_factor(const float *lengths, int64_t width, int bits, float greatest, scratch_t *s) {
    const int32_t most = (1 << bits) - 1;
    const float last = (float)(most + 10) / greatest, first = last * FIRST_SHARES[bits];
    double product = 0, square = 0; /* twice the product, four times the squared length */
    int64_t count = 0;
    for (int64_t i = 0; i < width; i++) {
        int32_t level = level_of(first, lengths[i], most);
        const double odd = 2 * level + 1;
        product += odd * lengths[i];
        square += odd * odd;
        const float inverse = 1 / lengths[i];
        for (level++; level <= most; level++) {
            const float factor = (float)level * inverse;
            if (!(factor < last))
                break;
            uint32_t upper;
            memcpy(&upper, &factor, 4);
            s->steps[count++] = (uint64_t)upper << 32 | (uint64_t)i << 8 | (uint64_t)level;
        }
    }
    const uint64_t *steps = sort_steps(s, count, first, last);
    float found = first;
    double best = product * product / square;
    for (int64_t i = 0; i < count; i++) {
        product += 2 * (double)lengths[(uint32_t)steps[i] >> 8];
        square += (double)(8 * (int)(steps[i] & 255));
        const double nearness = product * product / square;
        if (nearness > best) {
            best = nearness;
            const uint32_t upper = (uint32_t)(steps[i] >> 32);
            memcpy(&found, &upper, 4);
        }
    }
    return found;
}

INLINE void extra_bits(const float *row, int64_t width, int bits, uint8_t *codes, scratch_t *s) {
    const int32_t most = (1 << bits) - 1;
    float greatest = 0;
    for (int64_t i = 0; i < width; i++) {
        s->lengths[i] = fabsf(row[i]);
        greatest = s->lengths[i] > greatest ? s->lengths[i] : greatest;
    }
    /* Lengths whose factors are no normal numbers have no levels. */
    if (!(greatest > 1e-30f && greatest < 1e30f)) {
        memset(codes, 0, (size_t)width);
        return;
    }
    const float factor = best_factor(s->lengths, width, bits, greatest, s);
    for (int64_t i = 0; i < width; i++) {
        const int32_t level = level_of(factor, s->lengths[i], most);
        codes[i] = (uint8_t)(row[i] < 0 ? ~level & most : level);
    }
}

/* The products of a vector and its centroid with each other and with codes, in lanes. */
INLINE void products(const rabit_t *r, int64_t row, double *sums) {
    const float *own = r->rotated + row * r->width;
    const float *center = r->centroids + r->owners[row] * r->width;
    const uint8_t *codes = r->bits ? r->codes + row * r->width : NULL;
    const float half = (float)(1 << r->bits) - 0.5f, upper = (float)(1 << r->bits);
    float lanes[6][LANES];
    double total[6] = {0};
    for (int64_t start = 0; start < r->width; start += 128) { /* few floats are added as floats */
        const int64_t stop = r->width - start < 128 ? r->width : start + 128;
        memset(lanes, 0, sizeof lanes);
        for (int64_t i = start; i < stop; i += LANES)
            for (int lane = 0; lane < LANES; lane++) {
                const float a = own[i + lane], c = center[i + lane];
                const float sign = a >= 0 ? 0.5f : -0.5f;
                lanes[0][lane] += a * a;
                lanes[1][lane] += a * c;
                lanes[2][lane] += a * sign;
                lanes[3][lane] += c * sign;
                if (codes) {
                    const float code = (a >= 0 ? upper : 0.f) + (float)codes[i + lane] - half;
                    lanes[4][lane] += a * code;
                    lanes[5][lane] += c * code;
                }
            }
        for (int which = 0; which < 6; which++)
            for (int lane = 0; lane < LANES; lane++)
                total[which] += lanes[which][lane];
    }
    if (!codes) { /* the signs are all of the code */
        total[4] = total[2];
        total[5] = total[3];
    }
    memcpy(sums, total, sizeof total);
}

INLINE void encode(const rabit_t *r, scratch_t *s) {
    for (int64_t row = 0; row < r->count; row++) {
        if (r->bits)
            extra_bits(r->rotated + row * r->width, r->width, r->bits, r->codes + row * r->width, s);
        products(r, row, r->sums + 6 * row);
    }
}

#ifdef WITH_AVX2
WITH_AVX2 static void rotate_avx2(float *vectors, int64_t count, int64_t width, const uint8_t *signs,
                                  int32_t *flips) {
    rotate(vectors, count, width, signs, flips);
}

WITH_AVX2 static void encode_avx2(const rabit_t *r, scratch_t *s) {
    encode(r, s);
}
#endif

static const char *rotate_vectors(float *vectors, int64_t count, int64_t width, const uint8_t *signs) {
    int32_t *flips = malloc((size_t)width * ROUNDS * sizeof *flips);
    if (!flips)
        return "no memory";
#ifdef WITH_AVX2
    if (has_avx2())
        rotate_avx2(vectors, count, width, signs, flips);
    else
#endif
        rotate(vectors, count, width, signs, flips);
    free(flips);
    return NULL;
}

static const char *rabit_codes(const rabit_t *r) {
    const size_t steps = (size_t)(r->width << r->bits);
    scratch_t s = {malloc((size_t)r->width * sizeof *s.lengths), malloc(steps * sizeof *s.steps),
                   malloc(steps * sizeof *s.sorted), malloc(steps * sizeof *s.buckets),
                   malloc((MAX_BUCKETS + 1) * sizeof *s.starts)};
    const char *error = "no memory";
    if (s.lengths && s.steps && s.sorted && s.buckets && s.starts) {
        error = NULL;
#ifdef WITH_AVX2
        if (has_avx2())
            encode_avx2(r, &s);
        else
#endif
            encode(r, &s);
    }
    free(s.lengths);
    free(s.steps);
    free(s.sorted);
    free(s.buckets);
    free(s.starts);
    return error;
}

static PyObject *py_rotate_vectors(PyObject *self, PyObject *args) {
    Py_buffer b[2] = {0};
    Py_ssize_t width;
    const char *error = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "w*ny*", &b[0], &width, &b[1]))
        return release(b, 2), NULL;
    if (width < 8 || width > MAX_WIDTH || width % 8)
        return done(b, 2, MISMATCH, 0);
    const int64_t count = b[0].len / (4 * width);
    if (!holds(&b[0], count * width, 4) || !holds(&b[1], ROUNDS * width / 8, 1))
        return done(b, 2, MISMATCH, 0);
    WITHOUT_GIL(rotate_vectors(b[0].buf, count, width, b[1].buf))
    return done(b, 2, error, 0);
}

static PyObject *py_rabit_codes(PyObject *self, PyObject *args) {
    Py_buffer b[5] = {0};
    Py_ssize_t width;
    int bits;
    const char *error = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*niy*y*w*w*", &b[0], &width, &bits, &b[1], &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    if (width < 8 || width > MAX_WIDTH || width % 8 || bits < 0 || bits > MAX_EXTRA_BITS)
        return done(b, 5, MISMATCH, 0);
    const int64_t count = b[0].len / (4 * width), centroids = b[1].len / (4 * width);
    if (!holds(&b[0], count * width, 4) || !holds(&b[1], centroids * width, 4) || !holds(&b[2], count, 8) ||
        !holds(&b[3], bits ? count * width : 0, 1) || !holds(&b[4], 6 * count, 8))
        return done(b, 5, MISMATCH, 0);
    const rabit_t r = {b[0].buf, count, width, bits, b[1].buf, b[2].buf, b[3].buf, b[4].buf};
    for (int64_t row = 0; row < count; row++)
        if (r.owners[row] < 0 || r.owners[row] >= centroids)
            return done(b, 5, MISMATCH, 0);
    WITHOUT_GIL(rabit_codes(&r))
    return done(b, 5, error, 0);
}

PyMethodDef rabit_methods[] = {
    {"rotate_vectors", py_rotate_vectors, METH_VARARGS, NULL},
    {"rabit_codes", py_rabit_codes, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
