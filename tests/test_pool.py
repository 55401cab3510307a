"""Tests worker threads that tailback can abandon, and the detection of stuck runs."""

from __future__ import annotations

import threading

import pytest

from tailback.errors import InputError
from tailback.running import pool


def test_what_is_given_up_is_not_waited_for_and_the_rest_is_done() -> None:
    never = threading.Event()
    begun = threading.Event()

    def work(item: str) -> None:
        if item == "stuck":
            begun.set()
            never.wait()
        elif item == "wrong":
            raise ValueError(item)

    threads = pool.Pool(1, work)
    for item in ("stuck", "wrong", "fine"):
        threads.submit(item)
    assert begun.wait(60)
    assert threads.done.empty()
    threads.give_up("stuck")
    found = [threads.done.get(timeout=60) for _ in range(2)]
    assert [item for item, _ in found] == ["wrong", "fine"]
    assert isinstance(found[0][1], ValueError)
    assert found[1][1] is None
    threads.stop(["stuck"])
    never.set()


def test_what_has_not_begun_is_dropped() -> None:
    go, begun = threading.Event(), threading.Event()
    done = []

    def work(item: int) -> None:
        begun.set()
        go.wait(60)
        done.append(item)

    threads = pool.Pool(1, work)
    for item in range(5):
        threads.submit(item)
    assert begun.wait(60)
    stopping = threading.Thread(target=threads.stop, args=([],))
    stopping.start()
    while not threads._todo.qsize() <= 1:
        pass
    go.set()
    stopping.join(60)
    assert done == [0]


def test_no_progress_for_long_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("tailback.running.pool.time.monotonic", lambda: now)
    watch: pool.Watch[str] = pool.Watch(3.0)
    runs = {"stuck": 0.5, "goes on": 0.0, "is stored": 1.0}
    seen = []
    for _ in range(8):
        now += 0.5
        runs["goes on"] += 0.01
        seen.append(watch.stuck(runs.items()))
    # Checks come every 0.5 s. A run counts as stuck at the first check that finds no progress for 3
    # s.
    assert seen == [[]] * 6 + [["stuck"]] * 2
    # If the whole process was stopped for an hour, only one second of this hour counts as waiting
    # time.
    watch = pool.Watch(3.0)
    watch.stuck(runs.items())
    now += 3600
    assert watch.stuck(runs.items()) == []


def test_the_time_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(pool.VARIABLE, raising=False)
    assert pool.patience_s() == pool.PATIENCE_S
    monkeypatch.setenv(pool.VARIABLE, "2.5")
    assert pool.patience_s() == 2.5
    for text in ("0", "-1", "soon", "nan", "inf"):
        monkeypatch.setenv(pool.VARIABLE, text)
        with pytest.raises(InputError, match=f"{pool.VARIABLE}={text}: expected seconds"):
            pool.patience_s()
