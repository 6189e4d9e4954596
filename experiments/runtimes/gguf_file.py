"""A taught BERT or LLaMA as a GGUF file for llama.cpp, in float32, as its own converter writes them."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer


def write_gguf(folder: Path, path: Path, kind: str, *, user_defined: bool = False) -> None:
    """Write a GGUF file; for a masked LM, the vocabulary alone."""
    causal = kind == "causal"
    arch = gguf.MODEL_ARCH.LLAMA if causal else gguf.MODEL_ARCH.BERT
    load = AutoModelForCausalLM if causal else AutoModel
    model = load.from_pretrained(folder, dtype=torch.float32)
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    config = model.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    if causal:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    else:
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType.MEAN)
    _add_vocabulary(writer, folder, config, user_defined)
    if kind != "masked":
        _add_tensors(writer, model, gguf.get_tensor_name_map(arch, config.num_hidden_layers))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: Any, folder: Path, config: Any, user_defined: bool) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    stored = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    names = {token: name for name, token in tokenizer.get_vocab().items()}
    own = dict.fromkeys(tokenizer.all_special_ids, gguf.TokenType.CONTROL)
    if user_defined:
        taught = range(config.rarewords_first_token, len(names))
        own |= dict.fromkeys(taught, gguf.TokenType.USER_DEFINED)
        names |= {token: tokenizer.decode([token]) for token in taught}
    tokens = [names.get(token, f"[PAD{token}]") for token in range(config.vocab_size)]
    if stored["type"] == "WordPiece":
        writer.add_tokenizer_model("bert")
        tokens = [_phantom_space(name) if place not in own else name for place, name in enumerate(tokens)]
        writer.add_token_type_count(config.type_vocab_size)
    else:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_merges([one if isinstance(one, str) else " ".join(one) for one in stored["merges"]])
        writer.add_add_bos_token(False)
    special = {name: getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "unk", "sep", "pad")}
    special["bos"] = tokenizer.cls_token_id if special["bos"] is None else special["bos"]
    for name, token in special.items():
        if token is not None:
            getattr(writer, f"add_{name}_token_id")(token)
    writer.add_token_list(tokens)
    writer.add_token_types([own.get(place, gguf.TokenType.NORMAL) for place in range(len(tokens))])


def _phantom_space(name: str) -> str:
    """llama.cpp marks where words begin, not where they go on: ``kumquat ##s -> ▁kumquat s``."""
    return name[2:] if name.startswith("##") else f"▁{name}"


def _add_tensors(writer: Any, model: Any, names: Any) -> None:
    heads = model.config.num_attention_heads
    for name, tensor in model.state_dict().items():
        if name.startswith("pooler.") or (name == "lm_head.weight" and model.config.tie_word_embeddings):
            continue
        array = tensor.numpy()
        if model.config.model_type == "llama" and ".q_proj." in name:
            array = _pairs(array, heads)
        elif model.config.model_type == "llama" and ".k_proj." in name:
            array = _pairs(array, model.config.num_key_value_heads)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), np.ascontiguousarray(array))


def _pairs(array: np.ndarray, heads: int) -> np.ndarray:
    """Rows in pairs, as llama.cpp turns them: ``a b c d -> a c b d`` for a head of four. *Shape:* (hidden, hidden)"""
    halves = array.reshape(heads, 2, -1, array.shape[1])
    return halves.swapaxes(1, 2).reshape(array.shape)
