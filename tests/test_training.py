"""A taught folder is trained on as any other: masked LM, sequence classifier, token classifier."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
)

from rarewords import WordEmbeddings
from rarewords.injection.inject import inject_folder

INVENTED = Path(__file__).parent / "data" / "invented"
STEPS = 4


@pytest.fixture(scope="module", params=["append", "replace"])
def folder(request, lm, tmp_path_factory):
    """The bundled model with the invented words, each with the embedding of a word of its kind."""
    lines = [line.split("\t") for line in (INVENTED / "words.tsv").read_text("utf-8").splitlines()]
    kinds = {line[0]: line[2].split()[0] for line in lines if line[0][:1] != "#"}
    rows = np.stack([lm.embeddings[lm.whole_words[kind]].numpy() for kind in kinds.values()])
    path = tmp_path_factory.mktemp("taught") / "model"
    inject_folder("default", WordEmbeddings(list(kinds), rows), path, placement=request.param)
    return path


@pytest.fixture(scope="module")
def sentences():
    return (INVENTED / "text.txt").read_text("utf-8").splitlines()[:8]


def train(model, batches):
    """The loss of each step."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def encoded(tokenizer, texts):
    return tokenizer(texts, truncation=True, max_length=48, padding=True, return_tensors="pt")


def test_masked_training_goes_on_with_an_ordinary_loss_that_falls(folder, sentences):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    collate = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.4, seed=0)
    rows = [{"input_ids": ids} for ids in tokenizer(sentences, truncation=True, max_length=48)["input_ids"]]
    batch = collate(rows)
    # New words are among the masked ones; they are what made the loss explode.
    assert (batch["labels"] >= 30522).any()
    losses = train(AutoModelForMaskedLM.from_pretrained(folder), [batch] * STEPS)
    assert losses[0] < 8
    assert losses[-1] < losses[0] - 0.5


def test_a_sequence_classifier_and_a_token_classifier_can_be_trained(folder, sentences):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    batch = encoded(tokenizer, sentences)
    new = batch["input_ids"] >= 30522
    assert new.any()
    labels = torch.tensor([number % 2 for number in range(len(sentences))])
    for kind, wanted in ((AutoModelForSequenceClassification, labels), (AutoModelForTokenClassification, new.long())):
        model = kind.from_pretrained(folder, num_labels=2)
        losses = train(model, [{**batch, "labels": wanted}] * STEPS)
        assert losses[0] < 2
        assert losses[-1] < losses[0]
