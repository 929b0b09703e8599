"""Progress bars of every loader: what they say, whose they are, and that they never run back."""

import timeit

import pytest

from collectors.reading.events import Log
from collectors.reading.log.bars import frame_of, shown
from collectors.reading.log.parts import Bar
from collectors.reading.log.reader import read
from collectors.reading.log.state import LogState

SHARDS = "Loading safetensors checkpoint shards"
GIB = 1e9


def shards(done: int, total: int = 64, elapsed: str = "00:33", label: str = SHARDS) -> str:
    return f"{label}: {done * 100 // total:3d}% Completed | {done}/{total} [{elapsed}<12:57, 12.74s/it]\n"


def after(*texts: str | bytes, state: LogState | None = None) -> LogState:
    state = state or LogState()
    for text in texts:
        raw = text if isinstance(text, bytes) else text.encode()
        state = read(state, Log(t=(state.last_t or 0.0) + 1.0, offset=state.size, data=raw))
    return state


def bar(state: LogState) -> Bar:
    found = shown(state)
    assert found is not None
    return found


def seen(state: LogState) -> list[tuple[str, str, float, float | None]]:
    return [(b.label, b.model, b.done, b.total) for b in state.bars]


# -- what a bar says


@pytest.mark.parametrize(
    ("text", "label", "kind", "unit", "done", "total"),
    [
        (shards(3), SHARDS, "weights", "shards", 3, 64),
        (f"(Worker_TP0 pid=114) \r{shards(3)}", SHARDS, "weights", "shards", 3, 64),
        (f"vllm-1  | {shards(3)}", SHARDS, "weights", "shards", 3, 64),
        (f"\x1b[1;36m(VllmWorker TP0 pid=1)\x1b[0;0m {shards(3)}", SHARDS, "weights", "shards", 3, 64),
        (shards(3, label=SHARDS + " (eager)"), SHARDS + " (eager)", "weights", "shards", 3, 64),
        *(
            (shards(3, label=label), label, "weights", "shards", 3, 64)
            for label in (
                "Loading pt checkpoint shards",
                "Loading np_cache checkpoint shards",
                "Multi-thread loading shards",
                "Multi-thread loading pt checkpoint shards",
            )
        ),
        (
            shards(900, 1200, label="Loading safetensors using Runai Model Streamer"),
            "Loading safetensors using Runai Model Streamer", "weights", "tensors", 900, 1200,
        ),
        (
            shards(1, 4, label="Loading fastsafetensors checkpoint shards"),
            "Loading fastsafetensors checkpoint shards", "weights", "shards", 1, 4,
        ),
        (
            "Loading safetensors using InstantTensor loader:  44% Completed | 241G/547G [01:00<01:16, 4.02GB/s]\n",
            "Loading safetensors using InstantTensor loader", "weights", "bytes", 241 * GIB, 547 * GIB,
        ),
        (
            "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  96%|#####8| 49/51 [00:01<00:00, 26.29it/s]\n",
            "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE)", "graphs", "graphs", 49, 51,
        ),
        (
            "Capturing CUDA graph shapes: 100%|###| 35/35 [00:20<00:00]\n",
            "Capturing CUDA graph shapes", "graphs", "graphs", 35, 35,
        ),
        (
            "Capturing batches (bs=128 avail_mem=44.9 GB):   2%|1| 1/52 [00:01<01:00,  1.19s/it]\n",
            "Capturing batches", "graphs", "graphs", 1, 52,
        ),
        (
            "[Autotuner]: Tuning fp8 gemm:  50%|#####     | 8/16 [00:02<00:02,  3.9it/s]\n",
            "[Autotuner]: Tuning fp8 gemm", "autotune", "steps", 8, 16,
        ),
        (
            "model-00001-of-00002.safetensors:  10%|#         | 500M/5.00G [00:05<00:45, 100MB/s]\n",
            "model-00001-of-00002.safetensors", "download", "bytes", 500e6, 5 * GIB,
        ),
    ],
)  # fmt: skip
def test_each_loaders_bar(text: str, label: str, kind: str, unit: str, done: float, total: float) -> None:
    (found,) = after(text).bars
    assert (found.label, found.kind, found.unit, found.done, found.total) == (label, kind, unit, done, total)


@pytest.mark.parametrize(
    "text",
    [
        "10%|",
        "CPU 50%| busy",
        "50%|#####| 1/2",
        "it is 50% Completed | soon",
        "100%",
        "%|%|%|",
        "x: 5%| | ?/? [?]",
    ],
)
def test_what_is_no_bar_of_anybodys(text: str) -> None:
    assert frame_of(text) is None


def test_a_bar_without_a_label_is_the_captures_while_graphs_are_captured() -> None:
    nameless = "  4%|4         | 1/23 [00:00<00:16,  1.31it/s]\n"
    assert after(nameless).bars == ()
    begun = "[2025-04-05 03:20:17 TP0] Capture cuda graph begin. This can take up to several minutes.\n"
    (found,) = after(begun, nameless).bars
    assert (found.kind, found.done, found.total) == ("graphs", 1, 23)


@pytest.mark.parametrize(
    "before",
    [
        "(ServeReplica:x pid=28) (EngineCore pid=29087",
        "│ (VllmWorker rank=0 pid=783) ",
        "2024-10-07T22:54:58,900 [WARN ] W-9000-model_1.0-stderr MODEL_LOG - ",
        "> ",
    ],
)
def test_what_stands_before_a_label_is_no_part_of_it(before: str) -> None:
    (found,) = after(before + shards(3)).bars
    assert found.label == "Loading safetensors checkpoint shards"


def test_a_download_is_shown_until_weights_are_read() -> None:
    fetch = "model-00001-of-00004.safetensors:  52%|#####     | 2.6G/4.98G [00:21<00:19, 122MB/s]\n"
    assert bar(after(fetch)).kind == "download"
    assert bar(after(fetch, shards(1))).kind == "weights"


def test_a_bar_as_wide_as_a_wide_terminal() -> None:
    wide = "Capturing CUDA graphs (decode, FULL): 100%|" + "█" * 400 + "| 67/67 [00:16<00:00,  4.13it/s]\n"
    (found,) = after(wide).bars
    assert (found.done, found.total) == (67, 67)


def test_a_rank_that_is_done_does_not_end_the_load_of_the_others() -> None:
    done = "(RayWorkerWrapper pid=6) INFO 08-07 10:36:23 model_runner.py:692] Loading model weights took 24.4 GB\n"
    assert after(shards(94, 191), done).phase == "loading"
    assert after(shards(191, 191), done).phase == "compiling"
    own = "(Worker_TP0 pid=7) INFO 12-01 10:00:08 [gpu_model_runner.py:5131] Model loading took 21.9 GiB and 2 s\n"
    assert after(shards(3, 8), own).phase == "compiling"  # the frames between were left out


def test_clocks() -> None:
    frame = frame_of("Loading pt checkpoint shards:  50% Completed | 2/4 [1:02:03<10:00, 900.00s/it]")
    assert frame is not None
    assert (frame.elapsed_s, frame.eta_s) == (3723.0, 600.0)
    frame = frame_of("Loading pt checkpoint shards:   0% Completed | 0/4 [00:00<?, ?it/s]")
    assert frame is not None
    assert (frame.elapsed_s, frame.eta_s) == (0.0, None)


def test_the_last_of_several_frames_in_one_line_counts() -> None:
    assert bar(after("\r".join(shards(n).strip() for n in range(9)) + "\n")).done == 8


# -- how it moves


def test_it_never_runs_back() -> None:
    state = after(shards(10))
    for done in (9, 0, 10, 3):
        assert bar(after(shards(done), state=state)).done == 10


def test_100_percent_comes_twice_and_counts_once() -> None:
    once = after(shards(63), shards(64))
    assert seen(after(shards(64), state=once)) == seen(once) == [(SHARDS, "target", 64, 64)]


def test_another_total_is_another_load() -> None:
    state = after(shards(40, 64), shards(1, 142))
    assert (bar(state).done, bar(state).total) == (1, 142)


def test_its_track_is_bounded_and_keeps_both_ends() -> None:
    state = after(*(shards(n, 1000, f"{n // 60:02d}:{n % 60:02d}") for n in range(1000)))
    track = bar(state).track
    assert len(track) <= 64
    assert (track[0], track[-1]) == ((0.0, 0.0), (999.0, 999.0))
    assert list(track) == sorted(track)


def test_it_knows_when_it_last_moved() -> None:
    state = after(shards(1), shards(2))
    still = after(shards(2), "hello\n", state=state)
    assert bar(still).t == bar(state).t == 2.0
    assert still.last_t == 4.0


# -- whose it is


def test_the_second_bar_is_the_drafters() -> None:
    """MRv2 says nothing but a second bar, of one shard."""
    state = after(shards(64), shards(0, 1), shards(1, 1))
    assert seen(state) == [(SHARDS, "target", 64, 64), (SHARDS, "drafter", 1, 1)]
    assert [step.name for step in state.steps] == ["weights", "post", "drafter"]
    assert bar(state).model == "drafter"


def test_a_drafter_that_was_announced() -> None:
    said = "(Worker_TP0 pid=3) INFO 05-06 20:59:58 [gpu_model_runner.py:4151] Loading drafter model...\n"
    assert seen(after(shards(64), said, shards(64, 64)))[1][:2] == (SHARDS, "drafter")


def test_an_unfinished_target_stays_the_target() -> None:
    assert seen(after(shards(3), shards(4))) == [(SHARDS, "target", 4, 64)]


# -- what phase it proves


def test_the_silent_stretch_behind_100_percent_has_a_name() -> None:
    state = after(shards(0), shards(64))
    assert (state.phase, state.steps[-1].name) == ("loading", "post")
    assert bar(state).done == 64, "a finished bar stays until the next phase"


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        (shards(1), "loading"),
        (
            "Capturing CUDA graphs (decode, FULL):   2%|1         | 1/51 [00:10<08:20, 10.00s/it]\n",
            "capturing",
        ),
        ("[Autotuner]: Tuning fp8 gemm:  50%|#####     | 8/16 [00:02<00:02,  3.9it/s]\n", "capturing"),
    ],
)
def test_a_bar_begins_its_phase(text: str, phase: str) -> None:
    assert after(text).phase == phase


def test_capture_bars_with_labels_of_their_own_are_apart() -> None:
    labels = (
        "Capturing CUDA graphs (PIECEWISE)",
        "Capturing CUDA graphs (FULL)",
        "Capturing prefill CUDA graphs (FULL)",
    )
    state = after(*(f"{label}: 100%|####| 51/51 [00:05<00:00, 10.0it/s]\n" for label in labels))
    assert [found.label for found in state.bars] == list(labels)
    assert bar(state).label == labels[-1]


def test_bars_of_requests_and_benchmarks_do_not_move_a_server() -> None:
    ready = after(shards(64), "(APIServer pid=1) INFO:     Application startup complete.\n")
    assert (
        after(
            "Processed prompts:  50%|#####     | 5/10 [00:02<00:02, 2.0it/s]\n", shards(1), state=ready
        ).phase
        == "ready"
    )
    assert seen(after(shards(1), state=ready)) == seen(ready)


def test_there_are_never_too_many() -> None:
    state = after(*(f"Loading thing {n}:  50%|#####     | 5/10 [00:02<00:02, 2.0it/s]\n" for n in range(300)))
    assert len(state.bars) <= 48


def test_a_bar_is_hidden_as_a_line() -> None:
    assert after(shards(1), shards(2)).hidden_by_rule == {"bars": 2}


# -- cost


@pytest.mark.parametrize(
    "unit", ["%|", "5%| ", "a% Completed | ", "[", "Loading: 5%|", "9", "# "], ids=range(7)
)
def test_a_hostile_line_costs_in_proportion_to_its_length(unit: str) -> None:
    """A bar's pattern on a whole line of 20 kB took 19 s: it is tried in a window round the percent sign."""

    def cost(size: int) -> float:
        text = (unit * size)[:size] + "50%| x 1/2"
        return min(timeit.repeat(lambda: frame_of(text), number=20, repeat=3))

    assert cost(20_000) < 40 * cost(2_000) + 0.005
