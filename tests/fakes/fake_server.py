"""A small, controllable `vllm serve`: prints a start-up log, then answers /health and /metrics on loopback.

Options beside --host and --port: --ready-after S, --exit CODE (fails instead of getting ready), --children N
(sleeping children, as Engine and Workers are), --ignore-term, --dump-env FILE, --dies-in S (its engine has failed; it
ends S seconds later, and hangs if it is asked to stop meanwhile).
"""

import argparse
import http.server
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = (
            b'vllm:generation_tokens_total{engine="0",model_name="m"} 0.0\n'
            if self.path == "/metrics"
            else b""
        )
        self.send_response(200 if self.path in ("/health", "/metrics") else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


def say(text: str) -> None:
    print(f"(APIServer pid={os.getpid()}) INFO {time.strftime('%m-%d %H:%M:%S')} {text}", flush=True)  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--ready-after", type=float, default=0.1)
    parser.add_argument("--exit", type=int)
    parser.add_argument("--children", type=int, default=0)
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--dump-env", type=Path)
    parser.add_argument("--dies-in", type=float)
    options, _ = parser.parse_known_args()
    if options.dump_env:
        options.dump_env.write_text(
            json.dumps({"env": dict(os.environ), "argv": sys.argv, "cwd": os.getcwd()})
        )
    say("[api_server.py:1] vLLM API server version 0.32.0")
    if options.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: stop())
    for _ in range(options.children):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if options.dies_in is not None:
        sys.stderr.write("(EngineCore pid=2) ERROR 12-01 10:00:00 [core.py:9] EngineCore failed to start.\n")
        signal.signal(signal.SIGTERM, lambda *_: time.sleep(60))
        time.sleep(options.dies_in)
        os._exit(1)
    time.sleep(options.ready_after)
    if options.exit is not None:
        say("[core.py:1] it cannot go on")
        os._exit(options.exit)
    server = http.server.ThreadingHTTPServer((options.host, options.port), Answers)
    sys.stderr.write("INFO:     Application startup complete.\n")
    server.serve_forever()


def stop() -> None:
    """As vLLM does when asked: its children first, then itself, with 0."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        os.kill(int(pid), signal.SIGTERM)
    sys.stderr.write("INFO:     Shutting down\n")
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
