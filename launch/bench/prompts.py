"""The prompts: our own small set or the user's, and what makes a pass of them new."""

import hashlib
from codecs import BOM_UTF8
from importlib.resources import files
from pathlib import Path

import msgspec

from collectors.errors import SpecwatchError


class Prompt(msgspec.Struct, frozen=True):
    text: str
    topic: str = ""


class PromptSet(msgspec.Struct, frozen=True):
    source: str  # "built-in" or the file's path
    sha256: str  # of the file's bytes: two results with the same one had the same prompts
    prompts: tuple[Prompt, ...]


class _BuiltIn(msgspec.Struct):
    version: int
    prompts: tuple[Prompt, ...]


class _Part(msgspec.Struct):
    text: str = ""


class _Turn(msgspec.Struct):
    role: str = ""
    content: str | list[_Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class _Line(msgspec.Struct):
    """A line of a prompts file: any one of the field names in use."""

    prompt: str | None = None
    text: str | None = None
    question: str | None = None
    messages: list[_Turn] | None = None
    topic: str = ""
    category: str = ""


def built_in() -> PromptSet:
    raw = files(__package__).joinpath("prompts.json").read_bytes()
    return PromptSet(
        "built-in", hashlib.sha256(raw).hexdigest(), msgspec.json.decode(raw, type=_BuiltIn).prompts
    )


def load(path: Path) -> PromptSet:
    """JSONL: one object a line with `prompt`, `text`, `question` or `messages` (the last user turn)."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SpecwatchError(
            f"the prompts in {path} cannot be read: {error.strerror}", "give --prompts a JSONL file"
        ) from error
    lines = enumerate(raw.removeprefix(BOM_UTF8).splitlines(), 1)
    prompts = tuple(_prompt(path, n, line) for n, line in lines if line.strip())
    if not prompts:
        raise SpecwatchError(f"{path} holds no prompts", 'one JSON object a line: {"prompt": "…"}')
    return PromptSet(str(path), hashlib.sha256(raw).hexdigest(), prompts)


def _prompt(path: Path, number: int, raw: bytes) -> Prompt:
    hint = 'one JSON object a line: {"prompt": "…"}'
    try:
        line = msgspec.json.decode(raw, type=_Line)
    except msgspec.MsgspecError as error:
        raise SpecwatchError(f"{path}, line {number}: {error}", hint) from error
    turns = [turn.text for turn in line.messages or [] if turn.role == "user"]
    text = line.prompt or line.text or line.question or (turns[-1] if turns else None)
    if not text:
        raise SpecwatchError(f"{path}, line {number}: no prompt in it", hint)
    return Prompt(text, line.topic or line.category)


def context(prompts: PromptSet, chars: int) -> str:
    """About so many characters of plain text: the set's own prompts, over and over."""
    if chars <= 0:
        return ""
    whole = "\n\n".join(prompt.text for prompt in prompts.prompts)
    return (whole * (chars // len(whole) + 1))[:chars] + "\n\n"


def with_nonce(text: str, nonce: str) -> str:
    """The words under a first line of its own: a second pass does not hit the first one's prefix cache."""
    return f"[{nonce}]\n{text}"
