"""Layers on a card as CUDA graphs: recorded when a shape comes again, then replayed.

Usage: `replayed = Replayed(weakref.ref(layers), compute)`, then `replayed(states, bounds)` in
place of `compute(states, bounds)`. A forward pass of BERT-base launches 163 kernels, and a step of
CLEAR 1,180. A graph gives them to the card by one call. The values are the same to the last bit,
dropout included.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from residuum.cli.collecting import uncollected
from residuum.cli.errors import ResiduumError
from residuum.neural.resumable import log

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

SWITCH = "RESIDUUM_CUDA_GRAPHS"  # 0: kernels are launched one by one
MOST = 16  # graphs of a model in a mode: each holds what goes in and what comes out
# Rows of a pass that is recorded. What training keeps for its way back stays taken in between.
ROWS_TRAINED, ROWS_READ = 2**13, 2**16


class Bounds(NamedTuple):
    """Where texts begin and end among rows: `ends`, int32, are those of packing.filled.

    No text nor filler has more than `longest` tokens. `lengths` are those of the texts alone.
    """

    ends: Tensor
    longest: int
    lengths: list[int]


Compute = Callable[["Tensor", Bounds], "Tensor"]


class Recorded(NamedTuple):
    """Where a recorded pass reads and writes, and what replays it: forward, and back.

    Without gradient `gradient` (of what comes out) and `own` (of what goes in) are None. The way
    back writes the `gradients` of the weights.
    """

    gradients: Sequence[Tensor]
    states: Tensor
    ends: Tensor
    made: Tensor
    gradient: Tensor | None
    own: Tensor | None
    forward: Callable[[], object]
    back: Callable[[], object]


class Key(NamedTuple):
    """What a graph is recorded for: sizes, number formats, where the weights lie, and the mode."""

    sizes: tuple[int, int, int]
    kinds: Hashable
    lie: int
    mode: Hashable


class _Place(NamedTuple):
    """Where graphs of one model are recorded: a stream and memory that are theirs alone."""

    stream: Any
    pool: Any


class _Pass:
    """A pass with gradient that has not gone back: what it keeps, no other replay may overwrite."""


class Replayed:
    """What computes the states of layers: as ever, or on a card by replaying what it recorded.

    A graph holds addresses. So a pass is recorded for one shape, one mode and the weights where
    they lie, and what it gives is overwritten by the next one: who calls takes a copy at once.
    """

    def __init__(self, layers: Callable[[], Module | None], compute: Compute) -> None:
        self._layers, self._compute = layers, compute
        self._recorded: dict[Key, Recorded] = {}
        self._seen: Counter[Key] = Counter()
        self._weights: list[Any] = []
        self._gradients: list[Tensor] = []  # of the weights, which all graphs write
        self._open: weakref.ref[_Pass] | None = None
        self._most = 0 if os.environ.get(SWITCH) == "0" else MOST
        self._place: _Place | None = None
        EVERY.add(self)

    def __call__(self, states: Tensor, bounds: Bounds) -> Tensor:
        """Return the states (1, rows, size) that `compute` makes, with its gradient."""
        import torch

        key = self._key(states, bounds)
        if key is None or not (recorded := self._of(key, states, bounds)):
            return self._compute(states, bounds)
        if torch.is_grad_enabled():
            made: Tensor = _replay().apply(states, bounds.ends, recorded, self)
            return made
        return _forward(recorded, states, bounds.ends)

    def _key(self, states: Tensor, bounds: Bounds) -> Key | None:
        """Return what a graph is recorded for; None for a pass that none is recorded of."""
        import torch

        grad, rows, layers = torch.is_grad_enabled(), states.shape[1], self._layers()
        if layers is None or not self._most or not on_card(states):
            return None
        if rows > (ROWS_TRAINED if grad else ROWS_READ) or (self._open and self._open()):
            return None
        weights = self._weights = self._weights or [*layers.parameters()]
        if grad and not (states.requires_grad and all(some.requires_grad for some in weights)):
            return None
        lie = hash(tuple(some.data_ptr() for some in weights))
        kinds = states.dtype, torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
        mode = layers.training, grad, torch.is_inference_mode_enabled()
        return Key((rows, len(bounds.ends), bounds.longest), kinds, lie, mode)

    def _of(self, key: Key, states: Tensor, bounds: Bounds) -> Recorded | None:
        """Return the graph of a key, recorded when it comes for the second time; None for none."""
        import torch

        self._seen[key] += 1
        if key in self._recorded:
            return self._recorded[key]
        like = sum(one.mode == key.mode for one in self._recorded)
        if self._seen[key] < 2 or like >= self._most:
            return None
        layers = self._layers()
        try:
            if torch.is_grad_enabled():
                empty = torch.empty_like
                self._gradients = self._gradients or [empty(some) for some in self._weights]
                self._keep()
            self._place = self._place or _place()
            given = layers, self._compute, states, bounds, self._gradients, self._place
            with uncollected(freeze=False):
                self._recorded[key] = record(*given)
        except RuntimeError as error:
            if not out_of_memory(error):
                text = "the card's driver or torch could not record the layers as a CUDA graph"
                raise ResiduumError(
                    f"{text} ({error}). Set {SWITCH}=0 in the environment: the same values, more "
                    "slowly"
                ) from error
            log("the card's memory holds no graph of the layers beside them: none is recorded")
            self.drop()
        return self._recorded.get(key)

    def drop(self) -> bool:
        """Give back the memory of all graphs, and record none from now on; say if any was there."""
        held = bool(self._recorded)
        if held:
            self._keep()
        self._most, self._place = 0, None
        self._recorded.clear()
        self._gradients = []
        return held

    def _keep(self) -> None:
        """Copy the gradients of an earlier part of a step, where another pass would write."""
        for weights, gradient in zip(self._weights, self._gradients, strict=False):
            if weights.grad is gradient:
                weights.grad = gradient.clone()

    def begin(self) -> _Pass:
        """Note a pass with gradient; it is over once it went back, or what it gave is dropped."""
        begun = _Pass()
        self._open = weakref.ref(begun)
        return begun

    def back(self, recorded: Recorded) -> None:
        """Replay the way back, and add up the weights' gradients as autograd does."""
        import torch

        self._keep()
        recorded.back()
        self._open = None
        both = list(zip(self._weights, recorded.gradients, strict=True))
        added = [(weights.grad, gradient) for weights, gradient in both if weights.grad is not None]
        if added:
            torch._foreach_add_(*map(list, zip(*added, strict=True)))
        for weights, gradient in both:
            if weights.grad is None:
                weights.grad = gradient


EVERY: weakref.WeakSet[Replayed] = weakref.WeakSet()


def drop_all() -> bool:
    """Give back the memory of the graphs of all models; say if there were any."""
    return any([one.drop() for one in EVERY])


def out_of_memory(error: BaseException | None) -> bool:
    """Say whether a card's memory ended, also where that interrupted what reports the error."""
    import torch

    if error is None or isinstance(error, torch.OutOfMemoryError):
        return error is not None
    return "out of memory" in str(error) or out_of_memory(error.__context__)


def on_card(states: Tensor) -> bool:
    """Say whether there are CUDA graphs for what computes with a tensor."""
    return states.device.type == "cuda"


def _forward(recorded: Recorded, states: Tensor, ends: Tensor) -> Tensor:
    recorded.states.copy_(states)
    recorded.ends.copy_(ends)
    recorded.forward()
    return recorded.made


@cache
def _replay() -> Any:
    """Return the function of torch that replays a pass with gradient."""
    from torch.autograd import Function

    class Replay(Function):
        @staticmethod
        def forward(
            ctx: Any, states: Tensor, ends: Tensor, recorded: Recorded, owner: Replayed
        ) -> Tensor:
            ctx.recorded, ctx.owner, ctx.begun = recorded, owner, owner.begin()
            return _forward(recorded, states, ends).detach()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
            recorded = ctx.recorded
            recorded.gradient.copy_(gradient)
            ctx.owner.back(recorded)
            return recorded.own, None, None, None

    return Replay


def record(
    layers: Any,
    compute: Compute,
    states: Tensor,
    bounds: Bounds,
    gradients: Sequence[Tensor],
    place: _Place,
) -> Recorded:
    """Return a recorded pass of some shape; torch's random numbers stay where they are."""
    import torch

    grad, random = torch.is_grad_enabled(), torch.cuda.get_rng_state()
    current = torch.cuda.current_stream()
    held, given = states.detach().clone(), bounds._replace(ends=bounds.ends.clone())

    def forth() -> tuple[Tensor, Tensor]:
        leaf = held.detach().requires_grad_(grad)
        with _uncached():
            return leaf, compute(leaf, given)

    def back(leaf: Tensor, made: Tensor, weights: Sequence[Tensor], gradient: Tensor) -> Tensor:
        with torch.autocast("cuda", enabled=False):  # as where a training goes back
            own, *others = torch.autograd.grad(made, [leaf, *weights], gradient)
        torch._foreach_copy_(list(gradients), others)
        return own

    def once() -> None:
        with leaves(layers, grad) as weights:
            leaf, made = forth()
            if grad:
                back(leaf, made, weights, torch.zeros_like(made))

    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    gradient = own = None
    try:
        with torch.cuda.stream(current):  # which is current again, however a recording ends
            place.stream.wait_stream(current)
            with torch.cuda.stream(place.stream):
                once()  # what is made at a first time is no part of a graph
            current.wait_stream(place.stream)
            with leaves(layers, grad) as weights:
                with _capture(forward, place):
                    leaf, made = forth()
                if grad:
                    gradient = torch.empty_like(made)
                    with _capture(backward, place):
                        own = back(leaf, made, weights, gradient)
    finally:
        torch.cuda.set_rng_state(random)
    replays = forward.replay, backward.replay
    return Recorded(gradients, held, given.ends, made.detach(), gradient, own, *replays)


@contextmanager
def leaves(layers: Module, grad: bool) -> Iterator[list[Tensor]]:
    """Let layers compute with other leaves on the memory of their weights; give these in order.

    Autograd notes at a leaf's first use on which stream its gradient is due. A weight's was noted
    where training computes, and what is recorded may not wait for that.
    """
    from torch.nn import Parameter

    made = {id(weights): Parameter(weights.detach()) for weights in layers.parameters() if grad}
    places = [
        (part._parameters, name, weights)
        for part in layers.modules()
        for name, weights in part._parameters.items()
        if id(weights) in made
    ]
    try:
        for held, name, weights in places:
            held[name] = made[id(weights)]
        yield list(made.values())
    finally:
        for held, name, weights in places:
            held[name] = weights


def _place() -> _Place:
    """Return where to record the graphs of a model."""
    import torch

    return _Place(torch.cuda.Stream(), torch.cuda.graph_pool_handle())


def _capture(graph: Any, place: _Place) -> AbstractContextManager[None]:
    """Record what this thread gives to the card; others may ask the card for values meanwhile.

    On a stream of the model's own: a stream has memory for products, which goes with the graphs.
    """
    import torch

    made: AbstractContextManager[None] = torch.cuda.graph(
        graph, pool=place.pool, stream=place.stream, capture_error_mode="thread_local"
    )
    return made


def _uncached() -> AbstractContextManager[Any]:
    """Let autocast round weights at each use: what it kept would be missing from a graph."""
    import torch

    dtype = torch.get_autocast_dtype("cuda")
    on = torch.is_autocast_enabled("cuda")
    return torch.autocast("cuda", dtype, enabled=on, cache_enabled=False)
