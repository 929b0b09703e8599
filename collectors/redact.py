"""Secrets: known by the name they stand under, replaced by a reference (`$HF_TOKEN`) wherever they turn up.

Two ways, for two places. `Redactor` knows the values, from a launch's argv and environment, and finds them in any text.
`mask` knows only how secrets are printed, and serves those who read a log later and never had the values.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_ENDINGS = ("KEY", "KEYS", "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIALS")
_SHORTEST = (
    6  # what is shorter is hidden where it stands, but not looked for elsewhere: it would hit innocent text
)
_PLAIN = re.compile(r"(?i)true|false|none|null|auto|on|off|yes|no|[\d.]*")
_USERINFO = re.compile(r"\w://[^/@\s:]*:([^/@\s]+)@")
_VARIABLE = {"api-key": "VLLM_API_KEY", "hf-token": "HF_TOKEN"}  # what engine and hub read themselves

_PRINTED = (
    # 'api_key': 'sk-…', api_key=['a', 'b'], "hf_token": "…", --api-key sk-…  (vLLM before 0.30 prints its arguments)
    re.compile(
        r"""(?ix) (?: [\w-]*(?:api[_-]?key|[_-]token|secret|passw(?:or)?d) \b ['"]? \s* [:=] \s* (?:\w*\()? \[? ['"]
                    | --[\w-]*(?:api-key|-token|secret|password) [ =] ['"]? ) ([^'"\s,\])]+)"""
    ),
    re.compile(r"(?i)\bBearer\s+([\w.~+/=-]{6,})"),
    re.compile(r"\b(hf_[A-Za-z0-9]{20,}|sk-[\w-]{16,})"),
    _USERINFO,
)


def is_secret(name: str) -> bool:
    """Whether a flag, variable or JSON key of this name holds a secret: one of its words ends as such names do."""
    return any(word.endswith(_ENDINGS) for word in re.split(r"[^A-Z0-9]+", name.upper()))


class Redactor:
    """Primed with the secret values of an argv and environments; the first name under which a value stands wins."""

    def __init__(self, argv: Sequence[str] = (), *environments: Mapping[str, str]) -> None:
        self._names: dict[str, str] = {}  # value -> the variable that refers to it
        for env in environments:
            for name, value in env.items():
                if is_secret(name):
                    self._learn(value, name)
                self._learn_all(_USERINFO.findall(value), f"{name}_PASSWORD")
        for name, value in _secrets_of(argv):
            self._learn(value, _VARIABLE.get(name, re.sub(r"\W+", "_", name).upper()))
        found = sorted((v for v in self._names if len(v) >= _SHORTEST), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, found))) if found else None

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(self._names)

    def text(self, text: str) -> str:
        """`text` with each secret value in it replaced by `$NAME`."""
        return self._pattern.sub(lambda m: f"${self._names[m[0]]}", text) if self._pattern else text

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The words with references for secrets, however short those are."""
        hidden = {value for _, value in _secrets_of(argv)} & self._names.keys()
        return tuple(self._word(word, hidden) for word in argv)

    def env(self, env: Mapping[str, str]) -> dict[str, str]:
        return {
            name: f"${self._names[value]}" if is_secret(name) and value in self._names else self.text(value)
            for name, value in env.items()
        }

    def tree(self, value: Any) -> Any:
        """JSON-like data with every string in it redacted."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {key: self.tree(item) for key, item in value.items()}
            case list() | tuple():
                return [self.tree(item) for item in value]
        return value

    def names_in(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The variables that redacted texts refer to."""
        joined = "\0".join(texts)
        return tuple(sorted({n for n in self._names.values() if re.search(rf"\${re.escape(n)}\b", joined)}))

    def _word(self, word: str, hidden: set[str]) -> str:
        if word in hidden:
            return f"${self._names[word]}"
        head, equals, value = word.partition("=")
        return f"{head}=${self._names[value]}" if equals and value in hidden else self.text(word)

    def _learn(self, value: str, name: str) -> None:
        if not _PLAIN.fullmatch(value):
            self._names.setdefault(value, name)

    def _learn_all(self, values: Iterable[str], name: str) -> None:
        for value in values:
            self._learn(value, name)


def _secrets_of(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(name, value) for `--api-key V…`, `--api-key=V`, `NAME=V` (after `env`, `docker -e`) and keys of JSON words."""
    flag = ""  # vLLM takes several keys behind one --api-key
    for word in argv:
        head, equals, value = word.partition("=")
        name = head.lstrip("-").replace("_", "-").lower() if word.startswith("-") else head
        if word.startswith("-"):
            flag = name if is_secret(name) and not equals else ""
        elif flag:
            yield flag, word
            continue
        if equals and is_secret(name) and re.fullmatch(r"[\w-]+", name):
            yield name, value
        yield from _secrets_in_json(value if equals and value.startswith("{") else word)
        for password in _USERINFO.findall(word):
            yield "url-password", password


def _secrets_in_json(word: str) -> Iterator[tuple[str, str]]:
    if not word.startswith(("{", "[")):
        return
    try:
        todo = [json.loads(word)]
    except ValueError:
        return
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            yield from ((k, v) for k, v in value.items() if isinstance(v, str) and is_secret(k))
            todo += value.values()
        elif isinstance(value, list):
            todo += value


def resolve(text: str, names: Sequence[str], env: Mapping[str, str]) -> str:
    """`$NAME` replaced by its value for the names given; KeyError(NAME) when the environment lacks one."""
    if not names:
        return text
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"\$({pattern})\b", lambda m: env[m[1]], text)


def mask(text: str) -> str:
    """A log's text with `…` for what is printed as secrets are."""
    for pattern in _PRINTED:
        text = pattern.sub(lambda m: m[0].replace(m[1], "…"), text)
    return text
