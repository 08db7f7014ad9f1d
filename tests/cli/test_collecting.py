"""Where no garbage is collected: the collector is as it was, also after an error."""

import gc

import pytest

from residuum.cli.collecting import uncollected


@pytest.mark.parametrize("collecting", [True, False])
def test_it_leaves_the_collector_as_it_was(collecting: bool) -> None:
    gc.enable() if collecting else gc.disable()
    try:
        with pytest.raises(KeyError), uncollected():
            assert not gc.isenabled()
            raise KeyError("made halfway")
        assert gc.isenabled() == collecting
    finally:
        gc.enable()
