"""A saved recording -> a run folder with its true times, which every front end then reads like a live run.

A recording is a folder (`server.log` and beside it what there is of the files below), the common prefix of
files (`cpu/12-eagle3-eager` for `12-eagle3-eager.log`, `.json`, …), or a bare log. The formats are those of
tests/recordings/README.md:

    growth.jsonl    [second, size of the log]
    nvml.jsonl      one reading of one GPU a line
    polls.jsonl     process tree and /health
    metrics.jsonl   [second, [sample lines]]
    summary.json    command, exit code, times of what was done
"""

import datetime
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from collectors.errors import SpecwatchError
from collectors.reading import events as ev
from collectors.record import wire
from collectors.record.folder import RunFolder, RunInfo
from collectors.record.windows import mark_benches
from collectors.sources.logtail import LIMIT
from collectors.sources.metrics import SeriesTable, samples

_STAMP = re.compile(rb"(?<!\d)(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)\b")
_TICKS = 100  # clock ticks a second on every Linux that a recording comes from
OTHERS_S = 1.0  # no server answers sooner than this after its start: what does is another one


def import_recording(path: Path, runs: Path, run_id: str) -> RunFolder:
    """Make the run folder `runs`/`run_id`. A recording without an exit gives a record without Exit.

    Raises SpecwatchError when there is no log, or the run exists already.
    """
    recording = Recording(path)
    folder = RunFolder.create(runs, recording.info(run_id))
    shutil.copyfile(recording.log, folder.server_log)
    folder.server_log.chmod(0o600)
    with folder.record.open("xb") as file:
        file.writelines(wire.encode(wire.entry_of(event)) for event in recording.events(run_id))
    folder.record.chmod(0o600)
    return folder


class Recording:
    """The files of one recording and what they say."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            self._prefix, summary = f"{path}/", path / "summary.json"
            self.name, self.log = path.name, path / "server.log"
        else:
            stem = path.with_suffix("") if path.suffix == ".log" else path
            self._prefix, summary = f"{stem}.", Path(f"{stem}.json")
            self.name, self.log = stem.name, Path(f"{stem}.log")
        if not self.log.is_file():
            raise SpecwatchError(
                f"there is no recording at {path}", "a folder with server.log, or a log file"
            )
        self.summary: dict[str, Any] = _json(summary) if summary.is_file() else {}
        self.growth = [(float(t), int(size)) for t, size in self._lines("growth.jsonl")]

    def info(self, run_id: str) -> RunInfo:
        return RunInfo(
            facts=self._facts(run_id),
            created=self._wall0() or 0.0,
            boottime0=0.0,
            boot_id="imported",
            pid_namespace="imported",
            host="imported",
        )

    def events(self, run_id: str) -> list[ev.AnyEvent]:
        """All in the order of time; Started first, Exit (where it is known) last."""
        found: list[ev.AnyEvent] = [ev.Started(t=0.0, run=self._facts(run_id))]
        wall0 = self._wall0()
        if wall0 is not None:
            found.append(ev.Clock(t=0.0, wall=wall0))
        rest = [*self._log(), *self._gpus(), *self._polls(), *self._metrics(), *self._acts()]
        rest.sort(key=lambda event: event.t)
        end = rest[-1].t if rest else 0.0
        ticks = [ev.Tick(t=float(second)) for second in range(1, int(end) + 1)]
        found += sorted([*rest, *ticks], key=lambda event: event.t)
        return found + self._exit(end)

    def _facts(self, run_id: str) -> ev.RunFacts:
        argv = tuple(self.summary.get("cmd", ()))
        totals = {row["gpu"]: row["total"] >> 20 for row in self._lines("nvml.jsonl")}
        return ev.RunFacts(
            id=run_id,
            name=self.name,
            argv=argv,
            engine="vllm" if "vllm" in argv[:1] else None,
            model_path=argv[2] if argv[:2] == ("vllm", "serve") else None,
            gpu_total_mib=tuple(totals[index] for index in sorted(totals)),
        )

    def _log(self) -> Iterator[ev.Log]:
        data = self.log.read_bytes()
        growth = [*self.growth, (self.growth[-1][0] if self.growth else 0.0, len(data))]
        offset = 0
        for t, size in growth:
            for start in range(offset, min(size, len(data)), LIMIT):
                yield ev.Log(t=t, offset=start, data=data[start : min(size, start + LIMIT)])
            offset = max(offset, min(size, len(data)))

    def _gpus(self) -> Iterator[ev.GpuSample]:
        for row in self._lines("nvml.jsonl"):
            gpu = ev.Gpu(
                used_mib=row["used2"] >> 20,
                util_pct=row["util"],
                power_w=round(row["power"] / 1000),
                temp_c=row["temp"],
                pcie_rx_mb_s=row["rx"] // 1000,
                pcie_tx_mb_s=row["tx"] // 1000,
            )
            yield ev.GpuSample(t=row["t"], gpus={row["gpu"]: gpu})

    def _polls(self) -> Iterator[ev.AnyEvent]:
        known: dict[int, ev.Proc] = {}
        holders: dict[int, tuple[int, ...]] = {
            p[0]: (row["gpu"],) for row in self._lines("nvml.jsonl") for p in row["procs"]
        }
        answers = [(row["t"], row["health"]) for row in self._lines("polls.jsonl")]
        for row in self._lines("polls.jsonl"):
            procs = {p["pid"]: _proc(p, holders) for p in row["procs"]}
            changed = {pid: proc for pid, proc in procs.items() if known.get(pid) != proc}
            gone = tuple(pid for pid in known if pid not in procs)
            known = procs
            if changed or gone:
                yield ev.HostSample(t=row["t"], procs=changed, gone=gone)
        if not answers:
            changes = self.summary.get("status_changes", {}).items()
            answers = [(t, words.split()[0].partition("=")[2]) for words, t in changes]
        yield from _health(sorted(answers, key=lambda pair: pair[0]))

    def _metrics(self) -> Iterator[ev.AnyEvent]:
        pages = [(t, "\n".join([*lines, ""])) for t, lines in self._lines("metrics.jsonl")]
        for part in ("before", "during", "after"):
            page = self._of(f"{part}.prom")
            if not page.is_file():
                page = page.parent / "metrics" / page.name
            if page.is_file() and f"metrics_{part}_t" in self.summary:
                pages.append((self.summary[f"metrics_{part}_t"], page.read_text()))
        table = SeriesTable()
        scrapes = [table.changes(t, samples(page), 0, exact=False) for t, page in pages]
        yield from mark_benches(scrapes, self.summary, self._of)

    def _acts(self) -> Iterator[ev.Request]:
        if "sig_t" in self.summary:
            yield ev.Request(t=self.summary["sig_t"], kind="stop", label=f"SIG{self.summary['sig']}")

    def _exit(self, end: float) -> list[ev.AnyEvent]:
        if "exit_t" not in self.summary:
            return []
        code = self.summary["returncode"]
        signal = -code if code < 0 else None
        t, code = max(end, self.summary["exit_t"]), None if code < 0 else code
        return [
            ev.Reaped(t=t, code=code, signal=signal),
            ev.Exit(t=t, code=code, signal=signal),
        ]

    def _wall0(self) -> float | None:
        """Wall clock at t = 0, from the log's first stamp and when it came; stamps have no year."""
        data = self.log.read_bytes()
        found = _STAMP.search(data)
        if found is None:
            return None
        month, day, hour, minute, second = map(int, found.groups())
        year = datetime.datetime.fromtimestamp(self.log.stat().st_mtime, datetime.UTC).year
        try:
            stamp = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
        except ValueError:
            return None
        came = next((t for t, size in self.growth if size >= found.end()), 0.0)
        return stamp.timestamp() - came

    def _of(self, kind: str) -> Path:
        return Path(self._prefix + kind)

    def _lines(self, kind: str) -> list[Any]:
        path = self._of(kind)
        if not path.is_file():
            return []
        return [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line.strip()]


def _proc(row: dict[str, Any], holders: dict[int, tuple[int, ...]]) -> ev.Proc:
    return ev.Proc(
        title=row["cmd"] if row["cmd"].startswith("VLLM::") else row["name"],
        state=row["state"],
        rss_mib=row["rss_kb"] >> 10,
        cpu_s=row["cpu_ticks"] / _TICKS,
        read_bytes=row["read_bytes"],
        rchar=row["rchar"],
        gpus=holders.get(row["pid"], ()),
    )


def _health(answers: list[tuple[float, Any]]) -> Iterator[ev.Health]:
    """Changes only. Who answered was not recorded, but no server answers in its own first second."""
    last = None
    stranger = False
    for t, answer in answers:
        status = int(answer) if str(answer).isdigit() else None
        stranger = status == 200 and (stranger or t < OTHERS_S)
        if answer != last:
            error = None if status is not None else str(answer)
            yield ev.Health(t=t, status=status, error=error, owner="other" if stranger else "unknown")
        last = answer


def _json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    return found
