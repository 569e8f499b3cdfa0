/* What is read off repetition and definition levels, and copying of spans. */
#include "kernels.h"

#include <string.h>

const char *level_items(levels_t levels, const int64_t *starts, int64_t lists, int64_t *items,
                        int64_t *offsets, int64_t *found) {
    int64_t list = 0, item = 0;
    for (int64_t i = 0; i < levels.count; i++) {
        if (list < lists && starts[list] <= i) {
            if (starts[list] < i)
                break; /* it descends, or is negative */
            offsets[list++] = item;
        }
        items[item] = i;
        item += levels.repetition[i] >= levels.depth &&
                (!levels.definition || levels.definition[i] <= levels.base);
    }
    if (list < lists)
        return "lists do not start at ascending levels";
    offsets[lists] = item;
    *found = item;
    return NULL;
}

const char *gather_variable(spans_t spans, room_t text, int64_t *offsets) {
    int64_t before = 0, filled = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < spans.count; i++) {
        const int64_t start = spans.starts[i], stop = spans.stops[i];
        if (start < before || stop < start || stop > spans.data.size)
            return "spans descend, overlap or are not within the bytes of all";
        if (stop - start > text.size - filled)
            return "too little room for spans";
        if (stop > start)
            memcpy(text.at + filled, spans.data.at + start, (size_t)(stop - start));
        filled += stop - start;
        offsets[i + 1] = filled;
        before = stop;
    }
    return NULL;
}
