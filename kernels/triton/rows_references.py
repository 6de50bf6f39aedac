"""What the kernels of rows.py compute. A sum of n numbers in any order has an error of n 2^-24 times their magnitudes."""

import numpy as np

import formats
from references import EPS, reference, uneven

ROWS = 3


def rows_of(launch, random, name="x"):
    """Random rows that are longer than their columns; the numbers of the columns."""
    columns = launch.variant.constants["BLOCK"] * 3 // 4 - 7
    stride = launch.arguments["stride"] = columns + 9
    launch.grid = [ROWS]
    return launch.input(random, name, (ROWS, stride))[:, :columns]


def keep(launch, value, error):
    """Columns behind the results are not written."""
    stride = launch.arguments["stride"]
    kind = launch.kind("out")
    old = formats.stored(kind, np.full((ROWS, stride), 7.0))
    launch.arguments["out"] = old
    whole, bound = formats.values(kind, old), np.zeros((ROWS, stride))
    whole[:, : value.shape[1]], bound[:, : value.shape[1]] = value, error
    launch.output("out", whole, bound)


@reference
def softmax(launch, random):
    x = rows_of(launch, random)
    columns = launch.arguments["columns"] = x.shape[1]
    power = np.exp(x - x.max(1, keepdims=True))
    value = power / power.sum(1, keepdims=True)
    # The exponential has some units, and as many more as its argument is large. The sum has theirs at most, and its own.
    relative = (np.abs(x - x.max(1, keepdims=True)) + 4) * 2 * EPS
    keep(launch, value, value * (relative + (relative * value).sum(1, keepdims=True) + (columns + 5) * EPS))


@reference
def layer_norm(launch, random):
    x = rows_of(launch, random)
    columns = launch.arguments["columns"] = x.shape[1]
    weight, bias = (launch.input(random, name, (columns,)) for name in ("weight", "bias"))
    eps = launch.arguments["eps"] = float(np.float32(1e-5))
    mean = x.mean(1, keepdims=True)
    mean_error = (columns + 6) * EPS * np.abs(x).mean(1, keepdims=True)
    centred = x - mean
    centred_error = mean_error + EPS * np.abs(centred)
    variance = (centred**2).mean(1, keepdims=True)
    variance_error = (2 * np.abs(centred) * centred_error).mean(1, keepdims=True) + (columns + 8) * EPS * variance
    scaled = centred / np.sqrt(variance + eps)
    relative = variance_error / (variance + eps) + 6 * EPS
    error = centred_error / np.sqrt(variance + eps) + np.abs(scaled) * relative
    value = scaled * weight + bias
    keep(launch, value, error * np.abs(weight) + 2 * EPS * (np.abs(scaled * weight) + np.abs(bias)))


@reference
def cross_entropy(launch, random):
    classes = launch.arguments["classes"] = 2 * launch.variant.constants["BLOCK"] + 77
    stride = launch.arguments["stride"] = classes + 5
    launch.grid = [ROWS]
    x = launch.input(random, "logits", (ROWS, stride))[:, :classes]
    labels = launch.arguments["labels"] = random.integers(0, classes, ROWS)
    highest = x.max(1)
    power = np.exp(x - highest[:, None])
    total = power.sum(1)
    # An exponential has as many units as its argument is large, and some; three blocks are scaled twice.
    relative = ((np.abs(x - highest[:, None]) + 4) * 2 * EPS * power).sum(1) / total + (classes + 3 * 12) * EPS
    loss = np.log(total) + highest - x[np.arange(ROWS), labels]
    error = relative + 8 * EPS * np.log(total) + 2 * EPS * (np.abs(highest) + np.abs(np.log(total)) + np.abs(loss))
    launch.output("losses", loss, error)


def blocks(launch, array):
    """The array in blocks, the last one filled with zeros."""
    block = launch.variant.constants["BLOCK"]
    whole = np.zeros(-(-len(array) // block) * block, array.dtype)
    whole[: len(array)] = array
    return whole.reshape(-1, block)


@reference
def cumulative_sum(launch, random):
    n = uneven(launch)
    if launch.kind("x") == "i32":
        x = launch.bits(random, "x", (n,))
        with np.errstate(over="ignore"):
            launch.same("out", np.cumsum(blocks(launch, x), axis=1, dtype=np.int32).reshape(-1)[:n])
        return
    x = blocks(launch, launch.input(random, "x", (n,)))
    error = launch.variant.constants["BLOCK"] * EPS * np.cumsum(np.abs(x), axis=1)
    launch.output("out", np.cumsum(x, axis=1).reshape(-1)[:n], error.reshape(-1)[:n])


@reference
def recurrence(launch, random):
    n = uneven(launch)
    decay = launch.given("decay", random.uniform(-1, 1, n).astype(np.float32))
    decay, x = blocks(launch, decay), blocks(launch, launch.input(random, "x", (n,)))
    value, size = np.zeros_like(x), np.zeros_like(x)
    for at in range(x.shape[1]):
        value[:, at] = decay[:, at] * value[:, at - 1] * (at > 0) + x[:, at]
        size[:, at] = np.abs(decay[:, at]) * size[:, at - 1] * (at > 0) + np.abs(x[:, at])
    # Each term is a product of as many decays as steps were made since, in any order, and is added at most as often.
    error = 2 * x.shape[1] * EPS * size
    launch.output("out", value.reshape(-1)[:n], error.reshape(-1)[:n])


@reference
def sort(launch, random):
    block = launch.variant.constants["BLOCK"]
    launch.grid = [ROWS]
    if launch.kind("x") == "i32":
        x = launch.bits(random, "x", (ROWS, block))
        x[:, ::2] %= 10
    else:
        launch.input(random, "x", (ROWS, block))
        x = launch.arguments["x"]
    launch.same("out", np.sort(x, axis=1))


@reference
def arg_max(launch, random):
    columns = launch.arguments["columns"] = launch.variant.constants["BLOCK"] - 100
    launch.grid = [ROWS]
    # Few different numbers: the first one of several is found. The minimum is that of the missing columns, too.
    x = launch.arguments["x"] = random.integers(-9, 10, (ROWS, columns)).astype(np.float32)
    launch.same("index", x.argmax(1).astype(np.int32))
    launch.same("value", np.full(ROWS, -np.inf, np.float32))


@reference
def reduce_columns(launch, random):
    constants = launch.variant.constants
    rows, columns = launch.arguments["rows"], launch.arguments["columns"] = 2 * constants["ROWS"] + 9, 100
    launch.grid = [-(-columns // constants["COLUMNS"])]
    x = launch.input(random, "x", (rows, columns))
    launch.output("out", x.sum(0), (3 * constants["ROWS"]) * EPS * np.abs(x).sum(0))


@reference
def histogram(launch, random):
    n = uneven(launch)
    bins = launch.variant.constants["BINS"]
    x = launch.bits(random, "x", (n,))
    old = launch.bits(random, "out", (bins,)).copy()
    # Elements that are masked out are zeros, which count.
    counts = np.bincount(blocks(launch, x).reshape(-1) & (bins - 1), minlength=bins).astype(np.int32)
    with np.errstate(over="ignore"):
        launch.same("out", old + counts)
