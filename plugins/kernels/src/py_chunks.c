/* Functions of the Python module: values of variable width in chunks, and pieces of bytes. */
#include "module.h"

static PyObject *py_variable_total(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t width;
    chunks_t chunks;
    int64_t total = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*n", &b[0], &b[1], &b[2], &b[3], &width))
        return release(b, 4), NULL;
    if (!chunks_of(b, &chunks))
        return done(b, 4, MISMATCH, 0);
    WITHOUT_GIL(variable_total(chunks, width, &total))
    return done(b, 4, error, total);
}

static PyObject *py_join_variable(PyObject *module, PyObject *args) {
    Py_buffer b[6] = {0};
    Py_ssize_t width, offset_width;
    chunks_t chunks;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*nw*w*n", &b[0], &b[1], &b[2], &b[3], &width, &b[4], &b[5],
                          &offset_width))
        return release(b, 6), NULL;
    if (!chunks_of(b, &chunks) || (offset_width != 4 && offset_width != 8) ||
        !holds(&b[5], b[5].len / offset_width, offset_width))
        return done(b, 6, MISMATCH, 0);
    WITHOUT_GIL(join_variable(chunks, width, room_of(&b[4]), room_of(&b[5]), offset_width))
    return done(b, 6, error, 0);
}

/* Text and offsets, one more than strings. */
static int strings_of(const Py_buffer *b, strings_t *strings) {
    const int64_t count = b[1].len / 8 - 1;
    *strings = (strings_t){bytes_of(&b[0]), b[1].buf, count};
    return count >= 0 && holds(&b[1], count + 1, 8);
}

static PyObject *py_variable_edges(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t width, limit;
    strings_t strings;
    int64_t found = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*nnw*", &b[0], &b[1], &width, &limit, &b[2]))
        return release(b, 3), NULL;
    if (!strings_of(b, &strings) || !holds(&b[2], strings.count + 2, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(variable_edges(strings, width, limit, b[2].buf, &found))
    return done(b, 3, error, found);
}

static PyObject *py_split_variable(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t width;
    strings_t strings;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nw*", &b[0], &b[1], &b[2], &width, &b[3]))
        return release(b, 4), NULL;
    const int64_t chunks = b[2].len / 8 - 1;
    if (!strings_of(b, &strings) || chunks < 0 || !holds(&b[2], chunks + 1, 8))
        return done(b, 4, MISMATCH, 0);
    WITHOUT_GIL(split_variable(strings, b[2].buf, chunks, width, room_of(&b[3])))
    return done(b, 4, error, 0);
}

static PyObject *py_pick_spans(PyObject *module, PyObject *args) {
    Py_buffer b[8] = {0};
    Py_ssize_t width;
    chunks_t chunks;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*ny*y*w*w*", &b[0], &b[1], &b[2], &b[3], &width, &b[4],
                          &b[5], &b[6], &b[7]))
        return release(b, 8), NULL;
    const int64_t count = b[4].len / 8;
    if (!chunks_of(b, &chunks) || !holds(&b[4], count, 8) || !holds(&b[5], count, 8) ||
        !holds(&b[6], count, 8) || !holds(&b[7], count, 8))
        return done(b, 8, MISMATCH, 0);
    WITHOUT_GIL(pick_spans(chunks, width, b[4].buf, b[5].buf, count, b[6].buf, b[7].buf))
    return done(b, 8, error, 0);
}

static PyObject *py_taken_total(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    strings_t strings;
    int64_t total = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[2].len / 8;
    if (!strings_of(b, &strings) || !holds(&b[2], count, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(taken_total(strings, b[2].buf, count, &total))
    return done(b, 3, error, total);
}

static PyObject *py_take_strings(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    strings_t strings;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t count = b[2].len / 8;
    if (!strings_of(b, &strings) || !holds(&b[2], count, 8) || !holds(&b[4], count + 1, 8))
        return done(b, 5, MISMATCH, 0);
    WITHOUT_GIL(take_strings(strings, b[2].buf, count, room_of(&b[3]), b[4].buf))
    return done(b, 5, error, 0);
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
    WITHOUT_GIL(gather_variable((spans_t){bytes_of(&b[0]), b[1].buf, b[2].buf, count}, room_of(&b[3]),
                            b[4].buf))
    return done(b, 5, error, 0);
}

static PyObject *py_place_pieces(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t align, fill;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nnw*", &b[0], &b[1], &b[2], &align, &fill, &b[3]))
        return release(b, 4), NULL;
    const int64_t count = b[1].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8))
        return done(b, 4, MISMATCH, 0);
    const pieces_t pieces = {bytes_of(&b[0]), b[1].buf, b[2].buf, count};
    WITHOUT_GIL(place_pieces(pieces, align, fill, room_of(&b[3])))
    return done(b, 4, error, 0);
}

PyMethodDef chunk_methods[] = {
    {"variable_total", py_variable_total, METH_VARARGS,
     "data, starts, sizes, counts, width; bytes of values"},
    {"join_variable", py_join_variable, METH_VARARGS,
     "data, starts, sizes, counts, width, text, offsets, offset_width"},
    {"variable_edges", py_variable_edges, METH_VARARGS,
     "text, offsets, width, limit, edges; number of chunks"},
    {"split_variable", py_split_variable, METH_VARARGS, "text, offsets, edges, width, chunks"},
    {"pick_spans", py_pick_spans, METH_VARARGS,
     "data, starts, sizes, counts, width, chunk, position, starts, stops"},
    {"taken_total", py_taken_total, METH_VARARGS, "text, offsets, places; the sum of lengths"},
    {"take_strings", py_take_strings, METH_VARARGS, "text, offsets, places, text, offsets"},
    {"gather_variable", py_gather_variable, METH_VARARGS, "data, starts, stops, text, offsets"},
    {"place_pieces", py_place_pieces, METH_VARARGS, "data, sizes, places, align, fill, out"},
    {NULL, NULL, 0, NULL},
};
