"""A user's own patch: a module (by dotted name) or a file (by path) with a function `patch()`.

`patch()` returns a status (`running.STATUSES`), a (status, details) pair, or None, which counts as "applied".
"""

import importlib
import importlib.util
import os
import sys


def apply(wanted):
    module = _load(wanted)
    patch = getattr(module, "patch", None)
    if patch is None:
        return "failed", {"error": f"{wanted} has no function patch()"}
    said = patch()
    if isinstance(said, tuple):
        return said
    return "applied" if said is None else said, {}


def _load(wanted):
    if not wanted.endswith(".py"):
        return importlib.import_module(wanted)
    name = "specwatch_patch_" + os.path.basename(wanted)[:-3].replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, wanted)
    if spec is None or not os.path.exists(wanted):
        raise FileNotFoundError(wanted)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
