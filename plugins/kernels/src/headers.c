/* Words and headers of the chunks of mini-block pages. */
#include "module.h"

#include <string.h>

/* Chunks with so many kinds of levels and value buffers, sizes of which take 4 bytes if large. */
typedef struct {
    int64_t levels;
    int64_t buffers;
    int64_t large;
} header_t;

#define MOST_PARTS 64
#define MOST_VALUES (1 << 15) /* of a chunk: its word has four bits for their logarithm */

/* For each chunk, whose size is in `stops`, its number of levels; then, part by part, where in the
 * data it starts; then how large it is. The table has room for all. */
static const char *chunk_headers(spans_t chunks, header_t form, int64_t *table) {
    const int64_t levels = form.levels, parts = levels + form.buffers, number = chunks.count;
    if (levels < 0 || levels > 2 || form.buffers < 1 || form.buffers > MOST_PARTS)
        return "chunks of parts that no page has";
    const int64_t width = form.large ? 4 : 2, fixed = 2 * (1 + levels);
    const int64_t length = fixed + form.buffers * width;
    for (int64_t i = 0; i < number; i++) {
        const int64_t start = chunks.starts[i], size = chunks.stops[i];
        if (start < 0 || size < 0 || start > chunks.data.size || size > chunks.data.size - start)
            return "a chunk is not within the bytes of all";
        if (size < length)
            return "a chunk is shorter than its header";
        const uint8_t *head = chunks.data.at + start;
        table[i] = load_u16(head);
        int64_t end = length;
        for (int64_t part = 0; part < parts; part++) {
            const int64_t place = (end + 7) / 8 * 8;
            const uint8_t *at = head + fixed + (part - levels) * width;
            const int64_t bytes = part < levels ? load_u16(head + 2 * (1 + part))
                                  : form.large  ? load_u32(at)
                                                : load_u16(at);
            table[(1 + part) * number + i] = start + place;
            table[(1 + parts + part) * number + i] = bytes;
            end = place + bytes;
        }
        if (end > size)
            return "the parts of a chunk do not fit into it";
    }
    return NULL;
}

/* For each chunk its first byte and its first value, and the totals behind them. A word has the
 * bytes of a chunk and the logarithm of its values; the last chunk has the remaining values. */
static const char *chunk_edges(bytes_t words, int64_t width, int64_t num_values,
                               int64_t num_bytes, int64_t *edges, int64_t *values) {
    const int64_t number = words.size / width;
    int64_t end = 0, value = 0;
    for (int64_t i = 0; i < number; i++) {
        const uint8_t *at = words.at + i * width;
        const int64_t word = width == 4 ? load_u32(at) : load_u16(at);
        const int64_t log = word & 15, rest = num_values - value;
        edges[i] = end;
        values[i] = value;
        end += ((word >> 4) + 1) * 8;
        if (i + 1 < number) {
            if (!log)
                return "only the last chunk may omit its number of values";
            value += (int64_t)1 << log;
        } else if (rest <= 0 || rest > MOST_VALUES || (log && (int64_t)1 << log != rest)) {
            return "the chunks do not hold the values of the page";
        }
    }
    if (end > num_bytes)
        return "the chunks take more bytes than their buffer has";
    edges[number] = end;
    values[number] = num_values;
    return NULL;
}

/* For Python. */

static PyObject *py_chunk_edges(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    long long num_values, num_bytes;
    int large;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*pLLw*w*", &b[0], &large, &num_values, &num_bytes, &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t width = large ? 4 : 2, number = b[0].len / width;
    if (b[0].len % width || !number || !holds(&b[1], number + 1, 8) ||
        !holds(&b[2], number + 1, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(chunk_edges(bytes_of(&b[0]), width, num_values, num_bytes, b[1].buf, b[2].buf))
    return done(b, 3, error, 0);
}

static PyObject *py_chunk_headers(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t levels, buffers;
    int large;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nnpw*", &b[0], &b[1], &b[2], &levels, &buffers, &large,
                          &b[3]))
        return release(b, 4), NULL;
    const int64_t number = b[1].len / 8;
    if (levels < 0 || levels > 2 || buffers < 1 || buffers > 64 || !holds(&b[1], number, 8) ||
        !holds(&b[2], number, 8) || !holds(&b[3], number * (1 + 2 * (levels + buffers)), 8))
        return done(b, 4, MISMATCH, 0);
    const spans_t chunks = {bytes_of(&b[0]), b[1].buf, b[2].buf, number};
    const header_t form = {levels, buffers, large};
    WITHOUT_GIL(chunk_headers(chunks, form, b[3].buf))
    return done(b, 4, error, 0);
}

PyMethodDef headers_methods[] = {
    {"chunk_edges", py_chunk_edges, METH_VARARGS,
     "words, large, num_values, num_bytes, edges, values"},
    {"chunk_headers", py_chunk_headers, METH_VARARGS,
     "data, starts, sizes, levels, buffers, large, table"},
    {NULL, NULL, 0, NULL},
};
