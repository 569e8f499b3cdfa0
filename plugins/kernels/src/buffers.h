/* How Python calls inner loops: contiguous buffers in, buffers filled, without the GIL.
 *
 * It uses the stable ABI of Python 3.11, and that of its own version where Python has no GIL, which
 * has no stable ABI. All plugins with inner loops include it.
 */
#ifndef LANCE_CORE_BUFFERS_H
#define LANCE_CORE_BUFFERS_H

#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

/* The slots of a module with the function `add_all`. Loops have no state but their arguments, and
 * so need no GIL; two calls may not write to one buffer at the same time. */
#ifdef Py_GIL_DISABLED
#define LOOP_SLOTS(add_all) \
    {{Py_mod_exec, add_all}, {Py_mod_gil, Py_MOD_GIL_NOT_USED}, {0, NULL}}
#else
#define LOOP_SLOTS(add_all) {{Py_mod_exec, add_all}, {0, NULL}}
#endif

#include <stddef.h>
#include <stdint.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "only little-endian machines are supported"
#endif

/* For loops that are compiled twice: for any processor, and for those with AVX2. */
#define INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__) && !defined(PLAIN_C)
#define WITH_AVX2 __attribute__((target("avx2")))

static inline int has_avx2(void) {
    return __builtin_cpu_supports("avx2");
}
#else
static inline int has_avx2(void) {
    return 0;
}
#endif

typedef struct {
    const uint8_t *at;
    int64_t size;
} bytes_t;

typedef struct {
    uint8_t *at;
    int64_t size;
} room_t;

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

/* Whether a buffer holds just `count` aligned elements of `width` bytes. */
static inline int holds(const Py_buffer *buffer, int64_t count, int64_t width) {
    return count >= 0 && buffer->len % width == 0 && buffer->len / width == count &&
           (buffer->len == 0 || (uintptr_t)buffer->buf % (uintptr_t)width == 0);
}

#endif
