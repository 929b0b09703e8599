"""The keeper: starts the server, reaps it, writes exit.json, restarts the recorder. Then sleeps.

Run by its path (`python -S -E keeper.py`, see detach.py) and made of the standard library alone, because it
must stay small (10 MB) and must share no fate with NVML, HTTP or parsing. What it needs comes on stdin as
NUL-ended strings, so that secrets of the user's argv and environment reach it without lying in a file; what it
has to say to `launch` goes to stdout, one line: `ok PID`, `errno N`, or `error TEXT`.

That it is a child subreaper is set before it is executed (the attribute survives execve, and ctypes would cost
0.7 MB here): the Engine and Workers of a SIGKILLed API server become its children, and it stays until they end.
"""

import fcntl
import os
import signal
import sys
import time

BACKOFF_S = 1.0
BACKOFF_MAX_S = 60.0
PER_MINUTE = 5  # recorder starts; one costs about 0.5 s of CPU
AFTER_END = 3  # tries to have the end of a finished run recorded
STEADY_S = 60.0  # a recorder that lived so long starts the back-off anew

WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}


class Order:
    """What `launch` wants started: read from stdin. `decode` undoes `encode`."""

    def __init__(
        self, folder: str, program: str, argv: list[str], env: dict[str, str], recorder: list[str]
    ) -> None:
        self.folder = folder
        self.program = program  # the file to execute; argv[0] stays as the user wrote it
        self.argv = argv
        self.env = env
        self.recorder = recorder

    def encode(self) -> bytes:
        lists = [
            [self.folder, self.program],
            self.argv,
            [f"{k}={v}" for k, v in self.env.items()],
            self.recorder,
        ]
        words = [str(len(part)) for part in lists] + [word for part in lists for word in part]
        return b"".join(os.fsencode(word) + b"\0" for word in words)

    @classmethod
    def decode(cls, raw: bytes) -> "Order":
        words = [os.fsdecode(word) for word in raw.split(b"\0")[:-1]]
        lists, at = [], 4
        for length in map(int, words[:4]):
            lists.append(words[at : at + length])
            at += length
        (folder, program), argv, env, recorder = lists
        return cls(folder, program, argv, dict(item.split("=", 1) for item in env), recorder)


class Keeper:
    def __init__(self, order: Order) -> None:
        self.order = order
        self.server = 0
        self.recorder: int | None = None
        self.ended: str | None = None  # the content of exit.json, until it is safely written
        self.reaped = False
        self.starts: list[float] = []
        self.backoff = BACKOFF_S
        self.due: float | None = None  # when the recorder is to be started again
        self.tries_left = AFTER_END

    def start(self) -> None:
        """Start the server. Raises OSError when it cannot be executed or its log not be written."""
        fd = os.open(self.path("server.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        # Written whole now: the exit code of a run that filled the disk still finds room in these bytes.
        self.write(".exit.json", " " * 256)
        self.server = self.spawn(self.order.program, self.order.argv, self.order.env, fd)
        self.write("server.json", f'{{"pid": {self.server}, "start": {start_of(self.server)}}}\n')
        os.close(fd)

    def spawn(self, program: str, argv: list[str], env: dict[str, str], out: int) -> int:
        """In a session of its own, without a terminal; SIGHUP stays ignored, all else is as Python found it."""
        default = [signal.SIGPIPE, signal.SIGXFSZ, *WATCHED]
        return os.posix_spawn(
            program,
            argv,
            env,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, out, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=default,
        )

    def watch(self) -> None:
        """Until no child is left: the server, orphans of its tree, the recorder."""
        self.start_recorder()
        while True:
            got = (
                signal.sigtimedwait(WATCHED, pause)
                if (pause := self.pause())
                else signal.sigwaitinfo(WATCHED)
            )
            if got is not None and got.si_signo != signal.SIGCHLD and not self.reaped:
                os.kill(self.server, signal.SIGTERM)
            children = self.reap()
            if self.ended is not None:
                self.write_exit()
            if self.due is not None and time.monotonic() >= self.due:
                self.due = None
                self.start_recorder()
            elif not children and self.due is None and self.ended is None:
                return

    def pause(self) -> float | None:
        """Seconds to sleep at most; None: until a signal comes."""
        waits = [] if self.due is None else [max(0.05, self.due - time.monotonic())]
        if self.ended is not None:
            waits.append(1.0)
        return min(waits, default=None)

    def reap(self) -> bool:
        """Take the status of every child that ended; whether any are left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.server and not self.reaped:
                self.reaped = True
                self.ended = exit_json(os.waitstatus_to_exitcode(status))
                self.write_exit()
            elif pid == self.recorder:
                self.recorder_ended(os.waitstatus_to_exitcode(status))

    def write_exit(self) -> None:
        assert self.ended is not None
        try:
            fd = os.open(self.path(".exit.json"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(fd, self.ended.encode(), 0)
                os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(self.path(".exit.json"), self.path("exit.json"))
        except FileNotFoundError:
            say("the run's folder is gone: the exit code is lost")
        except OSError as error:
            say(f"exit.json cannot be written, trying on: {error.strerror}")
            return
        self.ended = None

    def start_recorder(self) -> None:
        self.starts = [*self.starts[1 - PER_MINUTE :], time.monotonic()]
        try:
            fd = os.open(
                self.path("recorder.err"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
        except OSError as error:  # full disk, or the folder is gone
            say(f"recorder.err: {error.strerror}")
            fd = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        try:
            self.recorder = self.spawn(self.order.recorder[0], self.order.recorder, dict(os.environ), fd)
        except OSError as error:
            say(f"the recorder cannot be started: {error.strerror}")
            self.recorder_ended(127)
        finally:
            os.close(fd)

    def recorder_ended(self, code: int) -> None:
        """Start it again after a back-off, but not when it ended because the run did."""
        self.recorder = None
        if self.reaped:
            self.tries_left -= 1
            if code == 0 or self.tries_left < 0:
                return
        now = time.monotonic()
        if now - self.starts[-1] > STEADY_S:
            self.backoff = BACKOFF_S
        self.due = now + self.backoff
        if len(self.starts) == PER_MINUTE:
            self.due = max(self.due, self.starts[0] + 60.0)
        self.backoff = min(self.backoff * 2, BACKOFF_MAX_S)
        say(f"the recorder ended ({code}); it is started again in {self.due - now:.0f} s")

    def write(self, name: str, text: str) -> None:
        aside = self.path(f"{name}.new")
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(text)
        os.rename(aside, self.path(name))

    def path(self, name: str) -> str:
        return os.path.join(self.order.folder, name)


def exit_json(code: int) -> str:
    """Padded with spaces over what stood there; `boottime` and `wall` in seconds."""
    number, killed = ("null", str(-code)) if code < 0 else (str(code), "null")
    when = f'"boottime": {time.clock_gettime(time.CLOCK_BOOTTIME):.3f}, "wall": {time.time():.3f}'
    return f'{{"code": {number}, "signal": {killed}, {when}}}'.ljust(255) + "\n"


def start_of(pid: int) -> int:
    """Clock ticks after boot (proc_pid_stat(5), field 22): with the pid, who it is."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def say(text: str) -> None:
    """Into keeper.err; a full disk is no reason to end."""
    try:  # noqa: SIM105  (contextlib is one import more to hold in memory)
        os.write(2, f"{time.strftime('%m-%d %H:%M:%S')} {text}\n".encode())
    except OSError:
        pass


def main() -> None:
    for number in (signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    with open(0, "rb", closefd=False) as file:
        order = Order.decode(file.read())
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    keeper = Keeper(order)
    # Held for this process's life: the file says "alive" where a pid would say nothing (another host, reuse).
    lock = os.open(keeper.path("keeper.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        keeper.start()
        answer = f"ok {keeper.server}\n"
    except OSError as error:
        answer = f"errno {error.errno}\n"
    os.write(1, answer.encode())
    os.dup2(null, 0)
    os.dup2(null, 1)
    if answer.startswith("ok"):
        order.env.clear()  # the server has it; here it would only be more to be read out of memory
        keeper.watch()


if __name__ == "__main__":
    main()
    sys.exit(0)
