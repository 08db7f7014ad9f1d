"""Devices: imports leave the garbage collector as they found it."""

import gc

import pytest

from residuum.neural import devices


@pytest.mark.parametrize("collecting", [True, False])
def test_importing_leaves_the_collector_as_it_was(collecting: bool) -> None:
    gc.enable() if collecting else gc.disable()
    try:
        with pytest.raises(ImportError), devices.importing():
            assert not gc.isenabled()
            raise ImportError("no such library")
        assert gc.isenabled() == collecting
    finally:
        gc.enable()
