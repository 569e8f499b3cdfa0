/* What the inner loops of vector search share.
 *
 * Each file has loops in plain C, which know no Python, and behind them what makes functions of the
 * module `_native` of them: contiguous buffers in, buffers filled, without the GIL. They check that
 * buffers have as many aligned elements as belong together; what is wrong is a ValueError. The
 * Python functions of `lance_core_vector.loops` document what loops compute, and have a twin of each
 * in numpy. Loops over whole numbers equal their twins bit for bit.
 */
#ifndef LANCE_CORE_VECTOR_MODULE_H
#define LANCE_CORE_VECTOR_MODULE_H

#include "buffers.h"

/* For loops over floats that are compiled twice: for any processor, and for those with AVX2. */
#ifdef WITH_AVX2
#define WITH_FMA __attribute__((target("avx2,fma")))

static inline int has_fma(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
static inline int has_fma(void) {
    return 0;
}
#endif

#define AHEAD 2       /* rows that are fetched before they are compared */
#define CACHE_LINE 64 /* bytes that processors fetch at once */

/* Fetches bytes that are compared soon. */
INLINE void read_bytes_ahead(const void *from, int64_t size) {
    for (int64_t at = 0; at < size; at += CACHE_LINE)
        __builtin_prefetch((const char *)from + at);
}

#define LANES 8

typedef float floats_t __attribute__((vector_size(4 * LANES)));
typedef int32_t ints_t __attribute__((vector_size(4 * LANES)));

/* Vectors that need not be aligned. */
INLINE floats_t load_floats(const float *from) {
    floats_t loaded;
    __builtin_memcpy(&loaded, from, sizeof loaded);
    return loaded;
}

INLINE void store_floats(float *to, floats_t numbers) {
    __builtin_memcpy(to, &numbers, sizeof numbers);
}

/* The order is the same in all loops, so that their sums are. */
INLINE float sum_lanes(floats_t sums) {
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

INLINE floats_t same_floats(float value) {
    return value - (floats_t){0}; /* which compilers turn into one instruction */
}

extern PyMethodDef codewords_methods[];
extern PyMethodDef hnsw_change_methods[];
extern PyMethodDef hnsw_search_methods[];
extern PyMethodDef nearest_methods[];
extern PyMethodDef rabit_methods[];
extern PyMethodDef scan_batch_methods[];
extern PyMethodDef scan_floats_methods[];
extern PyMethodDef scan_product_methods[];
extern PyMethodDef scan_rabit_methods[];
extern PyMethodDef scan_scalar_methods[];
extern PyMethodDef scan_signs_methods[];
extern PyMethodDef training_methods[];

#endif
