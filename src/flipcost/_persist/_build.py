"""Making a model of the description in its file, part by part.

The description is skops' (protocols 1 and 2): nested objects, each with the loader that makes it
and the type that it becomes. Reading it here, and not by skops, is what lets every part be looked
at *before* it is made. The few loaders that models need are known; the others are refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from flipcost._persist import _types
from flipcost._persist._checks import check_tree, refuse
from flipcost.core.archive import Archive
from flipcost.exceptions import StrangerError, UnreadableError

_SCHEMA = "schema.json"
_PROTOCOLS = (1, 2)
# Pipelines in searches in pipelines come to some 30.
_DEEPEST = 100


class Builder:
    """Makes what a description says, and remembers all objects that it made.

    Parameters
    ----------
    parts : Archive
        The archive.
    trusted : frozenset of str
        Types that the caller trusts, besides those of models.

    Attributes
    ----------
    made : list
        Every instance of a class of flipcost, scikit-learn or the caller's, in the order of making.
    """

    def __init__(self, parts: Archive, trusted: frozenset[str] = frozenset()) -> None:
        self._parts = parts
        self._trusted = trusted
        self._shared: dict[int, Any] = {}
        self._depth = 0
        self.made: list[Any] = []

    def build(self) -> Any:
        """Make the model."""
        schema = self._parts.json(_SCHEMA)
        protocol = schema.get("protocol")
        if isinstance(protocol, bool) or protocol not in _PROTOCOLS:
            msg = f"it is of skops' protocol {protocol!r}, which this version does not know"
            raise UnreadableError(msg)
        return self._make(schema)

    def _make(self, state: dict[str, Any]) -> Any:
        # One object that is used in several places is described in each of them, under one number.
        number = state.get("__id__")
        if number in self._shared:
            return self._shared[number]
        loader, name = state["__loader__"], f"{state['__module__']}.{state['__class__']}"
        name = _types.MOVED.get(name, name)
        maker = _MAKERS.get(loader)
        if maker is None:
            raise StrangerError(name)
        self._depth += 1
        if self._depth > _DEEPEST:
            msg = "its parts lie deeper in each other than those of any model"
            raise UnreadableError(msg)
        thing = maker(self, name, state)
        self._depth -= 1
        if number is not None:
            self._shared[number] = thing
        return thing

    def _list(self, states: Any) -> list[Any]:
        if not isinstance(states, list):
            refuse("a list")
        return [self._make(state) for state in states]

    def _json(self, _: str, state: dict[str, Any]) -> Any:
        return json.loads(state["content"])

    def _dict(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, {"builtins.dict"})
        kinds, content = self._make(state["key_types"]), state["content"]
        if len(kinds) != len(content) or not all(isinstance(kind, type) for kind in kinds):
            refuse("a dictionary")
        pairs = zip(kinds, content.items(), strict=True)
        return {kind(key): self._make(value) for kind, (key, value) in pairs}

    def _sequence(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, {"builtins.list", "builtins.set", "builtins.tuple"})
        return _types.resolve(name)(self._list(state["content"]))

    def _slice(self, _: str, state: dict[str, Any]) -> slice:
        ends = [state["content"][end] for end in ("start", "stop", "step")]
        if not all(end is None or isinstance(end, int | str) for end in ends):
            refuse("a slice")
        return slice(*ends)

    def _type(self, name: str, _: dict[str, Any]) -> Any:
        self._demand(name, _types.PLAIN)
        return _types.resolve(name)

    def _function(self, name: str, _: dict[str, Any]) -> Any:
        self._demand(name, _types.FUNCTIONS)
        return _types.resolve(name)

    def _partial(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, {"functools.partial"})
        content = state["content"]
        function, args = self._make(content["func"]), self._make(content["args"])
        options, namespace = self._make(content["kwds"]), self._make(content["namespace"])
        if namespace or not isinstance(options, dict):
            refuse("a function")
        return partial(function, *args, **options)

    def _array(self, name: str, state: dict[str, Any]) -> Any:
        if state["type"] == "json":
            self._demand(name, {"numpy.ndarray"})
            return _object_array(self._list(state["content"]), self._make(state["shape"]))
        self._demand(name, _types.PLAIN | {"numpy.ndarray"})
        values = self._parts.array(state["file"])
        if name == "numpy.ndarray":
            return values
        if values.ndim:
            refuse("a number")
        return _types.resolve(name)(values)

    def _masked(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"})
        data, mask = (self._make(state["content"][key]) for key in ("data", "mask"))
        if np.shape(mask) not in ((), np.shape(data)):
            refuse("a masked array")
        return np.ma.MaskedArray(data, mask)

    def _dtype(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, {"numpy.dtype"})
        return np.dtype(self._make(state["content"]).dtype)

    def _random_state(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, {"numpy.random.mtrand.RandomState"})
        content = self._make(state["content"])
        _check_generator(content, frozenset(["MT19937"]))
        made = np.random.RandomState(np.random.MT19937(0))
        made.set_state(content)
        return made

    def _generator(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, {"numpy.random._generator.Generator"})
        source = self._make(state["content"]["bit_generator"])
        seed = self._make(state["content"]["seed_seq"])
        _check_generator(source, _types.GENERATORS)
        if set(seed) > {"entropy", "n_children_spawned", "pool_size", "spawn_key"} or (
            seed.get("pool_size", 4) != 4
        ):
            refuse("a random generator")
        bits = getattr(np.random, source["bit_generator"])(np.random.SeedSequence(**seed))
        bits.state = source
        return np.random.Generator(bits)

    def _object(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, _types.OURS | _types.SKLEARN)
        kind: Any = _types.resolve(name)
        if not isinstance(kind, type):
            raise StrangerError(name)
        content = state.get("content")
        held = None if content is None else self._make(content)
        made: Any = kind.__new__(kind)  # type: ignore[call-overload]
        if held is not None:
            if name not in self._trusted:
                _check_attributes(kind, held)
            _restore(made, held)
        self.made.append(made)
        return made

    def _constructed(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, frozenset())
        return _types.resolve(name)(*self._make(state["content"]))

    def _loss(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, _types.LOSSES)
        args, held = self._make(state["__reduce__"]["args"]), self._make(state["content"])
        if args and not all(isinstance(value, float) for value in args):
            refuse("a loss")
        made = _types.resolve(name)(*(args or ()))
        if held:
            made.__setstate__(held)
        return made

    def _tree(self, name: str, state: dict[str, Any]) -> Any:
        self._demand(name, {_types.TREE})
        args, held = self._make(state["__reduce__"]["args"]), self._make(state["content"])
        check_tree(args, held)
        made = _types.resolve(name)(*args)
        made.__setstate__(held)
        self.made.append(made)
        return made

    def _demand(self, name: str, allowed: frozenset[str] | set[str]) -> None:
        if name not in allowed and name not in self._trusted:
            raise StrangerError(name)


_MAKERS: Mapping[str, Callable[[Builder, str, dict[str, Any]], Any]] = {
    "ConstructorFromReduceNode": Builder._constructed,  # noqa: SLF001 - the class is just above
    "DTypeNode": Builder._dtype,  # noqa: SLF001
    "DictNode": Builder._dict,  # noqa: SLF001
    "FunctionNode": Builder._function,  # noqa: SLF001
    "JsonNode": Builder._json,  # noqa: SLF001
    "ListNode": Builder._sequence,  # noqa: SLF001
    "LossNode": Builder._loss,  # noqa: SLF001
    "MaskedArrayNode": Builder._masked,  # noqa: SLF001
    "NdArrayNode": Builder._array,  # noqa: SLF001
    "ObjectNode": Builder._object,  # noqa: SLF001
    "PartialNode": Builder._partial,  # noqa: SLF001
    "RandomGeneratorNode": Builder._generator,  # noqa: SLF001
    "RandomStateNode": Builder._random_state,  # noqa: SLF001
    "SetNode": Builder._sequence,  # noqa: SLF001
    "SliceNode": Builder._slice,  # noqa: SLF001
    "TreeNode": Builder._tree,  # noqa: SLF001
    "TupleNode": Builder._sequence,  # noqa: SLF001
    "TypeNode": Builder._type,  # noqa: SLF001
}


def _object_array(items: list[Any], shape: Any) -> Any:
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        refuse("an array")
    for _ in shape[1:]:
        if not all(isinstance(item, list) for item in items):
            refuse("an array")
        items = [inner for item in items for inner in item]
    if not shape or math.prod(shape) != len(items):
        refuse("an array")
    made = np.empty(len(items), dtype=object)
    made[:] = items
    return made.reshape(shape)


def _check_generator(state: Any, known: frozenset[str]) -> None:
    """Refuse a state that would make a generator read beyond its numbers."""
    if not isinstance(state, dict) or state.get("bit_generator") not in known:
        refuse("a random generator")
    if state["bit_generator"] == "MT19937":
        inner = state["state"]
        if not (0 <= int(inner["pos"]) <= 624 and np.shape(inner["key"]) == (624,)):
            refuse("a random generator")
    elif state["bit_generator"] == "Philox" and not 0 <= int(state["buffer_pos"]) <= 4:
        refuse("a random generator")


def _check_attributes(kind: type, held: Any) -> None:
    """Refuse attributes that would stand in for methods."""
    if not isinstance(held, dict):
        refuse("an object")
    for key in held:
        is_method = isinstance(key, str) and callable(getattr(kind, key, None))
        if not isinstance(key, str) or key.startswith("__") or is_method:
            refuse("an object")


def _restore(made: Any, held: Any) -> None:
    if hasattr(made, "__setstate__"):
        made.__setstate__(held)
    else:
        made.__dict__.update(held)
