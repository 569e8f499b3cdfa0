/* Runs of equal values, of 1 to 255 each. */
#include "kernels.h"

#include <string.h>

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

const char *expand_runs(chunks_t values, chunks_t lengths, int64_t width, room_t out) {
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
                return "runs are not as long as there are values";
            fill(out.at + filled, words.at + run * width, length);
            filled += length * width;
            left -= length;
        }
        if (left)
            return "runs are not as long as there are values";
    }
    return filled == out.size ? NULL : "chunks have fewer values than there is room for";
}

/* How many of the words, but the first, are not what the one before is. */
#define COUNT_CHANGES(name, word_t)                                                               \
    static int64_t name(const uint8_t *words, int64_t count) {                                    \
        int64_t changes = 0;                                                                      \
        for (int64_t i = 1; i < count; i++) {                                                     \
            word_t one, before;                                                                   \
            memcpy(&one, words + i * (int64_t)sizeof one, sizeof one);                            \
            memcpy(&before, words + (i - 1) * (int64_t)sizeof one, sizeof one);                   \
            changes += one != before;                                                             \
        }                                                                                         \
        return changes;                                                                           \
    }

COUNT_CHANGES(changes_1, uint8_t)
COUNT_CHANGES(changes_2, uint16_t)
COUNT_CHANGES(changes_4, uint32_t)
COUNT_CHANGES(changes_8, uint64_t)

const char *count_runs(bytes_t words, int64_t width, int64_t per_chunk, int64_t *runs,
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

const char *encode_runs(bytes_t words, int64_t width, run_rule_t rule, run_output_t *output) {
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
