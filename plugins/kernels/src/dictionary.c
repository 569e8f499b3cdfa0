/* Dictionary-encode the values of many columns. */
#include "module.h"

#define MIX 0x9E3779B97F4A7C15u

static inline uint64_t stir(uint64_t hash) {
    hash *= MIX;
    return hash ^ hash >> 32;
}

static inline uint64_t hash_of(const uint8_t *at, int64_t size) {
    uint64_t hash = (uint64_t)size;
    if (size > 8) {
        for (int64_t i = 0; i < size - 8; i += 8)
            hash = stir(hash ^ load_u64(at + i));
        return stir(hash ^ load_u64(at + size - 8));
    }
    if (size == 8)
        return stir(hash ^ load_u64(at));
    if (size >= 4)
        return stir(hash << 56 ^ (uint64_t)load_u32(at) << 24 ^ (uint64_t)load_u32(at + size - 4));
    if (size)
        return stir(hash << 56 ^ (uint64_t)at[0] << 16 ^ (uint64_t)at[size / 2] << 8 ^ at[size - 1]);
    return stir(hash);
}

static inline int same(const uint8_t *a, const uint8_t *b, int64_t size) {
    if (size == 8)
        return load_u64(a) == load_u64(b);
    if (size < 8 && size >= 4)
        return load_u32(a) == load_u32(b) && load_u32(a + size - 4) == load_u32(b + size - 4);
    return __builtin_memcmp(a, b, (size_t)size) == 0;
}

/* The upper half of a slot is that of the hash, the lower half is the code plus 1, or 0. */
typedef struct {
    uint64_t *at;
    int64_t number; /* a power of two, more than items */
} table_t;

/* The values between edges of one column, of which those at `places` count. */
typedef struct {
    bytes_t data;
    const int64_t *edges;
    const int64_t *places;
    int64_t number;
} column_t;

/* Returns the number of items, `most` + 1 if there are more than `most`; `firsts` are places. */
static int64_t codes_of(column_t column, int64_t most, table_t table, uint32_t *codes,
                        int64_t *firsts) {
    const int64_t *edges = column.edges;
    const uint64_t mask = (uint64_t)table.number - 1;
    int64_t count = 0;
    __builtin_memset(table.at, 0, (size_t)table.number * 8);
    for (int64_t i = 0; i < column.number; i++) {
        const int64_t place = column.places[i], size = edges[place + 1] - edges[place];
        const uint8_t *value = column.data.at + edges[place];
        const uint64_t hash = hash_of(value, size);
        uint64_t at = hash & mask;
        for (;; at = (at + 1) & mask) {
            const uint64_t slot = table.at[at];
            if (!slot) {
                if (count == most)
                    return most + 1;
                firsts[count++] = place;
                table.at[at] = hash >> 32 << 32 | (uint64_t)count;
                codes[i] = (uint32_t)(count - 1);
                break;
            }
            if (slot >> 32 != hash >> 32)
                continue;
            const int64_t code = (int64_t)(uint32_t)slot - 1, other = firsts[code];
            if (edges[other + 1] - edges[other] == size &&
                same(column.data.at + edges[other], value, size)) {
                codes[i] = (uint32_t)code;
                break;
            }
        }
    }
    return count;
}

/* Each column has `rows` + 1 edges; `firsts` has room for `most` items of each. They count from the
 * first edge of all columns, and `total` is their number at the end. */
static const char *dictionary_codes(column_t all, int64_t columns, int64_t rows, int64_t most,
                                    table_t table, uint32_t *codes, int64_t *counts,
                                    int64_t *firsts, int64_t *total) {
    for (int64_t i = 0; i < all.number; i++)
        if (all.places[i] < 0 || all.places[i] >= rows)
            return "a place is not one of a column";
    for (int64_t c = 0; c < columns; c++) {
        column_t column = all;
        column.edges = all.edges + c * (rows + 1);
        if (column.edges[0] < 0 || column.edges[rows] > all.data.size)
            return "a column is not within the bytes of all";
        for (int64_t i = 0; i < rows; i++)
            if (column.edges[i] > column.edges[i + 1])
                return "the edges of a column descend";
        int64_t *own = firsts + *total;
        counts[c] = codes_of(column, most, table, codes + c * all.number, own);
        if (counts[c] > most) {
            __builtin_memset(codes + c * all.number, 0, (size_t)all.number * 4);
            continue;
        }
        for (int64_t i = 0; i < counts[c]; i++)
            own[i] += c * (rows + 1);
        *total += counts[c];
    }
    return NULL;
}

/* For Python. */

static PyObject *py_dictionary_codes(PyObject *module, PyObject *args) {
    Py_buffer b[7] = {0};
    Py_ssize_t most;
    const char *error;
    int64_t total = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nw*w*w*w*", &b[0], &b[1], &b[2], &most, &b[3], &b[4], &b[5],
                          &b[6]))
        return release(b, 7), NULL;
    const int64_t number = b[2].len / 8, columns = b[5].len / 8, slots = b[3].len / 8;
    const int64_t width = columns ? b[1].len / 8 / columns : 1;
    const int64_t room = most < number ? most : number;
    if (most < 0 || width < 1 || !holds(&b[1], columns * width, 8) || !holds(&b[2], number, 8) ||
        !holds(&b[3], slots, 8) || !holds(&b[4], columns * number, 4) ||
        !holds(&b[5], columns, 8) || number > UINT32_MAX - 1 || slots <= room ||
        (slots & (slots - 1)) || !holds(&b[6], columns * room, 8))
        return done(b, 7, MISMATCH, 0);
    const column_t all = {bytes_of(&b[0]), b[1].buf, b[2].buf, number};
    const table_t table = {b[3].buf, slots};
    WITHOUT_GIL(dictionary_codes(all, columns, width - 1, most, table, b[4].buf, b[5].buf, b[6].buf,
                                 &total))
    return done(b, 7, error, total);
}

PyMethodDef dictionary_methods[] = {
    {"dictionary_codes", py_dictionary_codes, METH_VARARGS,
     "data, edges, places, most, slots, codes, counts, firsts"},
    {NULL, NULL, 0, NULL},
};
