/* The Python module `_native`: buffers in, buffers filled. */
#include "module.h"

#ifndef INTERFACE
#error "INTERFACE is the checksum of `_native.pyi`; see `hatch_build.py`"
#endif

static int add_all(PyObject *module) {
    PyMethodDef *groups[] = {
        encoding_methods,
        inversion_methods,
        ranking_methods,
        transducer_methods,
        vocabulary_methods,
        words_methods,
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (PyModule_AddFunctions(module, groups[i]) < 0)
            return -1;
    return PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = LOOP_SLOTS(add_all);

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Inner loops of text search in C.", 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&definition);
}
