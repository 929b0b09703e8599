"""What the screen asks for on the user's behalf: marks, a benchmark, a stop. Each returns what to say, in a thread."""

import subprocess
from collections.abc import Callable

from collectors.record import inbox
from collectors.record.folder import RunFolder
from launch.selfexec import self_argv

Act = Callable[..., str]
STOP_S = 60.0


def mark(folder: RunFolder, number: int) -> str:
    inbox.post(folder, "mark", label=str(number))
    return f"Mark {number} is set: the figures start anew from here."


def bench(folder: RunFolder) -> str:
    """Starts the benchmark as a process of its own; it goes on when the screen is left."""
    done = subprocess.run(
        self_argv("--state-dir", str(folder.root), "bench", folder.id, "--detach"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        check=False,
    )
    if done.returncode == 0:
        return "The benchmark runs beside this screen; its progress shows here."
    words = done.stderr.decode("utf-8", "replace").strip().splitlines()
    if not words:
        return f"The benchmark could not be started (exit code {done.returncode})."
    why = words[0].removeprefix("error: ")
    return f"{why[:1].upper()}{why[1:]}."


def stop(folder: RunFolder) -> str:
    """SIGTERM, then sees that no process, port and GPU memory of the server is left."""
    from launch import stopping  # brings psutil, which the first picture does without

    return stopping.stop(folder, timeout=STOP_S, kill=False, by="screen")
