"""Physical lines -> Lines: the engines' prefixes and heads, and what a container, a shell or a CI put round them."""

import json
import timeit

import pytest

from collectors.reading.log.lines import RAW, TEXT, Line, clean, lines


def read(raw: str | bytes) -> list[Line]:
    return list(lines(raw if isinstance(raw, bytes) else raw.encode(), 7, 70, 1.5))


def one(raw: str | bytes) -> Line:
    (line,) = read(raw)
    return line


# -- who says it


@pytest.mark.parametrize(
    ("prefix", "process", "pid"),
    [
        ("", None, None),
        ("(APIServer pid=12) ", "APIServer", 12),
        ("(ApiServer_0 pid=12) ", "ApiServer_0", 12),
        ("(EngineCore_0 pid=12) ", "EngineCore_0", 12),  # 0.8-0.10.1
        ("(EngineCore_DP0 pid=12) ", "EngineCore_DP0", 12),  # 0.10.2-0.17.1
        ("(EngineCore pid=12) ", "EngineCore", 12),  # 0.18+
        ("(VllmWorker rank=3 pid=12) ", "VllmWorker rank=3", 12),  # 0.8-0.10.0
        ("(VllmWorker TP0 pid=12) ", "VllmWorker TP0", 12),
        ("(Worker_DP1_TP3_EP11 pid=12) ", "Worker_DP1_TP3_EP11", 12),
        ("(RayWorkerWrapper pid=12, ip=10.0.0.4) ", "RayWorkerWrapper", 12),
        ("(EngineCore_DP0 pid=701301) (Worker_TP1_EP1 pid=12) ", "Worker_TP1_EP1", 12),  # fork: they nest
        ("\x1b[1;36m(EngineCore_0 pid=12)\x1b[0;0m ", "EngineCore_0", 12),  # 0.8-0.11 colour it on a pipe too
    ],
)
def test_the_process_that_a_prefix_names(prefix: str, process: str | None, pid: int | None) -> None:
    line = one(prefix + "INFO 12-01 05:17:09 [core.py:98] Hello [there].")
    assert (line.process, line.pid, line.level, line.wall) == (process, pid, "INFO", "12-01 05:17:09")
    assert (line.source, line.msg, line.head) == ("core.py:98", "Hello [there].", "vllm")
    assert (line.lineno, line.offset, line.t) == (7, 70, 1.5)


@pytest.mark.parametrize(
    ("text", "head", "level", "wall", "msg"),
    [
        ("INFO 10-01 10:00:00 llm_engine.py:223] Hi", "vllm", "INFO", "10-01 10:00:00", "Hi"),  # up to 0.6
        ("WARNING 10-01 10:00:00 [v1/worker/x.py:22] Hi", "vllm", "WARNING", "10-01 10:00:00", "Hi"),
        ("INFO 10-01 10:00:00.123456 [x.py:22] Hi", "vllm", "INFO", "10-01 10:00:00", "Hi"),
        ("my-prefix INFO 10-01 10:00:00 [x.py:22] Hi", "vllm", "INFO", "10-01 10:00:00", "Hi"),
        (
            "INFO:     Waiting for application startup.",
            "uvicorn",
            "INFO",
            None,
            "Waiting for application startup.",
        ),
        (
            "[2026-02-26 16:41:05 TP1] Load weight end.",
            "sglang",
            None,
            "2026-02-26 16:41:05",
            "Load weight end.",
        ),
        ("[2026-02-26 16:41:05] INFO:     Started", "uvicorn", "INFO", "2026-02-26 16:41:05", "Started"),
        (
            "2026-12-01 03:41:36,944 - INFO - autotuner.py:622 - Hi",
            "python",
            "INFO",
            "2026-12-01 03:41:36",
            "Hi",
        ),
        ("ValueError: no head at all", "", None, None, "ValueError: no head at all"),
        ("INFORMATION 10-01", "", None, None, "INFORMATION 10-01"),
    ],
)
def test_heads(text: str, head: str, level: str | None, wall: str | None, msg: str) -> None:
    line = one(text)
    assert (line.head, line.level, line.wall, line.msg) == (head, level, wall, msg)


def test_sglangs_ranks_are_its_processes() -> None:
    assert one("[2026-02-26 16:41:05 DP1 TP3] x").process == "DP1_TP3"
    assert one("[2026-02-26 16:41:05] x").process is None


@pytest.mark.parametrize(
    "wrapper",
    [
        "vllm-1  | ", "[vllm-1] | ", "2026-02-26T16:41:05.123456789Z ", "2026-02-26T16:41:05.123456789Z stdout F ",
        "2026-02-26T16:41:05+02:00 ", "[2025-12-13T19:54:35Z] ", "Dec 01 03:25:00 gpu-7 vllm[1234]: ",
        "Mon Dec  1 03:25:00 2025 : ", "\x1b_bk;t=1733018700000\x07", "_bk;t=1733018700000", "[pod/vllm-0/vllm] ",
        "[default0]:", "[rank3]: ", "0: ", "vllm-1  | 2026-02-26T16:41:05Z ", "  ",
    ],
)  # fmt: skip
def test_a_wrapper_comes_off(wrapper: str) -> None:
    line = one(wrapper + "(Worker_TP0 pid=3) ERROR 12-01 05:17:09 [x.py:1] Hi")
    assert (line.process, line.level, line.msg) == ("Worker_TP0", "ERROR", "Hi")
    assert line.text.strip().startswith("(Worker_TP0")


@pytest.mark.parametrize(
    "text",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
        "key: value",
        "| 3 | 4 |",
        "12: 13",
    ],
)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert "value" not in text or one(text).text == text
    assert one(text).text.endswith(text.split(": ")[-1])


# -- what stands in one physical line


def test_a_record_behind_an_unfinished_bar_is_a_line_of_its_own() -> None:
    bar = "Capturing CUDA graphs (decode, FULL):  96%|█████▊| 49/51 [00:01<00:00, 26.29it/s]"
    first, second = read(
        bar + "(Worker_TP1 pid=24) INFO 12-11 00:06:59 [custom_all_reduce.py:216] Registering 8160 x"
    )
    assert first.text == bar
    assert (second.process, second.msg) == ("Worker_TP1", "Registering 8160 x")
    assert first.lineno == second.lineno == 7


def test_a_record_behind_anything_else_is_found_too() -> None:
    line = one("hello(Worker_TP1 pid=24) INFO 12-11 00:06:59 [x.py:2] Hi")
    assert (line.process, line.msg) == ("Worker_TP1", "Hi")


@pytest.mark.parametrize("raw", [b"", b"   ", b"\x1b[0m", b"\x00\x00", b"\t", b"\x1b[2K"])
def test_nothing_is_no_line(raw: bytes) -> None:
    assert read(raw) == []


def test_the_empty_prefixed_line_behind_a_bar_has_no_message() -> None:
    assert one("(Worker_TP0 pid=114) ").msg == ""


def test_escapes_controls_and_broken_utf8_are_cleaned() -> None:
    line = one(b"\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07 \xff\xfe \x9b \xe2\x80\xa8 tab\there")
    assert line.text == "red bell �� �  tab\there"
    assert clean("plain") == "plain"


def test_a_long_line_is_cut() -> None:
    line = one("INFO 12-01 05:17:09 [x.py:1] " + "y" * 50_000)
    assert (len(line.text), line.head) == (TEXT, "vllm")
    assert len(line.msg) == RAW - len("INFO 12-01 05:17:09 [x.py:1] ")


# -- JSON logs (0.31+)


def record(**more: object) -> str:
    fields = {"asctime": "2026-12-01 05:17:09,123", "levelname": "ERROR", "name": "vllm.v1", "filename": "core.py",
              "lineno": 9, "processName": "EngineCore", "process": 12, "message": "one"}  # fmt: skip
    return json.dumps({**fields, **more})


def test_a_json_record() -> None:
    line = one(record())
    assert (line.head, line.level, line.process, line.pid) == ("json", "ERROR", "EngineCore", 12)
    assert (line.wall, line.source, line.msg) == ("2026-12-01 05:17:09", "core.py:9", "one")


def test_each_line_of_a_json_message() -> None:
    assert [line.msg for line in read(record(message="one\ntwo\r\n\x1b[1mthree"))] == ["one", "two", "three"]
    assert len(read(record(message="x\n" * 10_000))) == 400


def test_uvicorns_json_is_uvicorns() -> None:
    assert one(record(name="uvicorn.error", message="Application startup complete.")).head == "uvicorn"


@pytest.mark.parametrize(
    "text",
    [
        '{"message": ', '{"message": 3}', '["message"]', '{"message": "x"} and more', "{" * 3000 + '"message"',
        '{"message": "x", "process": 1e400}',
    ],
)  # fmt: skip
def test_what_is_no_json_record_is_a_plain_line(text: str) -> None:
    found = read(text)
    assert len(found) <= 1
    assert all(line.head in ("", "json") and line.pid is None for line in found)


@pytest.mark.parametrize(
    "field", ["asctime", "levelname", "name", "filename", "lineno", "processName", "process"]
)
@pytest.mark.parametrize("value", [None, [], {}, -5, 1e300, "x" * 9000, True])
def test_odd_fields_of_a_json_record_do_no_harm(field: str, value: object) -> None:
    line = one(record(**{field: value}))
    assert line.msg == "one"
    assert len(line.process or "") <= 80
    assert line.level in (None, "ERROR")


# -- cost


HOSTILE = [
    "[",
    "(",
    "(Worker_TP0 pid=1) ",
    "\x1b[",
    "\x1b]",
    "96%|#| 4/5 [0<0]",
    "2026-01-01T00:00:00Z ",
    "a | ",
    "{",
    " ",
]


@pytest.mark.parametrize("unit", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_line_costs_in_proportion_to_its_length(unit: str) -> None:
    """Ten times the length within what is looked at: a quadratic pattern would cost a hundred times as much."""

    def cost(size: int) -> float:
        raw = (unit * size)[:size].encode()[:8000]
        return min(timeit.repeat(lambda: read(raw), number=3, repeat=3))

    assert cost(8000) < 40 * cost(800) + 0.005


@pytest.mark.parametrize(
    "raw",
    [
        "│ {} │",
        "│{}    │",
        "┃ {}",
        "^C{}",
        "[36m{}[0m",
        "^[[1;36m{}^[[0;0m",
        "ESC[36m{}ESC[0m",
    ],
)
def test_what_panes_and_pastes_put_round_a_line(raw: str) -> None:
    line = one(raw.format("(EngineCore pid=12) INFO 12-01 05:17:09 [core.py:98] Hello."))
    assert (line.process, line.wall, line.msg) == ("EngineCore", "12-01 05:17:09", "Hello.")


RECORDS = (
    (
        "(Worker_TP0 pid=3) INFO 03-02 10:00:08 [gpu_model_runner.py:4125] Starting to load model m...",
        "vllm",
        "Starting",
    ),
    ("[2026-02-26 16:31:00 TP7] Load weight begin. avail mem=283.68 GB", "sglang", "Load weight begin."),
    ("(APIServer pid=1) INFO:     Application startup complete.", "uvicorn", "Application startup"),
)
WRAPPERS = (
    "vllm-1  | {}", "vllm-server-1  | 2026-03-01T10:00:00.123456789Z {}", "2026-03-01T10:00:00.123456789Z stderr F {}",
    "[pod/vllm-0/vllm] 2026-03-01T10:00:00.123456789Z {}", "Mar  1 10:00:00 host docker/vllm[123]: {}",
    "2026-03-01T10:00:00+0000 host vllm[123]: {}", "0: {}", "[0] {}", "[1,0]<stdout>:{}", "[1,0]<stderr>: {}",
    "node-0: {}", "[default0]:{}", "[rank0]: {}", "2026-03-01 10:00:00.123 {}", "2026/03/01 10:00:00 {}",
    "[2026-03-01 10:00:00] {}", "[2026-03-01T10:00:00Z] {}", "[10:00:00] {}", "(vllm) {}", "[vllm] {}", "vllm: {}",
    "│ {}", "> {}", "    {}", "\t{}", "- {}", "12\t{}", "[36m(RayWorker pid=1)[0m {}", "(pid=4194, ip=169.254.13.7) {}",
    "<38>1 2026-03-01T10:00:00Z host vllm - - {}", "2026-03-01 10:00:00,123 [INFO ] W-9000-m-stdout MODEL_LOG - {}",
    "stderr: {}", "++ {}", "[vllm-0 vllm] {}", "^C{}", "(ServeReplica:default:LLM pid=1) {}", "[NODE 0] {}",
    "Step 3/4 : {}", "#12 10.53 {}", '{{"log":"{}\\n","stream":"stderr","time":"2026-03-01T10:00:00.1Z"}}',
)  # fmt: skip


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(("record", "head", "begins"), RECORDS, ids=[head for _, head, _ in RECORDS])
def test_each_record_is_read_behind_each_wrapper(wrapper: str, record: str, head: str, begins: str) -> None:
    line = read(wrapper.replace("{{", "{").replace("}}", "}").replace("{}", record))[-1]
    assert line.head == head
    assert line.msg.startswith(begins)


def test_a_whole_log_on_one_line_is_split_at_its_records_and_not_between_nested_prefixes() -> None:
    raw = (
        '(APIServer pid=4) INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK (EngineCore_DP0 pid=5) '
        "(Worker_TP1 pid=6) INFO 12-01 05:17:08 [core.py:9] Hello. (EngineCore_DP0 pid=5) ERROR 12-01 05:17:09 "
        "[core.py:888] EngineCore failed to start."
    )
    assert [(line.process, line.level) for line in read(raw)] == [
        ("APIServer", "INFO"), ("Worker_TP1", "INFO"), ("EngineCore_DP0", "ERROR"),
    ]  # fmt: skip


def test_a_duration_in_brackets_is_no_colour() -> None:
    assert clean("rate(x[5m]) [0m") == "rate(x[5m]) "


def test_a_head_that_a_driver_relays_is_read() -> None:
    line = one("2025-03-07 23:50:27,727 - __main__ - INFO - [2025-03-07 23:50:26 TP0] Load weight begin.")
    assert (line.head, line.process, line.wall) == ("sglang", "TP0", "2025-03-07 23:50:26")
    assert line.msg == "Load weight begin."
