"""Layers on a card as CUDA graphs: recorded when a shape occurs a second time, then replayed.

Usage: `replayed = Replayed(weakref.ref(layers), compute)`, then `replayed(states, bounds)` in place
of `compute(states, bounds)`. A forward pass of BERT-base launches 163 kernels, and a step of CLEAR
1,180. A graph launches them by one call. The values are the same to the last bit, dropout included.
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
MOST = 16  # graphs of a model in one mode: each holds its inputs and outputs
# Most rows of a recorded pass. Memory that training keeps for the backward pass stays reserved
# between passes.
ROWS_TRAINED, ROWS_READ = 2**15, 2**16


class Bounds(NamedTuple):
    """Where texts begin and end among rows: `ends`, int32, as packing.filled gives them.

    No text nor filler has more than `longest` tokens. `lengths` are the lengths of the texts alone.
    """

    ends: Tensor
    longest: int
    lengths: list[int]


Compute = Callable[["Tensor", Bounds], "Tensor"]


class Recorded(NamedTuple):
    """The tensors that a recorded pass reads and writes, and the calls that replay it.

    `gradient` is the gradient of the output, `of_input` that of the input. Without gradient both
    are None. The backward pass writes the `gradients` of the weights.
    """

    gradients: Sequence[Tensor]
    states: Tensor
    ends: Tensor
    made: Tensor
    gradient: Tensor | None
    of_input: Tensor | None
    forward: Callable[[], object]
    back: Callable[[], object]


class Key(NamedTuple):
    """What a graph is recorded for: sizes, number formats, addresses of weights, the mode."""

    sizes: tuple[int, int, int]
    kinds: Hashable
    lie: int
    mode: Hashable


class _Place(NamedTuple):
    """Where one model's graphs are recorded: a stream and memory that no other model uses."""

    stream: Any
    pool: Any


class _Pass:
    """A pass with gradient before its backward pass. No other replay may overwrite its tensors."""


class Replayed:
    """Computes the states of layers; on a card, by replaying recorded graphs.

    A graph holds addresses. A pass is therefore recorded for one shape, one mode and the present
    addresses of the weights. The next replay overwrites the output: a caller copies it at once.
    """

    def __init__(self, layers: Callable[[], Module | None], compute: Compute) -> None:
        self._layers, self._compute = layers, compute
        self._recorded: dict[Key, Recorded] = {}
        self._seen: Counter[Key] = Counter()
        self._weights: list[Any] = []
        self._gradients: list[Tensor] = []  # of the weights; all graphs write here
        self._open: weakref.ref[_Pass] | None = None
        self._most = 0 if os.environ.get(SWITCH) == "0" else MOST
        self._place: _Place | None = None
        EVERY.add(self)

    def __call__(self, states: Tensor, bounds: Bounds) -> Tensor:
        """Return the states (1, rows, size) that `compute` makes, with its gradient."""
        import torch

        key = self._key(states, bounds)
        if key is None or not (recorded := self._graph(key, states, bounds)):
            return self._compute(states, bounds)
        if torch.is_grad_enabled():
            made: Tensor = _replay().apply(states, bounds.ends, recorded, self)
            return made
        return _forward(recorded, states, bounds.ends)

    def _key(self, states: Tensor, bounds: Bounds) -> Key | None:
        """Return the key of this pass's graph, or None for a pass that is not recorded."""
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

    def _graph(self, key: Key, states: Tensor, bounds: Bounds) -> Recorded | None:
        """Return the graph of a key, or None. Record it when the key occurs for the second time."""
        import torch

        self._seen[key] += 1
        if key in self._recorded:
            return self._recorded[key]
        like = sum(other.mode == key.mode for other in self._recorded)
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
        """Free the memory of all graphs and record no more. Say whether there were any."""
        held = bool(self._recorded)
        if held:
            self._keep()
        self._most, self._place = 0, None
        self._recorded.clear()
        self._gradients = []
        return held

    def _keep(self) -> None:
        """Copy the gradients of an earlier part of a step before another pass overwrites them."""
        for weights, gradient in zip(self._weights, self._gradients, strict=False):
            if weights.grad is gradient:
                weights.grad = gradient.clone()

    def begin(self) -> _Pass:
        """Note a pass with gradient, which ends with its backward pass or with its output."""
        begun = _Pass()
        self._open = weakref.ref(begun)
        return begun

    def back(self, recorded: Recorded) -> None:
        """Replay the backward pass, and add up the weights' gradients as autograd does."""
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
    """Free the memory of the graphs of all models. Say whether there were any."""
    return any([replayed.drop() for replayed in EVERY])


def out_of_memory(error: BaseException | None) -> bool:
    """Say whether an error means out of memory, or was raised while handling such an error."""
    import torch

    if error is None or isinstance(error, torch.OutOfMemoryError):
        return error is not None
    return "out of memory" in str(error) or out_of_memory(error.__context__)


def on_card(states: Tensor) -> bool:
    """Say whether CUDA graphs can record computations with a tensor."""
    return states.device.type == "cuda"


def _forward(recorded: Recorded, states: Tensor, ends: Tensor) -> Tensor:
    recorded.states.copy_(states)
    recorded.ends.copy_(ends)
    recorded.forward()
    return recorded.made


@cache
def _replay() -> Any:
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
            return recorded.of_input, None, None, None

    return Replay


def record(
    layers: Any,
    compute: Compute,
    states: Tensor,
    bounds: Bounds,
    gradients: Sequence[Tensor],
    place: _Place,
) -> Recorded:
    """Return a recorded pass for one shape, and leave torch's random state unchanged."""
    import torch

    grad, random = torch.is_grad_enabled(), torch.cuda.get_rng_state()
    current = torch.cuda.current_stream()
    held, given = states.detach().clone(), bounds._replace(ends=bounds.ends.clone())

    def forth() -> tuple[Tensor, Tensor]:
        leaf = held.detach().requires_grad_(grad)
        with _uncached():
            return leaf, compute(leaf, given)

    def back(leaf: Tensor, made: Tensor, weights: Sequence[Tensor], gradient: Tensor) -> Tensor:
        with torch.autocast("cuda", enabled=False):  # as in a training's backward pass
            of_leaf, *others = torch.autograd.grad(made, [leaf, *weights], gradient)
        torch._foreach_copy_(list(gradients), others)
        return of_leaf

    def once() -> None:
        with leaves(layers, grad) as weights:
            leaf, made = forth()
            if grad:
                back(leaf, made, weights, torch.zeros_like(made))

    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    gradient = of_input = None
    try:
        with torch.cuda.stream(current):  # restores the current stream after a failed recording
            place.stream.wait_stream(current)
            with torch.cuda.stream(place.stream):
                once()  # a graph must not include what the first pass alone allocates
            current.wait_stream(place.stream)
            with leaves(layers, grad) as weights:
                with _capture(forward, place):
                    leaf, made = forth()
                if grad:
                    gradient = torch.empty_like(made)
                    with _capture(backward, place):
                        of_input = back(leaf, made, weights, gradient)
    finally:
        torch.cuda.set_rng_state(random)
    replays = forward.replay, backward.replay
    return Recorded(gradients, held, given.ends, made.detach(), gradient, of_input, *replays)


@contextmanager
def leaves(layers: Module, grad: bool) -> Iterator[list[Tensor]]:
    """Let layers compute with new leaves on their weights' memory; yield the leaves in order.

    At a leaf's first use autograd notes the stream on which its gradient is due. For a weight this
    is the stream of training, and a recording must not wait for it.
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
    """Return a new stream and memory pool for recording a model's graphs."""
    import torch

    return _Place(torch.cuda.Stream(), torch.cuda.graph_pool_handle())


def _capture(graph: Any, place: _Place) -> AbstractContextManager[None]:
    """Record what this thread launches on the card; other threads may read from the card meanwhile.

    The stream is the model's own: a stream reserves memory for matrix products, which is freed with
    the graphs.
    """
    import torch

    made: AbstractContextManager[None] = torch.cuda.graph(
        graph, pool=place.pool, stream=place.stream, capture_error_mode="thread_local"
    )
    return made


def _uncached() -> AbstractContextManager[Any]:
    """Let autocast round weights at each use; a graph would lack weights from autocast's cache."""
    import torch

    dtype = torch.get_autocast_dtype("cuda")
    on = torch.is_autocast_enabled("cuda")
    return torch.autocast("cuda", dtype, enabled=on, cache_enabled=False)
