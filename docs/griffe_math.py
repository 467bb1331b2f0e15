"""Turn the mathematics of numpydoc docstrings into what Markdown pages show."""

import re

import griffe

_INLINE = re.compile(r":math:`([^`]*)`")
_BLOCK = re.compile(r"^([ \t]*)\.\. math::\n\n((?:\1[ \t]+.*\n?|\n)+)", re.MULTILINE)


class Mathematics(griffe.Extension):
    """Rewrite roles and directives before the docstrings are parsed."""

    def on_object(self, *, obj, **_):
        """Rewrite one object's docstring."""
        if obj.docstring is None:
            return
        text = _BLOCK.sub(
            lambda m: f"{m[1]}$$\n{m[1]}{' '.join(m[2].split())}\n{m[1]}$$\n\n", obj.docstring.value
        )
        obj.docstring.value = _INLINE.sub(r"\\(\1\\)", text)
