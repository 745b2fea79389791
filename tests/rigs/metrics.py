"""Scrapes as Prometheus does."""

import urllib.request

from prometheus_client.parser import text_string_to_metric_families


def scrape(port):
    """Return the samples by name and label values."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}
