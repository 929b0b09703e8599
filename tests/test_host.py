"""The server's tree and what it uses, on real processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.reading.events import Proc
from collectors.sources import host
from collectors.sources.host import HostSource
from collectors.sources.tree import TAG, Tree, stat
from tests.run_folders import until

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def family() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A tagged process and its child, which has a session of its own."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env={**os.environ, TAG: "run-1"},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    yield parent, child
    parent.stdout.close()
    for pid in (child, parent.pid):
        if stat(pid) is not None:
            os.kill(pid, 9)
    parent.wait()


def test_the_tree_is_found_by_its_tag_and_outlives_its_head(
    family: tuple[subprocess.Popen[bytes], int],
) -> None:
    parent, child = family
    tree, others = Tree("run-1"), Tree("run-2")
    tree.scan()
    others.scan()
    assert tree.pids == {parent.pid, child}
    assert others.pids == frozenset()
    parent.kill()
    parent.wait()
    tree.scan()
    assert set(tree.living()) == {child}, "the orphan of a killed API server"


def test_descendants_of_a_known_pid_need_no_tag() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        tree = Tree("untagged", roots=(parent.pid,))
        tree.scan()
        assert tree.pids == {parent.pid, child}
        assert not tree.grown()
    finally:
        os.kill(child, 9)
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_a_new_child_is_noticed_without_a_scan_of_the_box() -> None:
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("this kernel has no /proc/PID/task/TID/children")
    code = "import subprocess, sys; input(); subprocess.Popen(['sleep', '30']); input()"
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    assert parent.stdin is not None
    try:
        tree = Tree("x", roots=(parent.pid,))
        tree.scan()
        assert not tree.grown()
        parent.stdin.write(b"\n")
        parent.stdin.flush()
        until(tree.grown)
        tree.scan()
        (child,) = tree.pids - {parent.pid}
    finally:
        parent.kill()
        parent.wait()
        parent.stdin.close()
    os.kill(child, 9)


def test_samples_carry_only_what_changed(family: tuple[subprocess.Popen[bytes], int]) -> None:
    parent, child = family
    now = [0.0]
    source = HostSource(lambda: now[0], Tree("run-1"))
    first = source.sample({child: (0, 3)})
    assert first is not None
    assert set(first.procs) == {parent.pid, child}
    assert first.procs[child].gpus == (0, 3)
    assert first.box is not None
    assert first.box.mem_total_mib is not None

    def unchanged() -> bool:
        now[0] += 1.0
        sample = source.sample({child: (0, 3)})
        return sample is None or not sample.procs

    until(unchanged, what="two sleeping processes change nothing once they have started")
    os.kill(child, 9)
    until(lambda: (s := stat(child)) is None or s.state == "Z")
    third = source.sample({})
    assert third is not None
    assert third.gone == (child,)
    source.forget()
    whole = source.sample({})
    assert whole is not None
    assert set(whole.procs) == {parent.pid}


def test_totals_count_what_a_process_really_did(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(bytes(8 << 20))
    code = "import sys; open(sys.argv[1], 'rb').read(); print('read', flush=True); input()"
    reader = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "weights")], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    assert reader.stdout is not None
    assert reader.stdin is not None
    reader.stdout.readline()
    sample = HostSource(lambda: 0.0, Tree("x", roots=(reader.pid,))).sample({})
    assert sample is not None
    proc = sample.procs[reader.pid]
    assert proc.rchar is not None
    assert proc.rchar >= 8 << 20
    assert proc.rss_mib > 0
    reader.communicate(b"\n")


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        (Proc(state="S"), Proc(state="R"), False),
        (Proc(state="S"), Proc(state="D"), True),
        (Proc(cpu_s=1.0), Proc(cpu_s=1.1), False),
        (Proc(cpu_s=1.0), Proc(cpu_s=1.2), True),
        (Proc(rss_mib=100_000), Proc(rss_mib=100_100), False),
        (Proc(rss_mib=1_000), Proc(rss_mib=1_010), True),
        (Proc(title="python"), Proc(title="VLLM::EngineCore"), True),
        (Proc(read_bytes=1), Proc(read_bytes=4097), True),
    ],
)
def test_what_counts_as_a_change(old: Proc, new: Proc, differs: bool) -> None:
    assert host._differs(old, new) is differs


def test_titles_as_setproctitle_leaves_them() -> None:
    s = stat(os.getpid())
    assert s is not None
    assert host._proc(os.getpid(), s, ()).title == s.name, "a command line is no title"
