"""What the commands import when they run; loaded once, before processes are forked (:mod:`tests.faults`)."""

import transformers.models.bert.modeling_bert  # noqa: F401

import rarewords.mimic.attentive
import rarewords.teaching.teach  # noqa: F401
