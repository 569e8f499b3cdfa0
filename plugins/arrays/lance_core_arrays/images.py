"""Images in Arrow: their URIs, their encoded bytes, and their pixels as tensors of one shape."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.tools import register_extension_type
from lance_core_arrays.image_files import read_image

IMAGE_URI = "lance.arrow.image_uri"
ENCODED_IMAGE = "lance.arrow.encoded_image"
IMAGE_TENSOR = "lance.arrow.fixed_shape_image_tensor"

_STRING, _BINARY = pa.string(), pa.binary()

Decoder = Callable[[pa.Array], Any]
"""Takes an array of encoded images and returns their pixels: an array of numpy whose first axis is
the image, or a `pyarrow.FixedShapeTensorArray`."""

Encoder = Callable[[npt.NDArray[Any]], Any]
"""Takes pixels, the first axis being the image, and returns an array of encoded images."""


class _OneValueType(pa.ExtensionType):  # type: ignore[misc]  # pyarrow is not typed
    """An image that is one value, as text or bytes; the type has no parameters."""

    _name: str
    _what: str
    _stored: tuple[pa.DataType, ...]

    def __init__(self, storage_type: pa.DataType) -> None:
        if storage_type not in self._stored:
            raise ValueError(f"{self._what}, not {storage_type}")
        super().__init__(storage_type, self._name)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Self:
        return cls(storage_type)


class ImageURIType(_OneValueType):
    """URIs of images; stored as ``string`` or ``large_string``."""

    _name, _what = IMAGE_URI, "URIs of images are strings"
    _stored = (_STRING, pa.large_string())

    def __init__(self, storage_type: pa.DataType = _STRING) -> None:
        """Raises ``ValueError`` for another storage type."""
        super().__init__(storage_type)

    def __arrow_ext_class__(self) -> type[pa.ExtensionArray]:
        return ImageURIArray

    def __arrow_ext_scalar_class__(self) -> type[pa.ExtensionScalar]:
        return ImageURIScalar


class EncodedImageType(_OneValueType):
    """Images as the bytes of files, such as PNG or JPEG; stored as ``binary``, ``large_binary``."""

    _name, _what = ENCODED_IMAGE, "encoded images are binary"
    _stored = (_BINARY, pa.large_binary())

    def __init__(self, storage_type: pa.DataType = _BINARY) -> None:
        """Raises ``ValueError`` for another storage type."""
        super().__init__(storage_type)

    def __arrow_ext_class__(self) -> type[pa.ExtensionArray]:
        return EncodedImageArray

    def __arrow_ext_scalar_class__(self) -> type[pa.ExtensionScalar]:
        return EncodedImageScalar


class FixedShapeImageTensorType(pa.ExtensionType):  # type: ignore[misc]
    """Pixels of images that all have one ``shape``; stored as a fixed-size list of numbers."""

    def __init__(self, arrow_type: pa.DataType, shape: Sequence[int]) -> None:
        """``arrow_type``: that of a number. Raises ``ValueError`` for an invalid shape."""
        sizes = tuple(shape)
        if not sizes or not all(type(size) is int and size >= 0 for size in sizes):
            raise ValueError(f"the shape of an image is a list of sizes, got {shape!r}")
        self.shape = shape
        self.arrow_type = arrow_type
        super().__init__(pa.list_(arrow_type, math.prod(sizes)), IMAGE_TENSOR)

    def __arrow_ext_serialize__(self) -> bytes:
        return json.dumps({"shape": list(self.shape)}).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Self:
        return cls(storage_type.value_type, json.loads(serialized)["shape"])

    def __arrow_ext_class__(self) -> type[pa.ExtensionArray]:
        return FixedShapeImageTensorArray

    def __arrow_ext_scalar_class__(self) -> type[pa.ExtensionScalar]:
        return FixedShapeImageTensorScalar

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.arrow_type, list(self.shape))


class ImageArray(pa.ExtensionArray):  # type: ignore[misc]
    """The base class of arrays of images."""

    @classmethod
    def from_array(cls, images: Any) -> ImageArray:
        """The array of images that ``images`` stand for.

        Strings, also in a list, are URIs; binary values are encoded images; a
        `pyarrow.FixedShapeTensorArray` has pixels; an array of images is returned as it is. Raises
        ``TypeError`` for anything else.
        """
        if isinstance(images, ImageArray):
            return images
        made: ImageArray
        if isinstance(images, pa.FixedShapeTensorArray):
            tensors = FixedShapeImageTensorType(images.type.value_type, images.type.shape)
            made = pa.ExtensionArray.from_storage(tensors, images.storage)
        elif isinstance(images, pa.BinaryArray | pa.LargeBinaryArray):
            made = pa.ExtensionArray.from_storage(EncodedImageType(images.type), images)
        elif isinstance(images, pa.Array) and not isinstance(
            images, pa.StringArray | pa.LargeStringArray
        ):
            raise TypeError(f"cannot make an ImageArray of {images.type}")
        elif isinstance(images, Iterable):
            return ImageURIArray.from_uris(images)
        else:
            raise TypeError(f"cannot make an ImageArray of {type(images).__name__}")
        return made

    def __repr__(self) -> str:
        shown = [_shown(value) for value in self[:_SHOWN].to_pylist()]
        rest = ["..."] if len(self) > _SHOWN else []
        lines = ", ".join(shown + rest)
        return f"<lance.arrow.{type(self).__name__} object at 0x{id(self):016x}>\n[{lines}]"

    __str__ = __repr__


class ImageURIArray(ImageArray):
    """An array of locations of images.

    They are local paths, ``file:``, ``http:`` and ``https:`` URLs, and what a
    `pyarrow.fs.FileSystem` opens.
    """

    @classmethod
    def from_uris(cls, uris: Iterable[str | Path] | pa.Array) -> Self:
        """The array of ``uris``; None is null. Raises ``TypeError`` for another value."""
        if not isinstance(uris, pa.StringArray | pa.LargeStringArray):
            if isinstance(uris, str | bytes) or not isinstance(uris, Iterable):
                raise TypeError(f"URIs of images are a list of texts, not {type(uris).__name__}")
            texts = [None if uri is None else str(uri) for uri in uris]
            uris = pa.array(texts, pa.string())
        made: Self = pa.ExtensionArray.from_storage(ImageURIType(uris.type), uris)
        return made

    def read_uris(self, storage_type: pa.DataType = _BINARY) -> EncodedImageArray:
        """Read the images; null stays null.

        ``storage_type``: ``binary`` (the default) or ``large_binary``, for more than 2 GiB. Raises
        ``OSError`` with the URI of an image that cannot be read.
        """
        type_ = EncodedImageType(storage_type)
        images = [None if uri is None else read_image(uri) for uri in self.storage.to_pylist()]
        storage = pa.array(images, type_.storage_type)
        made: EncodedImageArray = pa.ExtensionArray.from_storage(type_, storage)
        return made


class EncodedImageArray(ImageArray):
    """An array of images as the bytes of files; their format is that of each image's bytes."""

    def to_tensor(self, decoder: Decoder | None = None) -> FixedShapeImageTensorArray:
        """The pixels of all images, which must have one shape.

        ``decoder``: by default that of the package Pillow. Raises ``ValueError`` if images are null
        or have different shapes, and without Pillow.
        """
        if self.null_count:
            raise InvalidInputError("images that are null have no pixels")
        pixels = (_decoded if decoder is None else decoder)(self.storage)
        if not isinstance(pixels, pa.FixedShapeTensorArray):
            pixels = pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(pixels))
        made = ImageArray.from_array(pixels)
        assert isinstance(made, FixedShapeImageTensorArray)
        return made


class FixedShapeImageTensorArray(ImageArray):
    """An array of the pixels of images that have one shape."""

    def to_numpy(self, zero_copy_only: bool = False) -> npt.NDArray[Any]:
        """The pixels; the first axis is the image. Raises ``ValueError`` if images are null."""
        if self.null_count:
            raise InvalidInputError("images that are null have no pixels")
        tensors = pa.fixed_shape_tensor(self.type.arrow_type, self.type.shape)
        pixels: npt.NDArray[Any] = pa.ExtensionArray.from_storage(
            tensors, self.storage
        ).to_numpy_ndarray()
        return pixels

    def to_encoded(
        self, encoder: Encoder | None = None, storage_type: pa.DataType = _BINARY
    ) -> EncodedImageArray:
        """The images as the bytes of files.

        ``encoder``: by default PNG by the package Pillow. ``storage_type``: ``binary`` (the
        default) or ``large_binary``. Raises ``ValueError`` without Pillow.
        """
        type_ = EncodedImageType(storage_type)
        images = (_encoded if encoder is None else encoder)(self.to_numpy())
        if not isinstance(images, pa.Array):
            images = pa.array(images, type_.storage_type)
        storage = images.cast(type_.storage_type)
        made: EncodedImageArray = pa.ExtensionArray.from_storage(type_, storage)
        return made


class ImageScalar(pa.ExtensionScalar):  # type: ignore[misc]
    """An image of an array."""

    def as_py(self, **options: Any) -> Any:
        """The stored value; None for null."""
        return None if self.value is None else self.value.as_py(**options)


class ImageURIScalar(ImageScalar):
    """An image of an `ImageURIArray`."""


class EncodedImageScalar(ImageScalar):
    """An image of an `EncodedImageArray`."""


class FixedShapeImageTensorScalar(ImageScalar):
    """An image of a `FixedShapeImageTensorArray`."""


_SHOWN = 10
_SHOWN_BYTES = 30


def _shown(value: Any) -> str:
    is_long = isinstance(value, bytes | list) and len(value) > _SHOWN_BYTES
    return f"{value[:_SHOWN_BYTES]!r}..." if is_long else repr(value)


def _decoded(images: pa.Array) -> npt.NDArray[Any]:
    image = _pillow("decoder")
    pixels = [np.asarray(image.open(io.BytesIO(data))) for data in images.to_pylist()]
    shapes = {array.shape for array in pixels}
    if len(shapes) > 1:
        raise InvalidInputError(f"the images have different shapes: {sorted(shapes)[:3]}")
    return np.stack(pixels) if pixels else np.zeros((0, 0), np.uint8)


def _encoded(pixels: npt.NDArray[Any]) -> list[bytes]:
    image, encoded = _pillow("encoder"), []
    for array in pixels:
        target = io.BytesIO()
        image.fromarray(array).save(target, format="PNG")
        encoded.append(target.getvalue())
    return encoded


def _pillow(what: str) -> Any:
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"no {what} of images: install Pillow, or pass the argument {what!r}"
        ) from error
    return Image


register_extension_type(IMAGE_URI, ImageURIType)
register_extension_type(ENCODED_IMAGE, EncodedImageType)
register_extension_type(IMAGE_TENSOR, FixedShapeImageTensorType)
