"""Ask a public service for known holes in the installed packages: ``make audit-deps``.

Where pip-audit is not installed or its service cannot be reached, that is said and is no failure:
nothing was learned. A known hole is one.
"""

import importlib.util
import json
import subprocess
import sys


def main():
    """Run pip-audit on this environment; return 1 if it knows of holes."""
    if importlib.util.find_spec("pip_audit") is None:
        print('Not audited: pip-audit is not installed; pip install "flipcost[audit]".')
        return 0
    command = [sys.executable, "-m", "pip_audit", "--local", "--skip-editable", "--format", "json"]
    command += ["--progress-spinner", "off", "--timeout", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1][:300]
        print(f"Not audited: the service of pip-audit could not be asked ({reason}).")
        return 0
    return report(packages)


def report(packages):
    """Say what was found; a package that the service does not know was not audited."""
    known = [package for package in packages if "skip_reason" not in package]
    if not known:
        print(f"Not audited: the service answered for none of the {len(packages)} packages.")
        return 0
    holes = [(package, hole) for package in known for hole in package["vulns"]]
    for package, hole in holes:
        mended = ", ".join(hole["fix_versions"]) or "none yet"
        print(f"{package['name']} {package['version']}: {hole['id']}, mended in {mended}")
    print(f"{len(holes)} known holes in {len(known)} of {len(packages)} packages audited.")
    return int(bool(holes))


if __name__ == "__main__":
    sys.exit(main())
