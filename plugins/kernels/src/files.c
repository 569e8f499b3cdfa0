/* Ranges of open files, copied to another file. */
#include "module.h"

#include <errno.h>
#include <limits.h>

typedef struct {
    int64_t source;
    int64_t start;
    int64_t length;
    int64_t place;
} range_t;

#define ENDED (-1) /* a file has fewer bytes than its range */

#ifdef _WIN32
static int copy_ranges(const range_t *ranges, int64_t count, int target, room_t room) {
    (void)ranges, (void)count, (void)target, (void)room;
    return ENOSYS;
}
#else
#include <unistd.h>

/* 0, ENDED, or the number of an error. What is read is written while it is still in the cache. */
static int copy_ranges(const range_t *ranges, int64_t count, int target, room_t room) {
    for (int64_t i = 0; i < count; i++) {
        int64_t done = 0;
        while (done < ranges[i].length) {
            const int64_t left = ranges[i].length - done;
            const size_t request = (size_t)(left < room.size ? left : room.size);
            if (ranges[i].source < 0 || ranges[i].source > INT_MAX)
                return EBADF;
            const int source = (int)ranges[i].source;
            const off_t from = (off_t)(ranges[i].start + done), to = (off_t)(ranges[i].place + done);
            const ssize_t received = pread(source, room.at, request, from);
            if (!received)
                return ENDED;
            ssize_t written = 0;
            if (received > 0)
                written = pwrite(target, room.at, (size_t)received, to);
            if ((received < 0 || written < 0) && errno != EINTR)
                return errno;
            done += written > 0 ? written : 0;
        }
    }
    return 0;
}
#endif

/* For Python. */

static PyObject *py_copy_ranges(PyObject *module, PyObject *args) {
    Py_buffer b[2] = {0};
    int target, result;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*iw*", &b[0], &target, &b[1]))
        return release(b, 2), NULL;
    const int64_t count = b[0].len / (int64_t)sizeof(range_t);
    if (!holds(&b[0], 4 * count, 8) || !b[1].len)
        return done(b, 2, MISMATCH, 0);
    Py_BEGIN_ALLOW_THREADS
    result = copy_ranges(b[0].buf, count, target, room_of(&b[1]));
    Py_END_ALLOW_THREADS
    return done(b, 2, NULL, result);
}

PyMethodDef files_methods[] = {
    {"copy_ranges", py_copy_ranges, METH_VARARGS, "ranges, target, room"},
    {NULL, NULL, 0, NULL},
};
