"""What a store needs of an engine passes by the link of an engine that is far away, all of it."""

from __future__ import annotations

import inspect
import random
import re
from dataclasses import fields
from unittest.mock import Mock

import pytest

from pagefault.model.clock import SystemClock
from pagefault.model.errors import StoreBusy, StoreError
from pagefault.model.ids import IdMinter
from pagefault.store import api
from pagefault.store.in_memory.store import memory_store
from pagefault.store.store import Store
from pagefault.testing.distant import LEADS_ON, NEVER_FAILS, Distant, Link, put_away

CONTRACTS = {
    name: one
    for name, one in vars(api).items()
    if getattr(one, "_is_protocol", False) and one.__module__ == api.__name__
}
METHODS = [
    (contract, name)
    for contract, one in CONTRACTS.items()
    for name, method in vars(one).items()
    if inspect.isfunction(method) and not name.startswith("_")
]


def leads_to(annotation: str) -> set[str]:
    """The contracts that an annotation names."""
    return CONTRACTS.keys() & set(re.findall(r"\w+", annotation))


def test_control_the_contracts_are_found() -> None:
    assert {"EventLog", "PageIndex", "BlobStore", "VectorStore", "WriterLock"} <= CONTRACTS.keys()
    assert {("EventLog", "append"), ("PageIndex", "candidates"), ("BlobStore", "put")} <= {*METHODS}


@pytest.mark.parametrize(("contract", "name"), METHODS)
def test_every_call_can_be_refused_and_cut_off(contract: str, name: str) -> None:
    there = Mock()
    away = Distant(there, Link(random.Random(1), refused=1.0))
    if name in NEVER_FAILS:
        getattr(away, name)()
        return
    with pytest.raises(StoreBusy):
        getattr(away, name)()
    assert not getattr(there, name).called, "what is refused is not done"
    away = Distant(there, Link(random.Random(1), cut=1.0))
    with pytest.raises(StoreError, match="broke"):
        getattr(away, name)()
    assert getattr(there, name).called, "what is cut off is done, and nobody knows"


@pytest.mark.parametrize(("contract", "name"), METHODS)
def test_what_leads_on_is_as_far_away(contract: str, name: str) -> None:
    annotation = inspect.signature(vars(CONTRACTS[contract])[name]).return_annotation
    if leads_to(annotation):
        assert name in LEADS_ON
        assert isinstance(getattr(Distant(Mock(), Link(random.Random(1))), name)(), Distant)


def test_what_is_excepted_is_in_a_contract() -> None:
    assert {name for _, name in METHODS} >= NEVER_FAILS | LEADS_ON


def test_all_that_a_store_has_of_its_engine_is_put_away() -> None:
    clock = SystemClock()
    store = memory_store(clock, IdMinter(clock, random.Random(1)), random.Random(1).randbytes)
    store.lock, store.leases.presence = Mock(), Mock()
    store = put_away(store, Link(random.Random(1)))
    store.open_vectors(make=True)
    kept = [one.name for one in fields(Store) if leads_to(str(one.type))]
    assert set(kept) == {"log", "index", "blobs", "vector_place", "lock", "vectors"}
    for name in kept:
        assert isinstance(getattr(store, name), Distant), name
    assert isinstance(store.leases.presence, Distant)
