"""Whose socket answers, on real sockets."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from collectors.sources.ownership import who

SERVER = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
print(s.getsockname()[1], flush=True)
connection, _ = s.accept()
connection.recv(1)
"""


class Server:
    def __init__(self, port: int = 0) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.pid = self.process.pid

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def test_a_listener_of_the_tree_is_the_same(server: Server) -> None:
    assert who(server.port, None, frozenset({1, server.pid})) == ("same", server.pid)


def test_a_listener_outside_the_tree_is_another(server: Server) -> None:
    assert who(server.port, None, frozenset({1 << 22})) == ("other", server.pid)


def test_without_a_tree_nothing_is_said_of_whose_it_is(server: Server) -> None:
    assert who(server.port, None, frozenset()) == ("unknown", server.pid)


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert who(free.getsockname()[1], None, frozenset({1})) == ("unknown", None)


def test_of_two_on_one_port_the_one_that_answered_counts(server: Server) -> None:
    """SO_REUSEPORT: an orphan and the new server both listen, and each has its share of the connections."""
    second = Server(server.port)
    try:
        tree = frozenset({second.pid})
        met = set()
        clients = []
        for _ in range(40):
            client = socket.create_connection(("127.0.0.1", server.port))
            clients.append(client)
            owner = who(server.port, client.getsockname()[1], tree)
            met.add((owner.owner, owner.pid))
            if len(met) == 2:
                break
        assert met <= {("same", second.pid), ("other", server.pid)}
        for client in clients:
            client.close()
    finally:
        second.close()
