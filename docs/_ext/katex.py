"""Formulas without a network: KaTeX is in `_static/katex` and renders them in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_RENDER = """
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".math.katex-source").forEach((element) => {
    katex.render(element.textContent, element, {
      displayMode: element.tagName === "DIV", throwOnError: false,
    });
  });
});
"""


def _inline(self, node: nodes.math) -> None:
    text = self.encode(node.astext())
    self.body.append(self.starttag(node, "span", "", CLASS="math katex-source") + text + "</span>")
    raise nodes.SkipNode


def _block(self, node: nodes.math_block) -> None:
    text = self.encode(node.astext())
    # KaTeX knows no environment of its own for several lines without an alignment.
    if "\\\\" in text and "\\begin" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    self.body.append(self.starttag(node, "div", "", CLASS="math katex-source") + text + "</div>")
    raise nodes.SkipNode


def _leave(_self, _node: nodes.Node) -> None:
    """Nothing is left to close."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer and what it needs in every page."""
    app.add_html_math_renderer("katex", (_inline, _leave), (_block, _leave))
    app.config.html_math_renderer = "katex"
    app.add_css_file("katex/katex.min.css")
    app.add_js_file("katex/katex.min.js")
    app.add_js_file(None, body=_RENDER)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
