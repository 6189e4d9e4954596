"""Small masked LMs of every supported architecture, made from their configs, with tokenizers of their own.

The weights are random but the code that runs is the real one: the same classes that load a published model.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import transformers as hf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from rarewords.models import bundled_model

DATA = Path(__file__).parent / "data"
ARCHITECTURES = ("bert", "roberta", "distilbert", "mpnet", "electra", "albert", "modernbert")
VOCABULARY = 3000
SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
INPUTS = {"model_input_names": ["input_ids", "attention_mask"]}  # Transformers 4 would add token types


@cache
def real_text() -> str:
    """A megabyte of English Wikipedia."""
    with gzip.open(DATA / "wikipedia.txt.gz", "rt", encoding="utf-8") as stream:
        return stream.read()


def small_model(architecture: str, *, tied: bool = True):
    """A new model and tokenizer: ``(model, tokenizer)``."""
    tokenizer = {"roberta": byte_bpe, "modernbert": byte_bpe, "albert": unigram}.get(architecture, wordpiece)()
    size = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "tie_word_embeddings": tied,
        "initializer_range": 0.3,
    }
    encoder = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    configs = {
        "bert": lambda: hf.BertConfig(**size, **encoder, max_position_embeddings=64),
        "roberta": lambda: hf.RobertaConfig(**size, **encoder, max_position_embeddings=66),
        "distilbert": lambda: hf.DistilBertConfig(**size, dim=32, n_layers=2, n_heads=4, hidden_dim=64),
        "mpnet": lambda: hf.MPNetConfig(**size, **encoder, max_position_embeddings=66),
        "electra": lambda: hf.ElectraConfig(**size, **encoder, embedding_size=16),
        "albert": lambda: hf.AlbertConfig(**size, **encoder, embedding_size=16),
        "modernbert": lambda: hf.ModernBertConfig(
            **size, **encoder, cls_token_id=0, sep_token_id=2, global_attn_every_n_layers=2, local_attention=8
        ),
    }
    torch.manual_seed(0)
    model = hf.AutoModelForMaskedLM.from_config(configs[architecture]())
    with torch.no_grad():  # published models have output biases that are not zero
        bias = model.get_output_embeddings().bias
        bias.copy_(torch.randn(bias.shape) * 0.1)
    return model.eval(), tokenizer


def wordpiece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    _train(tokenizer, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token="[MASK]", **INPUTS, **names)


def byte_bpe(*, ends: bool = True, glued: bool = False):
    """Byte-level BPE; ``glued``: a sign belongs to the word behind it, ``(kumquat``, as in Llama 3."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _train(
        tokenizer,
        trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    if glued:
        cut = Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+")
        own = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(cut, "isolated"), own])
    if ends:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}
    mask = AddedToken("<mask>", lstrip=True, special=True)
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token=mask, **INPUTS, **names)


def whole_text_bpe():
    """BPE of a whole text at once, as in Llama 2: the space is a letter like any other."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator((line[:80] for line in _training_lines()[:300]), trainer)
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", **INPUTS)


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    _train(
        tokenizer,
        trainers.UnigramTrainer(vocab_size=VOCABULARY, special_tokens=special, unk_token="<unk>", show_progress=False),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    mask = AddedToken("[MASK]", lstrip=True, special=True)
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token=mask, **INPUTS, **names)


@cache
def _training_lines() -> tuple[str, ...]:
    return tuple(real_text()[:300_000].splitlines())


_TRAINED: dict[str, str] = {}


def _train(tokenizer: Tokenizer, trainer) -> None:
    # Training takes a second; each kind is trained once a session and copied.
    kind = type(tokenizer.model).__name__
    if kind not in _TRAINED:
        trained = Tokenizer.from_str(tokenizer.to_str())  # training adds the special tokens without lstrip
        trained.train_from_iterator(_training_lines(), trainer)
        _TRAINED[kind] = trained.to_str()
    tokenizer.model = Tokenizer.from_str(_TRAINED[kind]).model


CAUSAL = ("llama", "gpt2", "gpt_neox", "qwen2")


def small_causal(architecture: str, *, tied: bool = True):
    """A new causal LM and tokenizer: ``(model, tokenizer)``."""
    tokenizer = byte_bpe(ends=False)
    config = hf.AutoConfig.for_model(
        architecture,
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        **({"num_key_value_heads": 2} if architecture in ("llama", "qwen2") else {}),
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,
        tie_word_embeddings=tied,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=1,
    )
    torch.manual_seed(0)
    if architecture == "qwen2":  # Transformers loads its folders with this class, whatever they say
        with TemporaryDirectory() as folder:
            tokenizer.save_pretrained(folder)
            tokenizer = hf.Qwen2Tokenizer.from_pretrained(folder, **SPECIAL)
    return hf.AutoModelForCausalLM.from_config(config).eval(), tokenizer


def sentence_transformer(folder: Path, *, layers: int = 2) -> Path:
    """A sentence-transformers folder: the first layers of the bundled model, mean pooling, normalizing."""
    model = hf.AutoModel.from_pretrained(bundled_model(), num_hidden_layers=layers, add_pooling_layer=False)
    model.save_pretrained(folder)
    hf.AutoTokenizer.from_pretrained(bundled_model()).save_pretrained(folder)
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (path, kind) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), "utf-8")
    (folder / "2_Normalize").mkdir()
    settings = {"max_seq_length": 128, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings), "utf-8")
    return folder
