"""Writing a model as a skops archive, without importing skops where the model is of known types.

Importing skops takes .6 s, since it walks through all of scikit-learn, and JSON that is indented is
not written by compiled code. Models of the types that `load` makes are described here, in the same
words; a test holds the descriptions against those of skops. What else a model holds is left to it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import skops

from flipcost._persist import _types
from flipcost._persist._order import in_order
from flipcost.exceptions import StrangerError

# Protocol of skops that the descriptions below follow.
_PROTOCOL = 2


def archived(model: Any) -> dict[str, bytes]:
    """Return the parts of a skops archive of a model, the same ones for the same model.

    Examples
    --------
    >>> from flipcost.core.costs import Costs
    >>> sorted(archived({"costs": Costs(fn=2, fp=1), "weights": np.arange(3)}))
    ['9.npy', 'schema.json']
    """
    try:
        return Describer().parts(model)
    except StrangerError:
        from skops import io as skops_io  # noqa: PLC0415 - seldom needed, and slow to import

        return in_order(skops_io.dumps(model))


class Describer:
    """Describes objects as skops does; what occurs twice has one number."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []
        self._files: dict[str, bytes] = {}

    def parts(self, model: Any) -> dict[str, bytes]:
        """Return the parts of the archive of a model."""
        schema = self._described(model)
        schema["protocol"] = _PROTOCOL
        schema["_skops_version"] = skops.__version__
        return {**self._files, "schema.json": json.dumps(schema).encode()}

    def _described(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        say = _SAID.get(kind)
        if say is None:
            say = _unusual(value)
        found = say(self, value)
        found["__id__"] = self._number(value)
        return found

    def _number(self, value: Any) -> int:
        if id(value) not in self._numbers:
            self._kept.append(value)  # nothing else may take its place in memory
            self._numbers[id(value)] = len(self._numbers) + 1
        return self._numbers[id(value)]

    def _plain(self, value: Any) -> dict[str, Any]:
        text = {"content": json.dumps(value), "is_json": True}
        return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", **text}

    def _dict(self, value: dict[Any, Any]) -> dict[str, Any]:
        kinds = self._described([type(key) for key in value])
        content = {
            key.item() if isinstance(key, np.generic) else key: self._described(held)
            for key, held in value.items()
        }
        return {**_head(dict, "DictNode"), "content": content, "key_types": kinds}

    def _sequence(self, value: Any, loader: str) -> dict[str, Any]:
        return {**_head(type(value), loader), "content": [self._described(part) for part in value]}

    def _named(self, value: Any, loader: str) -> dict[str, Any]:
        return _head(value, loader)

    def _array(self, value: Any) -> dict[str, Any]:
        head = _head(type(value), "NdArrayNode")
        if value.dtype.hasobject:
            if value.dtype != object or not value.ndim:
                raise StrangerError(str(value.dtype))
            content = self._described(value.tolist())["content"]
            shape = self._described(value.shape)
            return {**head, "content": content, "type": "json", "shape": shape}
        name = f"{self._number(value)}.npy"
        if name not in self._files:
            stream = io.BytesIO()
            np.save(stream, value, allow_pickle=False)
            self._files[name] = stream.getvalue()
        return {**head, "type": "numpy", "file": name}

    def _dtype(self, value: Any) -> dict[str, Any]:
        content = self._described(np.ndarray(0, dtype=value))
        return {**_head(np.dtype, "DTypeNode"), "content": content}

    def _object(self, value: Any) -> dict[str, Any]:
        return {
            **_head(type(value), "ObjectNode"),
            "content": self._described(value.__getstate__()),
        }

    def _reduced(self, value: Any, loader: str) -> dict[str, Any]:
        kind, (make, args, *more) = type(value), value.__reduce__()
        if make is kind:
            held = more[0] if more else value.__getstate__() or {}
        else:  # Cython's way: a function that makes it, given its type, a checksum and its state
            args, held = ((), more[0]) if more else (args[2], {})
        found = {**_head(kind, loader), "__reduce__": {"args": self._described(args)}}
        return {**found, "content": self._described(held)}

    def _parts(self, value: Any, loader: str, **parts: Any) -> dict[str, Any]:
        content = {name: self._described(part) for name, part in parts.items()}
        return {**_head(type(value), loader), "content": content}

    def _partial(self, value: Any) -> dict[str, Any]:
        func, args, kwds, namespace = value.__reduce__()[2]
        parts = {"func": func, "args": args, "kwds": kwds, "namespace": namespace}
        return self._parts(value, "PartialNode", **parts)

    def _masked(self, value: Any) -> dict[str, Any]:
        return self._parts(value, "MaskedArrayNode", data=value.data, mask=value.mask)

    def _generator(self, value: Any) -> dict[str, Any]:
        bits = value.bit_generator
        parts = {"bit_generator": bits.state, "seed_seq": bits.seed_seq.state}
        return self._parts(value, "RandomGeneratorNode", **parts)

    def _random_state(self, value: Any) -> dict[str, Any]:
        content = self._described(value.get_state(legacy=False))
        return {**_head(type(value), "RandomStateNode"), "content": content}

    def _slice(self, value: slice) -> dict[str, Any]:
        content = {"start": value.start, "stop": value.stop, "step": value.step}
        return {**_head(slice, "SliceNode"), "content": content}


_SAID: Mapping[type, Callable[[Describer, Any], dict[str, Any]]] = {
    **dict.fromkeys((bool, float, int, str, type(None)), Describer._plain),  # noqa: SLF001
    dict: Describer._dict,  # noqa: SLF001 - the class is just above
    list: partial(Describer._sequence, loader="ListNode"),  # noqa: SLF001
    partial: Describer._partial,  # noqa: SLF001
    set: partial(Describer._sequence, loader="SetNode"),  # noqa: SLF001
    slice: Describer._slice,  # noqa: SLF001
    tuple: partial(Describer._sequence, loader="TupleNode"),  # noqa: SLF001
    type: partial(Describer._named, loader="TypeNode"),  # noqa: SLF001
    FunctionType: partial(Describer._named, loader="FunctionNode"),  # noqa: SLF001
    np.ma.MaskedArray: Describer._masked,  # noqa: SLF001
    np.ndarray: Describer._array,  # noqa: SLF001
    np.random.Generator: Describer._generator,  # noqa: SLF001
    np.random.RandomState: Describer._random_state,  # noqa: SLF001
}


def _unusual(value: Any) -> Callable[[Describer, Any], dict[str, Any]]:
    """Return what describes a value of a type that is not among the plain ones."""
    kind: Any = type(value)
    name = f"{kind.__module__}.{kind.__name__}"
    if isinstance(value, np.generic):
        return Describer._array  # noqa: SLF001
    if isinstance(value, np.dtype):
        return Describer._dtype  # noqa: SLF001
    if name in _types.LOSSES or name == _types.TREE:
        loader = "TreeNode" if name == _types.TREE else "LossNode"
        return partial(Describer._reduced, loader=loader)  # noqa: SLF001
    if name in _types.OURS | _types.SKLEARN and kind.__reduce__ is object.__reduce__:
        return Describer._object  # noqa: SLF001
    raise StrangerError(name)


def _head(kind: Any, loader: str) -> dict[str, Any]:
    return {"__class__": kind.__name__, "__module__": kind.__module__, "__loader__": loader}
