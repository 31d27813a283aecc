"""Block-coordinate Frank-Wolfe on the L1-loss structural SVM, and on the losses L_{beta,gamma}.

For the hinge loss, which beta = infinity stands for, it is the method of [Lacoste-Julien et al.
2013]. The dual is

    max_alpha >= 0, sum_y alpha_i,y <= C    D(alpha) = -1/2 |v|^2 + sum alpha_i,y Delta'_i(y)

with v = sum alpha_i,y Phi_i(y), w = w_0 + v and Delta'_i(y) = Delta_i(y) - w_0 . Phi_i(y), as in
``dual_coordinate_descent.py``. Of an example's dual variables only its block

    v_i = sum_y alpha_i,y Phi_i(y),    l_i = sum_y alpha_i,y Delta_i(y)

is kept. A step takes the y that violates most, or the gold structure where none does, and goes
from (v_i, l_i) towards (C Phi_i(y), C Delta_i(y)) as far as D rises:

    d = C Phi_i(y) - v_i,    rate = (C Delta_i(y) - l_i - w . d) / |d|^2, clipped to [0, 1]

With a finite beta, the dual variables of an example are C times a distribution p_i over its
structures, and their entropy H counts, too [Collins et al. 2008]: with v_i = C E_p_i[Phi_i(Y)],

    D(p) = -1/2 |v|^2 - w_0 . v + C sum_i E_p_i[gamma Delta_i(Y)] + H(p_i) / beta

A step goes towards the distribution of the model, q(y) ~ exp beta (w . phi(x_i, y) + gamma
Delta_i(y)), as does stochastic dual coordinate ascent [Le Priol et al. 2018]:

    d = C E_q[Phi_i(Y)] - v_i,    rate = (C f - l_i - w . d) / |d|^2, clipped to [0, 1]
    f = E_q[gamma Delta_i(Y)] + H(q) / beta = L_{beta,gamma} + w . E_q[Phi_i(Y)]

l_i goes towards C f by the same rate, which takes the entropy of a mixture for the mixture of the
entropies. As entropy is concave, that is too little: D is a lower bound of the dual. In return the
rate has a closed form for all structures that have expectations, where [Le Priol et al. 2018]
search a line and need the entropies of mixed marginals. The possible pairs (E[Phi], l) are a convex
set with a curved boundary, on which Frank-Wolfe converges at a linear rate [Levitin & Polyak 1966].

The result of the variant 'averaged' is the average of the dual points, w and l of step t counted
t times.

Examples are taken in random order, or with 'gap' drawn with a probability proportional to the
numerator of their last rate: the gap of the example's block [Osokin et al. 2016; Le Priol et al.
2018]. Costs count gamma times.

Partial gold is completed as in ``dual_run.py``. With the hinge loss, examples can be decoded in
blocks, see ``decoding.py``: as the rate is that of the weights as they are, D never falls.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from spacy_ssvm.kernels.compile import kernel, oracle_kernel
from spacy_ssvm.kernels.types import (
    AnyWeights,
    Flags,
    Flags1,
    Float,
    Floats,
    Floats1,
    Int,
    Ints,
    Ints1,
    Rows,
    Rows1,
    named_tuple,
)
from spacy_ssvm.solvers.decoding import block_size
from spacy_ssvm.solvers.dual_run import DualRun, are_due, is_due
from spacy_ssvm.solvers.run import (
    LossSettings,
    check_choice,
    check_not_negative,
    check_whole,
)
from spacy_ssvm.structure import (
    EXPECTED_ORACLES,
    HINGE_ORACLES,
    NEEDS_CAPACITY,
    Decode,
    Decoded,
    DecodedType,
    Difference,
    ExampleArrays,
    Expect,
    ExpectedDifference,
    Problem,
)
from spacy_ssvm.weights.growing import longer
from spacy_ssvm.weights.sparse import dot, find_index, move, renumber, scratch_table, violation_of

SAMPLINGS = ("uniform", "gap")
_PASSES = 10  # of which one takes every example: what has been drawn seldom may have changed


class Blocks(NamedTuple):
    """The sums over the dual variables of each example, its last loss and its last gap."""

    starts: Ints  #: int64 [examples]: the first entry of v_i
    sizes: Ints  #: int64 [examples]: the number of its entries
    costs: Floats  #: float64 [examples]: l_i
    violations: Floats  #: float64 [examples]: the losses
    gaps: Floats  #: float64 [examples]: how far D could rise by its block alone, to first order
    visits: Ints  #: int64 [examples]: how often example i was decoded
    indices: Rows  #: int32 [entries]: indices into w
    values: Floats  #: float64 [entries]
    used: Ints  #: int64 [1]: entries in use or abandoned
    recompleted: Flags  #: bool [1]: of an example that is decoded again when there is memory


BlocksType = named_tuple(
    Blocks, Ints1, Ints1, Floats1, Floats1, Floats1, Ints1, Rows1, Floats1, Ints1, Flags1
)


class Average(NamedTuple):
    """The average of w and sum_i l_i over T steps, of which the t-th counts t times.

    With w_t the weights after step t, it is

        w_T - 2 / (T (T + 1)) sum_t t (t - 1) / 2 (w_t - w_t-1)
    """

    sums: Floats  #: float64 [weights], the sum above; empty where nothing is averaged
    costs: Floats  #: float64 [1], the same sum of sum_i l_i
    steps: Ints  #: int64 [1]: T


AverageType = named_tuple(Average, Floats1, Floats1, Ints1)


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(LossSettings):
    """Settings of the solver.

    C, beta, gamma: see ``LossSettings``.
    variant: 'plain', or 'averaged', whose result is an average of dual points.
    sampling: of examples, 'uniform' or 'gap'.
    block: how many examples are decoded before weights change, as of ``DualCoordinateDescent``;
        with a finite beta, it is always 1.
    seed: of the order of examples.
    tolerance: weights no longer change once the relative duality gap, measured
        exactly, is at most this.
    Raises ConfigValidationError, a ValueError, for an invalid value, naming the setting.

    >>> import spacy
    >>> solver = {"@misc": "spacy_ssvm.FrankWolfe.v1", "beta": 1, "gamma": 0}
    >>> tagger = spacy.blank("en").add_pipe("ssvm_tagger", config={"solver": solver})
    >>> tagger.solver.beta
    1
    """

    variant: str = "plain"
    sampling: str = "uniform"
    block: int = 1
    seed: int = 0
    tolerance: float = 1e-3
    keeps_signs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "variant", ("plain", "averaged"))
        check_choice(self, "sampling", SAMPLINGS)
        check_whole(self, "seed")
        check_whole(self, "block", least=1)
        check_not_negative(self, "tolerance")

    def start(self, problem: Problem, prior: Floats | None = None) -> "FrankWolfeRun":
        """A run on a problem, which may grow, from the weights ``prior`` or from zero."""
        return FrankWolfeRun(self, problem, prior)


class Draws:
    """In which order, and how often, the passes of a run take the examples.

    sampling: see ``FrankWolfe``.
    """

    def __init__(self, sampling: str) -> None:
        self._sampling = sampling
        self._passes = 0

    def order(self, numbers: Ints, gaps: Floats, random: np.random.Generator) -> Ints:
        """The examples of the next pass.

        numbers: those to choose from. gaps: float64 [examples].
        """
        self._passes += 1
        numbers = np.sort(numbers)
        chances = gaps[numbers]
        if self._sampling == "uniform" or self._passes % _PASSES == 1 or not chances.any():
            return random.permutation(numbers)
        return random.choice(numbers, size=len(numbers), p=chances / chances.sum())


class FrankWolfeRun(DualRun):
    """The weights and blocks of a problem, and the passes that improve them."""

    settings: FrankWolfe

    def __init__(self, settings: FrankWolfe, problem: Problem, prior: Floats | None) -> None:
        super().__init__(settings, problem, prior)
        self.blocks = _empty_blocks(0, 0)
        size = len(self._w) if settings.variant == "averaged" else 0
        self._average = Average(np.zeros(size), np.zeros(1), np.zeros(1, dtype=np.int64))
        self._draws = Draws(settings.sampling)

    @property
    def w(self) -> Floats:
        """See ``Run``. An average is computed at each call."""
        sums = self._average.sums
        return self._w - self._share * sums if len(sums) else self._w

    @property
    def _share(self) -> float:
        """By what the sums of the average are multiplied."""
        steps = int(self._average.steps[0])
        return 2 / (steps * (steps + 1)) if steps > 0 else 0.0

    @property
    def violations(self) -> Floats:
        return self.blocks.violations

    @property
    def dual(self) -> float:  # type: ignore[override]
        """D(alpha)."""
        costs = float(self.blocks.costs.sum()) - self._share * float(self._average.costs[0])
        return dual_value(self, self._prior, costs)

    def grow(self, rows: int) -> None:
        super().grow(rows)
        examples = self.problem.number_of_examples
        if examples > len(self.blocks.sizes):
            self.blocks = _with_capacity(self.blocks, longer(self.blocks.sizes, examples).size, 0)

    def renumber(self, numbers: Rows) -> None:
        super().renumber(numbers)
        renumber(self.blocks.indices, int(self.blocks.used[0]), numbers)
        self._average = self._average._replace(sums=move(self._average.sums, numbers))

    @property
    def _stored(self) -> tuple[object, ...]:
        return self.blocks

    def _lengthen(self, size: int) -> None:
        super()._lengthen(size)
        sums = self._average.sums
        if self.settings.variant == "averaged" and len(self._w) > len(sums):
            self._average = self._average._replace(sums=longer(sums, len(self._w)))

    def _make_room(self) -> None:
        super()._make_room()
        self.blocks = _with_capacity(self.blocks, len(self.blocks.sizes), self._max_entries)

    @property
    def _max_entries(self) -> int:
        """The largest number of entries of what a step goes towards."""
        is_hinge = self.settings.beta is None
        return self.problem.max_entries if is_hinge else self.problem.max_expected_entries

    def _remove(self, numbers: Ints) -> None:
        _remove_blocks(numbers, self.blocks, self._average, self._w)

    def absorb(self, numbers: Ints) -> None:
        super().absorb(numbers)
        self.blocks = _with_capacity(self.blocks, len(self.blocks.sizes), 0)

    def keep(self, numbers: Ints) -> None:
        blocks = self.blocks
        self.blocks = blocks._replace(
            starts=blocks.starts[numbers],
            sizes=blocks.sizes[numbers],
            costs=blocks.costs[numbers],
            violations=blocks.violations[numbers],
            gaps=blocks.gaps[numbers],
            visits=blocks.visits[numbers],
        )

    def _pass(self, numbers: Ints) -> None:
        order = self._draws.order(numbers, self.blocks.gaps, self._order)
        problem, settings = self.problem, self.settings
        C, gamma = float(settings.C), float(settings.gamma)
        visits, most = self.blocks.visits, self._max_entries
        block = block_size(settings.block, visits[order], problem.structure)
        if settings.beta is not None:
            block = 1

        def one_pass(part: Ints, decoded: Decoded, done: int) -> int:
            arrays = problem.structure, problem.examples(), part, done, most
            state = self.blocks, self._average, self._w
            if settings.beta is not None:
                return int(_smooth_pass(*arrays, C, float(settings.beta), gamma, *state))
            return int(_pass(*arrays, decoded, C, gamma, *state))

        parts = self._distinct_parts(order, block) if block > 1 else self._parts(order)
        blocks = self._decoded(parts, block, gamma, lambda part: are_due(visits[part] + 1))
        for part, decoded in blocks:
            self._repeat(partial(one_pass, part, decoded), len(part))

    def _distinct_parts(self, order: Ints, size: int) -> Iterator[Ints]:
        """The parts of a pass, in which no example occurs twice."""
        for part in self._parts(order, size):
            start, seen = 0, set[int]()
            for end, i in enumerate(part.tolist()):
                if i in seen:
                    yield part[start:end]
                    start, seen = end, set()
                seen.add(i)
            yield part[start:]


def dual_value(run: DualRun, prior: Floats, costs: float) -> float:
    """D(alpha) of a run, by sum alpha_i,y Delta_i(y)."""
    change = run.w[: len(prior)] - prior
    return costs - float(prior @ change) - run.regularizer


def _empty_blocks(examples: int, entries: int) -> Blocks:
    return Blocks(
        starts=np.zeros(examples, dtype=np.int64),
        sizes=np.zeros(examples, dtype=np.int64),
        costs=np.zeros(examples),
        violations=np.zeros(examples),
        gaps=np.zeros(examples),
        visits=np.zeros(examples, dtype=np.int64),
        indices=np.empty(entries, dtype=np.int32),
        values=np.empty(entries),
        used=np.zeros(1, dtype=np.int64),
        recompleted=np.zeros(1, dtype=bool),
    )


def _with_capacity(blocks: Blocks, examples: int, entries: int) -> Blocks:
    """The same blocks, packed, with capacity for these and about as many again."""
    used = int(blocks.sizes.sum())
    packed = _empty_blocks(examples, 2 * used + 2 * entries + 1024)
    _pack(blocks, packed)
    return packed._replace(recompleted=blocks.recompleted)


@kernel
def _pack(blocks: Blocks, packed: Blocks) -> None:
    """Copy what is in use into empty blocks."""
    used = 0
    for i in range(len(blocks.sizes)):
        start, size = blocks.starts[i], blocks.sizes[i]
        packed.starts[i] = used
        packed.sizes[i] = size
        packed.costs[i] = blocks.costs[i]
        packed.violations[i] = blocks.violations[i]
        packed.gaps[i] = blocks.gaps[i]
        packed.visits[i] = blocks.visits[i]
        packed.indices[used : used + size] = blocks.indices[start : start + size]
        packed.values[used : used + size] = blocks.values[start : start + size]
        used += size
    packed.used[0] = used


@kernel
def _remove_blocks(numbers: Ints, blocks: Blocks, average: Average, w: Floats) -> None:
    """Set the dual variables of examples to 0, update w, and average from the next step on."""
    for i in numbers:
        start = blocks.starts[i]
        for entry in range(start, start + blocks.sizes[i]):
            w[blocks.indices[entry]] -= blocks.values[entry]
        blocks.sizes[i] = 0
        blocks.costs[i] = 0.0
        blocks.violations[i] = 0.0
        blocks.gaps[i] = 0.0
    average.sums[:] = 0.0
    average.costs[0] = 0.0
    average.steps[0] = 0


@kernel
def _step(
    i: int,
    C: float,
    cost: float,
    indices: Rows,
    values: AnyWeights,
    blocks: Blocks,
    average: Average,
    w: Floats,
) -> None:
    """Move the block of example i towards C times a structure, as far as D rises.

    cost, indices, values: gamma Delta_i(y) and Phi_i(y), 0 and none for the gold structure; or
    f and E_q[Phi_i(Y)].
    A block with further entries is written after those in use.
    """
    start, end = blocks.starts[i], blocks.used[0]
    block_indices, block_values = blocks.indices[end:], blocks.values[end:]
    count = blocks.sizes[i]
    direction = np.zeros(count + len(indices))
    scratch = scratch_table(count + len(indices) + 1)
    for entry in range(count):
        block_indices[entry] = blocks.indices[start + entry]
        block_values[entry] = blocks.values[start + entry]
        direction[entry] = -blocks.values[start + entry]
        scratch[find_index(block_indices, scratch, block_indices[entry])] = entry
    for entry in range(len(indices)):
        slot = find_index(block_indices, scratch, indices[entry])
        if scratch[slot] < 0:
            scratch[slot] = count
            block_indices[count] = indices[entry]
            block_values[count] = 0.0
            count += 1
        direction[scratch[slot]] += C * np.float64(values[entry])
    slope = C * cost - blocks.costs[i]
    curvature = 0.0
    for entry in range(count):
        slope -= w[block_indices[entry]] * direction[entry]
        curvature += direction[entry] ** 2
    blocks.gaps[i] = max(slope, 0.0)
    steps = float(average.steps[0])
    average.steps[0] += len(average.sums) > 0
    if slope <= 0:
        return
    rate = min(slope / curvature, 1.0) if curvature > 0 else 1.0
    missed = steps * (steps + 1) / 2  # how much the steps before this count
    if count > blocks.sizes[i]:
        blocks.starts[i] = end
        blocks.sizes[i] = count
        blocks.used[0] += count
    else:
        block_values = blocks.values[start : start + count]
    for entry in range(count):
        change = rate * direction[entry]
        block_values[entry] += change
        w[block_indices[entry]] += change
        if len(average.sums):
            average.sums[block_indices[entry]] += missed * change
    change = rate * (C * cost - blocks.costs[i])
    blocks.costs[i] += change
    average.costs[0] += missed * change


@kernel
def _has_room(i: int, max_entries: int, blocks: Blocks) -> bool:
    """Whether the capacity suffices for a step of example i."""
    return bool(blocks.used[0] + blocks.sizes[i] + max_entries <= len(blocks.indices))


@oracle_kernel(
    HINGE_ORACLES,
    Int,
    *(Ints1, Int, Int, DecodedType, Float, Float, BlocksType, AverageType, Floats1),
)
def _pass(
    decode: Decode,
    difference: Difference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    decoded: Decoded,
    C: float,
    gamma: float,
    blocks: Blocks,
    average: Average,
    w: Floats,
) -> int:
    """One step for each of order[done:]; return how far the memory sufficed.

    decoded: what has been found for the order, or ``NOTHING``.
    """
    ahead = len(decoded.starts) > 0
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries, dtype=np.float32)
    for position in range(done, len(order)):
        i = order[position]
        if not _has_room(i, max_entries, blocks):
            return position
        visits = blocks.visits[i] + 1
        if ahead:
            y = decoded.ys[decoded.starts[position] : decoded.starts[position + 1]]
            cost, recompleted = decoded.costs[position], decoded.recompleted[position]
        else:
            y, cost, recompleted = decode(examples, i, w, gamma, is_due(visits))
        if len(y) == 0:
            continue
        size = difference(examples, i, y, indices, values)
        recompleted |= blocks.recompleted[0]
        blocks.recompleted[0] = recompleted and size == NEEDS_CAPACITY
        if size == NEEDS_CAPACITY:
            return position
        if recompleted:
            _remove_blocks(order[position : position + 1], blocks, average, w)
        violation = violation_of(gamma * cost, w, indices, values, 0, size)
        if violation <= 0:
            violation, size, cost = 0.0, 0, 0.0
        _step(i, C, gamma * cost, indices[:size], values[:size], blocks, average, w)
        blocks.visits[i], blocks.violations[i] = visits, violation
    return len(order)


@oracle_kernel(
    EXPECTED_ORACLES, Int, Ints1, Int, Int, Float, Float, Float, BlocksType, AverageType, Floats1
)
def _smooth_pass(
    expect: Expect,
    expected_difference: ExpectedDifference,
    examples: ExampleArrays,
    order: Ints,
    done: int,
    max_entries: int,
    C: float,
    beta: float,
    gamma: float,
    blocks: Blocks,
    average: Average,
    w: Floats,
) -> int:
    """The same for a finite beta."""
    indices = np.empty(max_entries, dtype=np.int32)
    values = np.empty(max_entries)
    for position in range(done, len(order)):
        i = order[position]
        if not _has_room(i, max_entries, blocks):
            return position
        visits = blocks.visits[i] + 1
        z, loss, recompleted, _ = expect(examples, i, w, beta, gamma, is_due(visits))
        if len(z) == 0:
            continue
        size = expected_difference(examples, i, z, indices, values)
        f = loss - dot(w, indices, values, 0, size)
        values[:size] *= -1.0  # they are -E_q[Phi_i(Y)]
        if recompleted:
            _remove_blocks(order[position : position + 1], blocks, average, w)
        _step(i, C, f, indices[:size], values[:size], blocks, average, w)
        blocks.visits[i], blocks.violations[i] = visits, loss
    return len(order)
