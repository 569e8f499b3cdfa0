/* Functions of the Python module: words, packed, in runs and in streams. */
#include "module.h"

/* A kernel between packed and unpacked values. */
static PyObject *with_lanes(PyObject *args, const char *(*kernel)(bytes_t, int64_t, int64_t,
                                                                  int64_t, room_t)) {
    Py_buffer b[2] = {0};
    Py_ssize_t width, bits, chunks;
    const char *error;
    if (!PyArg_ParseTuple(args, "y*nnnw*", &b[0], &width, &bits, &chunks, &b[1]))
        return release(b, 2), NULL;
    WITHOUT_GIL(kernel(bytes_of(&b[0]), width, bits, chunks, room_of(&b[1])))
    return done(b, 2, error, 0);
}

static PyObject *py_unpack(PyObject *module, PyObject *args) {
    (void)module;
    return with_lanes(args, unpack_fastlanes);
}

static PyObject *py_pack(PyObject *module, PyObject *args) {
    (void)module;
    return with_lanes(args, pack_fastlanes);
}

/* A kernel that fills one array from all chunks, told a width. */
static PyObject *from_chunks(PyObject *args, const char *(*kernel)(chunks_t, int64_t, room_t)) {
    Py_buffer b[5] = {0};
    Py_ssize_t width;
    chunks_t chunks;
    const char *error;
    if (!PyArg_ParseTuple(args, "y*y*y*y*nw*", &b[0], &b[1], &b[2], &b[3], &width, &b[4]))
        return release(b, 5), NULL;
    if (!chunks_of(b, &chunks))
        return done(b, 5, MISMATCH, 0);
    WITHOUT_GIL(kernel(chunks, width, room_of(&b[4])))
    return done(b, 5, error, 0);
}

static PyObject *py_unpack_inline(PyObject *module, PyObject *args) {
    (void)module;
    return from_chunks(args, unpack_inline);
}

static PyObject *py_unpack_levels(PyObject *module, PyObject *args) {
    (void)module;
    return from_chunks(args, unpack_levels);
}

static PyObject *py_join_streams(PyObject *module, PyObject *args) {
    (void)module;
    return from_chunks(args, join_streams);
}

static PyObject *py_pick_inline(PyObject *module, PyObject *args) {
    Py_buffer b[7] = {0};
    Py_ssize_t bits;
    chunks_t chunks;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*nw*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &bits,
                          &b[6]))
        return release(b, 7), NULL;
    const int64_t count = b[4].len / 8;
    if (!chunks_of(b, &chunks) || !holds(&b[4], count, 8) || !holds(&b[5], count, 8))
        return done(b, 7, MISMATCH, 0);
    WITHOUT_GIL(pick_inline(chunks, bits, b[4].buf, b[5].buf, count, room_of(&b[6])))
    return done(b, 7, error, 0);
}

static PyObject *py_chunk_widths(PyObject *module, PyObject *args) {
    Py_buffer b[2] = {0};
    Py_ssize_t bits;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nw*", &b[0], &bits, &b[1]))
        return release(b, 2), NULL;
    const int64_t chunks = b[1].len / 8;
    if (!holds(&b[1], chunks, 8))
        return done(b, 2, MISMATCH, 0);
    WITHOUT_GIL(chunk_widths(bytes_of(&b[0]), bits, b[1].buf, chunks))
    return done(b, 2, error, 0);
}

static PyObject *py_pack_inline(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t bits;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*w*", &b[0], &bits, &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t chunks = b[1].len / 8;
    if (!holds(&b[1], chunks, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(pack_inline(bytes_of(&b[0]), bits, b[1].buf, chunks, room_of(&b[2])))
    return done(b, 3, error, 0);
}

/* Starts and sizes are those of values, then those of lengths. */
static PyObject *py_expand_runs(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    Py_ssize_t width;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*nw*", &b[0], &b[1], &b[2], &b[3], &width, &b[4]))
        return release(b, 5), NULL;
    const int64_t number = b[3].len / 8;
    if (!holds(&b[1], 2 * number, 8) || !holds(&b[2], 2 * number, 8) || !holds(&b[3], number, 8))
        return done(b, 5, MISMATCH, 0);
    const int64_t *starts = b[1].buf, *sizes = b[2].buf;
    const chunks_t values = {bytes_of(&b[0]), starts, sizes, b[3].buf, number};
    const chunks_t lengths = {values.data, starts + number, sizes + number, b[3].buf, number};
    WITHOUT_GIL(expand_runs(values, lengths, width, room_of(&b[4])))
    return done(b, 5, error, 0);
}

static PyObject *py_count_runs(PyObject *module, PyObject *args) {
    Py_buffer b[2] = {0};
    Py_ssize_t width, per_chunk;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnw*", &b[0], &width, &per_chunk, &b[1]))
        return release(b, 2), NULL;
    const int64_t chunks = b[1].len / 8;
    if (!holds(&b[1], chunks, 8))
        return done(b, 2, MISMATCH, 0);
    WITHOUT_GIL(count_runs(bytes_of(&b[0]), width, per_chunk, b[1].buf, chunks))
    return done(b, 2, error, 0);
}

static PyObject *py_encode_runs(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    Py_ssize_t width, most, least, room;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnnnw*w*w*w*", &b[0], &width, &most, &least, &room, &b[1],
                          &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t chunks = b[3].len / 8;
    if (!holds(&b[3], chunks, 8) || !holds(&b[4], chunks, 8))
        return done(b, 5, MISMATCH, 0);
    run_output_t output = {room_of(&b[1]), room_of(&b[2]), b[3].buf, b[4].buf, chunks, 0, 0};
    const run_rule_t rule = {most, least, room};
    WITHOUT_GIL(encode_runs(bytes_of(&b[0]), width, rule, &output))
    if (error)
        return done(b, 5, error, 0);
    release(b, 5);
    return Py_BuildValue("LL", output.total, output.chunks);
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

PyMethodDef integer_methods[] = {
    {"unpack_fastlanes", py_unpack, METH_VARARGS, "packed, width, bits, chunks, values"},
    {"pack_fastlanes", py_pack, METH_VARARGS, "values, width, bits, chunks, packed"},
    {"unpack_inline", py_unpack_inline, METH_VARARGS, "data, starts, sizes, counts, bits, values"},
    {"pick_inline", py_pick_inline, METH_VARARGS,
     "data, starts, sizes, counts, chunk, position, bits, values"},
    {"unpack_levels", py_unpack_levels, METH_VARARGS, "data, starts, sizes, counts, width, levels"},
    {"chunk_widths", py_chunk_widths, METH_VARARGS, "values, bits, widths"},
    {"pack_inline", py_pack_inline, METH_VARARGS, "values, bits, widths, packed"},
    {"expand_runs", py_expand_runs, METH_VARARGS, "data, starts, sizes, counts, width, values"},
    {"count_runs", py_count_runs, METH_VARARGS, "words, width, per_chunk, runs"},
    {"encode_runs", py_encode_runs, METH_VARARGS,
     "words, width, most, least, room, values, lengths, counts, runs; numbers of runs and chunks"},
    {"join_streams", py_join_streams, METH_VARARGS, "data, starts, sizes, counts, width, values"},
    {"split_streams", py_split_streams, METH_VARARGS, "values, width, per_chunk, streams"},
    {NULL, NULL, 0, NULL},
};
