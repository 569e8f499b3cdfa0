/* Headers of the chunks of mini-block pages. */
#include "kernels.h"

#include <string.h>

#define MOST_PARTS 64

static inline int64_t load_u16(const uint8_t *from) {
    uint16_t word;
    memcpy(&word, from, 2);
    return word;
}

static inline int64_t load_u32(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, 4);
    return word;
}

const char *chunk_headers(spans_t chunks, header_t form, int64_t *table) {
    const int64_t levels = form.levels, parts = levels + form.buffers, number = chunks.count;
    if (levels < 0 || levels > 2 || form.buffers < 1 || form.buffers > MOST_PARTS)
        return "chunks of parts that no page has";
    const int64_t width = form.large ? 4 : 2, fixed = 2 * (1 + levels);
    const int64_t length = fixed + form.buffers * width;
    for (int64_t i = 0; i < number; i++) {
        const int64_t start = chunks.starts[i], size = chunks.stops[i];
        if (start < 0 || size < 0 || start > chunks.data.size || size > chunks.data.size - start)
            return "a chunk is not within the bytes of all";
        if (size < length)
            return "a chunk is shorter than its header";
        const uint8_t *head = chunks.data.at + start;
        table[i] = load_u16(head);
        int64_t end = length;
        for (int64_t part = 0; part < parts; part++) {
            const int64_t place = (end + 7) / 8 * 8;
            const uint8_t *at = head + fixed + (part - levels) * width;
            const int64_t bytes = part < levels ? load_u16(head + 2 * (1 + part))
                                  : form.large  ? load_u32(at)
                                                : load_u16(at);
            table[(1 + part) * number + i] = start + place;
            table[(1 + parts + part) * number + i] = bytes;
            end = place + bytes;
        }
        if (end > size)
            return "the parts of a chunk do not fit into it";
    }
    return NULL;
}
