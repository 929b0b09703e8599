"""Running one patch: guarded, reported in one line, now or when its module is imported."""

import contextlib
import importlib.abc
import importlib.util
import json
import os
import sys

TAG = "[specwatch-patch] "
MARK = "_specwatch_patched"
# native: vLLM has the feature, nothing touched      applied: patched now       already: was, in this process
# armed: waits for the module's import (a second line follows if that comes)    absent: this vLLM has no such model
# skipped: code of an unknown shape, not touched     failed: an exception, its text given


STATUSES = ("native", "applied", "already", "armed", "absent", "skipped", "failed")


def report(name, status, more=None):
    line = {"patch": name, "status": status, "pid": os.getpid()}
    line.update((key, value) for key, value in (more or {}).items() if key not in line)
    text = json.dumps(line, ensure_ascii=False, default=str, skipkeys=True)
    # One write of at most PIPE_BUF bytes is never torn between processes.
    raw = (TAG + text).encode("utf-8", "backslashreplace")[:4000] + b"\n"
    with contextlib.suppress(OSError):  # nobody reads what the server says: no reason to end it
        os.write(2, raw)


def run(name, patch, *args):
    """No exception may leave a plugin: it would kill the server's process."""
    try:
        status, more = patch(*args)
        if status not in STATUSES:
            raise ValueError(f"patch() says {status!r:.100}: none of {', '.join(STATUSES)}")
        report(name, status, dict(more))
    except (Exception, SystemExit) as error:
        report(name, "failed", {"error": f"{type(error).__name__}: {error}"[:500]})


_waiting = {}  # module name -> [(patch name, function)]


def when_imported(name, module, patch):
    if module in sys.modules:
        run(name, patch, sys.modules[module])
    elif _exists(module):
        if not _waiting:
            sys.meta_path.insert(0, _Hook())
        _waiting.setdefault(module, []).append((name, patch))
        report(name, "armed")
    else:
        report(name, "absent", {"module": module})


def _exists(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class _Hook(importlib.abc.MetaPathFinder):
    """Lets the other finders find the module and runs its patches right after its body ran."""

    def find_spec(self, name, path, target=None):
        todo = _waiting.pop(name, None)
        if todo is None:
            return None
        spec = importlib.util.find_spec(name)  # no longer waiting: this hook steps aside
        if spec is None or spec.loader is None:
            return spec
        body = spec.loader.exec_module

        def exec_module(module):
            body(module)
            for patch_name, patch in todo:
                run(patch_name, patch, module)

        spec.loader.exec_module = exec_module
        return spec
