"""Results appear together or not at all, and nothing is replaced unasked."""

import os
import platform
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from flipcost._staging import clear_leftovers, staged_file, staged_folder
from flipcost.exceptions import OutputError

NAMES = ("a.txt", "b.txt", "c.txt")


def write(folder, text, **options):
    with staged_folder(folder, NAMES, **options) as place:
        for name in NAMES:
            (place / name).write_text(text)


def texts(folder):
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}


def test_what_is_there_is_replaced_only_when_asked(tmp_path):
    """Without `overwrite` an earlier result stays as it is."""
    out = tmp_path / "out"
    write(out, "first")
    with pytest.raises(OutputError, match=r"a.txt exists already; give `overwrite=True`"):
        write(out, "second")
    assert texts(out) == dict.fromkeys(NAMES, "first")
    write(out, "second", overwrite=True)
    assert texts(out) == dict.fromkeys(NAMES, "second")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_else_is_in_the_folder_stays(tmp_path):
    """Files of other names, links among them, are there afterwards, under the same names."""
    out = tmp_path / "out"
    write(out, "first")
    (out / "notes.txt").write_text("mine")
    (out / "link").symlink_to("notes.txt")
    inode = (out / "notes.txt").stat().st_ino
    out.chmod(0o750)
    write(out, "second", overwrite=True)
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "notes.txt").stat().st_ino == inode
    assert (out / "link").is_symlink()
    assert out.stat().st_mode & 0o777 == 0o750


def test_folders_within_stay(tmp_path):
    """A folder with folders in it keeps them."""
    out = tmp_path / "out"
    (out / "mine").mkdir(parents=True)
    (out / "mine" / "deep.txt").write_text("mine")
    write(out, "first")
    write(out, "second", overwrite=True)
    assert (out / "mine" / "deep.txt").read_text() == "mine"
    assert texts(out) == dict.fromkeys(NAMES, "second")


def test_the_current_folder_is_not_pulled_away(tmp_path, monkeypatch):
    """Whoever stands in the folder stays in it."""
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    write(Path(), "first")
    write(Path(), "second", overwrite=True)
    assert tmp_path.stat().st_ino == before
    assert texts(tmp_path) == dict.fromkeys(NAMES, "second")


def test_a_linked_folder_stays_a_link(tmp_path):
    """Results go where the link points."""
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    write(tmp_path / "out", "first")
    write(tmp_path / "out", "second", overwrite=True)
    assert (tmp_path / "out").is_symlink()
    assert texts(tmp_path / "real") == dict.fromkeys(NAMES, "second")


def test_a_folder_in_the_place_of_a_file_is_found_before_anything_is_written(tmp_path):
    """Nothing is written beside the error."""
    out = tmp_path / "out"
    (out / "b.txt").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"b.txt is a folder"):
        write(out, "first", overwrite=True)
    assert [path.name for path in out.iterdir()] == ["b.txt"]


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "folder"])
def test_what_is_read_is_never_replaced(tmp_path, link):
    """Also not by another name, and also not when asked to overwrite."""
    read = tmp_path / "in" / "a.csv"
    read.parent.mkdir()
    read.write_text("rows")
    out = tmp_path / "out.csv"
    if link == "same":
        out = tmp_path / "in" / ".." / "in" / "a.csv"
    elif link == "symbolic":
        out.symlink_to(read)
    elif link == "hard":
        os.link(read, out)
    else:
        (tmp_path / "other").symlink_to("in")
        out = tmp_path / "other" / "a.csv"
    with (
        pytest.raises(OutputError, match="is read and cannot be written"),
        staged_file(out, overwrite=True, inputs=[read]) as place,
    ):
        place.write_text("results")
    assert read.read_text() == "rows"


def test_results_do_not_go_among_the_rows(tmp_path):
    """A folder that is read does not become the folder of results, nor one above it."""
    (tmp_path / "in").mkdir()
    for out in (tmp_path / "in", tmp_path / "in" / "out"):
        with pytest.raises(OutputError, match="lies in"):
            write(out, "first", inputs=[tmp_path / "in"])
    assert list((tmp_path / "in").iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from flipcost import _staging

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir")

def run(out, kill_at):
    count = 0

    def audit(event, _):
        nonlocal count
        if event in CHANGES:
            count += 1
            if count == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(audit)
    with _staging.staged_folder(Path(out), overwrite=True, manifest="b.txt") as place:
        for name in ("a.txt", "b.txt", "c.txt"):
            (place / name).write_text("second")

for kill_at, out in enumerate(sys.argv[1:], 1):
    child = os.fork()
    if not child:
        run(out, kill_at)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
"""


def test_with_a_manifest_all_files_are_of_one_run(tmp_path):
    """Killed at every call that changes a folder; and the next run clears what is left."""
    outs = [tmp_path / str(kill_at) / "out" for kill_at in range(1, 21)]
    for out in outs:
        write(out, "first")
        (out / "notes.txt").write_text("mine")
    script = [sys.executable, "-c", KILLED, *map(str, outs)]
    done = subprocess.run(script, check=True, capture_output=True, text=True)
    codes = [int(code) for code in done.stdout.split()]
    assert codes[0] == signal.SIGKILL
    assert codes[-1] == 0
    manifests = set()
    for out, code in zip(outs, codes, strict=True):
        clear_leftovers(out)
        found = texts(out)
        assert found.pop("notes.txt") == "mine"
        manifests.add(found.get("b.txt"))
        if "b.txt" in found:
            assert found == dict.fromkeys(NAMES, found["b.txt"]), out
        assert code or found["a.txt"] == "second"
        assert not list(out.glob(".flipcost-*"))
    assert manifests == {"first", None, "second"}


def test_a_running_neighbour_is_left_alone(tmp_path):
    """Leftovers of the dead are cleared, and not the work of the living."""
    script = """
        import sys, time
        from pathlib import Path
        from flipcost._staging import staged_folder
        with staged_folder(Path(sys.argv[1])) as place:
            (place / "a.txt").write_text("theirs")
            print("ready", flush=True)
            sys.stdin.read()
    """
    args = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "theirs")]
    process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        write(tmp_path / "ours", "first")
        assert len(list(tmp_path.rglob(".flipcost-*"))) == 1
    finally:
        process.communicate("")
    assert (tmp_path / "theirs" / "a.txt").read_text() == "theirs"

    process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(list(tmp_path.rglob(".flipcost-*"))) == 1
    write(tmp_path / "theirs", "second", overwrite=True)
    assert not list(tmp_path.rglob(".flipcost-*"))


def test_only_leftovers_of_the_dead_of_this_machine_go(tmp_path):
    """Whatever else has a name like that stays: of other machines, of the living, of users."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    here = platform.node()
    dead = tmp_path / f".flipcost-{here}-{done.pid}-abcdefgh"
    others = [f".flipcost-{here}-{os.getpid()}-abcdefgh", f".flipcost-x{here}-{done.pid}-abcdefgh"]
    for folder in (dead, *(tmp_path / name for name in (*others, ".flipcost-notes"))):
        folder.mkdir()
        (folder / "report.html").write_text("half")
    clear_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*others, ".flipcost-notes"}
