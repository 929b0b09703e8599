"""A server for tests: a start-up log, then /health and /metrics on 127.0.0.1:PORT. SIGTERM ends it with code
0.

server.py PORT [--lines N] [--pace SECONDS] [--child]
"""

import argparse
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = """# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{engine="0",model_name="m"}} {tokens}.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="m"}} 1.0
"""


class Handler(BaseHTTPRequestHandler):
    scrapes = 0

    def do_GET(self) -> None:
        body = b""
        if self.path == "/metrics":
            Handler.scrapes += 1
            body = PAGE.format(tokens=100 * Handler.scrapes).encode()
        self.send_response(200 if self.path in ("/health", "/metrics") else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--lines", type=int, default=5)
    parser.add_argument("--pace", type=float, default=0.02)
    parser.add_argument("--child", action="store_true", help="a child that outlives a killed server by 3 s")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if args.child:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3); print('the child ends')"])
    for number in range(args.lines):
        say(f"(APIServer pid=1) INFO 12-01 05:17:09 [fake.py:1] line {number}")
        time.sleep(args.pace)
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    say("INFO:     Application startup complete.")
    server.serve_forever()


main()
