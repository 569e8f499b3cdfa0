/* Slices of several buffers, copied one after the other. */
#include "module.h"

#include <string.h>

const char *slice_at(slices_t slices, int64_t i, bytes_t *slice) {
    const int64_t owner = slices.owners[i], start = slices.starts[i], stop = slices.stops[i];
    if (owner < 0 || owner >= slices.number)
        return "a slice of a buffer that does not exist";
    if (start < 0 || stop < start || stop > slices.buffers[owner].len)
        return "a slice is not within its buffer";
    slice->at = (const uint8_t *)slices.buffers[owner].buf + start;
    slice->size = stop - start;
    return NULL;
}

static const char *join_slices(slices_t slices, room_t out) {
    int64_t filled = 0;
    for (int64_t i = 0; i < slices.count; i++) {
        bytes_t slice;
        const char *error = slice_at(slices, i, &slice);
        if (error)
            return error;
        if (slice.size > out.size - filled)
            return "too little room for slices";
        if (slice.size)
            memcpy(out.at + filled, slice.at, (size_t)slice.size);
        filled += slice.size;
    }
    return filled == out.size ? NULL : "too much room for slices";
}

/* For Python. */

Py_buffer *views_of(PyObject *list, int64_t *number) {
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
