"""The same model as the same bytes: what skops names by places in memory is named by its order."""

from __future__ import annotations

import io
import re
import zipfile

# The oldest time that an archive can note.
_NEVER = (1980, 1, 1, 0, 0, 0)
_NUMBER = re.compile(r'(?<="__id__": )\d+|(?<=": ")\d+(?=\.[a-z]+")')


def in_order(data: bytes) -> dict[str, bytes]:
    """Return the parts of an archive of skops, with numbers in place of addresses.

    Examples
    --------
    >>> stream = io.BytesIO()
    >>> with zipfile.ZipFile(stream, "w") as archive:
    ...     archive.writestr("schema.json", '{"__id__": 1407, "file": "1402.npy"}')
    ...     archive.writestr("1402.npy", b"")
    >>> in_order(stream.getvalue())
    {'2.npy': b'', 'schema.json': b'{"__id__": 1, "file": "2.npy"}'}
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], str(len(numbers) + 1))

    schema = _NUMBER.sub(number, parts.pop("schema.json").decode())
    named = {}
    for name, content in parts.items():
        stem, dot, ending = name.partition(".")
        named[numbers.get(stem, stem) + dot + ending] = content
    return {**named, "schema.json": schema.encode()}


def packed(parts: dict[str, bytes]) -> bytes:
    """Return an archive of parts, without times.

    Examples
    --------
    >>> zipfile.ZipFile(io.BytesIO(packed({"b": b"", "a": b""}))).namelist()
    ['a', 'b']
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(parts):
            entry = zipfile.ZipInfo(name, _NEVER)
            archive.writestr(entry, parts[name], zipfile.ZIP_DEFLATED)
    return stream.getvalue()
