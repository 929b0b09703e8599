"""The command table. To add a command: one module here with a click command named `command`, one row below."""

from typing import NamedTuple


class Row(NamedTuple):
    name: str
    help: str  # the line in `specwatch --help`; held here so that --help imports no command
    hidden: bool = False


COMMANDS: tuple[Row, ...] = (
    Row("launch", "Start a server that outlives this terminal, and watch it load."),
    Row("attach", "Watch a run, or a server that specwatch did not start."),
    Row("wait", "Block until the server is ready, or say why it died."),
    Row("status", "One reading of a run."),
    Row("runs", "List the runs on this machine, or prune them."),
    Row("logs", "The server's log without the noise."),
    Row("stop", "Stop a server and see that nothing of it is left."),
    Row("restart", "Stop a run and launch it again."),
    Row("bench", "Measure what speculation buys, with the server's own counters."),
    Row("compare", "What was measured, side by side, with a verdict."),
    Row("doctor", "Check a drafter against its target before it is launched."),
    Row("patches", "What can be patched into a server for one launch."),
    Row("explain", "Read a saved server log as an expert would."),
    Row("replay", "The screen on a run's record, at any speed."),
    Row("demo", "The whole job without a GPU: a real vLLM, a tiny model, a drafter."),
    Row("completion", "Print the completion script for a shell."),
    Row("record", "The recorder (started by the keeper).", hidden=True),
)
