import http.server
import json
import sys
import threading
from pathlib import Path

import pytest

from launch.hooks import run_hooks

FACTS = {
    "id": "r1",
    "phase": "ready",
    "root_cause": None,
    "spec": {"rate": 0.5},
    "note": "key sk-verysecret-1",
}


def configured(tmp_path: Path, hook: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(f"[hooks]\non_ready = {hook}\n")
    return path


def test_a_command_gets_the_facts_without_a_shell_and_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECWATCH_SECRETS", '["sk-verysecret-1"]')
    out = tmp_path / "out"
    code = "import json, os, sys; json.dump([sys.argv[2:], dict(os.environ)], open(sys.argv[1], 'w'))"
    hook = json.dumps([sys.executable, "-c", code, str(out), "$HOME; true"])
    assert run_hooks(configured(tmp_path, hook), "ready", FACTS) is None
    argv, env = json.loads(out.read_text())
    assert argv == ["$HOME; true"]
    assert (env["SPECWATCH_EVENT"], env["SPECWATCH_ID"], env["SPECWATCH_ROOT_CAUSE"]) == ("ready", "r1", "")
    assert env["SPECWATCH_SPEC"] == '{"rate":0.5}'
    assert not any("verysecret" in value for value in env.values())


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["/no/such/program"], "could not be started"),
        ([sys.executable, "-c", "import sys; sys.exit('disk full')"], "ended with 1: disk full"),
    ],
)
def test_a_hook_that_fails_is_only_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], says: str
) -> None:
    assert says in (run_hooks(configured(tmp_path, json.dumps(command)), "ready", FACTS) or "")
    assert says in capsys.readouterr().err


def test_an_event_without_a_hook_and_a_configuration_that_broke_since(tmp_path: Path) -> None:
    path = configured(tmp_path, '["true"]')
    assert run_hooks(path, "stalled", FACTS) is None
    path.write_text("[hooks")
    assert "TOML" in (run_hooks(path, "ready", FACTS) or "")


def test_an_address_gets_json(tmp_path: Path) -> None:
    got: list[bytes] = []

    class Sink(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200 if self.path == "/ok" else 500)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}"
        try:
            assert run_hooks(configured(tmp_path, f'{{ url = "{base}/ok" }}'), "ready", FACTS) is None
            assert run_hooks(configured(tmp_path, f'{{ url = "{base}/secret" }}'), "ready", FACTS) == (
                f"{base} answered 500"
            )
        finally:
            server.shutdown()
            thread.join()
    assert json.loads(got[0])["event"] == "ready"
    assert json.loads(got[0])["spec"] == {"rate": 0.5}
    assert (
        "refused"
        in (run_hooks(configured(tmp_path, f'{{ url = "{base}/ok" }}'), "ready", FACTS) or "").lower()
    )
