/* CRC-32C (Castagnoli), with the instruction of the processor where it has one.
 *
 * The instruction takes three cycles for eight bytes but begins another one in each cycle, so three
 * streams are computed at once. What the first and the second come to is then moved over the bytes
 * behind them: a shift by a fixed number of bytes is linear, so tables of the four bytes of a
 * checksum have it. */
#include "intrinsics.h"
#include "module.h"

#include <string.h>

#define POLYNOMIAL 0x82F63B78u /* its bits reversed */
#define LONG 8192              /* bytes of a stream, for large and for small buffers */
#define SHORT 256

static uint32_t by_byte[8][256]; /* [k][b]: the checksum of byte b before k bytes of zero */
static uint32_t by_long[4][256]; /* [k][b]: byte k of a checksum, moved over LONG bytes */
static uint32_t by_short[4][256];

/* The columns of a matrix over bits: what becomes of each bit of a checksum. */
static uint32_t times(const uint32_t *matrix, uint32_t vector) {
    uint32_t sum = 0;
    for (; vector; vector >>= 1, matrix++)
        sum ^= (vector & 1) ? *matrix : 0;
    return sum;
}

static void fill_shift(uint32_t table[4][256], int64_t size) {
    uint32_t matrix[32], square[32];
    matrix[0] = POLYNOMIAL; /* one bit of zero */
    for (int i = 1; i < 32; i++)
        matrix[i] = 1u << (i - 1);
    for (int64_t bits = 1; bits < 8 * size; bits *= 2) {
        for (int i = 0; i < 32; i++)
            square[i] = times(matrix, matrix[i]);
        memcpy(matrix, square, sizeof matrix);
    }
    for (int k = 0; k < 4; k++)
        for (uint32_t b = 0; b < 256; b++)
            table[k][b] = times(matrix, b << (8 * k));
}

/* Once, when the module is imported. */
void fill_crc32c_tables(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t sum = b;
        for (int bit = 0; bit < 8; bit++)
            sum = (sum >> 1) ^ ((sum & 1) ? POLYNOMIAL : 0);
        by_byte[0][b] = sum;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            by_byte[k][b] = (by_byte[k - 1][b] >> 8) ^ by_byte[0][by_byte[k - 1][b] & 255];
    fill_shift(by_long, LONG);
    fill_shift(by_short, SHORT);
}

static uint32_t plain_crc32c(uint32_t sum, const uint8_t *at, int64_t size) {
    for (; size >= 8; at += 8, size -= 8) {
        const uint64_t word = load_u64(at) ^ sum;
        sum = 0;
        for (int k = 0; k < 8; k++)
            sum ^= by_byte[7 - k][(word >> (8 * k)) & 255];
    }
    for (; size > 0; at++, size--)
        sum = (sum >> 8) ^ by_byte[0][(sum ^ *at) & 255];
    return sum;
}

#if defined(WITH_AVX2)
#define WITH_CRC32C __attribute__((target("sse4.2")))
#define WORD_CRC32C(sum, word) __builtin_ia32_crc32di(sum, word)
static int has_crc32c(void) {
    return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(PLAIN_C)
#if defined(__ARM_FEATURE_CRC32)
#define WITH_CRC32C
#elif defined(__clang__)
#define WITH_CRC32C __attribute__((target("crc")))
#else
#define WITH_CRC32C __attribute__((target("+crc")))
#endif
#define WORD_CRC32C(sum, word) __builtin_aarch64_crc32cx((uint32_t)(sum), word)
#if defined(__ARM_FEATURE_CRC32)
static int has_crc32c(void) {
    return 1;
}
#elif defined(__linux__)
#include <sys/auxv.h>
static int has_crc32c(void) {
    return (getauxval(AT_HWCAP) >> 7) & 1; /* HWCAP_CRC32 */
}
#else
static int has_crc32c(void) {
    return 0;
}
#endif
#endif

#ifdef WITH_CRC32C
static inline uint32_t moved(uint32_t table[4][256], uint64_t sum) {
    return table[0][sum & 255] ^ table[1][(sum >> 8) & 255] ^ table[2][(sum >> 16) & 255] ^
           table[3][(sum >> 24) & 255];
}

/* Three streams of `length` bytes each, while there are as many. */
#define THREE_STREAMS(length, table)                                                              \
    while (size >= 3 * (length)) {                                                                \
        uint64_t second = 0, third = 0;                                                           \
        for (int64_t i = 0; i < (length); i += 8) {                                               \
            first = WORD_CRC32C(first, load_u64(at + i));                                         \
            second = WORD_CRC32C(second, load_u64(at + (length) + i));                            \
            third = WORD_CRC32C(third, load_u64(at + 2 * (length) + i));                          \
        }                                                                                         \
        first = moved(table, moved(table, first) ^ second) ^ third;                               \
        at += 3 * (length);                                                                       \
        size -= 3 * (length);                                                                     \
    }

WITH_CRC32C static uint32_t fast_crc32c(uint32_t sum, const uint8_t *at, int64_t size) {
    uint64_t first = sum;
    THREE_STREAMS(LONG, by_long)
    THREE_STREAMS(SHORT, by_short)
    for (; size >= 8; at += 8, size -= 8)
        first = WORD_CRC32C(first, load_u64(at));
    return plain_crc32c((uint32_t)first, at, size);
}
#endif

#ifdef WITH_AVX2
/* x^(2048 + 32) and x^(2048 - 32) modulo the polynomial: they move 16 bytes over WIDE bytes. */
#define WIDE 256
#define MOVE_FIRST 0xDCB17AA4
#define MOVE_SECOND 0xB9E02B86
#define WITH_WIDE __attribute__((target("avx512f,vpclmulqdq,sse4.2")))

static int has_wide(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

/* Adds each WIDE bytes to those behind them, at four times the speed of the instruction; what
 * remains has the same checksum. `size` is at least WIDE. */
WITH_WIDE static uint32_t wide_crc32c(uint32_t sum, const uint8_t *at, int64_t size) {
    const __m512i moves = _mm512_broadcast_i32x4(_mm_set_epi64x(MOVE_SECOND, MOVE_FIRST));
    uint8_t rest[WIDE];
    __m512i folded[4];
    for (int i = 0; i < 4; i++)
        folded[i] = _mm512_loadu_si512(at + 64 * i);
    folded[0] = _mm512_xor_si512(folded[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)sum)));
    for (at += WIDE, size -= WIDE; size >= WIDE; at += WIDE, size -= WIDE)
        for (int i = 0; i < 4; i++) {
            const __m512i first = _mm512_clmulepi64_epi128(folded[i], moves, 0x00);
            const __m512i second = _mm512_clmulepi64_epi128(folded[i], moves, 0x11);
            const __m512i next = _mm512_loadu_si512(at + 64 * i);
            folded[i] = _mm512_ternarylogic_epi64(first, second, next, 0x96); /* a ^ b ^ c */
        }
    for (int i = 0; i < 4; i++)
        _mm512_storeu_si512(rest + 64 * i, folded[i]);
    return fast_crc32c(fast_crc32c(0, rest, WIDE), at, size);
}
#endif

static uint32_t crc32c(uint32_t sum, const uint8_t *at, int64_t size) {
#ifdef WITH_AVX2
    if (size >= 4 * WIDE && has_wide())
        return ~wide_crc32c(~sum, at, size);
#endif
#ifdef WITH_CRC32C
    if (has_crc32c())
        return ~fast_crc32c(~sum, at, size);
#endif
    return ~plain_crc32c(~sum, at, size);
}

/* For Python. */

static PyObject *py_crc32c(PyObject *module, PyObject *list) {
    int64_t number = 0;
    (void)module;
    Py_buffer *buffers = views_of(list, &number);
    if (!buffers)
        return NULL;
    uint32_t *sums = PyMem_Malloc((size_t)number * sizeof *sums + 1);
    PyObject *result = sums ? PyList_New((Py_ssize_t)number) : PyErr_NoMemory();
    if (result) {
        Py_BEGIN_ALLOW_THREADS
        for (int64_t i = 0; i < number; i++)
            sums[i] = crc32c(0, buffers[i].buf, buffers[i].len);
        Py_END_ALLOW_THREADS
    }
    for (int64_t i = 0; result && i < number; i++) {
        PyObject *sum = PyLong_FromUnsignedLong(sums[i]);
        if (!sum || PyList_SetItem(result, (Py_ssize_t)i, sum) < 0)
            Py_CLEAR(result);
    }
    PyMem_Free(sums);
    release(buffers, (int)number);
    PyMem_Free(buffers);
    return result;
}

PyMethodDef crc32c_methods[] = {
    {"crc32c", py_crc32c, METH_O, "buffers"},
    {NULL, NULL, 0, NULL},
};
