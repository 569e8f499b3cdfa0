/* FSST decoding: each code stands for up to 8 bytes, which are stored at once. */
#include "kernels.h"

#include <string.h>

typedef struct {
    uint64_t text[256];
    uint8_t length[256]; /* 0: there is no such symbol */
} table_t;

const char *check_symbols(symbols_t symbols) {
    if (symbols.lengths.size > ESCAPE || symbols.texts.size != symbols.lengths.size * 8)
        return "too many FSST symbols, or not 8 bytes for each";
    for (int64_t i = 0; i < symbols.lengths.size; i++)
        if (symbols.lengths.at[i] < 1 || symbols.lengths.at[i] > 8)
            return "an FSST symbol is not 1 to 8 bytes long";
    return NULL;
}

static void fill(table_t *table, symbols_t symbols) {
    memset(table, 0, sizeof *table);
    for (int64_t i = 0; i < symbols.lengths.size; i++) {
        memcpy(&table->text[i], symbols.texts.at + 8 * i, 8);
        table->length[i] = symbols.lengths.at[i];
    }
}

const char *fsst_bound(bytes_t codes, symbols_t symbols, int64_t *bound) {
    const char *error = check_symbols(symbols);
    if (error)
        return error;
    uint64_t lengths[256] = {0};
    for (int64_t i = 0; i < symbols.lengths.size; i++)
        lengths[i] = symbols.lengths.at[i];
    /* A byte that is meant literally counts with its escape, and again like the code it is not. */
    lengths[ESCAPE] = 1;
    uint64_t sums[4] = {0};
    int64_t at = 0;
    for (; at + 4 <= codes.size; at += 4) {
        sums[0] += lengths[codes.at[at]];
        sums[1] += lengths[codes.at[at + 1]];
        sums[2] += lengths[codes.at[at + 2]];
        sums[3] += lengths[codes.at[at + 3]];
    }
    for (; at < codes.size; at++)
        sums[0] += lengths[codes.at[at]];
    *bound = (int64_t)(sums[0] + sums[1] + sums[2] + sums[3]);
    return NULL;
}

static int has_escape(uint32_t four) {
    const uint32_t inverted = ~four; /* a zero byte where there was an escape */
    return ((inverted - 0x01010101u) & ~inverted & 0x80808080u) != 0;
}

/* Four codes, none an escape; 0 if one has no symbol. */
static inline size_t decode_four(const table_t *table, const uint8_t *codes, uint8_t *out) {
    const size_t a = table->length[codes[0]], b = table->length[codes[1]];
    const size_t c = table->length[codes[2]], d = table->length[codes[3]];
    memcpy(out, &table->text[codes[0]], 8);
    memcpy(out + a, &table->text[codes[1]], 8);
    memcpy(out + a + b, &table->text[codes[2]], 8);
    memcpy(out + a + b + c, &table->text[codes[3]], 8);
    return a && b && c && d ? a + b + c + d : 0;
}

static const char *decode_string(const table_t *table, const uint8_t *codes, const uint8_t *end,
                                 uint8_t **text, const uint8_t *limit) {
    uint8_t *out = *text;
    while (codes < end) {
        if (limit - out < ROOM)
            return "FSST codes decode to more than there is room for";
        if (end - codes >= 4) {
            uint8_t four[4];
            uint32_t together;
            memcpy(four, codes, 4);
            memcpy(&together, four, 4);
            if (!has_escape(together)) {
                const size_t length = decode_four(table, four, out);
                if (length == 0)
                    return "an FSST code has no symbol";
                codes += 4;
                out += length;
                continue;
            }
        }
        const uint8_t code = *codes++;
        if (code == ESCAPE) {
            if (codes == end)
                return "an FSST string ends within an escape";
            *out++ = *codes++;
        } else {
            if (table->length[code] == 0)
                return "an FSST code has no symbol";
            memcpy(out, &table->text[code], 8);
            out += table->length[code];
        }
    }
    *text = out;
    return NULL;
}

const char *fsst_decode(bytes_t codes, const int64_t *offsets, int64_t count, symbols_t symbols,
                        room_t text, int64_t *text_offsets) {
    const char *error = check_symbols(symbols);
    if (error)
        return error;
    table_t table;
    fill(&table, symbols);
    uint8_t *out = text.at;
    int64_t before = offsets[0];
    if (before < 0 || before > codes.size)
        return "offsets of FSST strings are not within the codes";
    text_offsets[0] = 0;
    for (int64_t i = 1; i <= count; i++) {
        const int64_t stop = offsets[i];
        if (stop < before || stop > codes.size)
            return "offsets of FSST strings descend or are not within the codes";
        error = decode_string(&table, codes.at + before, codes.at + stop, &out,
                              text.at + text.size);
        if (error)
            return error;
        text_offsets[i] = out - text.at;
        before = stop;
    }
    return NULL;
}
