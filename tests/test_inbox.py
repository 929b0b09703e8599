"""The inbox: ordered, whole or absent, bounded, and wrong use is refused."""

import threading
from pathlib import Path

import pytest

from collectors.errors import SpecwatchError
from collectors.record import inbox
from tests.run_folders import make_run


def test_requests_come_in_the_order_of_posting(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    for number in range(20):
        inbox.post(folder, "mark", label=str(number))
    read = [inbox.read(path) for path in inbox.waiting(folder)]
    assert [asked.label for asked in read if isinstance(asked, inbox.Asked)] == [str(n) for n in range(20)]


def test_many_posters_lose_nothing(tmp_path: Path) -> None:
    folder = make_run(tmp_path)

    def post_many() -> None:
        for _ in range(25):
            inbox.post(folder, "note", label="x")

    posters = [threading.Thread(target=post_many) for _ in range(4)]
    for poster in posters:
        poster.start()
    for poster in posters:
        poster.join()
    assert len(inbox.waiting(folder)) == 100
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in inbox.waiting(folder))


def test_fields_arrive(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    inbox.post(folder, "bench_end", pair="b1", label="c8", data={"tok_s": 12.5, "failed": None})
    (path,) = inbox.waiting(folder)
    assert inbox.read(path) == inbox.Asked(
        kind="bench_end", id="b1", label="c8", data={"tok_s": 12.5, "failed": None}
    )


@pytest.mark.parametrize(
    "raw", [b"", b"{", b'{"kind": "explode"}', b"\xff\xfe", b"x" * (inbox.MAX_BYTES + 1)]
)
def test_a_damaged_request_is_told_in_words(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "1.json").write_bytes(raw)
    assert isinstance(inbox.read(tmp_path / "1.json"), str)


def test_an_unknown_kind_is_the_programmers_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a request is one of"):
        inbox.post(make_run(tmp_path), "explode")


def test_an_inbox_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    folder.inbox.rmdir()
    with pytest.raises(SpecwatchError, match="could not be left"):
        inbox.post(folder, "mark")
    assert inbox.waiting(folder) == []
