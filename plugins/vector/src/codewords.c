/* The nearest codeword of each part of vectors, and the sums that the next codewords are means of. */
#include "module.h"

#include <math.h>

#define ROWS 4   /* vectors that are compared at the same time */
#define BLOCK 64 /* vectors that are compared with one part of the codebook, which stays in the cache */

typedef struct {
    const float *vectors; /* [rows][parts * size] */
    int64_t rows, parts, size, words;
    const float *turned; /* [parts][size][words] */
    const float *halves; /* [parts][words]: half the squared length of each codeword */
    uint8_t *codes;      /* [rows][parts] */
    double *sums;        /* [parts][words][size], or NULL */
    int64_t *counts;     /* [parts][words] */
} codewords_t;

/* The nearest codewords of part `part` of `ROWS` vectors from `row` on. */
INLINE void nearest_of_rows(const codewords_t *c, int64_t part, const float *const *rows, uint8_t *codes) {
    const float *turned = c->turned + part * c->size * c->words, *halves = c->halves + part * c->words;
    floats_t least[ROWS];
    ints_t which[ROWS], numbers = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int r = 0; r < ROWS; r++) {
        least[r] = same_floats(INFINITY);
        which[r] = (ints_t){0};
    }
    for (int64_t word = 0; word < c->words; word += 2 * LANES) {
        floats_t first[ROWS], second[ROWS];
        for (int r = 0; r < ROWS; r++) {
            first[r] = load_floats(halves + word);
            second[r] = load_floats(halves + word + LANES);
        }
        for (int64_t at = 0; at < c->size; at++) {
            const floats_t low = load_floats(turned + at * c->words + word);
            const floats_t high = load_floats(turned + at * c->words + word + LANES);
            for (int r = 0; r < ROWS; r++) {
                first[r] -= rows[r][at] * low;
                second[r] -= rows[r][at] * high;
            }
        }
        for (int r = 0; r < ROWS; r++) {
            const ints_t is_less = first[r] < least[r];
            least[r] = (floats_t)(((ints_t)first[r] & is_less) | ((ints_t)least[r] & ~is_less));
            which[r] = (numbers & is_less) | (which[r] & ~is_less);
        }
        numbers += LANES;
        for (int r = 0; r < ROWS; r++) {
            const ints_t is_less = second[r] < least[r];
            least[r] = (floats_t)(((ints_t)second[r] & is_less) | ((ints_t)least[r] & ~is_less));
            which[r] = (numbers & is_less) | (which[r] & ~is_less);
        }
        numbers += LANES;
    }
    for (int r = 0; r < ROWS; r++) {
        float best = least[r][0];
        int32_t code = which[r][0];
        for (int lane = 1; lane < LANES; lane++)
            if (least[r][lane] < best || (least[r][lane] == best && which[r][lane] < code)) {
                best = least[r][lane];
                code = which[r][lane];
            }
        codes[r] = (uint8_t)code;
    }
}

INLINE void codewords(const codewords_t *c, int64_t first, int64_t stop) {
    const int64_t width = c->parts * c->size;
    for (int64_t block = 0; block < c->rows; block += BLOCK) {
        const int64_t end = c->rows - block < BLOCK ? c->rows : block + BLOCK;
        for (int64_t part = first; part < stop; part++)
            for (int64_t row = block; row < end; row += ROWS) {
                const float *rows[ROWS];
                uint8_t codes[ROWS];
                const int count = end - row < ROWS ? (int)(end - row) : ROWS;
                for (int r = 0; r < ROWS; r++) /* the last row again where there are fewer */
                    rows[r] = c->vectors + (row + (r < count ? r : count - 1)) * width + part * c->size;
                nearest_of_rows(c, part, rows, codes);
                for (int r = 0; r < count; r++) {
                    c->codes[(row + r) * c->parts + part] = codes[r];
                    if (c->sums) {
                        const int64_t word = part * c->words + codes[r];
                        double *sums = c->sums + word * c->size;
                        for (int64_t at = 0; at < c->size; at++)
                            sums[at] += rows[r][at];
                        c->counts[word]++;
                    }
                }
            }
    }
}

#ifdef WITH_FMA
WITH_FMA static void codewords_fma(const codewords_t *c, int64_t first, int64_t stop) {
    codewords(c, first, stop);
}
#endif

static const char *nearest_codewords(const codewords_t *c, int64_t first, int64_t stop) {
#ifdef WITH_FMA
    if (has_fma()) {
        codewords_fma(c, first, stop);
        return NULL;
    }
#endif
    codewords(c, first, stop);
    return NULL;
}

static PyObject *py_nearest_codewords(PyObject *self, PyObject *args) {
    Py_buffer b[6] = {0};
    Py_ssize_t parts, size, first, stop;
    const char *error = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*nny*y*nnw*w*w*", &b[0], &parts, &size, &b[1], &b[2], &first, &stop, &b[3],
                          &b[4], &b[5]))
        return release(b, 6), NULL;
    if (parts < 1 || size < 1 || parts > (1 << 24) / size)
        return done(b, 6, MISMATCH, 0);
    const int64_t rows = b[0].len / (4 * parts * size), words = b[2].len / (4 * parts);
    const int has_sums = b[4].len > 0;
    if (words < 2 * LANES || words > 256 || words % (2 * LANES) || first < 0 || stop > parts ||
        !holds(&b[0], rows * parts * size, 4) || !holds(&b[1], parts * size * words, 4) ||
        !holds(&b[2], parts * words, 4) || !holds(&b[3], rows * parts, 1) ||
        (has_sums && (!holds(&b[4], parts * words * size, 8) || !holds(&b[5], parts * words, 8))))
        return done(b, 6, MISMATCH, 0);
    const codewords_t c = {b[0].buf, rows,     parts,    size,
                           words,    b[1].buf, b[2].buf, b[3].buf,
                           has_sums ? b[4].buf : NULL, b[5].buf};
    WITHOUT_GIL(nearest_codewords(&c, first, stop))
    return done(b, 6, error, 0);
}

PyMethodDef codewords_methods[] = {
    {"nearest_codewords", py_nearest_codewords, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
