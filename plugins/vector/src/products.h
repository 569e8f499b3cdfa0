/* Products of many vectors with few others, such as queries or centroids.
 *
 * A library of linear algebra would first copy all vectors, of which each is used only as often as there
 * are others. Here the others alone are arranged anew, in panels.
 */
#ifndef LANCE_CORE_VECTOR_PRODUCTS_H
#define LANCE_CORE_VECTOR_PRODUCTS_H

#include <string.h>

#include "module.h"
#include "intrinsics.h"

#define PANEL (2 * LANES) /* others whose products are summed at the same time */
#define GROUP 6           /* vectors, so that all sums and the others fit into registers */
#define DEPTH 256         /* numbers of a panel that stay in the first cache */
#define ROWS 48           /* vectors that are compared with one part of a panel after the other */
#define PANELS 8          /* whose products with `ROWS` vectors stay in the cache */
#define STRIDE (PANELS * PANEL)

INLINE int64_t panels_of(int64_t others) {
    return (others + PANEL - 1) / PANEL;
}

/* The panels of `count` others of `width` numbers: [panels][width][PANEL], with zeros in the rest. */
INLINE void turn(const float *others, int64_t count, int64_t width, float *turned) {
    for (int64_t first = 0; first < count; first += PANEL, turned += width * PANEL)
        for (int64_t i = 0; i < PANEL; i++)
            for (int64_t at = 0; at < width; at++)
                turned[at * PANEL + i] = first + i < count ? others[(first + i) * width + at] : 0;
}

#define LINE 16 /* numbers that the processor fetches at once */

/* Adds the products of `depth` numbers of `GROUP` vectors and of the first `halves` halves of a panel. */
typedef void (*add_products_t)(const float *const *vectors, const float *turned, int64_t depth, int halves,
                               int is_first, float *products);

#define PLUS_PRODUCT(sum, x, y) ((sum) + (x) * (y))

/* The halves are a constant in the loops, so that the sums stay in registers. */
#define ADD_HALVES(halves, same, plus_product)                                                                \
    do {                                                                                                \
        floats_t sums[GROUP][halves];                                                                   \
        for (int row = 0; row < GROUP; row++)                                                           \
            for (int half = 0; half < halves; half++)                                                   \
                sums[row][half] =                                                                       \
                    is_first ? same_floats(0) : load_floats(products + row * STRIDE + half * LANES);    \
        for (int64_t at = 0; at < depth; at++) {                                                        \
            floats_t some[halves];                                                                      \
            for (int half = 0; half < halves; half++)                                                   \
                some[half] = load_floats(turned + at * PANEL + half * LANES);                           \
            for (int row = 0; row < GROUP; row++) {                                                     \
                const floats_t number = same(vectors[row][at]);                                         \
                for (int half = 0; half < halves; half++)                                               \
                    sums[row][half] = plus_product(sums[row][half], some[half], number);                \
            }                                                                                           \
        }                                                                                               \
        for (int row = 0; row < GROUP; row++)                                                           \
            for (int half = 0; half < halves; half++)                                                   \
                store_floats(products + row * STRIDE + half * LANES, sums[row][half]);                  \
    } while (0)

#define ADD_PRODUCTS(name, target, same, plus_product)                                                   \
    target static inline void name(const float *const *vectors, const float *turned, int64_t depth,      \
                                   int halves, int is_first, float *products) {                          \
        if (halves > 1)                                                                                  \
            ADD_HALVES(2, same, plus_product);                                                                 \
        else                                                                                             \
            ADD_HALVES(1, same, plus_product);                                                                 \
    }

ADD_PRODUCTS(add_products, , same_floats, PLUS_PRODUCT)
#ifdef WITH_FMA
#define SAME_FMA(value) ((floats_t)_mm256_set1_ps(value))
#define PLUS_PRODUCT_FMA(sum, x, y) ((floats_t)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(sum)))
ADD_PRODUCTS(add_products_fma, WITH_FMA, SAME_FMA, PLUS_PRODUCT_FMA)
#endif

/* The products of up to `ROWS` of the `left` vectors, all that are left, with `others` others, which have up
 * to `PANELS` panels: [ROWS][STRIDE]. The next vectors are fetched meanwhile. */
INLINE void multiply(const float *vectors, int64_t left, int64_t width, const float *turned, int64_t others,
                     add_products_t add, float *products) {
    const int64_t rows = left < ROWS ? left : ROWS, panels = panels_of(others);
    const int64_t calls = (width + DEPTH - 1) / DEPTH * panels * ((rows + GROUP - 1) / GROUP);
    const float *ahead = vectors + rows * width, *end = vectors + left * width;
    const int64_t numbers = (rows * width / calls / LINE + 1) * LINE; /* to fetch in each call */
    for (int64_t start = 0; start < width; start += DEPTH) {
        const int64_t depth = width - start < DEPTH ? width - start : DEPTH;
        for (int64_t panel = 0; panel < panels; panel++)
            for (int64_t row = 0; row < rows; row += GROUP) {
                const float *some[GROUP], *part = turned + (panel * width + start) * PANEL;
                float *sums = products + row * STRIDE + panel * PANEL;
                for (int i = 0; i < GROUP; i++) /* the last vector again where there are fewer */
                    some[i] = vectors + (row + i < rows ? row + i : rows - 1) * width + start;
                for (int64_t i = 0; i < numbers && ahead < end; i += LINE, ahead += LINE)
                    __builtin_prefetch(ahead);
                add(some, part, depth, others - panel * PANEL > LANES ? 2 : 1, start == 0, sums);
            }
    }
}

#endif
