/* The Python module `_native`: buffers in, buffers filled. */
#include "module.h"

#ifndef INTERFACE
#error "INTERFACE is the checksum of `_native.pyi`; see `hatch_build.py`"
#endif

static int add_all(PyObject *module) {
    PyMethodDef *groups[] = {
        codewords_methods,
        hnsw_change_methods,
        hnsw_search_methods,
        nearest_methods,
        rabit_methods,
        scan_batch_methods,
        scan_floats_methods,
        scan_product_methods,
        scan_rabit_methods,
        scan_scalar_methods,
        scan_signs_methods,
        training_methods,
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (PyModule_AddFunctions(module, groups[i]) < 0)
            return -1;
    return PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = LOOP_SLOTS(add_all);

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Inner loops of vector search in C.", 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&definition);
}
