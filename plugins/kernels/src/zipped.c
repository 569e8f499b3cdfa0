/* Levels of full-zip pages, each with its value behind it. */
#include "module.h"

#include <string.h>

/* Control words of `word` bytes, their lowest `bits` the definition; a value follows up to `limit`,
 * of `value` bytes or, if that is 0, behind a length of `length` bytes. */
typedef struct {
    int64_t word;
    int64_t bits;
    int64_t limit;
    int64_t value;
    int64_t length;
    int64_t single; /* a row has one level */
} zipped_t;

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

/* Where the levels of rows begin, to `places` unless that is NULL; how many there are. */
static const char *zipped_places(spans_t rows, zipped_t form, int64_t *places, int64_t room,
                          int64_t *level_count) {
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
    *level_count = count;
    return NULL;
}

/* For Python. */

static PyObject *py_zipped_places(PyObject *module, PyObject *args) {
    Py_buffer b[4] = {0};
    Py_ssize_t word, bits, limit, value, length, single;
    int64_t level_count = 0;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*nnnnnnw*", &b[0], &b[1], &b[2], &word, &bits, &limit,
                          &value, &length, &single, &b[3]))
        return release(b, 4), NULL;
    const int64_t count = b[1].len / 8, room = b[3].len / 8;
    if (!holds(&b[1], count, 8) || !holds(&b[2], count, 8) || !holds(&b[3], room, 8))
        return done(b, 4, MISMATCH, 0);
    const spans_t rows = {bytes_of(&b[0]), b[1].buf, b[2].buf, count};
    const zipped_t form = {word, bits, limit, value, length, single};
    WITHOUT_GIL(zipped_places(rows, form, room ? b[3].buf : NULL, room, &level_count))
    return done(b, 4, error, level_count);
}

PyMethodDef zipped_methods[] = {
    {"zipped_places", py_zipped_places, METH_VARARGS,
     "data, starts, stops, word, bits, limit, value, length, single, places; number of levels"},
    {NULL, NULL, 0, NULL},
};
