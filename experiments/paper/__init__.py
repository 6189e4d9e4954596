"""The paper's experiments on any masked language model, as one resumable run with a report."""
