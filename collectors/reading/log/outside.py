"""Lines that no logger wrote: what shells, docker compose, argparse and pydantic say of a server, and its clients."""

import re

# Compose's own names, of a server by their sound (another service may end as it likes), and no end by a signal:
# those have rows, or were asked for.
EXITED = re.compile(
    r"^[\w.-]{0,80}(?:llm|sglang|inference)[\w.-]{0,80}[-_]\d{1,4} exited with code "
    r"(?!1(?:30|37|39|43)\b)[1-9]\d{0,2}\b"
)
USAGE = re.compile(
    r"(?:^|[\s>|:])(?:vllm|sglang|[\w./-]{0,200}(?:launch_server|api_server|__main__)\.py)(?: [\w-]+)?: error: "
)
PYDANTIC = re.compile(r"^\s*(?:Value error|Assertion failed), |\[type=\w+, input_value=")
# A shell's word about what it ran, with or without the script's name before it.
SHELL = re.compile(
    r"^(?:\S{1,200}: line \d+: +\d+ )?(?:Killed|Bus error|Illegal instruction|(?P<stop>Terminated))"
    r"(?: {2,}\S.*| \(core dumped\).*)?$"
)
# What asks a server on this machine is no part of it: a benchmark or a waiting script whose words stand in the log.
CLIENT = re.compile(
    r"(?:host='|host |call failed \(')(?:localhost|127\.0\.0\.1|0\.0\.0\.0)[':]|^openai\.\w+Error"
)
# What a quote or a paste puts before a single line: marks, a number, a stamp.
MARKS = re.compile(r"(?:[>*•|-] {0,8}|\s{1,12}|\d{1,6}[:.)] {1,4}|\d{4}-\d\d-\d\d[T ][\d:.,]{8,18}Z? ){1,4}")
