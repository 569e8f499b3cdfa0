/* What the functions of the Python module share. It uses the stable ABI of Python 3.11.
 *
 * Every function takes contiguous buffers, checks that they have whole and aligned elements and
 * that as many as belong together, and runs without the GIL. What is wrong is a ValueError.
 */
#ifndef LANCE_CORE_MODULE_H
#define LANCE_CORE_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "kernels.h"

#define MISMATCH "buffers do not belong together"

/* Sets `error`, which must be declared, to what a kernel says. */
#define WITHOUT_GIL(call)                                                                         \
    Py_BEGIN_ALLOW_THREADS                                                                        \
    error = (call);                                                                               \
    Py_END_ALLOW_THREADS

static inline void release(Py_buffer *buffers, int count) {
    for (int i = 0; i < count; i++)
        if (buffers[i].obj)
            PyBuffer_Release(&buffers[i]);
}

/* The result, or the error if there is one; the buffers are not needed any more. */
static inline PyObject *done(Py_buffer *buffers, int count, const char *error, int64_t result) {
    release(buffers, count);
    if (error) {
        PyErr_SetString(PyExc_ValueError, error);
        return NULL;
    }
    return PyLong_FromLongLong(result);
}

static inline bytes_t bytes_of(const Py_buffer *buffer) {
    return (bytes_t){buffer->buf, buffer->len};
}

static inline room_t room_of(const Py_buffer *buffer) {
    return (room_t){buffer->buf, buffer->len};
}

static inline symbols_t symbols_of(const Py_buffer *texts, const Py_buffer *lengths) {
    return (symbols_t){bytes_of(texts), bytes_of(lengths)};
}

/* Whether a buffer holds just `count` aligned elements of `width` bytes. */
static inline int holds(const Py_buffer *buffer, int64_t count, int64_t width) {
    return count >= 0 && buffer->len % width == 0 && buffer->len / width == count &&
           (buffer->len == 0 || (uintptr_t)buffer->buf % (uintptr_t)width == 0);
}

/* Data, starts, sizes and counts of chunks; 0 if they do not belong together. */
static inline int chunks_of(const Py_buffer *b, chunks_t *chunks) {
    const int64_t number = b[1].len / 8;
    *chunks = (chunks_t){bytes_of(&b[0]), b[1].buf, b[2].buf, b[3].buf, number};
    return holds(&b[1], number, 8) && holds(&b[2], number, 8) && holds(&b[3], number, 8);
}

/* Repetition and definition levels, each of which may be empty: all are 0 then. */
static inline int levels_of(const Py_buffer *b, int64_t count, levels_t *levels) {
    *levels = (levels_t){b[0].len ? b[0].buf : NULL, b[1].len ? b[1].buf : NULL, count};
    return count >= 0 && (b[0].len == 0 || holds(&b[0], count, 2)) &&
           (b[1].len == 0 || holds(&b[1], count, 2));
}

extern PyMethodDef integer_methods[];
extern PyMethodDef string_methods[];
extern PyMethodDef chunk_methods[];
extern PyMethodDef level_methods[];

#endif
