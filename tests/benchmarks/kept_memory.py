"""CPU seconds of steps that keep their memory (`devices.choose`), beside those that give it back.

PYTHONPATH=workflow python tests/benchmarks/kept_memory.py [--rounds 3] [--steps 8]

Three kinds of work on an untrained BERT of mini's size: a step of a dual encoder, a step of a model
with a score for each of 4,000 terms at each token (SparTerm), and such scores without a gradient.
Each side is a process of its own, and both take turns. A ratio below 1 means that keeping is
cheaper; it is the median over the rounds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

TEXTS, TOKENS, TERMS = 64, 48, 4000


def measured(keep: bool, steps: int) -> dict[str, float]:
    """Return the CPU seconds a step of each kind of work, in this process."""
    import torch
    from transformers import AutoModel, AutoModelForMaskedLM, BertConfig

    from residuum.neural import devices

    if keep:
        devices.choose("cpu", "fp32", threads=1)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    width = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    form = BertConfig(vocab_size=TERMS, intermediate_size=256, **width)
    dual, terms = AutoModel.from_config(form), AutoModelForMaskedLM.from_config(form)
    ids = torch.randint(5, TERMS, (TEXTS, TOKENS))

    def dense() -> None:
        dual.zero_grad()
        dual(input_ids=ids).last_hidden_state.mean(1).square().sum().backward()

    def sparse() -> None:
        terms.zero_grad()
        terms(input_ids=ids).logits.relu().sum(1).square().sum().backward()

    def read() -> None:
        with torch.inference_mode():
            terms(input_ids=ids).logits.relu().sum(1)

    works = {"dual encoder, step": dense, "terms, step": sparse, "terms, read": read}
    return {name: _seconds(work, steps) for name, work in works.items()}


def _seconds(work: Callable[[], None], steps: int) -> float:
    work()
    start = time.process_time()
    for _ in range(steps):
        work()
    return (time.process_time() - start) / steps


def main() -> None:
    """Print the seconds of both sides and their ratio, for each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--side", choices=("kept", "given back"), help="of one process")
    chosen = parser.parse_args()
    if chosen.side:
        print(json.dumps(measured(chosen.side == "kept", chosen.steps)))
        return
    words = [sys.executable, __file__, "--steps", str(chosen.steps), "--side"]
    rounds = [
        {side: json.loads(subprocess.check_output([*words, side])) for side in sides}
        for _ in range(chosen.rounds)
        for sides in [("kept", "given back")]
    ]
    for name in rounds[0]["kept"]:
        kept, back = ([one[side][name] for one in rounds] for side in ("kept", "given back"))
        ratio = statistics.median(a / b for a, b in zip(kept, back, strict=True))
        seconds = (
            f"{statistics.median(kept):.3f} s kept, {statistics.median(back):.3f} s given back"
        )
        print(f"{name}: {seconds}, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
