"""Model files and files of moments that somebody changed, from a seed."""

import contextlib
import hashlib
import io
import json
import zipfile

import numpy as np

from flipcost.core import ClassMoments
from tests.fuzz.tables import damage_bytes

# Values that take the place of others in a description.
VALUES = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 1e308, -1e308, "", "x", "__class__", "os", "system",
    [], {}, [[]], "NaN", "float64", "<f8", "|O", "builtins", "eval", "sklearn.tree._tree", "Tree",
    "ReduceNode", "ObjectNode", "FunctionNode", "TypeNode", "flipcost.paper.experiments.run",
    "UnitStore", "numpy", "ndarray", "pathlib", "Path", "../../x", "content", "a" * 3000,
]  # fmt: skip
ARRAYS = [
    lambda rng, a: a.astype(float, copy=True) * np.nan if a.dtype.kind in "fiu" else a,
    lambda rng, a: np.full_like(a, -1) if a.dtype.kind in "fiub" else a,
    lambda rng, a: np.full_like(a, 10**9) if a.dtype.kind in "fiu" and a.itemsize > 3 else a,
    lambda rng, a: a[:0],
    lambda rng, a: np.concatenate([a, a]) if a.ndim else a,
    lambda rng, a: a.ravel(),
    lambda rng, a: a[None],
    lambda rng, a: rng.permutation(a) if a.ndim else a,
    lambda rng, a: a.astype(np.int8) if a.dtype.kind in "fiub" else a,
    lambda rng, a: a.astype("U5"),
    lambda rng, a: np.zeros(3),
    lambda rng, a: np.array(0.0),
    lambda rng, a: a * 1e300 if a.dtype.kind == "f" else a,
]


def model_bytes(rng, good):
    """Return a model file with accidents or forgeries in it."""
    if rng.random() < 0.25:
        for _ in range(int(rng.integers(1, 3))):
            good = damage_bytes(rng, good)
        return good
    parts = unpack(good)
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.6:
            name = "schema.json" if rng.random() < 0.9 else "flipcost.json"
            parts[name] = _forge_text(rng, parts.get(name, b"{}"))
        else:
            _forge_part(rng, parts)
    method = int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]))
    return pack(parts, zipfile.ZIP_DEFLATED if rng.random() < 0.9 else method)


def unpack(data):
    """Return the parts of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(parts, method=zipfile.ZIP_DEFLATED):
    """Return a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return stream.getvalue()


def _forge_text(rng, data):
    try:
        content = json.loads(data)
    except ValueError:
        return damage_bytes(rng, data)
    places = _places(content)
    if not places:
        return data
    holder, key = places[int(rng.integers(len(places)))]
    kind = int(rng.integers(0, 5))
    if kind == 0:
        holder[key] = VALUES[int(rng.integers(len(VALUES)))]
    elif kind == 1:
        other, there = places[int(rng.integers(len(places)))]
        holder[key] = json.loads(json.dumps(other[there]))
    elif kind == 2 and isinstance(holder, dict):
        del holder[key]
    elif kind == 3 and isinstance(holder, list):
        holder.append(holder[key])
    else:
        numbers = [p for p in places if isinstance(p[0][p[1]], str)]
        holder, key = numbers[int(rng.integers(len(numbers)))] if numbers else (holder, key)
        holder[key] = str(rng.choice(["0", "-1", "1e999", "null", '"x"', "[]", "99999999", "NaN"]))
    return json.dumps(content).encode()


def _places(content):
    """Return all places within nested lists and objects."""
    found, waiting = [], [content]
    while waiting:
        holder = waiting.pop()
        keys = range(len(holder)) if isinstance(holder, list) else list(holder)
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], list | dict):
                waiting.append(holder[key])
    return found


def _forge_part(rng, parts):
    names = [name for name in parts if name.endswith(".npy")]
    if not names:
        return
    name = str(rng.choice(names))
    with contextlib.suppress(ValueError, OverflowError, TypeError, IndexError):
        parts[name] = forge_array(rng, parts[name])
        return
    parts[name] = damage_bytes(rng, parts[name])


def forge_array(rng, data):
    """Return another array of numpy's format."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if rng.random() < 0.4 and array.size and array.dtype.kind in "fiu":
        array = array.copy()
        place = int(rng.integers(array.size))
        odd = [-1, 0, 1, 127] if array.itemsize == 1 else [-1, 0, 10**4, 30_000]
        value = odd[int(rng.integers(len(odd)))]
        array.flat[place] = abs(value) if array.dtype.kind == "u" else value
    else:
        with np.errstate(all="ignore"):
            array = ARRAYS[int(rng.integers(len(ARRAYS)))](rng, array)
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def moments_bytes(rng, folder):
    """Return a file of moments with accidents, or with forged arrays and the right checksum."""
    d, n = int(rng.integers(1, 5)), int(rng.integers(0, 40))
    X = rng.normal(size=(n, d)) * 10.0 ** int(rng.integers(-5, 6))
    path = folder / "moments.npz"
    ClassMoments.from_rows(X, rng.random(n) < 0.5).save(path)
    data = path.read_bytes()
    if rng.random() < 0.4:
        return damage_bytes(rng, data)
    parts = unpack(data)
    for _ in range(int(rng.integers(1, 3))):
        name = str(rng.choice(["n_rows.npy", "weight.npy", "mean.npy", "scatter.npy"]))
        with contextlib.suppress(ValueError, OverflowError, TypeError, IndexError):
            parts[name] = forge_array(rng, parts[name])
    parts["checksum.npy"] = _checksum(parts)
    return pack(parts, zipfile.ZIP_STORED)


def _checksum(parts):
    """Return the checksum that a forger computes."""
    digest = hashlib.sha256()
    for name in ("n_rows", "weight", "mean", "scatter"):
        values = np.ascontiguousarray(np.load(io.BytesIO(parts[f"{name}.npy"])))
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(values.data)
    stream = io.BytesIO()
    np.save(stream, np.array(digest.hexdigest()))
    return stream.getvalue()
