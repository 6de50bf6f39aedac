"""What the kernels of memory.py compute. Moves, integers and their atomics are exact."""

import numpy as np

import formats
from references import EPS, reference, uneven


def contents(launch, random, name, shape):
    """Random contents of any format, as they are stored."""
    if launch.kind(name)[0] in "iu":
        return launch.bits(random, name, shape)
    launch.input(random, name, shape)
    return launch.arguments[name]


@reference
def transpose(launch, random):
    tile = launch.variant.constants["TILE"]
    rows, columns = launch.arguments["rows"], launch.arguments["columns"] = 2 * tile + 3, tile + 5
    launch.grid = [3, 2]
    launch.same("out", contents(launch, random, "x", (rows, columns)).T.copy())


@reference
def embedding(launch, random):
    width = launch.arguments["width"] = 2 * launch.variant.constants["BLOCK"] + 33
    launch.grid = [7]
    ids = launch.arguments["ids"] = random.integers(0, 20, 7).astype(np.int32)
    launch.same("out", contents(launch, random, "table", (20, width))[ids])


@reference
def gather_tile(launch, random):
    rows, columns = (launch.variant.constants[name] for name in ("ROWS", "COLUMNS"))
    x = contents(launch, random, "x", (rows, columns))
    index = launch.arguments["index"] = random.integers(0, rows, (rows, columns)).astype(np.int32)
    launch.same("out", np.take_along_axis(x, index, 0))


@reference
def atomics(launch, random):
    # An even number: an atomic of two bytes replaces the four bytes that they are in.
    n, places = uneven(launch), 38
    x = launch.input(random, "x", (n,))
    index = launch.arguments["index"] = random.integers(0, places, n).astype(np.int32)
    old = launch.input(random, "out", (places,))
    total, size, count = old.copy(), np.abs(old), np.bincount(index, minlength=places)
    np.add.at(total, index, x)
    np.add.at(size, index, np.abs(x))
    # Each addition rounds a partial sum to the format.
    launch.output("out", total, count * formats.rounding(launch.kind("out"), size * 1.1))


@reference
def atomics_integer(launch, random):
    # tl.atomic_cas has no mask, so all elements of all blocks exist.
    n = launch.arguments["n"] = 3 * launch.variant.constants["BLOCK"]
    launch.grid = [3]
    value = launch.bits(random, "x", (n,))
    out = launch.bits(random, "out", (5, n))
    with np.errstate(over="ignore"):
        old = (out[0] + out[1]) ^ out[2]
    # Half of the comparisons find what they expect.
    out[3, ::2] = old[::2]
    after = np.stack([np.maximum(out[0], value), value, out[2] & value, np.where(out[3] == old, value, out[3]), old ^ out[3]])
    launch.same("out", after)


@reference
def spin_lock(launch, random):
    block = launch.variant.constants["BLOCK"]
    launch.grid = [5]
    launch.arguments["lock"] = np.zeros(1, np.int32)
    # Small integers, so that sums in any order are exact.
    x = launch.arguments["x"] = random.integers(-1000, 1000, (5, block)).astype(np.float32)
    old = launch.arguments["out"] = random.integers(-1000, 1000, block).astype(np.float32)
    launch.same("out", old + x.sum(0))
    launch.same("lock", np.zeros(1, np.int32))


@reference
def interleave(launch, random):
    block = launch.variant.constants["BLOCK"]
    launch.grid = [2]
    x, y = (contents(launch, random, name, (2 * block,)) for name in "xy")
    launch.same("out", np.stack([x, y], 1).reshape(-1))


@reference
def convolution(launch, random):
    count, stride = uneven(launch), 2
    launch.arguments["stride"] = stride
    taps = launch.variant.constants["TAPS"]
    # The output has as many elements as the input, so that the stride leaves the input early.
    x, weights = launch.input(random, "x", (count,)), launch.input(random, "taps", (taps,))
    padded = np.zeros(stride * count + taps)
    padded[taps // 2 : taps // 2 + count] = x
    windows = np.lib.stride_tricks.sliding_window_view(padded, taps)[: stride * count : stride]
    launch.output("out", windows @ weights, 2 * taps * EPS * (np.abs(windows) @ np.abs(weights)))


@reference
def called_function(launch, random):
    block = launch.variant.constants["BLOCK"]
    launch.grid = [11]
    scale = launch.arguments["scale"] = -123
    block_of = np.arange(11, dtype=np.int32)[:, None]
    with np.errstate(over="ignore"):
        launch.same("out", launch.bits(random, "x", (11, block)) + (block_of * np.int32(scale) + block_of % 7))


@reference
def checked(launch, random):
    n = launch.arguments["n"] = launch.variant.constants["BLOCK"]
    x = launch.bits(random, "x", (n,))
    launch.same("out", x)
    # tl.device_print: the program, the index with the width of the largest one, and the number.
    launch.printed = [f"pid (0, 0, 0) idx ({at:{len(str(n - 1))}}) value: {number}" for at, number in enumerate(x)]
