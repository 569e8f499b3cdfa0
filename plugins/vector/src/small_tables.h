/* Codes of 4 bits, and tables of whole numbers below 256 for them, instead of tables of floats: 32 numbers
 * are looked up at once. */
#ifndef LANCE_CORE_VECTOR_SMALL_TABLES_H
#define LANCE_CORE_VECTOR_SMALL_TABLES_H

#include <math.h>
#include <stdint.h>

/* Codes of 4 bits, of which a byte has two: those of so many rows lie together, byte by byte. */
#define GROUPED 32

/* The first byte of a row; the others follow at a distance of `GROUPED`. */
static inline const uint8_t *grouped_code(const uint8_t *codes, int64_t width, int64_t row) {
    return codes + row / GROUPED * GROUPED * width + row % GROUPED;
}

#define MAX_SUMMED 256 /* tables whose numbers 16 bits hold the sum of */

/* Tables of whole numbers below 256: `least + scale * sum` of their numbers is not above the sum of
 * the numbers of a table of floats. */
typedef struct {
    uint8_t numbers[MAX_SUMMED][16];
    double least, scale;
    double size; /* the sum of the sizes of the least numbers, which may cancel in `least` */
} small_tables_t;

static inline void make_small(const float *tables, int64_t nibbles, small_tables_t *small) {
    double widest = 0;
    small->least = small->size = 0;
    for (int64_t at = 0; at < nibbles; at++) {
        float low = tables[16 * at], high = low;
        for (int i = 1; i < 16; i++) {
            low = tables[16 * at + i] < low ? tables[16 * at + i] : low;
            high = tables[16 * at + i] > high ? tables[16 * at + i] : high;
        }
        small->least += low;
        small->size += fabs(low);
        widest = high - low > widest ? high - low : widest;
    }
    small->scale = widest > 0 ? widest / 255 : 1;
    for (int64_t at = 0; at < nibbles; at++) {
        float low = tables[16 * at];
        for (int i = 1; i < 16; i++)
            low = tables[16 * at + i] < low ? tables[16 * at + i] : low;
        for (int i = 0; i < 16; i++) {
            const double number = ((double)tables[16 * at + i] - low) / small->scale;
            small->numbers[at][i] = number < 255 ? (uint8_t)number : 255;
        }
    }
}

#endif
