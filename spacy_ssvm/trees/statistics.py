"""Statistics of templates of arcs: see ``features/statistics.py``."""

import numpy as np

from spacy_ssvm.features.statistics import Statistics, measure_keys
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.trees.keys import fill_arc_keys, hash_endpoints
from spacy_ssvm.trees.layout import Arcs
from spacy_ssvm.trees.templates import CompiledArcTemplates, select_arc_templates


@kernel
def _extract_keys(
    template: CompiledArcTemplates,
    attributes: Keys,
    node_starts: Ints,
    arcs: Arcs,
    keys: Keys,
    owners: Ints,
) -> int:
    """Write the keys of one template, and the numbers of their arcs; return how many there are."""
    size, wanted = 0, np.zeros(1, dtype=np.int64)
    for i in range(len(node_starts) - 1):
        first, last = arcs.starts[i], arcs.starts[i + 1]
        if first == last:
            continue
        endpoints = hash_endpoints(template, attributes, node_starts[i], node_starts[i + 1])
        few = np.empty(len(endpoints.head), dtype=np.uint64)
        templates = np.empty(len(few), dtype=np.int64)
        for arc in range(first, last):
            h, m = arcs.heads[arc], arcs.dependents[arc]
            count = fill_arc_keys(template, endpoints, h, m, wanted, few, templates)
            keys[size : size + count] = few[:count]
            owners[size : size + count] = arc
            size += count
    return size


def measure_arc_templates(
    templates: CompiledArcTemplates, attributes: Keys, node_starts: Ints, gold: Ints, arcs: Arcs
) -> Statistics:
    """Count the features of each template on some arcs, and measure their information gain.

    templates: by ``compile_arc_keys``. attributes: uint64 [nodes, columns]; node_starts: int64
        [sentences + 1]; gold: int64 [nodes], the head, as a node of the sentence, or -1.
    """
    heads = gold[np.repeat(node_starts[:-1], np.diff(arcs.starts)) + arcs.dependents]
    labels = np.where(heads < 0, -1, heads == arcs.heads)
    priors = np.bincount(labels[labels >= 0], minlength=2)
    T, B = templates.codes.shape[1], len(templates.between)
    features, gains = np.zeros(T, dtype=np.int64), np.zeros(T)
    for t in range(T):
        room = np.abs(arcs.heads - arcs.dependents).sum() if t >= T - B else len(heads)
        keys, owners = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.int64)
        one = select_arc_templates(templates, [t])
        size = _extract_keys(one, attributes, node_starts, arcs, keys, owners)
        features[t], gains[t] = measure_keys(keys[:size], labels[owners[:size]], priors)
    return Statistics(features, gains)
