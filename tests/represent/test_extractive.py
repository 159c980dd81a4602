"""The ladder without a model keeps the compressor's contract, and what only it promises."""

from __future__ import annotations

import pytest

from pagefault.pack.count import O200k
from pagefault.represent.api import Compressor, CountTokens
from pagefault.represent.extractive import Extractive
from pagefault.testing.compressor_contract import CompressorContract


class TestExtractive(CompressorContract):
    @pytest.fixture
    def count(self) -> CountTokens:
        return O200k().count

    @pytest.fixture
    def compressor(self, count: CountTokens) -> Compressor:
        return Extractive(count)
