"""Layers on a card as CUDA graphs: recorded when a shape comes again, then replayed.

Usage: `replayed = Replayed(layers, compute)`, then `replayed(states, bounds)` in place of
`compute(states, bounds)`. A forward pass of BERT-base is 170 kernels and its step 1,200; a
graph gives them to the card by one call, with the same values to the last bit, dropout included.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.neural.resumable import log

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from residuum.neural.packing import Bounds

    Compute = Callable[[Tensor, Bounds], Tensor]

SWITCH = "RESIDUUM_CUDA_GRAPHS"  # 0: kernels are launched one by one
MOST = 16  # graphs of a model: each holds what goes in and what comes out
# Rows of a pass that is recorded. What training keeps for its way back stays taken in between.
ROWS_TRAINED, ROWS_READ = 2**13, 2**16


class Recorded(NamedTuple):
    """Where a recorded pass reads and writes, and what replays it: forward, and back.

    Without gradient `gradient` (of what comes out) and `own` (of what goes in) are None. The way
    back writes the gradients of the parameters to the tensors that were given for them.
    """

    states: Tensor
    ends: Tensor
    made: Tensor
    gradient: Tensor | None
    own: Tensor | None
    forward: Callable[[], object]
    back: Callable[[], object]


class _Pass:
    """A pass with gradient that has not gone back: what it keeps, no other replay may overwrite."""


class Replayed:
    """What computes the states of layers: as ever, or on a card by replaying what it recorded.

    A graph holds addresses. So a pass is recorded for one shape, one mode and the weights where
    they lie, and what it gives is overwritten by the next one: who calls takes a copy at once.
    """

    def __init__(self, layers: Module, compute: Compute) -> None:
        self._layers, self._compute = layers, compute
        self._weights = [some for some in layers.parameters()]
        self._recorded: dict[Hashable, Recorded] = {}
        self._seen: Counter[Hashable] = Counter()
        self._gradients: list[Tensor] = []  # of the weights, which all graphs write
        self._open: weakref.ref[_Pass] | None = None
        self._most = 0 if os.environ.get(SWITCH) == "0" else MOST
        self._pool: Any = None

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

    def _key(self, states: Tensor, bounds: Bounds) -> Hashable:
        """Return what a graph is recorded for; None for a pass that none is recorded of."""
        import torch

        grad, rows = torch.is_grad_enabled(), states.shape[1]
        if not on_card(states) or rows > (ROWS_TRAINED if grad else ROWS_READ):
            return None
        if grad and not (states.requires_grad and all(w.requires_grad for w in self._weights)):
            return None
        if self._open and self._open():
            return None
        lie = hash(tuple(weights.data_ptr() for weights in self._weights))
        mode = self._layers.training, grad, torch.is_inference_mode_enabled()
        return rows, len(bounds.ends), bounds.longest, states.dtype, lie, mode

    def _of(self, key: Hashable, states: Tensor, bounds: Bounds) -> Recorded | None:
        """Return the graph of a key, recorded when it comes for the second time; None for none."""
        import torch

        self._seen[key] += 1
        if key in self._recorded:
            return self._recorded[key]
        if self._seen[key] < 2 or len(self._recorded) >= self._most:
            return None
        if torch.is_grad_enabled():
            empty = torch.empty_like
            self._gradients = self._gradients or [empty(weights) for weights in self._weights]
            self._keep()
        try:
            given = self._layers, self._compute, states, bounds, self._gradients
            made = record(*given, self._pool_of())
        except torch.OutOfMemoryError:
            self._most = 0
            log("the card's memory holds no graph of the layers beside them: none is recorded")
            return None
        except RuntimeError as error:
            text = "the card's driver or torch could not record the layers as a CUDA graph"
            raise ResiduumError(
                f"{text} ({error}). Set {SWITCH}=0 in the environment: the same values, more slowly"
            ) from error
        self._recorded[key] = made
        return made

    def _pool_of(self) -> Any:
        """Return the memory that all graphs share, since no two are replayed at once."""
        if self._pool is None:
            import torch

            self._pool = torch.cuda.graph_pool_handle()
        return self._pool

    def _keep(self) -> None:
        """Copy the gradients of an earlier part of a step, where another pass would write."""
        for weights, gradient in zip(self._weights, self._gradients, strict=True):
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
        both = list(zip(self._weights, self._gradients, strict=True))
        added = [(weights.grad, gradient) for weights, gradient in both if weights.grad is not None]
        if added:
            torch._foreach_add_(*map(list, zip(*added, strict=True)))
        for weights, gradient in both:
            if weights.grad is None:
                weights.grad = gradient


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
    layers: Module,
    compute: Compute,
    states: Tensor,
    bounds: Bounds,
    gradients: Sequence[Tensor],
    pool: Any,
) -> Recorded:
    """Return a recorded pass of some shape; torch's random numbers stay where they are."""
    import torch

    grad, random = torch.is_grad_enabled(), torch.cuda.get_rng_state()
    held, given = states.detach().clone(), bounds._replace(ends=bounds.ends.clone())

    def forth() -> tuple[Tensor, Tensor]:
        leaf = held.detach().requires_grad_(grad)
        return leaf, compute(leaf, given)

    def back(leaf: Tensor, made: Tensor, weights: Sequence[Tensor], gradient: Tensor) -> Tensor:
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
    with _uncached():
        side = _side()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            once()  # what is made at a first time is no part of a graph
        torch.cuda.current_stream().wait_stream(side)
        with leaves(layers, grad) as weights:
            with _capture(forward, pool):
                leaf, made = forth()
            if grad:
                gradient = torch.empty_like(made)
                with _capture(backward, pool):
                    own = back(leaf, made, weights, gradient)
    torch.cuda.set_rng_state(random)
    replays = forward.replay, backward.replay
    return Recorded(held, given.ends, made.detach(), gradient, own, *replays)


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


@cache
def _side() -> Any:
    """Return a stream beside the current one: always the same, since each takes 32 MiB."""
    import torch

    return torch.cuda.Stream()


def _capture(graph: Any, pool: Any) -> AbstractContextManager[None]:
    """Record what this thread gives to the card; others may ask the card for values meanwhile."""
    import torch

    made: AbstractContextManager[None] = torch.cuda.graph(
        graph, pool=pool, capture_error_mode="thread_local"
    )
    return made


def _uncached() -> AbstractContextManager[Any]:
    """Let autocast round weights at each use: what it kept would be missing from a graph."""
    import torch

    dtype = torch.get_autocast_dtype("cuda")
    on = torch.is_autocast_enabled("cuda")
    return torch.autocast("cuda", dtype, enabled=on, cache_enabled=False)
