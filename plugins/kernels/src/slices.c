/* Slices of several buffers, copied one after the other. */
#include "module.h"

#include <string.h>

/* Slice i has the bytes from starts[i] to stops[i] of the buffer of number owners[i]. */
typedef struct {
    const Py_buffer *buffers;
    int64_t number;
    const int64_t *owners;
    const int64_t *starts;
    const int64_t *stops;
    int64_t count;
} slices_t;

static const char *join_slices(slices_t slices, room_t out) {
    int64_t filled = 0;
    for (int64_t i = 0; i < slices.count; i++) {
        const int64_t owner = slices.owners[i], start = slices.starts[i], stop = slices.stops[i];
        if (owner < 0 || owner >= slices.number)
            return "a slice of a buffer that does not exist";
        const bytes_t data = {slices.buffers[owner].buf, slices.buffers[owner].len};
        if (start < 0 || stop < start || stop > data.size)
            return "a slice is not within its buffer";
        if (stop - start > out.size - filled)
            return "too little room for slices";
        if (stop > start)
            memcpy(out.at + filled, data.at + start, (size_t)(stop - start));
        filled += stop - start;
    }
    return filled == out.size ? NULL : "too much room for slices";
}

/* For Python. */

/* The buffers of a list, NULL with an exception; *number counts those to release. */
static Py_buffer *views_of(PyObject *list, int64_t *number) {
    const Py_ssize_t size = PyList_Size(list);
    Py_buffer *views = size < 0 ? NULL : PyMem_Calloc((size_t)size + 1, sizeof *views);
    if (size >= 0 && !views)
        PyErr_NoMemory();
    for (*number = 0; views && *number < size; (*number)++) {
        PyObject *item = PyList_GetItem(list, (Py_ssize_t)*number);
        if (!item || PyObject_GetBuffer(item, &views[*number], PyBUF_SIMPLE) < 0) {
            release(views, (int)*number);
            PyMem_Free(views);
            return NULL;
        }
    }
    return views;
}

static PyObject *py_join_slices(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    PyObject *list;
    int64_t number;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oy*y*y*w*", &list, &b[0], &b[1], &b[2], &b[3]))
        return release(b, 4), NULL;
    const int64_t count = b[0].len / 8;
    if (!holds(&b[0], count, 8) || !holds(&b[1], count, 8) || !holds(&b[2], count, 8))
        return done(b, 4, MISMATCH, 0);
    Py_buffer *views = views_of(list, &number);
    if (!views)
        return release(b, 4), NULL;
    const slices_t slices = {views, number, b[0].buf, b[1].buf, b[2].buf, count};
    WITHOUT_GIL(join_slices(slices, room_of(&b[3])))
    release(views, (int)number);
    PyMem_Free(views);
    return done(b, 4, error, 0);
}

PyMethodDef slices_methods[] = {
    {"join_slices", py_join_slices, METH_VARARGS, "buffers, owners, starts, stops, out"},
    {NULL, NULL, 0, NULL},
};
