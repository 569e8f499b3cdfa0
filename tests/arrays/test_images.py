"""Arrays of images: from URIs to files, pixels and back, in tables, and as pylance has them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import lance
import lance.arrow as theirs
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import lance_core
import lance_core.arrow as ours
from lance_core.errors import InvalidInputError

PIXELS = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)


@pytest.fixture
def uris(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{number}.png" for number in range(2)]
    for path, pixels in zip(paths, PIXELS, strict=True):
        Image.fromarray(pixels).save(path)
    return [paths[0].as_uri(), str(paths[1])]


@pytest.mark.parametrize("library", [ours, theirs])
def test_uris_become_files_pixels_and_files_again(uris: list[str], library: Any) -> None:
    array = library.ImageURIArray.from_uris(uris)
    assert array.to_pylist() == uris
    encoded = array.read_uris(pa.large_binary())
    assert encoded.storage.type == pa.large_binary()
    tensors = encoded.to_tensor()
    assert tensors.type.shape in ((3, 4, 3), [3, 4, 3])
    assert np.array_equal(tensors.to_numpy(), PIXELS)
    again = tensors.to_encoded().to_tensor()
    assert np.array_equal(again.to_numpy(), PIXELS)


def test_both_libraries_read_the_types_of_the_other(uris: list[str], tmp_path: Path) -> None:
    for number, (writer, names) in enumerate([(lance_core, ours), (lance, theirs)]):
        array = names.ImageURIArray.from_uris(uris)
        encoded = array.read_uris()
        table = pa.table({"uri": array, "file": encoded, "pixels": encoded.to_tensor()})
        uri = str(tmp_path / f"t{number}")
        writer.write_dataset(table, uri)
        read = lance_core.dataset(uri).to_table()
        other = lance.dataset(uri).to_table()
        for column in ("uri", "file", "pixels"):
            types = {str(read[column].type.extension_name), other[column].type.extension_name}
            assert len(types) == 1
            stored = [each[column].combine_chunks().storage for each in (read, other)]
            assert stored[0] == stored[1]
        shape = read["pixels"].type.shape
        assert list(shape) == [3, 4, 3]


def test_any_array_of_images_is_recognised(uris: list[str]) -> None:
    tensor = pa.FixedShapeTensorArray.from_numpy_ndarray(PIXELS)
    makes: list[tuple[Any, type]] = [
        (uris, ours.ImageURIArray),
        (pa.array(uris, pa.large_string()), ours.ImageURIArray),
        (pa.array([b"x", None]), ours.EncodedImageArray),
        (tensor, ours.FixedShapeImageTensorArray),
    ]
    for images, expected in makes:
        array = ours.ImageArray.from_array(images)
        assert isinstance(array, expected)
        assert ours.ImageArray.from_array(array) is array
        assert pickle.loads(pickle.dumps(array)).type == array.type
        assert type(array).__name__ in repr(array)
    for images in (5, pa.array([1, 2])):
        with pytest.raises(TypeError, match="cannot make an ImageArray"):
            ours.ImageArray.from_array(images)


def test_functions_of_the_caller_decode_and_encode() -> None:
    array = ours.ImageArray.from_array(pa.array([b"a", b"b"]))
    tensors = array.to_tensor(lambda images: np.array([[ord(x)] for x in images.to_pylist()]))
    assert tensors.to_numpy().tolist() == [[97], [98]]
    encoded = tensors.to_encoded(lambda pixels: [bytes(row.tolist()) for row in pixels])
    assert encoded.to_pylist() == [b"a", b"b"]


def test_bad_images_are_refused(uris: list[str], tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"missing\.png"):
        ours.ImageURIArray.from_uris([str(tmp_path / "missing.png")]).read_uris()
    with pytest.raises(OSError, match="127") as caught:
        ours.ImageURIArray.from_uris(["http://me:secret5@127.0.0.1:9/x.png"]).read_uris()
    assert "secret5" not in str(caught.value)
    Image.fromarray(PIXELS[0, :2]).save(tmp_path / "small.png")
    both = ours.ImageURIArray.from_uris([uris[0], str(tmp_path / "small.png")]).read_uris()
    with pytest.raises(InvalidInputError, match="different shapes"):
        both.to_tensor()
    with pytest.raises(InvalidInputError, match="null"):
        ours.ImageArray.from_array(pa.array([b"x", None])).to_tensor()
    with pytest.raises(ValueError, match="strings"):
        ours.ImageURIType(pa.int8())
    with pytest.raises(ValueError, match="binary"):
        ours.EncodedImageType(pa.string())
    with pytest.raises(ValueError, match="shape"):
        ours.FixedShapeImageTensorType(pa.uint8(), ())
    assert ours.ImageURIArray.from_uris([None]).read_uris().to_pylist() == [None]


def test_pylance_can_be_imported_afterwards() -> None:
    code = "import lance_core.arrow as a; a.ImageURIType; import lance.arrow; print('done')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "done"
