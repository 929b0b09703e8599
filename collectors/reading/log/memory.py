"""The finder's working memory of one run: suspects folded over ranks, the first fatal line, notes. Bounded."""

from msgspec import structs

from collectors.reading.log.lines import Line
from collectors.reading.log.parts import Problem
from collectors.reading.log.rules.failure import Found
from collectors.reading.log.suspects import Fatal, Suspect, Suspects, fold_of

_BEFORE, _AFTER = 2_000, 5_000  # lines round the first fatal one in which its cause may stand
_SUSPECTS, _RANKS, _NOTES = 24, 64, 16


class Memory:
    """`Suspects` thawed for one chunk of the log, without its open blocks."""

    def __init__(self, frozen: Suspects) -> None:
        self.suspects = dict(frozen.suspects)
        self.notes = dict(frozen.notes)
        self.fatal, self.hard = frozen.fatal, frozen.hard
        self.ready, self.stopped = frozen.ready, frozen.stopped
        self.folded = frozen.folded

    def became_ready(self) -> None:
        """What was raised until now the server has survived."""
        self.ready = True
        self.suspects.clear()

    def stops(self) -> None:
        """An orderly stop begins, unless something fatal was before it."""
        self.stopped = self.stopped or self.fatal is None

    def add(self, suspect: Suspect, words: str) -> str:
        """Keeps a suspect, folded with those of other ranks; returns its key ("" when it is none)."""
        if suspect.weight == 0 or (self.fatal is not None and suspect.lineno > self.fatal.lineno + _AFTER):
            return ""
        fold = fold_of(words)
        known = self.suspects.get(fold)
        if known is not None:
            # A process prints its own traceback again, bare, as it goes down: no rank of its own.
            named = dict.fromkeys(rank for rank in (*known.ranks, *suspect.ranks) if rank != (None, None))
            self.suspects[fold] = structs.replace(known, ranks=tuple(named)[:_RANKS] or known.ranks)
            return fold
        if len(self.suspects) >= _SUSPECTS:
            worst = min(self.suspects, key=lambda key: self.suspects[key].weight)
            if self.suspects[worst].weight >= suspect.weight:
                return ""
            del self.suspects[worst]
        self.suspects[fold] = suspect
        return fold

    def lost(self, rule: str, line: Line, soft: bool = False) -> None:
        """A process of the server is lost: since when, and in which words the log says so."""
        if self.stopped and self.fatal is None:
            return  # what an orderly stop leaves behind
        self.hard = self.hard or not soft
        since = line.t if self.fatal is None else self.fatal.t
        if self.fatal is None:
            for fold in [f for f, s in self.suspects.items() if s.lineno < line.lineno - _BEFORE]:
                del self.suspects[fold]
        elif self.fatal.rule != "traceback" or rule == "traceback":
            return  # the first words stand; only a traceback's own line gives way to plainer ones
        self.fatal = Fatal(rule, line.text, line.lineno, line.offset, since, line.process)

    def note(self, line: Line, rule: str, severity: str, found: Found | None) -> None:
        """A trouble that the server survives."""
        fold = rule + fold_of(line.msg)
        known = self.notes.get(fold)
        if known is not None:
            self.notes[fold] = structs.replace(known, count=known.count + 1)
        elif len(self.notes) < _NOTES:
            self.notes[fold] = Problem(
                severity=severity,
                rule=rule,
                line=line.text,
                lineno=line.lineno,
                offset=line.offset,
                t=line.t,
                processes=(line.process,) if line.process else (),
                advice=found.hint if found else None,
            )
