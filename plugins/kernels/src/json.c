/* JSON documents: text to binary JSON and back.
 *
 * The layout is described in lance_core/schema/json/binary.py. A loop leaves out the documents that
 * are not ordinary: text that is not JSON, lone surrogates, integers of more than 64 bits, deep
 * nesting, bytes that are not binary JSON. The caller converts them, or says what is wrong.
 *
 * Integers and most floats are converted without Python, by exact products and quotients; for very
 * large and small floats, and those of many digits, a loop calls Python's own conversion, which takes
 * the GIL, since no other gives the same results on all platforms.
 */
#include "module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 128 /* containers inside each other */
#define MAX_NUMBER 64 /* letters of a number that is no integer */

#define SCALAR 0x20000000u
#define OBJECT 0x40000000u
#define ARRAY 0x80000000u
#define HEADER_KINDS 0xE0000000u
#define MAX_MEMBERS 0x1FFFFFFF
#define MAX_LENGTH 0x0FFFFFFF
#define ZERO 0x00
#define INFINITE 0x20
#define MINUS_INFINITE 0x30
#define SIGNED 0x40
#define UNSIGNED 0x50
#define FLOAT 0x60

enum { NULL_KIND, STRING, NUMBER, FALSE_KIND, TRUE_KIND, CONTAINER };

/* Python's conversions of floats; `thread` is its state while the GIL is released. */
typedef struct {
    PyThreadState *thread;
} python_t;

static int parse_float(python_t *python, const char *text, double *number) {
    PyEval_RestoreThread(python->thread);
    *number = PyOS_string_to_double(text, NULL, NULL);
    const int failed = PyErr_Occurred() != NULL;
    if (failed)
        PyErr_Clear();
    python->thread = PyEval_SaveThread();
    return !failed;
}

/* The shortest digits of a number, at most `room` letters with the end; 0 if there are more. */
static int format_float(python_t *python, double number, char *text, size_t room) {
    PyEval_RestoreThread(python->thread);
    char *made = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    const int fits = made != NULL && strlen(made) < room;
    if (fits)
        strcpy(text, made);
    PyMem_Free(made);
    PyErr_Clear();
    python->thread = PyEval_SaveThread();
    return fits;
}

/* A member of a container whose data is written: at out[at], and its key before it. */
typedef struct {
    const uint8_t *key;
    int64_t key_at, key_size, at, size;
    uint32_t kind;
} member_t;

typedef struct {
    const uint8_t *at, *end;
    uint8_t *out;
    int64_t size, room;
    member_t *members;
    int64_t count, capacity;
    python_t *python;
} encoder_t;

static void store_be32(uint8_t *to, uint32_t word) {
    word = __builtin_bswap32(word);
    memcpy(to, &word, 4);
}

static uint32_t load_be32(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, 4);
    return __builtin_bswap32(word);
}

/* The bytes of the UTF-8 sequence at `at`, which is no ASCII letter; 0 if it is none. */
static int sequence_length(const uint8_t *at, const uint8_t *end) {
    const uint8_t first = at[0];
    const int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || end - at < length)
        return 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    if ((first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] > 0x9F) ||
        (first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] > 0x8F))
        return 0;
    return length;
}

static int is_digit(const uint8_t *at, const uint8_t *end) {
    return at < end && *at >= '0' && *at <= '9';
}

static void skip_blanks(encoder_t *e) {
    while (e->at < e->end && (*e->at == ' ' || *e->at == '\n' || *e->at == '\t' || *e->at == '\r'))
        e->at++;
}

/* Moves behind `sign` and the blanks before it; 0 if it is not next. */
static int skip_sign(encoder_t *e, uint8_t sign) {
    skip_blanks(e);
    if (e->at == e->end || *e->at != sign)
        return 0;
    e->at++;
    return 1;
}

static int skip_word(encoder_t *e, const char *word, int64_t length) {
    if (e->end - e->at < length || memcmp(e->at, word, (size_t)length))
        return 0;
    e->at += length;
    return 1;
}

static int append(encoder_t *e, const void *data, int64_t size) {
    if (e->room - e->size < size)
        return 0;
    memcpy(e->out + e->size, data, (size_t)size);
    e->size += size;
    return 1;
}

static int hex_word(encoder_t *e, uint32_t *word) {
    if (e->end - e->at < 4)
        return 0;
    *word = 0;
    for (int i = 0; i < 4; i++) {
        const uint8_t letter = *e->at++;
        const uint8_t lower = letter | 0x20;
        if (letter >= '0' && letter <= '9')
            *word = *word << 4 | (uint32_t)(letter - '0');
        else if (lower >= 'a' && lower <= 'f')
            *word = *word << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return 0;
    }
    return 1;
}

static int append_escaped_letter(encoder_t *e) {
    uint32_t code, low;
    if (!hex_word(e, &code))
        return 0;
    if (code >= 0xD800 && code < 0xE000) {
        if (code >= 0xDC00 || !skip_word(e, "\\u", 2) || !hex_word(e, &low) || low < 0xDC00 ||
            low > 0xDFFF)
            return 0;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    uint8_t text[4];
    int length = 1;
    if (code < 0x80) {
        text[0] = (uint8_t)code;
    } else if (code < 0x800) {
        text[0] = (uint8_t)(0xC0 | code >> 6);
        length = 2;
    } else if (code < 0x10000) {
        text[0] = (uint8_t)(0xE0 | code >> 12);
        length = 3;
    } else {
        text[0] = (uint8_t)(0xF0 | code >> 18);
        length = 4;
    }
    for (int i = 1; i < length; i++)
        text[i] = (uint8_t)(0x80 | (code >> 6 * (length - 1 - i) & 0x3F));
    return append(e, text, length);
}

/* The string whose quote was just passed. */
static int encode_string(encoder_t *e) {
    for (;;) {
        const uint8_t *start = e->at;
        while (e->at < e->end && *e->at != '"' && *e->at != '\\' && *e->at >= 0x20) {
            const int length = *e->at < 0x80 ? 1 : sequence_length(e->at, e->end);
            if (!length)
                return 0;
            e->at += length;
        }
        if (!append(e, start, e->at - start) || e->at == e->end || *e->at < 0x20)
            return 0;
        if (*e->at++ == '"')
            return 1;
        if (e->at == e->end)
            return 0;
        static const char names[] = "\"\\/bfnrt", letters[] = "\"\\/\b\f\n\r\t";
        const uint8_t escape = *e->at++;
        const char *name = escape ? strchr(names, escape) : NULL;
        if (name ? !append(e, letters + (name - names), 1)
                 : escape != 'u' || !append_escaped_letter(e))
            return 0;
    }
}

static int append_number(encoder_t *e, uint8_t tag, uint64_t bits, int width) {
    uint8_t text[9] = {tag};
    for (int i = 0; i < width; i++)
        text[1 + i] = (uint8_t)(bits >> 8 * (width - 1 - i));
    return append(e, text, 1 + width);
}

static int width_of(uint64_t number, int bits) {
    return number >> bits == 0 ? 1 : number >> (8 + bits) == 0 ? 2 : number >> (24 + bits) == 0 ? 4 : 8;
}

static int append_integer(encoder_t *e, uint64_t size, int negative) {
    if (!size)
        return append_number(e, ZERO, 0, 0);
    if (!negative)
        return append_number(e, UNSIGNED, size, width_of(size, 8));
    if (size > (uint64_t)1 << 63)
        return 0;
    return append_number(e, SIGNED, -size, width_of(size - 1, 7));
}

static int append_float(encoder_t *e, double number) {
    uint64_t bits;
    if (isinf(number))
        return append_number(e, number > 0 ? INFINITE : MINUS_INFINITE, 0, 0);
    memcpy(&bits, &number, 8);
    return append_number(e, FLOAT, bits, 8);
}

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* digits / 10^places, rounded once, to even; digits are not 0, and places at most 19. */
static double quotient(uint64_t digits, int64_t places) {
    uint64_t divisor = 1;
    for (int64_t i = 0; i < places; i++)
        divisor *= 10;
    const int shift = __builtin_clzll(digits);
    const unsigned __int128 scaled = (unsigned __int128)(digits << shift) << 63;
    const unsigned __int128 exact = scaled / divisor; /* of 62 bits or more */
    const uint64_t high = (uint64_t)(exact >> 64);
    const int bits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)exact);
    const int dropped = bits - 53;
    const unsigned __int128 half = (unsigned __int128)1 << (dropped - 1);
    const unsigned __int128 rest = exact & (2 * half - 1);
    uint64_t rounded = (uint64_t)(exact >> dropped);
    rounded += rest > half || (rest == half && (scaled % divisor || (rounded & 1)));
    return ldexp((double)rounded, dropped - 63 - shift);
}

static int encode_number(encoder_t *e) {
    const uint8_t *start = e->at;
    const int negative = *e->at == '-';
    e->at += negative;
    if (!is_digit(e->at, e->end))
        return 0;
    uint64_t digits = 0;
    int64_t count = 0, exponent = 0;
    int overflows = 0;
    const uint8_t *first = e->at;
    while (is_digit(e->at, e->end)) {
        overflows |= __builtin_mul_overflow(digits, (uint64_t)10, &digits);
        overflows |= __builtin_add_overflow(digits, (uint64_t)(*e->at++ - '0'), &digits);
        count++;
    }
    if (*first == '0' && count > 1)
        return 0;
    const int has_point = e->at < e->end && *e->at == '.';
    if (has_point) {
        e->at++;
        if (!is_digit(e->at, e->end))
            return 0;
        while (is_digit(e->at, e->end)) {
            digits = digits * 10 + (uint64_t)(*e->at++ - '0');
            count++;
            exponent--;
        }
    }
    const int has_exponent = e->at < e->end && (*e->at | 0x20) == 'e';
    if (has_exponent) {
        e->at++;
        const int falls = e->at < e->end && *e->at == '-';
        if (e->at < e->end && (*e->at == '-' || *e->at == '+'))
            e->at++;
        if (!is_digit(e->at, e->end))
            return 0;
        int64_t shift = 0;
        while (is_digit(e->at, e->end)) {
            shift = shift < 100000 ? shift * 10 + (*e->at - '0') : shift;
            e->at++;
        }
        exponent += falls ? -shift : shift;
    }
    if (!has_point && !has_exponent)
        return count + negative <= 20 && !overflows && append_integer(e, digits, negative);
    /* Two exact numbers, so that their product or quotient is rounded once. */
    if (count <= 19 && digits <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22) {
        double number = (double)digits;
        number = exponent < 0 ? number / powers[-exponent] : number * powers[exponent];
        return append_float(e, negative ? -number : number);
    }
    if (count <= 19 && digits && exponent < 0 && exponent >= -19) {
        const double number = quotient(digits, -exponent);
        return append_float(e, negative ? -number : number);
    }
    char text[MAX_NUMBER + 1];
    const int64_t length = e->at - start;
    double number;
    if (length > MAX_NUMBER)
        return 0;
    memcpy(text, start, (size_t)length);
    text[length] = 0;
    return parse_float(e->python, text, &number) && append_float(e, number);
}

static int by_key(const void *left, const void *right) {
    const member_t *a = left, *b = right;
    const int64_t shorter = a->key_size < b->key_size ? a->key_size : b->key_size;
    const int order = memcmp(a->key, b->key, (size_t)shorter);
    return order ? order : (a->key_size > b->key_size) - (a->key_size < b->key_size);
}

/* Puts header and entries before the data of the members of an array, which begins at `base`. */
static int close_array(encoder_t *e, int64_t base, int64_t first) {
    const int64_t count = e->count - first, head = 4 + 4 * count;
    if (count > MAX_MEMBERS || e->room - e->size < head)
        return 0;
    memmove(e->out + base + head, e->out + base, (size_t)(e->size - base));
    store_be32(e->out + base, ARRAY | (uint32_t)count);
    for (int64_t i = 0; i < count; i++) {
        const member_t *member = &e->members[first + i];
        store_be32(e->out + base + 4 + 4 * i, member->kind << 28 | (uint32_t)member->size);
    }
    e->size += head;
    e->count = first;
    return 1;
}

/* The same for an object, whose keys and values alternate, and are sorted here. */
static int close_object(encoder_t *e, int64_t base, int64_t first) {
    const int64_t count = e->count - first, data = e->size - base, head = 4 + 8 * count;
    member_t *members = count ? e->members + first : NULL;
    if (count > MAX_MEMBERS || e->room - e->size < head + data)
        return 0;
    int sorted = 1;
    for (int64_t i = 0; i < count; i++) {
        members[i].key = e->out + members[i].key_at;
        sorted = sorted && (i == 0 || by_key(&members[i - 1], &members[i]) < 0);
    }
    if (!sorted)
        qsort(members, (size_t)count, sizeof *members, by_key);
    for (int64_t i = 1; !sorted && i < count; i++)
        if (by_key(&members[i - 1], &members[i]) == 0)
            return 0; /* a key twice */
    uint8_t *made = e->out + e->size;
    store_be32(made, OBJECT | (uint32_t)count);
    uint8_t *to = made + head;
    for (int64_t i = 0; i < count; i++) {
        if (members[i].key_size > MAX_LENGTH)
            return 0;
        store_be32(made + 4 + 4 * i, STRING << 28 | (uint32_t)members[i].key_size);
        memcpy(to, members[i].key, (size_t)members[i].key_size);
        to += members[i].key_size;
    }
    for (int64_t i = 0; i < count; i++) {
        const uint32_t entry = members[i].kind << 28 | (uint32_t)members[i].size;
        store_be32(made + 4 + 4 * (count + i), entry);
        memcpy(to, e->out + members[i].at, (size_t)members[i].size);
        to += members[i].size;
    }
    memmove(e->out + base, made, (size_t)(head + data));
    e->size = base + head + data;
    e->count = first;
    return 1;
}

static int encode_value(encoder_t *e, int depth, uint32_t *kind);

static int push(encoder_t *e, member_t member) {
    if (e->count == e->capacity) {
        const int64_t capacity = e->capacity ? 2 * e->capacity : 64;
        member_t *members = realloc(e->members, (size_t)capacity * sizeof *members);
        if (!members)
            return 0;
        e->members = members;
        e->capacity = capacity;
    }
    e->members[e->count++] = member;
    return 1;
}

/* The array or object whose bracket was just passed. */
static int encode_container(encoder_t *e, int depth, int is_object) {
    const int64_t base = e->size, first = e->count;
    const uint8_t closing = is_object ? '}' : ']';
    if (depth == MAX_DEPTH)
        return 0;
    if (!skip_sign(e, closing))
        for (;;) {
            member_t member = {.key_at = e->size};
            if (is_object) {
                if (!skip_sign(e, '"') || !encode_string(e))
                    return 0;
                member.key_size = e->size - member.key_at;
                if (!skip_sign(e, ':'))
                    return 0;
            }
            member.at = e->size;
            if (!encode_value(e, depth + 1, &member.kind))
                return 0;
            member.size = e->size - member.at;
            if (member.size > MAX_LENGTH || !push(e, member))
                return 0;
            if (skip_sign(e, closing))
                break;
            if (!skip_sign(e, ','))
                return 0;
        }
    return is_object ? close_object(e, base, first) : close_array(e, base, first);
}

static int encode_value(encoder_t *e, int depth, uint32_t *kind) {
    skip_blanks(e);
    if (e->at == e->end)
        return 0;
    switch (*e->at) {
    case '{':
    case '[':
        *kind = CONTAINER;
        return encode_container(e, depth, *e->at++ == '{');
    case '"':
        *kind = STRING;
        e->at++;
        return encode_string(e);
    case 't':
        *kind = TRUE_KIND;
        return skip_word(e, "true", 4);
    case 'f':
        *kind = FALSE_KIND;
        return skip_word(e, "false", 5);
    case 'n':
        *kind = NULL_KIND;
        return skip_word(e, "null", 4);
    default:
        *kind = NUMBER;
        return encode_number(e);
    }
}

static int encode_document(encoder_t *e) {
    const int64_t base = e->size;
    uint32_t kind = 0;
    e->count = 0;
    if (!encode_value(e, 0, &kind))
        return 0;
    skip_blanks(e);
    const int64_t size = e->size - base;
    if (e->at < e->end || kind == CONTAINER)
        return e->at == e->end;
    if (size > MAX_LENGTH || e->room - e->size < 8)
        return 0;
    memmove(e->out + base + 8, e->out + base, (size_t)size);
    store_be32(e->out + base, SCALAR);
    store_be32(e->out + base + 4, kind << 28 | (uint32_t)size);
    e->size += 8;
    return 1;
}

/* Document i of texts, from offsets[i] to offsets[i + 1], to out from edges[i] to edges[i + 1]. Those
 * that are left out are empty there, and their numbers are in `rest`. */
static const char *encode_all(bytes_t texts, const int64_t *offsets, int64_t count, room_t out,
                              int64_t *edges, int64_t *rest, int64_t *left, python_t *python) {
    encoder_t e = {.out = out.at, .room = out.size, .python = python};
    const char *error = NULL;
    *left = edges[0] = 0;
    for (int64_t i = 0; i < count && !error; i++) {
        if (offsets[i] < 0 || offsets[i + 1] < offsets[i] || offsets[i + 1] > texts.size) {
            error = "documents are not within the bytes of all";
            break;
        }
        e.at = texts.at + offsets[i];
        e.end = texts.at + offsets[i + 1];
        if (!encode_document(&e)) {
            e.size = edges[i];
            rest[(*left)++] = i;
        }
        edges[i + 1] = e.size;
    }
    free(e.members);
    return error;
}

/* Back to text. */

typedef struct {
    uint8_t *out;
    int64_t size, room;
    python_t *python;
} decoder_t;

static int put(decoder_t *d, const void *text, int64_t size) {
    if (d->room - d->size < size)
        return 0;
    memcpy(d->out + d->size, text, (size_t)size);
    d->size += size;
    return 1;
}

static int decode_string(decoder_t *d, const uint8_t *at, const uint8_t *end) {
    if (!put(d, "\"", 1))
        return 0;
    while (at < end) {
        const uint8_t *start = at;
        while (at < end && *at >= 0x20 && *at != '"' && *at != '\\') {
            const int length = *at < 0x80 ? 1 : sequence_length(at, end);
            if (!length)
                return 0;
            at += length;
        }
        if (!put(d, start, at - start))
            return 0;
        if (at == end)
            break;
        static const char letters[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
        const char *letter = *at ? strchr(letters, *at) : NULL;
        char escape[6] = {'\\', letter ? names[letter - letters] : 'u', '0', '0',
                          "0123456789abcdef"[*at >> 4], "0123456789abcdef"[*at & 15]};
        if (!put(d, escape, letter ? 2 : 6))
            return 0;
        at++;
    }
    return put(d, "\"", 1);
}

static int put_integer(decoder_t *d, uint64_t number, int negative, int digits) {
    char text[24];
    int at = sizeof text;
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number || (int)sizeof text - at < digits);
    if (negative)
        text[--at] = '-';
    return put(d, text + at, (int64_t)sizeof text - at);
}

/* A number with at most 15 digits, of which there is only one of this length; -1 for others. */
static int put_fraction(decoder_t *d, double number) {
    const double size = fabs(number);
    const int negative = signbit(number) != 0;
    if (size == 0)
        return put(d, negative ? "-0.0" : "0.0", negative ? 4 : 3);
    if (size < 1e-4 || size >= 1e15)
        return -1;
    for (int places = 0; places <= 18; places++) {
        const double scaled = size * powers[places];
        if (scaled >= 1e15)
            return -1;
        const uint64_t digits = (uint64_t)(scaled + 0.5);
        if ((double)digits / powers[places] != size)
            continue;
        const uint64_t unit = (uint64_t)powers[places];
        return put_integer(d, digits / unit, negative, 1) && put(d, ".", 1) &&
               put_integer(d, digits % unit, 0, places ? places : 1);
    }
    return -1;
}

/* The 16 digits of a number that identify it, or else 17; -1 for numbers out of a range, in which all
 * products are exact. The number is m / 2^shift, with m of 53 bits. */
static int put_long_fraction(decoder_t *d, double number) {
    const double size = fabs(number);
    uint64_t bits;
    memcpy(&bits, &size, 8);
    const uint64_t m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    const int shift = 1075 - (int)(bits >> 52);
    if (size < 1e-4 || size >= 1e15 || m == (uint64_t)1 << 52)
        return -1; /* of powers of two, the number below is half as far away as that above */
    int point = 1; /* digits before the point; below 0, zeros after it */
    if (size < 1)
        point = size >= 0.1 ? 0 : size >= 0.01 ? -1 : size >= 0.001 ? -2 : -3;
    else
        for (uint64_t whole = (uint64_t)size; whole >= 10; whole /= 10)
            point++;
    unsigned __int128 unit = 1, digits = 0;
    const unsigned __int128 one = (unsigned __int128)1 << shift;
    int count = 16;
    for (int i = 0; i < count - point; i++)
        unit *= 10;
    for (;; count++, unit *= 10) {
        const unsigned __int128 exact = m * unit, rest = exact & (one - 1);
        digits = exact >> shift;
        const int up = rest > one / 2 || (rest == one / 2 && (digits & 1));
        const unsigned __int128 off = 2 * (up ? one - rest : rest);
        digits += (unsigned)up;
        if (count == 17 || off < unit || (off == unit && !(m & 1)))
            break;
    }
    char text[40];
    uint64_t left = (uint64_t)digits;
    for (int i = count - 1; i >= 0; i--, left /= 10)
        text[i] = (char)('0' + left % 10);
    if (left || text[0] == '0')
        return -1;
    while (count > 1 && count > point + 1 && text[count - 1] == '0')
        count--;
    if (signbit(number) && !put(d, "-", 1))
        return 0;
    if (point <= 0)
        return put(d, "0.0000", 2 - point) && put(d, text, count);
    return put(d, text, point) && put(d, ".", 1) && put(d, text + point, count - point);
}

static int decode_float(decoder_t *d, double number) {
    int done = isfinite(number) ? put_fraction(d, number) : -1;
    if (done < 0 && isfinite(number))
        done = put_long_fraction(d, number);
    char text[40];
    if (done >= 0)
        return done;
    if (isnan(number))
        return put(d, "null", 4);
    if (isinf(number))
        return number > 0 ? put(d, "1e999", 5) : put(d, "-1e999", 6);
    if (!format_float(d->python, number, text, sizeof text))
        return 0;
    const char *exponent = strstr(text, "e-0");
    if (!exponent)
        return put(d, text, (int64_t)strlen(text));
    if (exponent[3] != '5')
        return put(d, text, exponent + 2 - text) && put(d, exponent + 3, (int64_t)strlen(exponent + 3));
    /* Other implementations write 1e-05 as a fraction. */
    const char *at = text + (*text == '-');
    if (!put(d, text, at - text) || !put(d, "0.0000", 6))
        return 0;
    for (; at < exponent; at++)
        if (*at != '.' && !put(d, at, 1))
            return 0;
    return 1;
}

static int decode_number(decoder_t *d, const uint8_t *at, int64_t size) {
    const int64_t width = size - 1;
    if (size < 1 || width > 8)
        return 0;
    uint64_t bits = 0;
    for (int64_t i = 0; i < width; i++)
        bits = bits << 8 | at[1 + i];
    const int is_width = width == 1 || width == 2 || width == 4 || width == 8;
    double number;
    switch (at[0]) {
    case ZERO:
        return width == 0 && put(d, "0", 1);
    case UNSIGNED:
        return is_width && put_integer(d, bits, 0, 1);
    case SIGNED:
        if (!is_width)
            return 0;
        if (bits >> (8 * width - 1) == 0)
            return put_integer(d, bits, 0, 1);
        if (width < 8)
            bits |= ~(uint64_t)0 << 8 * width;
        return put_integer(d, -bits, 1, 1);
    case FLOAT:
        memcpy(&number, &bits, 8);
        return width == 8 && decode_float(d, number);
    case INFINITE:
        return width == 0 && put(d, "1e999", 5);
    case MINUS_INFINITE:
        return width == 0 && put(d, "-1e999", 6);
    default:
        return 0;
    }
}

static int decode_container(decoder_t *d, const uint8_t *at, const uint8_t *end, int depth);

static int decode_value(decoder_t *d, uint32_t kind, const uint8_t *at, const uint8_t *end, int depth) {
    switch (kind) {
    case NULL_KIND:
        return put(d, "null", 4);
    case TRUE_KIND:
        return put(d, "true", 4);
    case FALSE_KIND:
        return put(d, "false", 5);
    case STRING:
        return decode_string(d, at, end);
    case NUMBER:
        return decode_number(d, at, end - at);
    case CONTAINER:
        return decode_container(d, at, end, depth);
    default:
        return 0;
    }
}

static int decode_container(decoder_t *d, const uint8_t *at, const uint8_t *end, int depth) {
    if (end - at < 4 || depth == MAX_DEPTH)
        return 0;
    const uint32_t header = load_be32(at), kind = header & HEADER_KINDS;
    const int64_t count = header & MAX_MEMBERS, entries = kind == OBJECT ? 2 * count : count;
    if ((kind != OBJECT && kind != ARRAY) || (end - at - 4) / 4 < entries)
        return 0;
    const uint8_t *entry = at + 4, *data = entry + 4 * entries, *values = data;
    if (kind == OBJECT)
        for (int64_t i = 0; i < count; i++) {
            const uint32_t key = load_be32(entry + 4 * i);
            if (key >> 28 != STRING || end - values < (int64_t)(key & MAX_LENGTH))
                return 0;
            values += key & MAX_LENGTH;
        }
    if (!put(d, kind == OBJECT ? "{" : "[", 1))
        return 0;
    for (int64_t i = 0; i < count; i++) {
        if (i && !put(d, ",", 1))
            return 0;
        if (kind == OBJECT) {
            const uint32_t size = load_be32(entry + 4 * i) & MAX_LENGTH;
            if (!decode_string(d, data, data + size) || !put(d, ":", 1))
                return 0;
            data += size;
        }
        const uint32_t word = load_be32(entry + 4 * (entries - count + i));
        const uint32_t size = word & MAX_LENGTH;
        if (end - values < (int64_t)size ||
            !decode_value(d, word >> 28, values, values + size, depth + 1))
            return 0;
        values += size;
    }
    return values == end && put(d, kind == OBJECT ? "}" : "]", 1);
}

static int decode_document(decoder_t *d, const uint8_t *at, const uint8_t *end) {
    if (end - at < 4)
        return 0;
    if ((load_be32(at) & HEADER_KINDS) != SCALAR)
        return decode_container(d, at, end, 0);
    if (end - at < 8)
        return 0;
    const uint32_t entry = load_be32(at + 4);
    if (entry >> 28 == CONTAINER || end - at - 8 != (int64_t)(entry & MAX_LENGTH))
        return 0;
    return decode_value(d, entry >> 28, at + 8, end, 0);
}

/* As `encode_all`, the other way. */
static const char *decode_all(bytes_t documents, const int64_t *offsets, int64_t count, room_t out,
                              int64_t *edges, int64_t *rest, int64_t *left, python_t *python) {
    decoder_t d = {.out = out.at, .room = out.size, .python = python};
    *left = edges[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        if (offsets[i] < 0 || offsets[i + 1] < offsets[i] || offsets[i + 1] > documents.size)
            return "documents are not within the bytes of all";
        if (!decode_document(&d, documents.at + offsets[i], documents.at + offsets[i + 1])) {
            d.size = edges[i];
            rest[(*left)++] = i;
        }
        edges[i + 1] = d.size;
    }
    return NULL;
}

/* For Python. */

typedef const char *(*loop_t)(bytes_t, const int64_t *, int64_t, room_t, int64_t *, int64_t *,
                              int64_t *, python_t *);

static PyObject *converted(PyObject *args, loop_t loop) {
    Py_buffer b[5] = {0};
    int64_t left = 0;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4]))
        return release(b, 5), NULL;
    const int64_t count = b[1].len / 8 - 1;
    if (count < 0 || !holds(&b[1], count + 1, 8) || !holds(&b[3], count + 1, 8) ||
        !holds(&b[4], count, 8))
        return done(b, 5, MISMATCH, 0);
    python_t python = {PyEval_SaveThread()};
    const char *error =
        loop(bytes_of(&b[0]), b[1].buf, count, room_of(&b[2]), b[3].buf, b[4].buf, &left, &python);
    PyEval_RestoreThread(python.thread);
    return done(b, 5, error, left);
}

static PyObject *py_encode_json(PyObject *module, PyObject *args) {
    (void)module;
    return converted(args, encode_all);
}

static PyObject *py_decode_json(PyObject *module, PyObject *args) {
    (void)module;
    return converted(args, decode_all);
}

PyMethodDef json_methods[] = {
    {"encode_json", py_encode_json, METH_VARARGS,
     "texts, offsets, out, edges, rest; number of documents left out"},
    {"decode_json", py_decode_json, METH_VARARGS,
     "documents, offsets, out, edges, rest; number of documents left out"},
    {NULL, NULL, 0, NULL},
};
