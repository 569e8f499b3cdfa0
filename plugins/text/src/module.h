/* What the inner loops of text search share.
 *
 * Each file has loops in plain C, which know no Python, and behind them what makes functions of the
 * module `_native` of them: contiguous buffers in, buffers filled, without the GIL. They check that
 * buffers have as many aligned elements as belong together, and all sizes that come from files; what
 * is wrong is a ValueError. Results equal those of numpy bit for bit.
 */
#ifndef LANCE_CORE_TEXT_MODULE_H
#define LANCE_CORE_TEXT_MODULE_H

#include "buffers.h"

#include <stdlib.h>
#include <string.h>

/* Products are rounded before they are added, as numpy does. GCC does so by `-std=c11`. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define NO_MEMORY "there is not enough memory"

extern PyMethodDef encoding_methods[];
extern PyMethodDef inversion_methods[];
extern PyMethodDef ranking_methods[];
extern PyMethodDef transducer_methods[];
extern PyMethodDef vocabulary_methods[];
extern PyMethodDef words_methods[];

#endif
