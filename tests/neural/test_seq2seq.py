"""Question generators: tied as they say, read by plain transformers, their draws by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BertTokenizer,
    ElectraConfig,
    ElectraModel,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizer,
    T5Config,
    T5ForConditionalGeneration,
)

from copying import HELD_OUT, draw, train_copying, write_task
from residuum.cli.errors import ResiduumError
from residuum.config.schema.questions import Sampling
from residuum.config.specs import derive
from residuum.neural import devices
from residuum.neural.pretrained import Source
from residuum.neural.seq2seq import Lengths, QuestionWriter, Written, shared_model
from tiny_models import question_generator_spec, train_toy

DEVICE = devices.Device("cpu", "fp32")
LENGTHS = Lengths(doc_length=24, question_length=8)
GREEDY = Sampling(per_doc=1, top_k=1, doc_length=24, question_length=8)
SAMPLED = GREEDY.model_copy(update={"per_doc": 2, "top_k": 5, "seed": 7})
DOCS = {doc_id: doc for doc_id, (doc, _) in draw(HELD_OUT, 2).items()}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij", *(f"##{c}" for c in "abc")]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("task"), layers=2)


@pytest.fixture(scope="module")
def model(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generator half way: its draws are open."""
    return train_copying(task, tmp_path_factory.mktemp("model") / "generator", steps=100)


def written(writer: QuestionWriter, docs: dict[str, str], how: Sampling) -> dict[str, list[str]]:
    tokens = list(writer.tokenise_docs(docs.values()))
    return dict(zip(docs, texts(writer.write(tokens, list(docs), how, 8)), strict=True))


def texts(made: list[list[Written]]) -> list[list[str]]:
    return [[question.text for question in of_doc] for of_doc in made]


def plain(folder: Path) -> tuple[Any, Any]:
    return AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(
        folder
    )


def greedy_of(folder: Path, docs: dict[str, str]) -> dict[str, list[str]]:
    """Return what transformers' own `generate` writes for docs."""
    theirs, tokenizer = plain(folder)
    out = {}
    for doc_id, text in docs.items():
        ids = theirs.generate(
            tokenizer(text, return_tensors="pt")["input_ids"], do_sample=False, max_new_tokens=8
        )
        out[doc_id] = [" ".join(tokenizer.decode(ids[0], skip_special_tokens=True).split())]
    return out


def unique(model: Any) -> int:
    return sum(one.numel() for one in {id(p): p for p in model.parameters()}.values())


@pytest.mark.parametrize("layers", [1, 2])
def test_encoder_and_decoder_share_what_both_have(task: Path, layers: int) -> None:
    made, _ = shared_model(Source(str(task / "start"), new_head=True), layers, "random")
    assert len(made.encoder.encoder.layer) == len(made.decoder.bert.encoder.layer) == layers
    own = dict(made.encoder.named_parameters())
    both = dict(made.decoder.bert.named_parameters())
    assert {name for name in own if "pooler" not in name} < {*both}
    assert all(both[name] is one for name, one in own.items() if "pooler" not in name)
    # per layer: query, key, value and output of 32 x 32 with biases, a layer norm; of the head: a
    # transform with its layer norm, and a bias for each word
    cross = layers * (4 * (32 * 32 + 32) + 2 * 32)
    head = 32 * 32 + 32 + 2 * 32 + made.config.decoder.vocab_size
    assert unique(made) == unique(made.encoder) + cross + head
    words = made.encoder.get_input_embeddings().weight
    assert made.decoder.get_output_embeddings().weight is words


def test_copying_starts_as_the_identity(task: Path) -> None:
    for how in ("random", "copying"):
        made, _ = shared_model(Source(str(task / "start"), new_head=True), 2, how)
        for layer in made.decoder.bert.encoder.layer:
            cross = layer.crossattention
            for linear in (cross.self.value, cross.output.dense):
                same = torch.equal(linear.weight, torch.eye(32)) and not linear.bias.any()
                assert same == (how == "copying")
            assert not torch.equal(cross.self.query.weight, torch.eye(32))


def test_the_heads_layer_norm_starts_with_its_gain(task: Path) -> None:
    plain, _ = shared_model(Source(str(task / "start"), new_head=True), 2, "random")
    larger, _ = shared_model(Source(str(task / "start"), new_head=True), 2, "random", head_gain=5.0)
    own, other = (dict(one.named_parameters()) for one in (plain, larger))
    changed = [name for name in own if not torch.equal(own[name], other[name])]
    assert changed == ["decoder.cls.predictions.transform.LayerNorm.weight"]
    assert torch.equal(other[changed[0]], 5 * own[changed[0]])


def test_parameters_stay_shared_in_training_and_equal_where_transformers_reads_them(
    task: Path, model: Path
) -> None:
    start, _ = shared_model(Source(str(task / "start"), new_head=True), 1, "copying")
    theirs, info = AutoModelForSeq2SeqLM.from_pretrained(model, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    own, both = theirs.encoder.state_dict(), theirs.decoder.bert.state_dict()
    moved = start.encoder.state_dict()
    for name in (name for name in own if "pooler" not in name):
        assert torch.equal(own[name], both[name])
        # a key's bias adds the same to all scores of a query: no gradient but rounding
        assert not torch.equal(own[name], moved[name]) or "token_type" in name, name
    output = theirs.decoder.get_output_embeddings().weight
    assert output is theirs.decoder.get_input_embeddings().weight
    assert torch.equal(output, theirs.encoder.get_input_embeddings().weight)


def test_the_loss_is_that_of_plain_transformers(task: Path, model: Path) -> None:
    """Each pair alone, with all tokens' logits, and NumPy's logarithm."""
    theirs, tokenizer = plain(model)
    pairs = [*draw(4, 3).values(), ("ivory", ""), ("a doc of " + "amber " * 40, "ivory " * 20)]
    expected = []
    for doc, question in pairs:
        given = tokenizer(doc, truncation=True, max_length=24, return_tensors="pt")
        target = tokenizer(question, add_special_tokens=False)["input_ids"][:7]
        target = [*target, tokenizer.sep_token_id]
        before = torch.tensor([[tokenizer.cls_token_id, *target[:-1]]])
        with torch.no_grad():
            logits = theirs(**given, decoder_input_ids=before).logits[0].double().numpy()
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        expected.append(-log_p[range(len(target)), target].mean())
    writer = QuestionWriter.load(model, DEVICE)
    docs = list(writer.tokenise_docs(doc for doc, _ in pairs))
    questions = list(writer.tokenise_questions(question for _, question in pairs))
    assert [len(question) for question in questions] == [4, 4, 4, 4, 1, 8]
    np.testing.assert_allclose(writer.errors(docs, questions, 3), expected, rtol=1e-5)


def test_greedy_questions_are_those_of_plain_transformers(model: Path) -> None:
    some = dict([*DOCS.items()][:8]) | {"empty": "", "long": "amber " * 40}
    theirs = greedy_of(model, {**some, "long": "amber " * 22})  # as many tokens as are read
    assert written(QuestionWriter.load(model, DEVICE), some, GREEDY) == theirs
    assert len({text for [text] in theirs.values()}) > 1


def test_draws_are_the_best_of_the_likeliest_with_noise_of_their_own(model: Path) -> None:
    """Without a cache, one question at a time, Gumbel noise from the seed, doc and number."""
    theirs, tokenizer = plain(model)
    banned = {tokenizer.convert_tokens_to_ids(t) for t in ("[QRY]", "[DOC]")}
    banned |= {*tokenizer.all_special_ids} - {tokenizer.sep_token_id}
    some = dict([*DOCS.items()][:4])
    expected: dict[str, list[str]] = {}
    for doc_id, text in some.items():
        for number in (1, 2):
            random = np.random.default_rng(derive(7, "question", doc_id, str(number)))
            noise = random.gumbel(size=(8, 5)).astype(np.float32)
            ids = [tokenizer.cls_token_id]
            for place in range(8):
                with torch.no_grad():
                    given = tokenizer(text, return_tensors="pt")
                    logits = theirs(**given, decoder_input_ids=torch.tensor([ids])).logits[0, -1]
                logits[sorted(banned)] = -torch.inf
                order = logits.numpy().argsort()[::-1][:5]
                ids.append(int(order[(logits.numpy()[order] + noise[place]).argmax()]))
                if ids[-1] == tokenizer.sep_token_id:
                    break
            question = tokenizer.decode(ids, skip_special_tokens=True)
            expected.setdefault(doc_id, []).append(question)
    result = written(QuestionWriter.load(model, DEVICE), some, SAMPLED)
    assert result == expected
    assert any(len({*own}) > 1 for own in result.values()), "numbers have noise of their own"


def test_what_is_written_depends_on_the_doc_alone(model: Path) -> None:
    writer = QuestionWriter.load(model, DEVICE)
    docs = {**DOCS, "empty": "", "full": "amber " * 40}
    every = written(writer, docs, SAMPLED)
    assert written(writer, dict(reversed([*docs.items()])), SAMPLED) == every
    for doc_id in ("s2d0", "s2d57", "empty", "full"):
        assert written(writer, {doc_id: docs[doc_id]}, SAMPLED) == {doc_id: every[doc_id]}
    tokens = list(writer.tokenise_docs(docs.values()))
    sizes = [texts(writer.write(tokens, list(docs), SAMPLED, size)) for size in (1, 7, 200)]
    assert sizes == [list(every.values())] * 3
    assert written(writer, docs, SAMPLED.model_copy(update={"seed": 8})) != every
    assert writer.write([], [], SAMPLED, 8) == []


def bert_tokenizer(folder: Path, **marks: Any) -> Any:
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = BertTokenizer(vocab=vocabulary, **marks)
    tokenizer.save_pretrained(folder)
    return tokenizer


def test_a_t5_writes_questions_too(tmp_path: Path) -> None:
    """The released generators are T5s: pad begins a question, and their own token ends it."""
    folder = tmp_path / "t5"
    bert_tokenizer(folder, eos_token="[SEP]")
    shape = {"d_model": 16, "d_ff": 32, "d_kv": 8, "num_layers": 2, "num_heads": 2}
    marks = {"eos_token_id": 3, "pad_token_id": 0, "decoder_start_token_id": 0}
    torch.manual_seed(5)
    theirs = T5ForConditionalGeneration(T5Config(vocab_size=len(WORDS), **shape, **marks))
    theirs.generation_config.suppress_tokens = [0, 1, 2, 4]
    theirs.save_pretrained(folder)
    writer = QuestionWriter(Source(str(folder)), LENGTHS, DEVICE)
    docs = {"one": "a b c", "two": "j i h g f e", "three": "d d"}
    result = written(writer, docs, GREEDY)
    assert result == greedy_of(folder, docs) and all(text for [text] in result.values())
    assert len({*map(str, written(writer, docs, SAMPLED).values())}) == 3


def roberta(folder: Path) -> Path:
    """Write a RoBERTa of two layers: <s> and </s> around a text, positions from 2 on."""
    from tokenizers import ByteLevelBPETokenizer

    folder.mkdir()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    texts = [f"{doc} {question}" for doc, question in draw(50, 1).values()]
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts, vocab_size=400, special_tokens=special, show_progress=False)
    bpe.save_model(str(folder))
    vocabulary = json.loads((folder / "vocab.json").read_text())
    merges = [tuple(line.split()) for line in (folder / "merges.txt").read_text().splitlines()[1:]]
    RobertaTokenizer(vocab=vocabulary, merges=merges).save_pretrained(folder)
    torch.manual_seed(1)
    config = RobertaConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=40, type_vocab_size=1,
    )  # fmt: skip
    RobertaModel(config).save_pretrained(folder)
    return folder


def test_a_roberta_is_a_start(task: Path, tmp_path: Path) -> None:
    start = roberta(tmp_path / "roberta")
    spec = question_generator_spec(steps=20, layers=2, cross_attention="copying")
    model = train_toy(task, tmp_path / "model", spec, start=str(start))
    theirs, tokenizer = plain(model)
    marks = theirs.generation_config
    assert tokenizer.convert_ids_to_tokens(
        [marks.decoder_start_token_id, marks.eos_token_id, marks.pad_token_id]
    ) == ["<s>", "</s>", "<pad>"]
    output = theirs.decoder.get_output_embeddings().weight
    assert torch.equal(output, theirs.encoder.get_input_embeddings().weight)
    some = dict([*DOCS.items()][:5])
    assert written(QuestionWriter.load(model, DEVICE), some, GREEDY) == greedy_of(model, some)


def test_what_cannot_write_is_refused(task: Path, tmp_path: Path) -> None:
    start = Source(str(task / "start"), new_head=True)
    with pytest.raises(ResiduumError, match=r"layers is 3, but .*start has 2"):
        shared_model(start, 3, "random")
    for (doc, question), key in (
        ((64, 8), "doc_length is 64"),
        ((24, 64), "question_length is 64"),
    ):
        lengths = Lengths(doc_length=doc, question_length=question)
        with pytest.raises(ResiduumError, match=f"{key}, but .* at most 32 tokens"):
            made = shared_model(start, 1, "random")
            QuestionWriter(start, lengths, DEVICE, made)
    made = shared_model(start, 1, "random")
    made[0].generation_config.eos_token_id = None
    with pytest.raises(ResiduumError, match=r"its generation_config\.json lacks eos_token_id"):
        QuestionWriter(start, LENGTHS, DEVICE, made)
    with pytest.raises(ResiduumError, match="not a Hugging Face model directory"):
        QuestionWriter(start, LENGTHS, DEVICE)
    with pytest.raises(ValueError, match="question_length"):
        Sampling(per_doc=1, question_length=1)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 200}
    electra = ElectraModel(ElectraConfig(**shape, embedding_size=16, intermediate_size=16))
    t5 = T5ForConditionalGeneration(
        T5Config(vocab_size=200, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    )
    tokenizer = AutoTokenizer.from_pretrained(task / "start")
    for model in (electra, t5):
        kind = model.config.model_type
        model.save_pretrained(tmp_path / kind)
        tokenizer.save_pretrained(tmp_path / kind)
        with pytest.raises(ResiduumError, match=f"a {kind} is no start of .* take a bert or a rob"):
            shared_model(Source(str(tmp_path / kind), new_head=True), 1, "random")
