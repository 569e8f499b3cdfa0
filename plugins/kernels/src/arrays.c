/* Arguments and errors of the other functions: most calls have arrays that are usable as they are,
 * and no error, and then run no Python code. */
#include "module.h"

/* True if `array` is contiguous; its elements must be aligned int64 if `is_int64`. */
static int is_usable(PyObject *array, int is_int64) {
    Py_buffer view;
    int flags = is_int64 ? PyBUF_FORMAT | PyBUF_C_CONTIGUOUS : PyBUF_C_CONTIGUOUS;
    if (PyObject_GetBuffer(array, &view, flags) < 0) {
        PyErr_Clear();
        return 0;
    }
    int usable = 1;
    if (is_int64) {
        const char *format = view.format ? view.format : "B";
        usable = view.itemsize == 8 && (format[0] == 'l' || format[0] == 'q') && !format[1] &&
                 (uintptr_t)view.buf % 8 == 0;
    }
    PyBuffer_Release(&view);
    return usable;
}

static PyObject *py_usable(PyObject *args, int is_int64) {
    PyObject *array, *convert;
    if (!PyArg_ParseTuple(args, "OO", &convert, &array))
        return NULL;
    if (is_usable(array, is_int64))
        return Py_NewRef(array);
    return PyObject_CallFunctionObjArgs(convert, array, NULL);
}

static PyObject *py_contiguous(PyObject *module, PyObject *args) {
    (void)module;
    return py_usable(args, 0);
}

static PyObject *py_aligned(PyObject *module, PyObject *args) {
    (void)module;
    return py_usable(args, 1);
}

typedef struct {
    PyObject_HEAD
    PyObject *kind;
} failing_t;

static int failing_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *kind;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O", &kind))
        return -1;
    Py_XDECREF(((failing_t *)self)->kind);
    ((failing_t *)self)->kind = Py_NewRef(kind);
    return 0;
}

static void failing_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((failing_t *)self)->kind);
    freefunc release_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release_object(self);
    Py_DECREF(type);
}

static PyObject *failing_enter(PyObject *self, PyObject *args) {
    (void)self;
    (void)args;
    Py_RETURN_NONE;
}

/* Raises an error of the other kind with the same text for a ValueError. */
static PyObject *failing_exit(PyObject *self, PyObject *args) {
    PyObject *kind, *error, *trace;
    if (!PyArg_ParseTuple(args, "OOO", &kind, &error, &trace))
        return NULL;
    if (kind != PyExc_ValueError)
        Py_RETURN_NONE;
    PyObject *text = PyObject_Str(error);
    if (!text)
        return NULL;
    PyObject *other = PyObject_CallFunctionObjArgs(((failing_t *)self)->kind, text, NULL);
    Py_DECREF(text);
    if (!other)
        return NULL;
    PyException_SetCause(other, NULL); /* the ValueError is not shown */
    PyErr_SetObject((PyObject *)Py_TYPE(other), other);
    Py_DECREF(other);
    return NULL;
}

static PyMethodDef failing_methods[] = {
    {"__enter__", failing_enter, METH_NOARGS, "Do nothing."},
    {"__exit__", failing_exit, METH_VARARGS, "Raise the converted error."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot failing_slots[] = {
    {Py_tp_doc, "A context manager that converts a ValueError of a loop into another error."},
    {Py_tp_init, failing_init},
    {Py_tp_dealloc, failing_dealloc},
    {Py_tp_methods, failing_methods},
    {0, NULL},
};

static PyType_Spec failing_spec = {
    "lance_core_kernels._native.Failing", sizeof(failing_t), 0, Py_TPFLAGS_DEFAULT, failing_slots,
};

/* Adds the type `Failing`. */
int add_failing(PyObject *module) {
    PyObject *type = PyType_FromSpec(&failing_spec);
    if (!type)
        return -1;
    int result = PyModule_AddObjectRef(module, "Failing", type);
    Py_DECREF(type);
    return result;
}

PyMethodDef arrays_methods[] = {
    {"contiguous", py_contiguous, METH_VARARGS, "convert, array"},
    {"aligned", py_aligned, METH_VARARGS, "convert, array"},
    {NULL, NULL, 0, NULL},
};
