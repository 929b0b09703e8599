"""The machine's pip settings, as uv wants them: uv reads neither pip's configuration nor its environment.

They travel in the environment, never on a command line: an index address may hold a password.
"""

import ast
import re
from collections.abc import Mapping

_LINE = re.compile(r"(?P<scope>[^=]*?)\.(?P<key>[\w-]+)=(?P<value>.+)")
_WEIGHT = {":env:": 2, "install": 1}  # pip's own order: the environment, then [install], then [global]

# pip's key -> (uv's variable, its separator); uv splits find-links at commas and the others at spaces.
_NAMES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "no-index": ("UV_NO_INDEX", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
}


def pip_settings(listing: str) -> dict[str, str]:
    """What `pip config list` prints, `scope.key='value'` a line, the environment as scope `:env:`."""
    found: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            continue
        try:
            value = str(ast.literal_eval(match["value"]))
        except (SyntaxError, ValueError):
            continue
        weight = _WEIGHT.get(match["scope"], 0)
        if match["key"] in _NAMES and weight >= found.get(match["key"], (0, ""))[0]:
            found[match["key"]] = (weight, value)
    return {key: value for key, (_, value) in found.items()}


def uv_environment(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to add for uv; what the user set for uv itself stays as it is."""
    added: dict[str, str] = {}
    for key, value in settings.items():
        name, separator = _NAMES[key]
        if name not in environ and value.strip():
            added.setdefault(name, separator.join(value.split()))
    if "UV_INDEX" in added and "UV_INDEX_STRATEGY" not in environ:
        # pip takes the best version of all indexes; uv by default stops at the first that knows the name.
        added["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return added
