"""No model is closed under its users, one load runs at a time, and memory keeps to its bound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import pytest

from ragbase_inference.errors import ClosedError, ModelUnavailableError
from ragbase_inference.gguf.errors import NoRoomError, NotLoadedError, TooMuchMemoryError
from ragbase_inference.gguf.leases import Leases

WAIT_S = 20.0


class Model:
    """Answers with its name while it is open."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.alive = True
        self.closed = False

    def answer(self) -> str:
        assert not self.closed, "closed under its user"
        return self.name

    def memory_bytes(self) -> int:
        return self.size

    def close(self) -> None:
        self.closed = True


class House:
    """Models by name, each of ten bytes; tells what was loaded, and how many loads ran at once."""

    def __init__(self, memory: int | None = None, wait_s: float = WAIT_S) -> None:
        self.loads: list[str] = []
        self.made: list[Model] = []
        self.at_once = self.most_at_once = 0
        self.now = 0.0
        self.load_s = 0.0
        self.failing = False
        self._guard = threading.Lock()
        self.leases = Leases[Model](
            self._open, lambda name: 10, memory_bytes=memory, wait_s=wait_s, clock=self._clock
        )

    def _clock(self) -> float:
        return self.now or monotonic()

    def _open(self, name: str) -> Model:
        with self._guard:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        sleep(self.load_s)
        with self._guard:
            self.at_once -= 1
            self.loads.append(name)
        if self.failing:
            raise ModelUnavailableError("no")
        model = Model(name, 10)
        self.made.append(model)
        return model

    def ask(self, name: str) -> str:
        with self.leases.use(name) as model:
            return model.answer()

    @property
    def taken(self) -> int:
        return sum(model.size for model in self.made if not model.closed)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


def eventually(holds: Callable[[], bool]) -> None:
    until = monotonic() + WAIT_S
    while not holds():
        assert monotonic() < until
        sleep(0.005)


def test_first_calls_at_once_load_a_model_once(pool: ThreadPoolExecutor) -> None:
    """L19."""
    house = House()
    house.load_s = 0.05
    assert list(pool.map(house.ask, ["a"] * 12)) == ["a"] * 12
    assert house.loads == ["a"]


def test_one_load_runs_at_a_time(pool: ThreadPoolExecutor) -> None:
    house = House()
    house.load_s = 0.02
    assert list(pool.map(house.ask, "abcdef")) == list("abcdef")
    assert house.most_at_once == 1


def test_a_server_that_lets_wait_keeps_no_model_from_loading(pool: ThreadPoolExecutor) -> None:
    """It takes no memory of ours, so there is nothing to be careful with."""
    house = House()
    house.leases._need = lambda name: 0 if name == "server" else 10
    answered = threading.Event()
    plain = house.leases._open

    def opened(name: str) -> Model:
        if name == "server":
            assert answered.wait(WAIT_S)
        return plain(name)

    house.leases._open = opened
    waiting = pool.submit(house.ask, "server")
    try:
        eventually(lambda: house.leases._uses["server"].users == 1)
        sleep(0.05)
        assert pool.submit(house.ask, "a").result(WAIT_S / 4) == "a"
    finally:
        answered.set()
    assert waiting.result(WAIT_S) == "server"


def test_unloading_waits_for_users_and_newcomers_get_a_fresh_model(
    pool: ThreadPoolExecutor,
) -> None:
    """L19."""
    house = House()
    with house.leases.use("a") as model:
        unloading = pool.submit(house.leases.unload, "a")
        eventually(lambda: not house.leases._uses["a"].is_open)
        newcomer = pool.submit(house.ask, "a")
        sleep(0.05)
        assert model.answer() == "a"
        assert not unloading.done()
        assert not newcomer.done()
    unloading.result(WAIT_S)
    assert newcomer.result(WAIT_S) == "a"
    assert house.made[0].closed
    assert house.loads == ["a", "a"]


def test_unloading_gives_up_where_users_stay() -> None:
    house = House(wait_s=0.05)
    with house.leases.use("a"):
        with pytest.raises(NoRoomError):
            house.leases.unload("a")
        assert house.ask("a") == "a", "others come in again"
    house.leases.unload("a")
    assert house.made[0].closed


def test_two_who_unload_at_once_both_come_to_their_end(pool: ThreadPoolExecutor) -> None:
    house = House()
    with house.leases.use("a"):
        first = pool.submit(house.leases.unload, "a")
        eventually(lambda: not house.leases._uses["a"].is_open)
        second = pool.submit(house.leases.unload, "a")
    first.result(WAIT_S)
    second.result(WAIT_S)
    assert house.leases.loaded() == []


def test_what_is_not_loaded_cannot_be_unloaded() -> None:
    house = House()
    with pytest.raises(NotLoadedError):
        house.leases.unload("a")


def test_a_load_that_fails_is_tried_again_and_takes_no_memory() -> None:
    house = House(memory=10)
    house.failing = True
    with pytest.raises(ModelUnavailableError, match="no"):
        house.ask("a")
    house.failing = False
    assert house.ask("b") == "b"
    assert house.ask("a") == "a"


def test_the_model_unused_for_longest_gives_way() -> None:
    house = House(memory=20)
    for house.now, name in enumerate("aba", start=1):
        house.ask(name)
    house.now = 4
    house.ask("c")
    assert sorted(house.leases.loaded()) == ["a", "c"]
    assert house.taken == 20


def test_a_model_in_use_does_not_give_way(pool: ThreadPoolExecutor) -> None:
    house = House(memory=10)
    with house.leases.use("a") as model:
        waiting = pool.submit(house.ask, "b")
        sleep(0.05)
        assert not waiting.done()
        assert model.answer() == "a"
    assert waiting.result(WAIT_S) == "b"
    assert house.taken == 10


def test_who_waits_in_vain_for_memory_is_told() -> None:
    house = House(memory=10, wait_s=0.05)
    with house.leases.use("a"), pytest.raises(NoRoomError, match="memory"):
        house.ask("b")


def test_a_model_beyond_the_bound_is_refused_and_nothing_gives_way_for_it() -> None:
    house = House(memory=15)
    house.ask("a")
    house.leases._need = lambda name: 16
    with pytest.raises(TooMuchMemoryError):
        house.ask("b")
    assert house.leases.loaded() == ["a"]


def test_a_model_that_died_is_replaced(pool: ThreadPoolExecutor) -> None:
    house = House()
    house.ask("a")
    house.made[0].alive = False
    assert list(pool.map(house.ask, ["a"] * 8)) == ["a"] * 8
    assert house.made[0].closed
    assert house.loads == ["a", "a"]


def test_a_model_that_died_counts_as_not_loaded_and_takes_no_memory() -> None:
    house = House(memory=10)
    house.ask("a")
    house.made[0].alive = False
    assert house.leases.loaded() == []
    with pytest.raises(NotLoadedError):
        house.leases.unload("a")
    house.ask("b")
    assert house.leases.loaded() == ["b"]
    house.made[1].alive = False
    assert (house.ask("a"), house.leases.loaded()) == ("a", ["a"])


def test_a_model_that_dies_at_work_leaves_with_its_last_user() -> None:
    house = House()
    with house.leases.use("a") as first, house.leases.use("a"):
        first.alive = False
    assert house.made[0].closed
    assert house.ask("a") == "a"


def test_idle_models_are_unloaded_by_the_time_of_their_last_use() -> None:
    house = House()
    house.now = 100.0
    house.ask("a")
    house.ask("b")
    house.now = 1000.0
    house.ask("b")
    with house.leases.use("c"):
        house.now = 1900.0
        assert house.leases.unload_idle(1800.0) == ["a"]
        house.now = 9000.0
        assert house.leases.unload_idle(1800.0) == ["b"], "c is in use"
    house.now = 9001.0
    assert house.leases.unload_idle(1800.0) == [], "the use of c has just ended"


def test_nothing_opens_after_the_end() -> None:
    house = House()
    house.ask("a")
    house.leases.close()
    assert house.made[0].closed
    with pytest.raises(ClosedError):
        house.ask("a")


def test_who_waits_is_told_of_the_end(pool: ThreadPoolExecutor) -> None:
    house = House(memory=10)
    with house.leases.use("a"):
        for_memory = pool.submit(house.ask, "b")
        unloading = pool.submit(house.leases.unload, "a")
        eventually(lambda: not house.leases._uses["a"].is_open)
        for_unloading = pool.submit(house.ask, "a")
        sleep(0.05)
        begun = monotonic()
        house.leases.close()
        for waiting in (for_memory, for_unloading):
            with pytest.raises(ClosedError):
                waiting.result(WAIT_S)
        unloading.result(WAIT_S)
        assert monotonic() - begun < WAIT_S / 2


def test_many_clients_with_loads_and_unloads_between_get_their_own_models_answer(
    pool: ThreadPoolExecutor,
) -> None:
    """Two of three models fit; none is closed in use, and the bound holds throughout."""
    house = House(memory=20)
    house.load_s = 0.001
    most = 0

    def client(seed: int) -> None:
        nonlocal most
        for turn in range(60):
            name = "abc"[(seed + turn * (seed + 1)) % 3]
            if turn % 7 == seed % 7:
                try:
                    house.leases.unload(name)
                except NotLoadedError:
                    continue
            assert house.ask(name) == name
            most = max(most, house.taken)

    for client_done in [pool.submit(client, seed) for seed in range(8)]:
        client_done.result(WAIT_S * 2)
    assert 10 <= most <= 20
    assert house.most_at_once == 1
    assert len(house.loads) > 3
