/* The Python module `_native`: buffers in, buffers filled. */
#include "module.h"

#ifndef INTERFACE
#error "INTERFACE is the checksum of `_native.pyi`; see `hatch_build.py`"
#endif

static int add_all(PyObject *module) {
    fill_crc32c_tables();
    PyMethodDef *groups[] = {
        arrays_methods,    crc32c_methods,      dictionary_methods,  fastlanes_methods,
        files_methods,     fsst_decode_methods, fsst_encode_methods, fsst_train_methods,
        headers_methods,   json_methods,        levels_methods,      rows_methods,
        runs_methods,      search_methods,      slices_methods,      streams_methods,
        variable_methods,  zipped_methods,
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (PyModule_AddFunctions(module, groups[i]) < 0)
            return -1;
    if (add_failing(module) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = LOOP_SLOTS(add_all);

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Inner loops in C.", 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&definition);
}
