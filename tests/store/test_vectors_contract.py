"""The vectors of a folder and those in memory keep one contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagefault.store.embedded.disk import Disk
from pagefault.store.embedded.vectors import VectorFile
from pagefault.store.in_memory.vectors import MemoryVectorPlace
from pagefault.testing.vectors_contract import VectorPlaceContract


class TestVectorFile(VectorPlaceContract):
    @pytest.fixture
    def place(self, tmp_path: Path) -> VectorFile:
        return VectorFile(tmp_path, root_id="r", disk=Disk())


class TestMemoryVectors(VectorPlaceContract):
    @pytest.fixture
    def place(self) -> MemoryVectorPlace:
        return MemoryVectorPlace()


def test_in_a_folder_one_opening_has_the_turn(tmp_path: Path) -> None:
    one, other = (VectorFile(tmp_path, root_id="r", disk=Disk()) for _ in range(2))
    assert one.take_turn()
    assert not other.take_turn()
    one.end_turn()
    assert other.take_turn()
    other.end_turn()
