"""The user's configuration: profiles, noise, hooks. TOML in, frozen values out; what is wrong is named.

[profile.base]
command = ["vllm", "serve", "MODEL"]
flags = { tensor-parallel-size = 8, enable-expert-parallel = true }
env = { VLLM_LOG_STATS_INTERVAL = "2" }

[profile.eagle3]
extends = "base"
flags.speculative-config = { method = "eagle3", model = "DRAFTER", num_speculative_tokens = 3 }
"""

import json
import os
import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from collectors.errors import SpecwatchError
from collectors.reading.events import UserNoise

Scalar = bool | int | float | str


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: tuple[str, ...] = ()
    flags: dict[str, Scalar | list[Scalar] | dict[str, Any]] = {}
    env: dict[str, str | bool] = {}  # false takes the variable away, as in flags
    patches: tuple[str, ...] = ()
    engine: str | None = None
    url: str | None = None
    extends: str | None = None

    def argv(self) -> tuple[str, ...]:
        return (
            *self.command,
            *(word for name, value in self.flags.items() for word in flag_words(name, value)),
        )


class Noise(UserNoise, frozen=True, forbid_unknown_fields=True):
    """A line that the user does not want to see: `pattern` is a regular expression, searched for in the line."""

    reason: str


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Told of an event: a command (no shell) or an address that gets a POST."""

    command: tuple[str, ...] = ()
    url: str | None = None


class Hooks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    on_ready: tuple[str, ...] | Hook | None = None
    on_failed: tuple[str, ...] | Hook | None = None
    on_stalled: tuple[str, ...] | Hook | None = None

    def of(self, event: str) -> Hook | None:
        hook = getattr(self, f"on_{event}", None)
        return Hook(command=hook) if isinstance(hook, tuple) else hook


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Path | None = None
    profile: dict[str, Profile] = {}
    noise: tuple[Noise, ...] = ()
    hooks: Hooks = Hooks()


_TABLES = {"profile": Profile, "noise": Noise, "hooks": Hooks}


def default_path() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "specwatch" / "config.toml"


def load(given: str | None = None) -> Config:
    """The configuration in `given`, else in the default place, where none at all is an empty one."""
    path = Path(given).expanduser() if given else default_path()
    try:
        tables = tomllib.loads(path.read_text())
    except FileNotFoundError as error:
        if given is None:
            return Config()
        raise SpecwatchError(f"there is no configuration file {path}", "--config names it") from error
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SpecwatchError(f"{path} cannot be read: {why}") from error
    except tomllib.TOMLDecodeError as error:
        raise SpecwatchError(f"{path} is not TOML: {error}", "text values stand in quotes") from error
    return _checked(path.absolute(), tables)


def profile(config: Config, name: str) -> Profile:
    """The profile with all that it extends merged in. SpecwatchError for an unknown name."""
    if name not in config.profile:
        where = config.path or default_path()
        raise SpecwatchError(
            f"there is no profile `{name}` in {where}",
            _nearest(name, config.profile) or f"it holds {', '.join(config.profile) or 'no profiles'}",
        )
    return config.profile[name]


def flag_words(name: str, value: Any) -> tuple[str, ...]:
    """`true` a bare flag, `false` none, a list after one flag as vLLM takes it, a table as JSON."""
    flag = name if name.startswith("-") else f"--{name}" if len(name) > 1 else f"-{name}"
    match value:
        case True:
            return (flag,)
        case False:
            return ()
        case dict():
            return (flag, json.dumps(value))
        case list():
            return (flag, *(json.dumps(v) if isinstance(v, dict | bool) else str(v) for v in value))
    return (flag, str(value))


def _checked(path: Path, tables: dict[str, Any]) -> Config:
    _known(path, "", tables, _TABLES)
    for name, table in _tables_of(path, tables, "profile").items():
        _known(path, f"profile.{name}.", table, Profile.__struct_fields__)
    _known(path, "hooks.", _tables_of(path, tables, "hooks", nested=False), Hooks.__struct_fields__)
    merged = {name: _merged(path, tables["profile"], name, ()) for name in tables.get("profile", {})}
    try:
        config = msgspec.convert({**tables, "profile": merged, "path": path}, type=Config)
    except msgspec.ValidationError as error:
        raise SpecwatchError(
            f"{path}: {error}", "`specwatch launch --help` shows what a profile holds"
        ) from error
    for noise in config.noise:
        try:
            re.compile(noise.pattern)
        except re.error as error:
            raise SpecwatchError(
                f"{path}: the pattern of noise `{noise.id}` is no regular expression: {error}",
                "single quotes keep TOML from reading its backslashes",
            ) from error
    return config


def _tables_of(path: Path, tables: dict[str, Any], key: str, *, nested: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = tables.get(key, {})
    bad = not isinstance(found, dict) or (nested and not all(isinstance(v, dict) for v in found.values()))
    if bad:
        raise SpecwatchError(
            f"{path}: `{key}` is no table", f"such as [{key}.NAME]" if nested else f"such as [{key}]"
        )
    return found


def _known(path: Path, where: str, table: dict[str, Any], known: Any) -> None:
    for key in table:
        if key not in known:
            raise SpecwatchError(
                f"{path}: `{where}{key}` is unknown",
                _nearest(key, known) or f"known here: {', '.join(known)}",
            )


def _merged(path: Path, profiles: dict[str, Any], name: str, below: tuple[str, ...]) -> dict[str, Any]:
    """Deep merge along `extends`: tables are merged, everything else is replaced, `false` in a table removes."""
    if name in below:
        raise SpecwatchError(f"{path}: profiles extend each other in a circle: {' -> '.join((*below, name))}")
    base = profiles[name].get("extends")
    if base is None:
        return dict(profiles[name])
    if base not in profiles:
        raise SpecwatchError(
            f"{path}: profile `{name}` extends `{base}`, which is not there", _nearest(str(base), profiles)
        )
    return _overlaid(_merged(path, profiles, base, (*below, name)), profiles[name])


def _overlaid(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _overlaid(merged[key], value) if both else value
    return merged


def _nearest(name: str, known: Any) -> str:
    near = get_close_matches(name, list(known), 1)
    return f"did you mean `{near[0]}`?" if near else ""
