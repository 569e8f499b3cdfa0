/* Functions of the Python module: FSST. */
#include "module.h"

static PyObject *py_fsst_bound(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    int64_t bound = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const char *error;
    WITHOUT_GIL(fsst_bound(bytes_of(&b[0]), symbols_of(&b[1], &b[2]), &bound))
    return done(b, 3, error, bound);
}

static PyObject *py_fsst_decode(PyObject *module, PyObject *args) {
    Py_buffer b[6] = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]))
        return release(b, 6), NULL;
    const int64_t count = b[1].len / 8 - 1;
    if (count < 0 || !holds(&b[1], count + 1, 8) || !holds(&b[5], count + 1, 8))
        return done(b, 6, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(fsst_decode(bytes_of(&b[0]), b[1].buf, count, symbols_of(&b[2], &b[3]), room_of(&b[4]),
                        b[5].buf))
    return done(b, 6, error, error ? 0 : ((const int64_t *)b[5].buf)[count]);
}

static PyObject *py_spans_total(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    int64_t total = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[1].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8))
        return done(b, 3, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(spans_total((spans_t){bytes_of(&b[0]), b[1].buf, b[2].buf, count}, &total))
    return done(b, 3, error, total);
}

static PyObject *py_fsst_encode(PyObject *module, PyObject *args) {
    Py_buffer b[7] = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6]))
        return release(b, 7), NULL;
    const int64_t count = b[1].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8) || !holds(&b[6], count + 1, 8))
        return done(b, 7, MISMATCH, 0);
    const spans_t spans = {bytes_of(&b[0]), b[1].buf, b[2].buf, count};
    const char *error;
    WITHOUT_GIL(fsst_encode(spans, symbols_of(&b[3], &b[4]), room_of(&b[5]), b[6].buf))
    return done(b, 7, error, error ? 0 : ((const int64_t *)b[6].buf)[count]);
}

static PyObject *py_fsst_train(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    int64_t found = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*w*w*", &b[0], &b[1], &b[2], &b[3]))
        return release(b, 4), NULL;
    const int64_t count = b[1].len / 8 - 1;
    if (count < 0 || !holds(&b[1], count + 1, 8) || b[2].len != 8 * ESCAPE || b[3].len != ESCAPE)
        return done(b, 4, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(fsst_train(bytes_of(&b[0]), b[1].buf, count, b[2].buf, b[3].buf, &found))
    return done(b, 4, error, found);
}

static PyObject *py_fsst_chunks_bound(PyObject *module, PyObject *args) {
    Py_buffer b[6] = {0};
    Py_ssize_t width;
    chunks_t chunks;
    int64_t bound = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*ny*y*", &b[0], &b[1], &b[2], &b[3], &width, &b[4], &b[5]))
        return release(b, 6), NULL;
    if (!chunks_of(b, &chunks))
        return done(b, 6, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(fsst_chunks_bound(chunks, width, symbols_of(&b[4], &b[5]), &bound))
    return done(b, 6, error, bound);
}

static PyObject *py_fsst_decode_chunks(PyObject *module, PyObject *args) {
    Py_buffer b[8] = {0};
    Py_ssize_t width, offset_width;
    chunks_t chunks;
    int64_t size = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*ny*y*w*w*n", &b[0], &b[1], &b[2], &b[3], &width, &b[4],
                          &b[5], &b[6], &b[7], &offset_width))
        return release(b, 8), NULL;
    if (!chunks_of(b, &chunks) || (offset_width != 4 && offset_width != 8) ||
        !holds(&b[7], b[7].len / offset_width, offset_width))
        return done(b, 8, MISMATCH, 0);
    const char *error;
    WITHOUT_GIL(fsst_decode_chunks(chunks, width, symbols_of(&b[4], &b[5]), room_of(&b[6]),
                                   room_of(&b[7]), offset_width, &size))
    return done(b, 8, error, size);
}

PyMethodDef string_methods[] = {
    {"fsst_bound", py_fsst_bound, METH_VARARGS, "codes, symbols, lengths; most bytes decoded"},
    {"fsst_decode", py_fsst_decode, METH_VARARGS,
     "codes, offsets, symbols, lengths, text, text_offsets; bytes decoded"},
    {"fsst_chunks_bound", py_fsst_chunks_bound, METH_VARARGS,
     "data, starts, sizes, counts, width, symbols, lengths; most bytes decoded"},
    {"fsst_decode_chunks", py_fsst_decode_chunks, METH_VARARGS,
     "data, starts, sizes, counts, width, symbols, lengths, text, offsets, offset_width; "
     "bytes decoded"},
    {"spans_total", py_spans_total, METH_VARARGS, "data, starts, stops; the sum of lengths"},
    {"fsst_encode", py_fsst_encode, METH_VARARGS,
     "data, starts, stops, symbols, lengths, codes, code_offsets; bytes of codes"},
    {"fsst_train", py_fsst_train, METH_VARARGS,
     "sample, offsets, symbols, lengths; number of symbols"},
    {NULL, NULL, 0, NULL},
};
