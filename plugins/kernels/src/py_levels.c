/* Functions of the Python module: repetition and definition levels. */
#include "module.h"

static PyObject *py_check_levels(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t count, most;
    levels_t levels;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*nny*", &b[0], &b[1], &count, &most, &b[2]))
        return release(b, 3), NULL;
    const int64_t definitions = b[2].len / 2;
    if (!levels_of(b, count, &levels) || !holds(&b[2], definitions, 2))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(check_levels(levels, most, b[2].buf, definitions))
    return done(b, 3, error, 0);
}

static PyObject *py_layer_slots(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t count, rank, limit, top, also;
    levels_t levels;
    int64_t found = 0, valid = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*nnnnnw*", &b[0], &b[1], &count, &rank, &limit, &top, &also,
                          &b[2]))
        return release(b, 3), NULL;
    if (!levels_of(b, count, &levels))
        return done(b, 3, MISMATCH, 0);
    const slots_t slots = {rank, limit};
    WITHOUT_GIL(layer_slots(levels, slots, top, also, room_of(&b[2]), &found, &valid))
    if (error)
        return done(b, 3, error, 0);
    release(b, 3);
    return Py_BuildValue("LL", found, valid);
}

static PyObject *py_layer_offsets(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t count, rank, limit, base, lists;
    int wide;
    levels_t levels;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*nnnnnpw*", &b[0], &b[1], &count, &rank, &limit, &base, &lists,
                          &wide, &b[2]))
        return release(b, 3), NULL;
    if (!levels_of(b, count, &levels) || lists < 0 || lists == PY_SSIZE_T_MAX ||
        !holds(&b[2], lists + 1, wide ? 8 : 4))
        return done(b, 3, MISMATCH, 0);
    const slots_t slots = {rank, limit}, items = {rank - 1, base};
    WITHOUT_GIL(layer_offsets(levels, slots, items, b[2].buf, wide, lists))
    return done(b, 3, error, 0);
}

static PyObject *py_count_upto(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t top;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*w*", &b[0], &top, &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[0].len / 2, stretches = b[2].len / 8;
    if (!holds(&b[0], count, 2) || !holds(&b[1], stretches + 1, 8) || !holds(&b[2], stretches, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(count_upto(b[0].buf, count, top, b[1].buf, stretches, b[2].buf))
    return done(b, 3, error, 0);
}

/* Places may be empty: they are only counted then. */
static PyObject *py_nth_levels(PyObject *module, PyObject *args) {
    Py_buffer b[3] = {0};
    Py_ssize_t least;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*w*", &b[0], &least, &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[0].len / 2, wanted = b[1].len / 8;
    if (!holds(&b[0], count, 2) || !holds(&b[1], wanted, 8) || !holds(&b[2], wanted, 8))
        return done(b, 3, MISMATCH, 0);
    WITHOUT_GIL(nth_levels(b[0].buf, count, least, b[1].buf, wanted, b[2].buf))
    return done(b, 3, error, 0);
}

static PyObject *py_locate_rows(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    int64_t found = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t chunks = b[0].len / 8 - 1, count = b[1].len / 8;
    if (chunks < 0 || !holds(&b[0], chunks + 1, 8) || !holds(&b[1], count, 8) ||
        !holds(&b[2], count, 8) || !holds(&b[3], count, 8) || !holds(&b[4], count, 8))
        return done(b, 5, MISMATCH, 0);
    WITHOUT_GIL(locate_rows(b[0].buf, chunks, b[1].buf, count, b[2].buf, b[3].buf, b[4].buf,
                            &found))
    return done(b, 5, error, found);
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

static PyObject *py_zipped_places(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t word, bits, limit, value, length, single;
    int64_t found = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nnnnnnw*", &b[0], &b[1], &b[2], &word, &bits, &limit,
                          &value, &length, &single, &b[3]))
        return release(b, 4), NULL;
    const int64_t count = b[1].len / 8, room = b[3].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8) || !holds(&b[3], room, 8))
        return done(b, 4, MISMATCH, 0);
    const spans_t rows = {bytes_of(&b[0]), b[1].buf, b[2].buf, count};
    const zipped_t form = {word, bits, limit, value, length, single};
    WITHOUT_GIL(zipped_places(rows, form, room ? b[3].buf : NULL, room, &found))
    return done(b, 4, error, found);
}

PyMethodDef level_methods[] = {
    {"check_levels", py_check_levels, METH_VARARGS, "repetition, definition, count, most, least"},
    {"layer_slots", py_layer_slots, METH_VARARGS,
     "repetition, definition, count, rank, limit, top, also, bitmap; numbers of slots and valid ones"},
    {"layer_offsets", py_layer_offsets, METH_VARARGS,
     "repetition, definition, count, rank, limit, base, lists, wide, offsets"},
    {"zipped_places", py_zipped_places, METH_VARARGS,
     "data, starts, stops, word, bits, limit, value, length, single, places; number of levels"},
    {"count_upto", py_count_upto, METH_VARARGS, "levels, top, edges, counts"},
    {"nth_levels", py_nth_levels, METH_VARARGS, "levels, least, numbers, places"},
    {"locate_rows", py_locate_rows, METH_VARARGS,
     "edges, rows, used, which, position; number of chunks used"},
    {"chunk_headers", py_chunk_headers, METH_VARARGS,
     "data, starts, sizes, levels, buffers, large, table"},
    {NULL, NULL, 0, NULL},
};
