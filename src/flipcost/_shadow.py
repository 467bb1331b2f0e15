"""HTML for notebooks that neither breaks the page around it nor is broken by it.

What is shown lives in a shadow root: styles stay inside, and those of the notebook outside. A page
that runs no scripts, as a notebook that is not trusted yet, shows the plain text.
"""

from __future__ import annotations

import itertools
import os
from html import escape

# Colours follow the notebook where it says what they are, else what the reader prefers.
STYLE = """
:host { all: initial; display: block; color-scheme: light dark; }
:host {--plain: light-dark(#17202a, #e8ebef);
  --ink: var(--jp-content-font-color1, var(--vscode-editor-foreground, var(--plain)));
  --soft: var(--jp-content-font-color2, light-dark(#54606c, #a2adb8));
  --rule: var(--jp-border-color2, light-dark(#d6dbe1, #323b46));
  --ground: var(--jp-layout-color1, var(--vscode-editor-background, light-dark(#ffffff, #161b22)));
  --best: light-dark(#0067a3, #6bbcf0); --good: light-dark(#00724f, #4fd1a5);
  --c1: light-dark(#c04f00, #ff9d5c); --c3: light-dark(#5f6b76, #a2adb8);
}
.card {
  color: var(--ink); background: var(--ground); border: 1px solid var(--rule); border-radius: 10px;
  padding: 14px 18px; max-width: 62rem; overflow-x: auto;
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
pre { margin: 0; font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; white-space: pre-wrap; }
"""

_numbers = itertools.count()


def in_shadow(body: str, plain: str, style: str = "") -> str:
    """Return HTML of our own making, isolated, with plain text where scripts do not run.

    Parameters
    ----------
    body : str
        HTML; whatever comes from data in it is escaped already.
    plain : str
        The same as text.
    style : str, default=""
        Styles, beside those of `STYLE`.

    Returns
    -------
    str

    Examples
    --------
    >>> shown = in_shadow("<b>done</b>", "done & dusted")
    >>> "<b>done</b></div></template>" in shown, "done &amp; dusted" in shown
    (True, True)
    """
    name = f"flipcost-{os.getpid()}-{next(_numbers)}"
    return (
        f'<div id="{name}"><pre>{escape(plain)}</pre><template><style>{STYLE}{style}</style>'
        f'<div class="card">{body}</div></template></div><script>(() => {{'
        f'const host = document.getElementById("{name}");'
        "if (host && !host.shadowRoot) {"
        'const inside = host.querySelector("template").content.cloneNode(true);'
        'host.attachShadow({ mode: "open" }).appendChild(inside);'
        "} })();</script>"
    )
