/* The intrinsics of x86 processors, for loops that use them: to read these declarations takes the
 * compiler as long as most files of loops. */
#ifndef LANCE_CORE_INTRINSICS_H
#define LANCE_CORE_INTRINSICS_H

#include "buffers.h"

#ifdef WITH_AVX2
#include <immintrin.h>
#endif

#endif
