"""Attack flipcost for some minutes: ``python -m tests.fuzz --minutes 30``, or ``make fuzz``.

Cases run in processes of their own, which may crash, hang or fill the memory. Inputs that did harm
are kept in ``fuzz-faults``, to become files of ``tests/fuzz/corpus`` when they are fixed.
"""

import argparse
import collections
import json
import resource
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.fuzz.cases import CASES, good_files, run_case

# Seconds that a case may take, and those of the processor; bytes of addresses that the process may
# use, and bytes that it may hold without someone having to look.
_LONGEST, _LONGEST_WORK = 300, 20
_ADDRESSES = 6 << 30
_HELD = 1_200 << 20


def main():
    """Run cases until the time is up; exit 1 if there were faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument(
        "--seed", type=int, help="of the first case; another each time if not given"
    )
    parser.add_argument("--kinds", default=",".join(CASES), help="some of them, with commas")
    parser.add_argument("--faults", type=Path, default=Path("fuzz-faults"))
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    options.seed = secrets.randbelow(10**9) if options.seed is None else options.seed
    if options.work:
        _work(kinds, options.seed, Path(options.work))
        return 0
    print(f"The first seed is {options.seed}.", flush=True)
    return _lead(kinds, options)


def _work(kinds, seed, folder):
    """Run case after case in this process, and say what becomes of each."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    good_files()
    while True:
        kind = kinds[seed % len(kinds)]
        # Whoever leads may still want the ones before.
        shutil.rmtree(folder / str(seed - 50), ignore_errors=True)
        place = folder / str(seed)
        place.mkdir(parents=True)
        print(json.dumps({"begin": seed, "kind": kind}), flush=True)
        began = time.process_time()
        try:
            end = run_case(kind, seed, place)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is written down
            end = f"FAULT {error!r} {traceback.format_exc()[-1500:]}"
        took = time.process_time() - began
        if took > _LONGEST_WORK and not end.startswith("FAULT"):
            end = f"SLOW {took:.0f} s"
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"end": seed, "kind": kind, "what": end, "held": held}), flush=True)
        seed += 1


def _lead(kinds, options):
    """Start a worker, start another whenever one dies, and count."""
    until = time.monotonic() + 60 * options.minutes
    counts, faults, seed, longest = collections.Counter(), 0, options.seed, 0.0
    with tempfile.TemporaryDirectory() as place:
        while time.monotonic() < until:
            folder = Path(place) / "case"
            shutil.rmtree(folder, ignore_errors=True)
            args = ["--kinds", ",".join(kinds), "--seed", str(seed), "--work", str(folder)]
            with subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz", *args], stdout=subprocess.PIPE, text=True
            ) as worker:
                for case, kind, what, took in _follow(worker, seed, until):
                    longest = max(longest, took)
                    counts[kind, what.split()[0]] += 1
                    if what.startswith(("FAULT", "SLOW", "HANG", "CRASH", "HELD")):
                        faults += 1
                        _keep(options.faults, kind, case, what, folder / str(case))
                    seed = case + 1
    for kind in kinds:
        found = {what: n for (of, what), n in sorted(counts.items()) if of == kind}
        print(f"{kind:10}", sum(found.values()), found)
    print(f"{sum(counts.values())} cases, the longest {longest:.1f} s, {faults} faults")
    return int(faults > 0)


def _follow(worker, seed, until):
    """Yield what became of each case of a worker, until it dies or the time is up."""
    kind, began = None, time.monotonic()
    while time.monotonic() < until:
        if not select.select([worker.stdout], [], [], 1.0)[0]:
            # The first case waits for imports and for models to be learned.
            if time.monotonic() - began > _LONGEST * (1 if kind else 3):
                worker.kill()
                yield seed, kind or "start", "HANG", time.monotonic() - began
                return
            continue
        line = worker.stdout.readline()
        took = time.monotonic() - began
        if not line:
            yield seed, kind or "start", f"CRASH {worker.wait()}", took
            return
        said = json.loads(line)
        began = time.monotonic()
        if "begin" in said:
            seed, kind = said["begin"], said["kind"]
            continue
        yield seed, kind, said["what"], took
        seed += 1
        if said["held"] > _HELD:
            worker.kill()
            yield seed - 1, kind, f"HELD {said['held'] >> 20} MB", took
            return
    worker.kill()


def _keep(place, kind, seed, what, folder):
    kept = place / f"{kind}-{seed}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder, kept, dirs_exist_ok=True) if folder.exists() else kept.mkdir(
        parents=True
    )
    (kept / "what.txt").write_text(what + "\n", encoding="utf-8")
    print(f"{kind} {seed}: {what[:600]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
