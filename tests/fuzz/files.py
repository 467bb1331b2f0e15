"""Model files and files of moments that someone changed, from a seed."""

import hashlib
import json

import numpy as np

from flipcost.core import ClassMoments
from tests.fuzz.tables import damage_bytes

# Values that take the place of others in a description.
VALUES = [
    None, True, False, 0, -1, 1, 3, 0.5, 2**31, 2**63, 1e308, -1e308, "", "x", [], {}, [[]], "NaN",
    "number", "category", "date", "%Y-%m-%d", "1,234.5", "logistic", "score", "always", "never",
    "age * 2", "max(1, age)", "../../x", "a" * 3000,
]  # fmt: skip


def model_bytes(rng, good):
    """Return a model file with accidents or forgeries in it."""
    for _ in range(int(rng.integers(1, 4))):
        damaged = rng.random() < 0.25
        good = damage_bytes(rng, good) if damaged else _forge_text(rng, good)
    return good


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


def moments_bytes(rng, folder):
    """Return a file of moments with accidents, or with forged numbers and the right checksum."""
    d, n = int(rng.integers(1, 5)), int(rng.integers(0, 40))
    X = rng.normal(size=(n, d)) * 10.0 ** int(rng.integers(-5, 6))
    path = folder / "moments"
    ClassMoments.from_rows(X, rng.random(n) < 0.5).save(path)
    data = path.read_bytes()
    if rng.random() < 0.4:
        return damage_bytes(rng, data)
    line, rest = data.split(b"\n", 1)
    content = bytearray(rest)
    for _ in range(int(rng.integers(1, 3))):
        place = 8 * int(rng.integers(len(content) // 8))
        odd = [0.0, -1.0, 1e300, -1e300, np.nan, np.inf, float(rng.normal())]
        content[place : place + 8] = np.array(odd[int(rng.integers(len(odd)))], "<f8").tobytes()
    name, version, size, _ = line.split()
    checksum = hashlib.sha256(content).hexdigest().encode()
    return b" ".join([name, version, size, checksum]) + b"\n" + bytes(content)
