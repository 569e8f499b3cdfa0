/* Which chunks rows are in. */
#include "kernels.h"

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

const char *locate_rows(const int64_t *edges, int64_t chunks, const int64_t *rows, int64_t count,
                        int64_t *used, int64_t *which, int64_t *position, int64_t *found) {
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
    *found = number + 1;
    return NULL;
}
