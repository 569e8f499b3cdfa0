/* Levels of full-zip pages, each with its value behind it. */
#include "kernels.h"

#include <string.h>

static uint64_t load(const uint8_t *from, int64_t width) {
    uint64_t word = 0;
    switch (width) { /* of constant sizes, each a single load */
    case 1:
        return *from;
    case 2:
        memcpy(&word, from, 2);
        return word;
    case 4:
        memcpy(&word, from, 4);
        return word;
    default:
        memcpy(&word, from, 8);
        return word;
    }
}

static const char *check_form(zipped_t form) {
    const int64_t word = form.word;
    if (word != 0 && word != 1 && word != 2 && word != 4)
        return "control words are of 0, 1, 2 or 4 bytes";
    if (form.bits < 0 || form.bits > 16 || form.bits > 8 * word)
        return "definitions are larger than their control words";
    if (form.value < 0 || (form.value == 0 && form.length != 4 && form.length != 8))
        return "values have neither a width nor a length";
    return NULL;
}

/* Where the level at `place` and its value end, at most at `stop`; -1 if after that. */
static inline int64_t level_end(const uint8_t *data, int64_t place, int64_t stop, zipped_t form) {
    if (stop - place < form.word)
        return -1;
    const uint64_t mask = ((uint64_t)1 << form.bits) - 1;
    const int64_t level = form.word ? (int64_t)(load(data + place, form.word) & mask) : 0;
    place += form.word;
    if (level > form.limit)
        return place;
    if (form.value)
        return form.value > stop - place ? -1 : place + form.value;
    if (form.length > stop - place)
        return -1;
    const uint64_t length = load(data + place, form.length);
    place += form.length;
    return length > (uint64_t)(stop - place) ? -1 : place + (int64_t)length;
}

const char *zipped_places(spans_t rows, zipped_t form, int64_t *places, int64_t room,
                          int64_t *found) {
    const char *error = check_form(form);
    if (error)
        return error;
    int64_t count = 0, before = 0;
    for (int64_t i = 0; i < rows.count; i++) {
        const int64_t start = rows.starts[i], stop = rows.stops[i];
        if (start < before || stop < start || stop > rows.data.size)
            return "rows descend, overlap or are not within the bytes of all";
        for (int64_t place = start; place < stop;) {
            if (places && count >= room)
                return "too little room for levels";
            if (places)
                places[count] = place;
            count++;
            const int64_t end = level_end(rows.data.at, place, stop, form);
            if (end <= place || (form.single && end < stop))
                return "the values of a row do not end where the row does";
            place = end;
        }
        before = stop;
    }
    *found = count;
    return NULL;
}
