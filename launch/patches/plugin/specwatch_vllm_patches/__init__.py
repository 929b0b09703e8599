"""Patches for a vLLM server, for one launch: found by vLLM through its entry point, wanted by SPECWATCH_PATCHES.

vLLM calls `register` once in each process (API server, engine core, workers, the model-inspection subprocess). Written
for the server's Python, 3.9 and up, with the standard library only. Nothing is decided by version number: each patch
probes for the feature. Patches of model classes wait for the class's module to be imported, so that no process imports
a model that it does not use.
"""

import os

from . import image_token, interface, own, whitelist
from .running import run, when_imported

PATCHES = {
    "eagle3.whitelist": [(None, whitelist.patch)],
    "eagle3.image_token": [(image_token.MODULE, image_token.patch)],
    "eagle3.interface_deepseek": [(interface.DEEPSEEK, interface.patch_deepseek)],
    "eagle3.interface_kimi": [(interface.KIMI, interface.patch_kimi)],
}
_registered = False


def register():
    global _registered
    if _registered:
        return
    _registered = True
    for wanted in filter(None, os.environ.get("SPECWATCH_PATCHES", "").split(os.pathsep)):
        names = [name for name in PATCHES if name == wanted or name.startswith(wanted + ".")]
        for name in names:
            for module, patch in PATCHES[name]:
                if module is None:
                    run(name, patch)
                else:
                    when_imported(name, module, patch)
        if not names:
            run(wanted, lambda wanted=wanted: own.apply(wanted))
