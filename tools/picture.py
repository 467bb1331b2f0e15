"""Take the picture of today's report that the README and the site show: ``make picture``.

Needs chromium. Audits a bundled table and photographs the top of its report, light and dark.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from flipcost.cli import main

IMAGES = Path(__file__).parents[1] / "docs" / "images"
AUDIT = ["audit", "--example", "pima", "--cost-fn", "3", "--cost-fp", "1", "--quiet"]
SIZE = "1200,950"
# What chromium calls a dark and a light scheme.
SCHEMES = {"report.png": 1, "report-dark.png": 0}


def take(page: Path, scheme: int, picture: Path, profile: Path) -> None:
    """Photograph a page in a scheme of colours."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("No chromium: there is nothing to take a picture with.")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
    flags += [f"--blink-settings=preferredColorScheme={scheme}", f"--window-size={SIZE}"]
    flags += [f"--user-data-dir={profile}", f"--screenshot={picture}", page.as_uri()]
    subprocess.run([browser, *flags], check=True, capture_output=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if main([*AUDIT, "--out", str(place / "audit")]):
            sys.exit("The audit failed.")
        for name, scheme in SCHEMES.items():
            take(place / "audit" / "report.html", scheme, IMAGES / name, place / "profile")
            print(f"Wrote {IMAGES / name}")
