/* Byte k of all values of a chunk together, for each k. */
#include "module.h"

#include <string.h>

/* A constant width lets the compiler interleave whole vectors. */
static void join_4(const uint8_t *restrict from, int64_t count, uint8_t *restrict out) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < 4; k++)
            out[4 * i + k] = from[k * count + i];
}

static void join_8(const uint8_t *restrict from, int64_t count, uint8_t *restrict out) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < 8; k++)
            out[8 * i + k] = from[k * count + i];
}

static void split(const uint8_t *restrict from, int64_t count, int64_t width,
                  uint8_t *restrict out) {
    for (int64_t k = 0; k < width; k++)
        for (int64_t i = 0; i < count; i++)
            out[k * count + i] = from[i * width + k];
}

static const char *join_streams(chunks_t chunks, int64_t width, room_t values) {
    if (width != 4 && width != 8)
        return "streams are those of values of 4 or 8 bytes";
    int64_t filled = 0;
    for (int64_t i = 0; i < chunks.number; i++) {
        const int64_t count = chunks.counts[i];
        bytes_t chunk;
        const char *error = chunk_at(chunks, i, &chunk);
        if (error)
            return error;
        if (count > chunk.size / width)
            return "a chunk has fewer bytes than its values take";
        if (count > (values.size - filled) / width)
            return "chunks have more values than there is room for";
        (width == 4 ? join_4 : join_8)(chunk.at, count, values.at + filled);
        filled += count * width;
    }
    return filled == values.size ? NULL : "chunks have fewer values than there is room for";
}

static const char *split_streams(bytes_t values, int64_t width, int64_t per_chunk, room_t streams) {
    if ((width != 4 && width != 8) || per_chunk < 1)
        return "streams are those of values of 4 or 8 bytes";
    if (values.size % width || streams.size != values.size)
        return "streams are as large as their values";
    const int64_t total = values.size / width;
    for (int64_t start = 0; start < total;) {
        const int64_t left = total - start, count = left < per_chunk ? left : per_chunk;
        split(values.at + start * width, count, width, streams.at + start * width);
        start += count;
    }
    return NULL;
}

/* For Python. */

static PyObject *py_join_streams(PyObject *module, PyObject *args) {
    (void)module;
    return from_chunks(args, join_streams);
}

static PyObject *py_split_streams(PyObject *module, PyObject *args) {
    Py_buffer b[2] = {0};
    Py_ssize_t width, per_chunk;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnw*", &b[0], &width, &per_chunk, &b[1]))
        return release(b, 2), NULL;
    WITHOUT_GIL(split_streams(bytes_of(&b[0]), width, per_chunk, room_of(&b[1])))
    return done(b, 2, error, 0);
}

PyMethodDef streams_methods[] = {
    {"join_streams", py_join_streams, METH_VARARGS, "data, starts, sizes, counts, width, values"},
    {"split_streams", py_split_streams, METH_VARARGS, "values, width, per_chunk, streams"},
    {NULL, NULL, 0, NULL},
};
