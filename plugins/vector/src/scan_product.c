/* Scans of product-quantised codes: sums of the distances of codewords, looked up in tables. */
#include "best.h"
#include "intrinsics.h"
#include "small_tables.h"

#define AT_ONCE 16      /* bytes of a code that are looked up in one pass */
#define MIN_BOUNDED 512 /* rows from which on it takes less time than it saves to leave out the last bytes */

#if defined(__GNUC__) && !defined(__clang__)
#define WITHOUT_VECTORS __attribute__((optimize("no-tree-slp-vectorize")))
#else
#define WITHOUT_VECTORS
#endif

typedef struct {
    partitions_t partitions;
    int64_t width;       /* bytes of a code */
    const float *tables; /* [partitions or 1][width][256], or [..][2 * width][16] for codes of 4 bits */
    int64_t step;        /* from the table of a partition to that of the next one */
    float base;          /* added to each sum */
} product_t;

/* Whether all of 8 scores are above `limit`; NaN is not. */
INLINE int are_above(const float *scores, float limit) {
    const four_floats_t limits = limit - (four_floats_t){0};
    return !has_any(~((load_four(scores) > limits) & (load_four(scores + FOUR) > limits)));
}

/* Compilers make one instruction of four of these comparisons. */
static float least_of(const float *table) {
    float least[LANES];
    __builtin_memcpy(least, table, sizeof least);
    for (int64_t at = LANES; at < 256; at += LANES)
        for (int lane = 0; lane < LANES; lane++)
            least[lane] = table[at + lane] < least[lane] ? table[at + lane] : least[lane];
    for (int lane = 1; lane < LANES; lane++)
        least[0] = least[lane] < least[0] ? least[lane] : least[0];
    return least[0];
}

/* The least numbers of tables: the sum of those of the bytes from `last` on, and the sum of the sizes of all. */
typedef struct {
    double rest, size;
} least_t;

static least_t least_numbers(const float *tables, int64_t width, int64_t last) {
    least_t least = {0, 0};
    for (int64_t byte = 0; byte < width; byte++) {
        const double low = least_of(tables + 256 * byte);
        least.rest += byte < last ? 0 : low;
        least.size += fabs(low);
    }
    return least;
}

/* The sum of the bytes before `last` above which that of all bytes is above `limit`, whatever the rounding: that is
 * at most in proportion to the sum of the sizes of all distances, and so to `size`. */
static float limit_before(const product_t *p, least_t least, float limit) {
    const double all = (double)limit - p->base, size = fabs(all) + fabs((double)limit) + 2 * least.size;
    const double most = all - least.rest + 4e-7 * (double)(p->width + 4) * size;
    return fabs(most) < INFINITY ? (float)most : INFINITY;
}

/* 8 bits: adds the numbers of the bytes from `start` to `stop` to the sums of 8 rows from each of `firsts` on. Tables
 * of `AT_ONCE` bytes stay in the first cache. The sums stay in registers, as they do not if numbers are gathered. */
WITHOUT_VECTORS static void add_bytes(const uint8_t *codes, int64_t stride, int64_t start, int64_t stop,
                                      const float *tables, const int32_t *firsts, int64_t number, float *sums) {
    for (int64_t at = 0; at < number; at++) {
        const int64_t i = firsts[at];
        float *s = sums + i;
        float s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3], s4 = s[4], s5 = s[5], s6 = s[6], s7 = s[7];
        for (int64_t byte = start; byte < stop; byte++) {
            const float *t = tables + 256 * byte;
            uint64_t code;
            __builtin_memcpy(&code, codes + byte * stride + i, 8);
            s0 += t[code & 255];
            s1 += t[code >> 8 & 255];
            s2 += t[code >> 16 & 255];
            s3 += t[code >> 24 & 255];
            s4 += t[code >> 32 & 255];
            s5 += t[code >> 40 & 255];
            s6 += t[code >> 48 & 255];
            s7 += t[code >> 56];
        }
        s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3, s[4] = s4, s[5] = s5, s[6] = s6, s[7] = s7;
    }
}

/* The sums of `count` rows, a multiple of 8, in the order of their bytes; or infinity for 8 rows whose sums are all
 * above `limit` before the bytes from `last` on. */
static void sum_bytes(const uint8_t *codes, int64_t stride, int64_t width, const float *tables, int64_t last,
                      float limit, int64_t count, float *sums) {
    int32_t firsts[SCANNED / 8];
    int64_t number = 0;
    for (int64_t i = 0; i < count; i++)
        sums[i] = 0;
    for (; number < count / 8; number++)
        firsts[number] = (int32_t)(8 * number);
    for (int64_t start = 0; start < last; start += AT_ONCE)
        add_bytes(codes, stride, start, last - start < AT_ONCE ? last : start + AT_ONCE, tables, firsts, number, sums);
    if (limit < INFINITY) {
        number = 0;
        for (int64_t i = 0; i < count; i += 8) {
            const int is_above = are_above(sums + i, limit);
            firsts[number] = (int32_t)i;
            number += !is_above;
            if (is_above)
                store_floats(sums + i, same_floats(INFINITY));
        }
    }
    for (int64_t start = last; start < width; start += AT_ONCE)
        add_bytes(codes, stride, start, width - start < AT_ONCE ? width : start + AT_ONCE, tables, firsts, number, sums);
}

/* The sum of one row. */
static float sum_row(const uint8_t *codes, int64_t stride, int64_t width, const float *tables) {
    float sum = 0;
    for (int64_t byte = 0; byte < width; byte++)
        sum += tables[256 * byte + codes[byte * stride]];
    return sum;
}

static const char *scan_bytes(const product_t *p, best_t *best) {
    const int64_t last = p->width - p->width / 4;
    float sums[SCANNED];
    int64_t position = 0;
    for (int64_t number = 0; number < p->partitions.number; number++) {
        const int64_t rows = p->partitions.rows[number].len / 8;
        const uint8_t *codes = p->partitions.codes[number].buf;
        const float *tables = p->tables + number * p->step;
        least_t least = {-INFINITY, 0};
        for (int64_t first = 0; first < rows; first += SCANNED) {
            const int64_t count = rows - first < SCANNED ? rows - first : SCANNED;
            const float limit = limit_of(best);
            if (least.rest == -INFINITY && limit < INFINITY && rows - first >= MIN_BOUNDED)
                least = least_numbers(tables, p->width, last);
            sum_bytes(codes + first, rows, p->width, tables, last, limit_before(p, least, limit), count & ~7, sums);
            for (int64_t i = count & ~7; i < count; i++)
                sums[i] = sum_row(codes + first + i, rows, p->width, tables);
            for (int64_t i = 0; i < count; i++)
                sums[i] += p->base;
            offer_all(best, &p->partitions, number, first, count, position, sums);
        }
        position += rows;
    }
    return NULL;
}

/* 4 bits: the sum of one row, in the order of its bytes. */
INLINE float sum_nibbles(const uint8_t *codes, int64_t row, int64_t width, const float *tables) {
    const uint8_t *first = grouped_code(codes, width, row);
    float sum = 0;
    for (int64_t byte = 0; byte < width; byte++) {
        const uint8_t code = first[byte * GROUPED];
        sum += tables[32 * byte + 16 + (code >> 4)] + tables[32 * byte + (code & 15)];
    }
    return sum;
}

static void scan_rows(const product_t *p, best_t *best, int64_t number, int64_t first, int64_t position) {
    const int64_t rows = p->partitions.rows[number].len / 8;
    const uint8_t *codes = p->partitions.codes[number].buf;
    float sums[SCANNED];
    for (; first < rows; first += SCANNED) {
        const int64_t count = rows - first < SCANNED ? rows - first : SCANNED;
        for (int64_t i = 0; i < count; i++)
            sums[i] = sum_nibbles(codes, first + i, p->width, p->tables + number * p->step) + p->base;
        offer_all(best, &p->partitions, number, first, count, position, sums);
    }
}

#ifdef WITH_AVX2
/* The sum of small numbers above which the sum of floats is above `limit`, whatever the rounding: that is at
 * most in proportion to the sum of the sizes of all distances, and so to `size`. */
static uint16_t small_limit(const product_t *p, const small_tables_t *small, float limit) {
    const double above = (double)limit - p->base, size = fabs(above) + fabs((double)limit) + small->size;
    const double most = (above - small->least + 4e-7 * (double)(2 * p->width + 4) * size) / small->scale;
    return most < 0 ? 0 : most < 65535 ? (uint16_t)most : 65535;
}

WITH_AVX2 static void scan_shuffled(const product_t *p, best_t *best, int64_t number, int64_t position) {
    const int64_t rows = p->partitions.rows[number].len / 8;
    const uint8_t *codes = p->partitions.codes[number].buf;
    const uint64_t *ids = p->partitions.rows[number].buf;
    const uint8_t *mask = p->partitions.masks ? p->partitions.masks[number].buf : NULL;
    const float *tables = p->tables + number * p->step;
    const __m256i low = _mm256_set1_epi8(15);
    small_tables_t small;
    make_small(tables, 2 * p->width, &small);
    uint16_t limit = small_limit(p, &small, limit_of(best));
    int64_t first = 0;
    for (; first + GROUPED <= rows; first += GROUPED) {
        /* Sums of the bytes of all 16-bit words, and of the upper ones only. */
        __m256i both = _mm256_setzero_si256(), upper = both;
        for (int64_t byte = 0; byte < p->width; byte++) {
            const __m256i code = _mm256_loadu_si256((const __m256i *)(codes + first * p->width + byte * GROUPED));
            const __m256i one = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)small.numbers[2 * byte]));
            const __m256i two =
                _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)small.numbers[2 * byte + 1]));
            const __m256i x = _mm256_shuffle_epi8(one, _mm256_and_si256(code, low));
            const __m256i y = _mm256_shuffle_epi8(two, _mm256_and_si256(_mm256_srli_epi16(code, 4), low));
            both = _mm256_add_epi16(both, _mm256_add_epi16(x, y));
            upper = _mm256_add_epi16(upper, _mm256_add_epi16(_mm256_srli_epi16(x, 8), _mm256_srli_epi16(y, 8)));
        }
        const __m256i lower = _mm256_sub_epi16(both, _mm256_slli_epi16(upper, 8));
        const __m256i limits = _mm256_set1_epi16((short)limit);
        /* Unsigned comparisons: a number is at most the limit if it is the lesser of both. */
        const uint32_t even = (uint32_t)_mm256_movemask_epi8(
            _mm256_cmpeq_epi16(_mm256_min_epu16(lower, limits), lower));
        const uint32_t odd = (uint32_t)_mm256_movemask_epi8(
            _mm256_cmpeq_epi16(_mm256_min_epu16(upper, limits), upper));
        uint32_t near = (even & 0x55555555u) | (odd & 0xAAAAAAAAu);
        if (!near)
            continue;
        for (; near; near &= near - 1) {
            const int64_t row = first + __builtin_ctz(near);
            if (mask && !mask[row])
                continue;
            const float sum = sum_nibbles(codes, row, p->width, tables) + p->base;
            if (sum <= limit_of(best))
                offer(best, sum, ids[row], position + row);
        }
        limit = small_limit(p, &small, limit_of(best));
    }
    scan_rows(p, best, number, first, position);
}
#endif

static const char *scan_nibbles(const product_t *p, best_t *best) {
    int64_t position = 0;
    for (int64_t number = 0; number < p->partitions.number; number++) {
#ifdef WITH_AVX2
        if (has_avx2() && 2 * p->width <= MAX_SUMMED)
            scan_shuffled(p, best, number, position);
        else
#endif
            scan_rows(p, best, number, 0, position);
        position += p->partitions.rows[number].len / 8;
    }
    return NULL;
}

static PyObject *py_scan_product(PyObject *self, PyObject *args) {
    PyObject *codes, *rows, *masks;
    Py_ssize_t width, bits;
    Py_buffer tables = {0};
    double base;
    const char *error = NULL;
    scan_t scan = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOnny*dw*w*w*", &codes, &rows, &masks, &width, &bits, &tables, &base,
                          &scan.out[0], &scan.out[1], &scan.out[2]))
        return release(&tables, 1), release(scan.out, 3), NULL;
    if (begin_scan(&scan, codes, rows, masks, width, bits == 4 ? GROUPED : 1, 1)) {
        const int64_t size = width * (bits == 8 ? 256 : 32), number = scan.partitions.number;
        const int is_shared = holds(&tables, size, 4);
        const product_t p = {scan.partitions, width, tables.buf, is_shared ? 0 : size, (float)base};
        if (width > (1 << 20) || (bits != 4 && bits != 8) || (!is_shared && !holds(&tables, number * size, 4)))
            error = MISMATCH;
        else
            WITHOUT_GIL(bits == 8 ? scan_bytes(&p, &scan.best) : scan_nibbles(&p, &scan.best))
    }
    release(&tables, 1);
    return end_scan(&scan, error);
}

PyMethodDef scan_product_methods[] = {
    {"scan_product", py_scan_product, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
