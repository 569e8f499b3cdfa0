/* Which chunks rows are in. */
#include "module.h"

/* The last of edges[from] to edges[count - 1] that is at most `row`, which edges[from] is. */
static int64_t last_upto(const int64_t *edges, int64_t from, int64_t count, int64_t row) {
    int64_t step = 1, to = from + 1;
    while (to < count && edges[to] <= row) {
        from = to;
        to += step;
        step *= 2;
    }
    if (to > count)
        to = count;
    while (to - from > 1) {
        const int64_t middle = from + (to - from) / 2;
        if (edges[middle] <= row)
            from = middle;
        else
            to = middle;
    }
    return from;
}

/* Of chunks whose rows begin at edges[0] and end at edges[chunks]: those that ascending `rows` are
 * in, which of these each row is in, and where there; `used` has room for as many as rows. */
static const char *locate_rows(const int64_t *edges, int64_t chunks, const int64_t *rows, int64_t count,
                        int64_t *used, int64_t *which, int64_t *position, int64_t *used_count) {
    int64_t at = 0, number = -1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = rows[i];
        if (row < edges[at] || row >= edges[chunks] || (i && row < rows[i - 1]))
            return "rows descend, or are not within their chunks";
        at = last_upto(edges, at, chunks, row);
        if (number < 0 || used[number] != at)
            used[++number] = at;
        which[i] = number;
        position[i] = row - edges[at];
    }
    *used_count = number + 1;
    return NULL;
}

/* For Python. */

static PyObject *py_locate_rows(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    int64_t used_count = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t chunks = b[0].len / 8 - 1, count = b[1].len / 8;
    if (chunks < 0 || !holds(&b[0], chunks + 1, 8) || !holds(&b[1], count, 8) ||
        !holds(&b[2], count, 8) || !holds(&b[3], count, 8) || !holds(&b[4], count, 8))
        return done(b, 5, MISMATCH, 0);
    WITHOUT_GIL(locate_rows(b[0].buf, chunks, b[1].buf, count, b[2].buf, b[3].buf, b[4].buf,
                            &used_count))
    return done(b, 5, error, used_count);
}

PyMethodDef rows_methods[] = {
    {"locate_rows", py_locate_rows, METH_VARARGS,
     "edges, rows, used, which, position; number of chunks used"},
    {NULL, NULL, 0, NULL},
};
