/* The arguments and results of scans of partitions. */
#include "best.h"

static int take_buffers(PyObject *list, Py_buffer *into, int64_t number) {
    if (!PyList_Check(list) || PyList_Size(list) != number) {
        PyErr_SetString(PyExc_ValueError, MISMATCH);
        return 0;
    }
    for (int64_t i = 0; i < number; i++) {
        PyObject *item = PyList_GetItem(list, i); /* borrowed */
        if (!item || PyObject_GetBuffer(item, &into[i], PyBUF_SIMPLE) < 0)
            return 0;
    }
    return 1;
}

int begin_scan(scan_t *scan, PyObject *codes, PyObject *rows, PyObject *masks, int64_t width, int64_t group,
               int64_t alignment) {
    const int64_t number = PyList_Check(codes) ? PyList_Size(codes) : 0;
    const int has_masks = masks != Py_None;
    const int64_t capacity = scan->out[0].len / 4;
    scan->number_of_buffers = number * (has_masks ? 3 : 2);
    scan->buffers = PyMem_Calloc((size_t)scan->number_of_buffers + 1, sizeof *scan->buffers);
    if (!scan->buffers)
        return PyErr_NoMemory(), 0;
    Py_buffer *b = scan->buffers;
    if (!take_buffers(codes, b, number) || !take_buffers(rows, b + number, number) ||
        (has_masks && !take_buffers(masks, b + 2 * number, number)))
        return 0;
    int fits = width > 0 && capacity > 0 && holds(&scan->out[0], capacity, 4) && holds(&scan->out[1], capacity, 8) &&
               holds(&scan->out[2], capacity, 8);
    for (int64_t i = 0; fits && i < number; i++) {
        const int64_t count = b[number + i].len / 8;
        const int64_t stored = (count + group - 1) / group * group;
        fits = holds(&b[number + i], count, 8) && b[i].len / width == stored && b[i].len % width == 0 &&
               (count == 0 || (uintptr_t)b[i].buf % (uintptr_t)alignment == 0) &&
               (!has_masks || b[2 * number + i].len == count);
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, MISMATCH);
        return 0;
    }
    scan->partitions = (partitions_t){b, b + number, has_masks ? b + 2 * number : NULL, number};
    scan->best = (best_t){scan->out[0].buf, scan->out[1].buf, scan->out[2].buf, capacity, 0};
    return 1;
}

Py_buffer *numbers_of(PyObject *list, const partitions_t *partitions, const char **error) {
    Py_buffer *buffers = PyMem_Calloc((size_t)partitions->number + 1, sizeof *buffers);
    if (!buffers || !PyList_Check(list) || PyList_Size(list) != partitions->number) {
        *error = MISMATCH;
        return buffers;
    }
    for (int64_t i = 0; i < partitions->number && !*error; i++)
        if (PyObject_GetBuffer(PyList_GetItem(list, i), &buffers[i], PyBUF_SIMPLE) < 0) {
            PyErr_Clear();
            *error = MISMATCH;
        } else if (!holds(&buffers[i], partitions->rows[i].len / 8, 4))
            *error = MISMATCH;
    return buffers;
}

void free_numbers(Py_buffer *numbers, const partitions_t *partitions) {
    if (numbers)
        release(numbers, (int)partitions->number);
    PyMem_Free(numbers);
}

PyObject *end_scan(scan_t *scan, const char *error) {
    if (scan->buffers)
        for (int64_t i = 0; i < scan->number_of_buffers; i++)
            if (scan->buffers[i].obj)
                PyBuffer_Release(&scan->buffers[i]);
    PyMem_Free(scan->buffers);
    if (PyErr_Occurred())
        return release(scan->out, 3), NULL;
    if (!error)
        sort_best(&scan->best);
    return done(scan->out, 3, error, scan->best.size);
}
