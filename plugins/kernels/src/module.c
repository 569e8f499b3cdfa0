/* The Python module `_native`: buffers in, buffers filled. It uses the stable ABI of Python 3.11.
 *
 * Every function takes contiguous buffers, checks that they have whole and aligned elements and
 * that as many as belong together, and runs without the GIL. What is wrong is a ValueError.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "kernels.h"

static void release(Py_buffer *buffers, int count) {
    for (int i = 0; i < count; i++)
        if (buffers[i].obj)
            PyBuffer_Release(&buffers[i]);
}

/* The result, or the error if there is one; the buffers are not needed any more. */
static PyObject *done(Py_buffer *buffers, int count, const char *error, int64_t result) {
    release(buffers, count);
    if (error) {
        PyErr_SetString(PyExc_ValueError, error);
        return NULL;
    }
    return PyLong_FromLongLong(result);
}

static bytes_t bytes_of(const Py_buffer *buffer) {
    return (bytes_t){buffer->buf, buffer->len};
}

static room_t room_of(const Py_buffer *buffer) {
    return (room_t){buffer->buf, buffer->len};
}

static symbols_t symbols_of(const Py_buffer *texts, const Py_buffer *lengths) {
    return (symbols_t){bytes_of(texts), bytes_of(lengths)};
}

/* Whether a buffer holds just `count` aligned elements of `width` bytes. */
static int holds(const Py_buffer *buffer, int64_t count, int64_t width) {
    return count >= 0 && buffer->len % width == 0 && buffer->len / width == count &&
           (buffer->len == 0 || (uintptr_t)buffer->buf % (uintptr_t)width == 0);
}

static const char *const MISMATCH = "buffers do not belong together";

static PyObject *py_unpack(PyObject *module, PyObject *args) {
    Py_buffer b[2] = {0};
    Py_ssize_t width, bits, chunks;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnnw*", &b[0], &width, &bits, &chunks, &b[1]))
        return release(b, 2), NULL;
    const char *error;
    Py_BEGIN_ALLOW_THREADS
    error = unpack_fastlanes(bytes_of(&b[0]), width, bits, chunks, room_of(&b[1]));
    Py_END_ALLOW_THREADS
    return done(b, 2, error, 0);
}

static PyObject *py_pack(PyObject *module, PyObject *args) {
    Py_buffer b[2] = {0};
    Py_ssize_t width, bits, chunks;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnnw*", &b[0], &width, &bits, &chunks, &b[1]))
        return release(b, 2), NULL;
    const char *error;
    Py_BEGIN_ALLOW_THREADS
    error = pack_fastlanes(bytes_of(&b[0]), width, bits, chunks, room_of(&b[1]));
    Py_END_ALLOW_THREADS
    return done(b, 2, error, 0);
}

static PyObject *py_fsst_bound(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    int64_t bound = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const char *error;
    Py_BEGIN_ALLOW_THREADS
    error = fsst_bound(bytes_of(&b[0]), symbols_of(&b[1], &b[2]), &bound);
    Py_END_ALLOW_THREADS
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
    Py_BEGIN_ALLOW_THREADS
    error = fsst_decode(bytes_of(&b[0]), b[1].buf, count, symbols_of(&b[2], &b[3]), room_of(&b[4]),
                        b[5].buf);
    Py_END_ALLOW_THREADS
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
    Py_BEGIN_ALLOW_THREADS
    error = spans_total((spans_t){bytes_of(&b[0]), b[1].buf, b[2].buf, count}, &total);
    Py_END_ALLOW_THREADS
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
    Py_BEGIN_ALLOW_THREADS
    error = fsst_encode(spans, symbols_of(&b[3], &b[4]), room_of(&b[5]), b[6].buf);
    Py_END_ALLOW_THREADS
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
    Py_BEGIN_ALLOW_THREADS
    error = fsst_train(bytes_of(&b[0]), b[1].buf, count, b[2].buf, b[3].buf, &found);
    Py_END_ALLOW_THREADS
    return done(b, 4, error, found);
}

/* Definition levels may be empty where there are repetition levels: all are 0 then. */
static PyObject *py_level_items(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    Py_ssize_t depth, base;
    int64_t found = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nnw*w*", &b[0], &b[1], &b[2], &depth, &base, &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t count = b[0].len / 2, lists = b[2].len / 8;
    if (!holds(&b[0], count, 2) || !(b[1].len == 0 || holds(&b[1], count, 2)) ||
        !holds(&b[2], lists, 8) || !holds(&b[3], count, 8) || !holds(&b[4], lists + 1, 8))
        return done(b, 5, MISMATCH, 0);
    const levels_t levels = {b[0].buf, b[1].len ? b[1].buf : NULL, count, depth, base};
    const char *error;
    Py_BEGIN_ALLOW_THREADS
    error = level_items(levels, b[2].buf, lists, b[3].buf, b[4].buf, &found);
    Py_END_ALLOW_THREADS
    return done(b, 5, error, found);
}

static PyObject *py_gather_variable(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t count = b[1].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8) || !holds(&b[4], count + 1, 8))
        return done(b, 5, MISMATCH, 0);
    const char *error;
    Py_BEGIN_ALLOW_THREADS
    error = gather_variable((spans_t){bytes_of(&b[0]), b[1].buf, b[2].buf, count}, room_of(&b[3]),
                            b[4].buf);
    Py_END_ALLOW_THREADS
    return done(b, 5, error, 0);
}

static PyMethodDef methods[] = {
    {"unpack_fastlanes", py_unpack, METH_VARARGS, "packed, width, bits, chunks, values"},
    {"pack_fastlanes", py_pack, METH_VARARGS, "values, width, bits, chunks, packed"},
    {"fsst_bound", py_fsst_bound, METH_VARARGS, "codes, symbols, lengths; most bytes decoded"},
    {"fsst_decode", py_fsst_decode, METH_VARARGS,
     "codes, offsets, symbols, lengths, text, text_offsets; bytes decoded"},
    {"spans_total", py_spans_total, METH_VARARGS, "data, starts, stops; the sum of lengths"},
    {"fsst_encode", py_fsst_encode, METH_VARARGS,
     "data, starts, stops, symbols, lengths, codes, code_offsets; bytes of codes"},
    {"fsst_train", py_fsst_train, METH_VARARGS,
     "sample, offsets, symbols, lengths; number of symbols"},
    {"level_items", py_level_items, METH_VARARGS,
     "repetition, definition, starts, depth, base, items, offsets; number of items"},
    {"gather_variable", py_gather_variable, METH_VARARGS, "data, starts, stops, text, offsets"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Inner loops in C.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&definition);
}
