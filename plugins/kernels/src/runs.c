/* Runs of equal values, of 1 to 255 each. */
#include "module.h"

#include <string.h>

/* What a chunk of runs may be: a power of two of values, `least` to `most`, in `room` runs. */
typedef struct {
    int64_t most;
    int64_t least;
    int64_t room;
} run_rule_t;

/* Room for a value, a length, a count and a number of runs for each of the words, at least one. */
typedef struct {
    room_t values;
    room_t lengths;
    int64_t *counts;
    int64_t *runs;
    int64_t most_chunks;
    int64_t chunks; /* found */
    int64_t total;  /* runs found */
} run_output_t;

#define LONGEST 255

static int is_word(int64_t width) {
    return width == 1 || width == 2 || width == 4 || width == 8;
}

#define FILL(name, word_t)                                                                        \
    static void name(uint8_t *out, const uint8_t *value, int64_t count) {                         \
        word_t word;                                                                              \
        memcpy(&word, value, sizeof word);                                                        \
        for (int64_t i = 0; i < count; i++)                                                       \
            memcpy(out + i * (int64_t)sizeof word, &word, sizeof word);                           \
    }

FILL(fill_1, uint8_t)
FILL(fill_2, uint16_t)
FILL(fill_4, uint32_t)
FILL(fill_8, uint64_t)

typedef void (*fill_t)(uint8_t *, const uint8_t *, int64_t);

static fill_t fill_of(int64_t width) {
    return width == 1 ? fill_1 : width == 2 ? fill_2 : width == 4 ? fill_4 : fill_8;
}

/* Runs of chunks: values in the first buffer, lengths of a byte each in the second. */
static const char *expand_runs(chunks_t values, chunks_t lengths, int64_t width, room_t out) {
    if (!is_word(width))
        return "runs are of words of 1, 2, 4 or 8 bytes";
    const fill_t fill = fill_of(width);
    int64_t filled = 0;
    for (int64_t i = 0; i < values.number; i++) {
        bytes_t words, steps;
        const char *error = chunk_at(values, i, &words);
        if (!error)
            error = chunk_at(lengths, i, &steps);
        if (error)
            return error;
        if (words.size / width != steps.size || words.size % width)
            return "there are not as many lengths of runs as values";
        const int64_t count = values.counts[i];
        if (count > (out.size - filled) / width)
            return "chunks have more values than there is room for";
        int64_t left = count;
        for (int64_t run = 0; run < steps.size; run++) {
            const int64_t length = steps.at[run];
            if (length > left)
                return "the lengths of runs do not add up to the number of values";
            fill(out.at + filled, words.at + run * width, length);
            filled += length * width;
            left -= length;
        }
        if (left)
            return "the lengths of runs do not add up to the number of values";
    }
    return filled == out.size ? NULL : "chunks have fewer values than there is room for";
}

/* How many of the words, but the first, are not what the one before is. */
#define COUNT_CHANGES(name, word_t)                                                               \
    static int64_t name(const uint8_t *words, int64_t count) {                                    \
        int64_t changes = 0;                                                                      \
        for (int64_t i = 1; i < count; i++) {                                                     \
            word_t value, before;                                                                 \
            memcpy(&value, words + i * (int64_t)sizeof value, sizeof value);                      \
            memcpy(&before, words + (i - 1) * (int64_t)sizeof value, sizeof value);               \
            changes += value != before;                                                           \
        }                                                                                         \
        return changes;                                                                           \
    }

COUNT_CHANGES(changes_1, uint8_t)
COUNT_CHANGES(changes_2, uint16_t)
COUNT_CHANGES(changes_4, uint32_t)
COUNT_CHANGES(changes_8, uint64_t)

/* How many runs of equal values there are in each chunk of `per_chunk`. */
static const char *count_runs(bytes_t words, int64_t width, int64_t per_chunk, int64_t *runs,
                       int64_t chunks) {
    if (!is_word(width) || words.size % width)
        return "runs are of words of 1, 2, 4 or 8 bytes";
    const int64_t count = words.size / width;
    if (per_chunk < 1 || chunks != (count ? (count - 1) / per_chunk + 1 : 0))
        return "chunks are not as many as values need";
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t start = i * per_chunk;
        const int64_t here = count - start < per_chunk ? count - start : per_chunk;
        const uint8_t *from = words.at + start * width;
        runs[i] = 1 + (width == 1   ? changes_1(from, here)
                       : width == 2 ? changes_2(from, here)
                       : width == 4 ? changes_4(from, here)
                                    : changes_8(from, here));
    }
    return NULL;
}

/* Where the run that begins at `start` ends, at the latest at `stop`. */
#define RUN_END(name, word_t)                                                                     \
    static int64_t name(const uint8_t *words, int64_t start, int64_t stop) {                      \
        word_t word, next;                                                                        \
        memcpy(&word, words + start * (int64_t)sizeof word, sizeof word);                         \
        for (start++; start < stop; start++) {                                                    \
            memcpy(&next, words + start * (int64_t)sizeof word, sizeof word);                     \
            if (next != word)                                                                     \
                break;                                                                            \
        }                                                                                         \
        return start;                                                                             \
    }

RUN_END(run_end_1, uint8_t)
RUN_END(run_end_2, uint16_t)
RUN_END(run_end_4, uint32_t)
RUN_END(run_end_8, uint64_t)

static inline int64_t run_end(bytes_t words, int64_t width, int64_t start, int64_t stop) {
    switch (width) {
    case 1:
        return run_end_1(words.at, start, stop);
    case 2:
        return run_end_2(words.at, start, stop);
    case 4:
        return run_end_4(words.at, start, stop);
    default:
        return run_end_8(words.at, start, stop);
    }
}

static int64_t pieces_of(int64_t length) {
    return (length + LONGEST - 1) / LONGEST;
}

/* How many of the words from `start` on a chunk takes; `stop` is the end of all that it may. */
static int64_t chunk_values(bytes_t words, int64_t width, int64_t start, int64_t stop,
                            run_rule_t rule) {
    int64_t taken = rule.least, size = rule.least, pieces = 0, at = start;
    while (at < stop) {
        const int64_t end = run_end(words, width, at, stop);
        /* What the sizes that end within this run take. */
        for (; size <= rule.most && start + size <= end; size *= 2) {
            if (pieces + pieces_of(start + size - at) > rule.room)
                return taken;
            taken = size;
        }
        pieces += pieces_of(end - at);
        if (pieces > rule.room)
            return taken;
        at = end;
    }
    return stop - start > taken ? stop - start : taken;
}

static const char *add_runs(bytes_t words, int64_t width, int64_t start, int64_t stop,
                            run_output_t *output, int64_t *added) {
    const int64_t before = output->total;
    for (int64_t at = start; at < stop;) {
        const int64_t end = run_end(words, width, at, stop);
        for (int64_t left = end - at; left > 0; left -= LONGEST) {
            if (output->total >= output->lengths.size ||
                output->total >= output->values.size / width)
                return "too little room for runs";
            memcpy(output->values.at + output->total * width, words.at + at * width,
                   (size_t)width);
            output->lengths.at[output->total++] = (uint8_t)(left < LONGEST ? left : LONGEST);
        }
        at = end;
    }
    *added = output->total - before;
    return NULL;
}

static const char *encode_runs(bytes_t words, int64_t width, run_rule_t rule, run_output_t *output) {
    if (!is_word(width) || words.size % width)
        return "runs are of words of 1, 2, 4 or 8 bytes";
    if (rule.least < 1 || rule.most > INT32_MAX || rule.most % rule.least || rule.room < 1)
        return "no chunk is like that";
    const int64_t times = rule.most / rule.least;
    if (times < 1 || (times & (times - 1)))
        return "no chunk is like that";
    const int64_t count = words.size / width;
    output->chunks = output->total = 0;
    int64_t start = 0;
    do {
        if (output->chunks >= output->most_chunks)
            return "too little room for chunks";
        const int64_t left = count - start, most = left < rule.most ? left : rule.most;
        int64_t taken = left ? chunk_values(words, width, start, start + most, rule) : 0;
        taken = taken < left ? taken : left;
        const char *error = add_runs(words, width, start, start + taken, output,
                                     &output->runs[output->chunks]);
        if (error)
            return error;
        output->counts[output->chunks++] = taken;
        start += taken;
    } while (start < count);
    return NULL;
}

/* For Python. */

/* Starts and sizes are those of values, then those of lengths. */
static PyObject *py_expand_runs(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    Py_ssize_t width;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*nw*", &b[0], &b[1], &b[2], &b[3], &width, &b[4]))
        return release(b, 5), NULL;
    const int64_t number = b[3].len / 8;
    if (!holds(&b[1], 2 * number, 8) || !holds(&b[2], 2 * number, 8) || !holds(&b[3], number, 8))
        return done(b, 5, MISMATCH, 0);
    const int64_t *starts = b[1].buf, *sizes = b[2].buf;
    const chunks_t values = {bytes_of(&b[0]), starts, sizes, b[3].buf, number};
    const chunks_t lengths = {values.data, starts + number, sizes + number, b[3].buf, number};
    WITHOUT_GIL(expand_runs(values, lengths, width, room_of(&b[4])))
    return done(b, 5, error, 0);
}

static PyObject *py_count_runs(PyObject *module, PyObject *args) {
    Py_buffer b[2] = {0};
    Py_ssize_t width, per_chunk;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnw*", &b[0], &width, &per_chunk, &b[1]))
        return release(b, 2), NULL;
    const int64_t chunks = b[1].len / 8;
    if (!holds(&b[1], chunks, 8))
        return done(b, 2, MISMATCH, 0);
    WITHOUT_GIL(count_runs(bytes_of(&b[0]), width, per_chunk, b[1].buf, chunks))
    return done(b, 2, error, 0);
}

static PyObject *py_encode_runs(PyObject *module, PyObject *args) {
    Py_buffer b[5] = {0};
    Py_ssize_t width, most, least, room;
    const char *error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nnnnw*w*w*w*", &b[0], &width, &most, &least, &room, &b[1],
                          &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t chunks = b[3].len / 8;
    if (!holds(&b[3], chunks, 8) || !holds(&b[4], chunks, 8))
        return done(b, 5, MISMATCH, 0);
    run_output_t output = {room_of(&b[1]), room_of(&b[2]), b[3].buf, b[4].buf, chunks, 0, 0};
    const run_rule_t rule = {most, least, room};
    WITHOUT_GIL(encode_runs(bytes_of(&b[0]), width, rule, &output))
    if (error)
        return done(b, 5, error, 0);
    release(b, 5);
    return Py_BuildValue("LL", output.total, output.chunks);
}

PyMethodDef runs_methods[] = {
    {"expand_runs", py_expand_runs, METH_VARARGS, "data, starts, sizes, counts, width, values"},
    {"count_runs", py_count_runs, METH_VARARGS, "words, width, per_chunk, runs"},
    {"encode_runs", py_encode_runs, METH_VARARGS,
     "words, width, most, least, room, values, lengths, counts, runs; numbers of runs and chunks"},
    {NULL, NULL, 0, NULL},
};
