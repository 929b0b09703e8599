"""Which line is the cause: small logs, each with the trap that real ones held."""

import re
from collections.abc import Callable, Iterator

import pytest

from collectors.reading import events
from collectors.reading.log import needles
from collectors.reading.log.cause import CauseFinder, Conclusion, Suspects, conclude
from collectors.reading.log.lines import Line

PREFIX = re.compile(r"\((?P<process>\w+) pid=(?P<pid>\d+)\) ")
HEAD = re.compile(r"(?P<level>[A-Z]+) (?P<wall>\d\d-\d\d [\d:]{8}) \[(?P<source>[\w.]+:\d+)\] ?(?P<msg>.*)")
SGLANG = re.compile(r"\[(?P<wall>[\d-]{10} [\d:]{8})(?: (?P<process>[A-Z]+\d+))?\] (?P<msg>.*)")
UVICORN = re.compile(r"(?P<level>[A-Z]+):     ?(?P<msg>.*)")
EXIT = events.Exit(t=99.0)


def lines(log: str) -> Iterator[Line]:
    """The lines of a log as the reader hands them over (its own tests cover wrappers, colours and bars)."""
    for lineno, text in enumerate(log.strip("\n").split("\n"), 1):
        line = Line(text=text, lineno=lineno, offset=lineno * 100, t=float(lineno), msg=text)
        if prefix := PREFIX.match(text):
            line.process, line.pid, line.msg = prefix["process"], int(prefix["pid"]), text[prefix.end() :]
        for head in (HEAD, SGLANG, UVICORN):
            if match := head.match(line.msg):
                for name, value in match.groupdict().items():
                    if value is not None:
                        setattr(line, name, value)
                break
        yield line


def suspects(log: str, frozen_after_each: bool = False) -> Suspects:
    finder = CauseFinder(Suspects())
    for line in lines(log):
        if finder.open or needles.of_failures(line.text):
            finder.see(line)
        if frozen_after_each:
            finder = CauseFinder(finder.freeze())
    return finder.freeze()


def read(log: str) -> Conclusion:
    return conclude(suspects(log), stopping=False)


def cause(log: str) -> str:
    found = read(log)
    assert found.failed
    assert found.in_view
    assert found.cause is not None
    return found.cause.line


def traceback(prefix: str, *exceptions: str, frame: str = "x", top: str = "f") -> str:
    """A traceback whose lines all begin with `prefix`; further exceptions are chained behind the first."""
    out = []
    for number, exception in enumerate(exceptions):
        if number:
            out += ["", "The above exception was the direct cause of the following exception:", ""]
        out += ["Traceback (most recent call last):", f'  File "a.py", line 1, in {top}', "    call()"]
        out += [f'  File "b.py", line 2, in {frame}', "    raise Something(", exception]
    return "\n".join(prefix + line for line in "\n".join(out).split("\n"))


CORE = "(EngineCore pid=7) ERROR 12-01 05:00:00 [core.py:1231] "
API = "(APIServer pid=1) "
ECHO = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
DEAD = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above)"
WRAPPER = (
    "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace"
)
READY = "INFO:     Application startup complete."
OOM = "torch.AcceleratorError: CUDA error: out of memory"


def worker(rank: int) -> str:
    return f"(Worker_TP{rank} pid={10 + rank}) ERROR 12-01 05:00:00 [multiproc_executor.py:949] "


def start_failure(exception: str) -> str:
    return "\n".join(
        (
            CORE + "EngineCore failed to start.",
            traceback(CORE, exception),
            traceback(API, ECHO, top="<module>"),
        )
    )


def test_the_core_exception_is_the_cause_and_the_echo_is_not() -> None:
    found = read(start_failure("ValueError: The model's wheels are square"))
    assert found.cause is not None
    assert found.cause.line.endswith("ValueError: The model's wheels are square")
    assert (found.cause.lineno, found.cause.process, found.failed_t) == (7, "EngineCore", 1.0)
    assert [problem.severity for problem in found.problems] == ["error"]


def test_a_traceback_that_its_process_prints_again_is_counted_once() -> None:
    again = (
        start_failure("ValueError: x 1")
        + "\nProcess EngineCore:\n"
        + traceback("", "ValueError: x 1", top="_bootstrap")
    )
    assert read(again).problems[0].count == 1


def test_only_echoes_in_view_is_a_failure_without_a_cause() -> None:
    found = read(traceback(API, ECHO, top="<module>"))
    assert (found.failed, found.cause, found.in_view) == (True, None, False)
    assert ECHO in found.problems[0].line


def test_an_echo_with_an_exit_code_is_a_trace_and_the_cause_still_not_in_view() -> None:
    log = traceback(API, ECHO.replace("{}", "{'EngineCore_DP0': -9}"), top="<module>")
    found = read(log)
    assert found.cause is not None
    assert (found.failed, found.in_view, found.cause.rule) == (True, False, "killed-engine")
    assert cause(traceback(CORE, "KeyError: 'x'") + "\n" + log).endswith("KeyError: 'x'")


def test_a_traceback_cut_off_before_its_exception_is_no_cause() -> None:
    found = read("\n".join(start_failure("ValueError: never seen").split("\n")[:5]))
    assert (found.failed, found.cause, found.in_view) == (True, None, False)


def test_a_bare_traceback_that_unwinds_a_main_program_is_a_failure_before_its_last_line() -> None:
    whole = traceback("", "ValueError: some reason", top="<module>")
    assert read("\n".join(whole.split("\n")[:3])).failed
    assert cause(whole) == "ValueError: some reason"


def test_ranks_that_print_through_each_other_are_told_apart() -> None:
    blocks = [traceback(worker(rank), "ValueError: odd thing 1").split("\n") for rank in range(3)]
    blocks.append(traceback(worker(3), OOM).split("\n"))
    log = "\n".join(line for row in zip(*blocks, strict=True) for line in row)
    assert cause(log) == worker(3) + OOM
    found = read(log.replace(OOM, "ValueError: odd thing 4"))
    assert found.problems[0].count == 4
    assert found.problems[0].processes == ("Worker_TP0", "Worker_TP1", "Worker_TP2", "Worker_TP3")


def test_specificity_goes_before_order() -> None:
    consequence = traceback(
        worker(0), "RuntimeError: [gloo/pair.cc:525] Connection closed by peer [10.0.0.1]:5"
    )
    assert cause(consequence + "\n" + traceback(worker(1), OOM)) == worker(1) + OOM


def test_the_deepest_process_goes_before_order_among_the_unknown() -> None:
    log = traceback(CORE, "KeyError: 'outer'") + "\n" + traceback(worker(0), "KeyError: 'inner'")
    assert cause(log).endswith("'inner'")


def test_of_chained_exceptions_the_known_one_is_the_cause_wherever_it_stands() -> None:
    known = "OSError: It looks like the config file at 'm/config.json' is not a valid JSON file."
    other = "json.decoder.JSONDecodeError: Expecting property name: line 2 column 1 (char 41)"
    assert cause(traceback("", other, known, top="<module>")) == known
    assert cause(traceback("", known, other, top="<module>")) == known
    assert cause(traceback("", "KeyError: 'a'", "ValueError: b", top="<module>")) == "ValueError: b"


def test_the_line_inside_pydantic_is_the_cause() -> None:
    log = traceback(
        API, "pydantic_core._pydantic_core.ValidationError: 1 validation error for X", top="<module>"
    )
    value = (
        "  Value error, Eagle3 is only supported for ['llama'] models. Got model_type='x' [type=value_error"
    )
    found = read(log + "\n" + API + value)
    assert found.cause is not None
    assert found.cause.line == API + value
    assert found.cause.hint is not None
    assert "--patch eagle3" in found.cause.hint
    field = "  Input should be 'auto' or 'half' [type=literal_error, input_value='fp17', input_type=str]"
    assert cause(log + "\n" + API + "dtype\n" + API + field) == API + field


def test_an_exception_without_words_is_named_by_the_line_that_has_them() -> None:
    words = "        An attempt has been made to start a new process before the"
    assert (
        cause(traceback(API, "RuntimeError: ", top="<module>") + f"\n{API}{words}\n{API}        current")
        == API + words
    )


def test_a_line_broken_by_a_paste_is_read_whole() -> None:
    broken = (
        "ValueError: To serve at least one request with the model's max seq len (262144), (18.35\n"
        "GiB KV cache is needed, which is larger than the available KV cache memory (8.72 GiB)"
    )
    found = read(traceback(API, broken.replace("\n", " @@"), top="<module>").replace(" @@", "\n"))
    assert found.cause is not None
    assert (found.cause.rule, found.cause.lineno) == ("kv-cache-too-small", 6)
    assert "memory (8.72 GiB)" in found.cause.line


def test_a_prefix_stands_once_before_a_line_broken_by_a_paste() -> None:
    log = (
        traceback(CORE, "ValueError: Free memory on")
        + "\ndevice cuda:0 (3.22/4.0 GiB) on startup is less than desired GPU memory utilization (0.9,\n3.6 GiB)."
    )
    found = read(log)
    assert found.cause is not None
    assert "3.22 of 4.0 GiB, and 3.6 GiB were wanted" in found.cause.summary
    assert found.cause.line.endswith("utilization (0.9, 3.6 GiB).")


def test_a_bare_assertion_is_told_by_its_source_line() -> None:
    log = traceback(CORE, "AssertionError").replace("raise Something(", "assert len(ids) == 3")
    found = read(log)
    assert found.cause is not None
    assert found.cause.summary == "EngineCore died of AssertionError: assert len(ids) == 3"


def test_a_worker_quoted_by_the_core_counts_less_than_its_own_line() -> None:
    quote = "RuntimeError: Worker failed with error 'HIP out of memory', please check the stack trace above"
    assert cause(traceback(worker(2), OOM) + "\n" + traceback(CORE, quote)) == worker(2) + OOM
    assert cause(traceback(CORE, quote)) == CORE + quote


@pytest.mark.parametrize(
    "intro",
    [
        "ERROR:    Exception in ASGI application",
        "Task exception was never retrieved",
        "Exception in thread T:",
    ],
)
def test_a_traceback_that_the_server_survives_is_no_failure(intro: str) -> None:
    found = read(f"{READY}\n{API}{intro}\n" + traceback(API, "VLLMValidationError: too many tokens", top="f"))
    assert not found.failed
    assert found.problems == ()


def test_a_request_that_the_server_itself_could_not_answer_is_a_warning() -> None:
    asgi = f"{READY}\n{API}ERROR:    Exception in ASGI application\n" + traceback(API, "KeyError: 'usage'")
    found = read(asgi + "\n" + asgi)
    assert not found.failed
    assert [(problem.severity, problem.rule, problem.count) for problem in found.problems] == [
        ("warning", "survived", 2)
    ]
    assert found.problems[0].line.endswith("KeyError: 'usage'")


def test_a_group_of_exceptions_of_a_request_is_no_failure() -> None:
    found = read(
        READY
        + "\nERROR:    Exception in ASGI application\n  + Exception Group Traceback (most recent call last):\n"
        '  |   File "a.py", line 3, in f\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n'
        "  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
        '    |   File "b.py", line 3, in g\n    | RuntimeError: '
        + OOM
        + "\n    +------------------------------------"
    )
    assert not found.failed


def test_an_error_record_of_a_request_is_no_failure() -> None:
    record = "(APIServer pid=1) ERROR 12-01 05:00:00 [serving_chat.py:136] "
    assert not read(READY + "\n" + traceback(record, "ValueError: bad template")).failed


def test_a_running_engine_survives_a_worker_call_but_not_its_own_fatal_error() -> None:
    call = (
        READY
        + "\n"
        + worker(0)
        + "WorkerProc hit an exception.\n"
        + traceback(worker(0), "ValueError: no such LoRA")
    )
    assert not read(call).failed
    assert [(p.severity, p.rule) for p in read(call).problems] == [("warning", "survived")]
    fatal = call + "\n" + CORE + "EngineCore encountered a fatal error.\n" + traceback(API, DEAD)
    assert cause(fatal).endswith("no such LoRA")


def test_what_the_server_survived_before_it_was_ready_is_not_blamed_later() -> None:
    early = traceback("", "KeyError: 'early'")
    late = f"{CORE}EngineCore encountered a fatal error.\n" + traceback(CORE, "IndexError: late")
    assert not read(early).failed
    assert cause(f"{early}\n{READY}\n{late}").endswith("late")


@pytest.mark.parametrize(
    "end",
    [
        CORE + "Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
        "[2026-08-02 00:17:43] Subprocess detokenizer (pid=3) crashed with exit code -6. Triggering SIGQUIT",
        "[2026-08-02 00:17:43] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
        traceback(API, DEAD),
    ],
)
def test_what_an_orderly_stop_leaves_behind_is_no_failure(end: str) -> None:
    assert read(end).failed
    assert not read("[2026-08-02 00:17:43] SIGTERM received. signum=None\n" + end).failed
    assert not conclude(suspects(end), stopping=False, stop_asked=True).failed


def test_a_child_that_was_told_to_end_is_a_stop() -> None:
    """Signal 15 comes from outside: from who stops the server, and often to its children first."""
    told = (
        "[2026-08-02 00:17:43] Subprocess detokenizer (pid=3) crashed with exit code -15. Triggering SIGQUIT"
    )
    after = (
        "[2026-08-02 00:17:43] SIGQUIT received. signum=None, frame=None. It usually means one child failed."
    )
    assert not read(f"{told}\n{after}").failed


def test_a_failure_stays_one_when_somebody_stops_its_remains() -> None:
    assert conclude(suspects(start_failure(OOM)), stopping=True, stop_asked=True, gone=EXIT).failed
    assert read(start_failure(OOM) + "\nINFO:     Shutting down").failed
    assert read(start_failure(OOM) + "\n" + READY).failed


def test_a_new_start_forgets_the_failure_before_it() -> None:
    finder = CauseFinder(suspects(start_failure(OOM)))
    finder.reset()
    assert finder.freeze() == Suspects()


def test_an_end_that_the_log_has_no_word_about() -> None:
    killed = conclude(Suspects(), stopping=False, gone=events.Exit(t=9.0, signal=9), oom_kills=1)
    assert (killed.failed, killed.failed_t, killed.cause, killed.in_view) == (True, 9.0, None, False)
    assert "signal 9" in killed.problems[0].line
    assert not conclude(Suspects(), stopping=True, gone=EXIT).failed
    assert not conclude(Suspects(), stopping=False, gone=EXIT, stop_asked=True).failed
    assert not conclude(Suspects(), stopping=False).failed


def test_a_vanished_worker_is_put_down_to_the_oom_killer_where_the_container_counted_one() -> None:
    log = (
        CORE + "Worker proc VllmWorker-1 died unexpectedly, shutting down executor.\n" + traceback(API, DEAD)
    )
    seen = suspects(log)
    plain, counted = (conclude(seen, stopping=False, oom_kills=kills) for kills in (None, 2))
    assert plain.cause is not None
    assert counted.cause is not None
    assert "VllmWorker-1" in plain.cause.line
    assert counted.cause.hint is not None
    assert "2 times" in counted.cause.hint


def test_a_broken_pipe_is_the_end_of_somebody_else() -> None:
    log = (
        traceback(API, ECHO, top="<module>")
        + "\n"
        + traceback(worker(0), "BrokenPipeError: [Errno 32] Broken pipe")
    )
    found = read(log)
    assert (found.failed, found.cause, found.in_view) == (True, None, False)


def test_a_usage_error_is_a_failure_only_where_the_engine_prints_it() -> None:
    assert cause("usage: vllm serve\nvllm serve: error: unrecognized arguments: --x 3").endswith("--x 3")
    assert not read("grep: error: unrecognized arguments").failed
    assert not read(f"{READY}\nvllm serve: error: unrecognized arguments: --x 3").failed


def test_a_port_that_uvicorn_cannot_bind_fails_a_server_that_said_it_was_ready() -> None:
    taken = (
        "ERROR:    [Errno 98] error while attempting to bind on address ('::', 80): address already in use"
    )
    assert cause(f"{READY}\n{taken}") == taken


def test_sglang_prints_the_head_once() -> None:
    log = "[2025-04-23 21:31:41 TP2] Scheduler hit an exception: " + traceback("", OOM)
    found = read(log)
    assert found.cause is not None
    assert (found.cause.line, found.cause.process) == (OOM, "TP2")
    assert read(log.rpartition("\n")[0]).cause is None


def test_an_architecture_missing_from_a_list_that_holds_it_is_a_broken_install() -> None:
    line = "ValueError: Model architectures ['A'] are not supported for now. Supported architectures: ['{}']"
    broken, unknown = read(line.format("A")), read(line.format("B"))
    assert broken.cause is not None
    assert (broken.failed, broken.in_view, broken.cause.rule) == (True, False, "arch-broken-install")
    assert unknown.cause is not None
    assert (unknown.in_view, unknown.cause.rule) == (True, "unknown-architecture")


def test_a_full_queue_is_a_hang_only_after_minutes_without_another_word() -> None:
    full = (
        "(EngineCore pid=7) INFO 12-01 05:00:00 [shm.py:1] No available shared memory broadcast block found"
    )
    found = read("\n".join([full] * 4))
    assert (found.failed, found.in_view) == (False, True)
    assert found.cause is not None
    assert found.cause.line == full
    assert read("\n".join([full] * 3)).cause is None
    assert read("\n".join([full] * 4 + ["INFO compiling"])).cause is None
    assert read("\n".join([full] * 3 + ["INFO compiling"] + [full] * 3)).cause is None


def test_a_plug_in_that_does_not_load_is_shown_and_survived() -> None:
    head = "(EngineCore pid=7) ERROR 12-01 05:00:00 [__init__.py:55] "
    found = read(
        head
        + "Failed to load plugin eagle3_patches\n"
        + traceback(head, "ModuleNotFoundError: No module 'x'")
    )
    assert not found.failed
    assert [(p.severity, p.rule) for p in found.problems] == [("error", "plugin-failed")]


LOGS = [
    start_failure("ValueError: x"),
    start_failure(
        "pydantic_core.ValidationError: 1 validation error for X\n"
        + CORE
        + "  Value error, y [type=z, input_value="
    ),
    traceback("", "KeyError: 'a'", "RuntimeError: ", top="<module>") + "\nwords of it\nmore",
    READY + "\n" + traceback(worker(0), OOM) + "\n" + traceback(API, DEAD),
]


@pytest.mark.parametrize("log", LOGS)
def test_the_memory_is_the_same_wherever_it_was_frozen(log: str) -> None:
    assert suspects(log, frozen_after_each=True) == suspects(log)


@pytest.mark.parametrize("log", LOGS)
def test_a_failure_never_turns_back_as_more_lines_come(log: str) -> None:
    rows = log.split("\n")
    failed = [read("\n".join(rows[:n])).failed for n in range(1, len(rows) + 1)]
    assert failed == sorted(failed)
    assert failed[-1]


def test_memory_and_work_stay_bounded() -> None:
    finder = CauseFinder(Suspects())
    for number in range(3000):
        for line in lines(
            f"(Worker_TP{number} pid={number}) " + chr(97 + number % 26) * (number % 90 + 1) + "Error: x"
        ):
            finder.see(line)
        for line in lines(f'(Worker_TP{number} pid={number})   File "a.py", line 1, in f'):
            finder.see(line)
    memory = finder.freeze()
    assert len(memory.suspects) <= 24
    assert len(memory.blocks) <= 32


def test_sglang_ends_itself_and_the_shell_says_killed() -> None:
    """That word follows every failure of SGLang's: it is neither the cause nor a part of its message."""
    told = read(
        "[2026-02-26 16:41:05] Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/x/scheduler.py", line 1, in run\n    go()\n'
        "AssertionError: sizes differ\n\n"
        "[2026-02-26 16:41:06] Received sigquit from a child process. It usually means the child failed.\n"
        "./run.sh: line 7: 123 Killed                  python3 -m sglang.launch_server\n"
    )
    assert told.cause is not None
    assert told.cause.line == "AssertionError: sizes differ"
    alone = read(
        "[2026-02-26 16:41:06] Received sigquit from a child process. It usually means the child failed.\nKilled\n"
    )
    assert alone.failed
    assert not alone.in_view


def test_a_shells_terminated_is_a_stop() -> None:
    told = read(
        "(APIServer pid=1) INFO:     Application startup complete.\n"
        "./x.sh: line 3: 123 Terminated    vllm serve m\n"
        "(EngineCore_DP0 pid=2) ERROR 12-01 10:00:20 [core.py:3] EngineDeadError\n"
    )
    assert not told.failed


@pytest.mark.parametrize(
    "before",
    [
        lambda n: "> ",
        lambda n: "    ",
        lambda n: "\t",
        lambda n: f"{n:>5}  ",
        lambda n: f"[vllm] 10:{n:02d}:01 ",
        lambda n: f"2024-12-19 21:40:{n:02d} ERROR 56542 [async_llm_engine.py:64] ",
        lambda n: f"- 2024-12-19 21:40:{n:02d},123 ",
    ],
    ids=["quote", "indent", "tab", "numbered", "clock", "format", "list"],
)
def test_a_traceback_behind_what_nobody_knows_is_read(before: Callable[[int], str]) -> None:
    """Its first line shows what a wrapper puts in front of each, whole or with its beginning out of view."""
    whole = traceback("", "ValueError: x", OOM, top="<module>").split("\n")
    for rows in (whole, whole[1:]):
        log = "\n".join(before(number) + row for number, row in enumerate(rows))
        assert cause(log).endswith(OOM)


def test_a_records_file_counts_with_its_folders_too() -> None:
    """At level DEBUG vLLM prints the path below its package."""
    core = CORE.replace("[core.py", "[v1/engine/core.py")
    log = core + "EngineCore failed to start.\n" + traceback(core, "RuntimeError: x", ECHO)
    assert cause(log).endswith("RuntimeError: x")


@pytest.mark.parametrize(
    "words",
    [
        "CRITICAL 02-25 11:11:34 [launcher.py:101] MQLLMEngine is already dead, terminating server process",
        "CRITICAL 04-08 04:00:01 [core_client.py:361] Got fatal signal from worker processes, shutting down. See stack",
    ],
)
def test_last_words_alone_are_a_failure_of_unknown_cause(words: str) -> None:
    ray = "INFO 04-08 04:00:01 [x.py:1] Shutting down Ray distributed executor. If you see regarding SIGTERM received, "
    told = read(READY + "\n" + ray + "please ignore because this is expected.\n" + words)
    assert told.failed
    assert not told.in_view


def test_what_was_thrown_stands_behind_terminate() -> None:
    log = (
        "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: out of memory\n"
    )
    assert cause(log + "Aborted (core dumped)").endswith("what():  CUDA error: out of memory")


def test_a_compilers_own_words_come_before_the_build_that_failed() -> None:
    gcc = (
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc', 'main.c']' returned non-zero exit status 1."
    )
    log = (
        "main.c:5:10: fatal error: Python.h: No such file or directory\n"
        + CORE
        + "EngineCore failed to start.\n"
    )
    assert "Python.h" in cause(log + traceback(CORE, gcc))


def test_a_way_through_the_servers_own_start_needs_no_first_frame() -> None:
    """A paste begins below `<module>`, and the exception is one that no rule knows."""
    error = "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig"
    log = (
        traceback(API, error, top="main", frame="create_engine_config")
        + f"\n{API}  Value error, so not [type=value_error, "
    )
    assert cause(log).startswith(f"{API}  Value error, so not")


NUMPY = """A module that was compiled using NumPy 1.x cannot be run in
NumPy 2.2.6 as it may crash.

Traceback (most recent call last):  File "/usr/lib/python3.10/runpy.py", line 196, in _run_module_as_main
    return _run_code(code, main_globals, None,
AttributeError: _ARRAY_API not found"""


@pytest.mark.parametrize(
    "log",
    [
        NUMPY,
        traceback("", "openai.APIConnectionError: Connection error.", top="<module>"),
        traceback(
            "",
            "requests.ConnectionError: HTTPConnectionPool(host='localhost', port=8000): no",
            top="<module>",
        ),
        READY
        + "\n"
        + CORE
        + "Invocation of add_lora method failed\n"
        + traceback(CORE, "ValueError: No adapter found"),
        "Error response from daemon: No such container: vllm",
    ],
    ids=["numpy", "client", "waiting", "utility", "docker-rm"],
)
def test_what_a_server_lives_through_is_no_failure(log: str) -> None:
    assert not read(log).failed


def test_settings_refused_are_a_failure_though_the_frames_are_out_of_view() -> None:
    log = f"{API}pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    assert cause(log + f"{API}  Value error, not so [type=value_error, input_value=1").endswith(
        "input_value=1"
    )
    assert not read(READY + "\n" + log.replace("ModelConfig", "ChatCompletionRequest")).failed


def test_a_worker_that_its_parent_ended_is_no_cause() -> None:
    told = read("ERROR 07-04 23:20:58 [x.py:1] Worker VllmWorkerProcess pid 3283517 died, exit code: -15")
    assert told.failed
    assert not told.in_view


def test_the_cores_quote_of_a_worker_may_have_several_lines() -> None:
    quoted = (
        "RuntimeError: Worker failed with error 'CUDA out of memory.\n', please check the stack trace above"
    )
    log = (
        CORE + "EngineCore encountered a fatal error.\n" + traceback(CORE, quoted.replace("\n", "\n" + CORE))
    )
    assert "CUDA out of memory" in cause(log)
    assert cause(traceback(worker(1), OOM) + "\n" + log).endswith(OOM)


def test_a_remote_workers_own_exception_counts_not_the_one_that_brings_it() -> None:
    """Ray quotes the worker's traceback within the message of its own exception."""
    brought = "ray.exceptions.RayTaskError(RuntimeError): ray::RayWorkerWrapper.execute_method() (pid=1, ip=10.0.0.2)"
    quoted = "\n".join(f'  File "w{n}.py", line {n}, in load_model\n    call()' for n in range(9))
    log = CORE + "EngineCore failed to start.\n" + traceback(CORE, brought)
    log += "".join(f"\n{CORE}{row}" for row in f"{quoted}\n{OOM}".split("\n"))
    assert cause(log).endswith(OOM)


@pytest.mark.parametrize(("code", "failed"), [(1, True), (2, True), (0, False), (130, False), (143, False)])
def test_a_compose_containers_exit_code_says_whether_it_failed(code: int, failed: bool) -> None:
    assert read(f"vllm-1 exited with code {code}").failed is failed
    assert not read(f"qwen exited with code {code}").failed
    assert not read(f"open-webui-1 exited with code {code}").failed


def test_the_first_engines_words_are_quoted_when_it_is_gone() -> None:
    """V0's API server repeats what its engine died of; a closed socket is no such thing."""
    gone = "MQEngineDeadError: Engine loop is not running. Inspect the stacktrace to find the "
    chat = "ERROR 03-18 22:29:46 [serving_chat.py:677] "
    assert "out of memory" in cause(
        traceback(chat, f"{gone}original error: OutOfMemoryError('CUDA out of memory.').")
    )
    assert not read(traceback(chat, f"{gone}original error: ZMQError('Operation not supported').")).in_view


@pytest.mark.parametrize("marks", ["> ", "    ", "- ", "12: ", "2025-07-10 08:59:40 "])
def test_one_line_of_a_paste_counts_behind_its_marks_when_it_surely_is_an_end(marks: str) -> None:
    assert cause(marks + OOM).endswith(OOM)
    assert not read(marks + "ValueError: anything").failed


def test_a_record_behind_an_unknown_prefix_is_its_files() -> None:
    """What the API server's request handlers log is survived, what the engine's core logs is not."""
    before = "2024-12-19 21:40:35 ERROR 56542 [{}:64] "
    for place, failed in (("serving_chat.py", False), ("engine.py", True)):
        assert read(traceback(before.format(place), "ValueError: x")).failed is failed


def test_a_broken_line_of_a_full_queue_is_no_word_of_anybodys() -> None:
    queue = "INFO 12-01 05:00:00 [shm_broadcast.py:466] No available shared memory broadcast block found"
    log = "\n".join(
        [queue, "in 60 seconds. This typically happens when some processes are hanging or doing"] * 4
    )
    told = read(log)
    assert told.cause is not None
    assert told.cause.rule == "worker-hangs"
