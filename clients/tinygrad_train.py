"""Trains a small network with tinygrad on Wavemill and on the host's CPU, and compares the losses.

    python clients/tinygrad_train.py [--target T]... [--steps N] [--results FILE]

The network has two convolutions and a linear layer; the digits are drawn, shifted and given noise by this program. Both
devices start from the same weights and see the same batches, so the losses differ by rounding alone: kernels of the
devices sum in different orders. The CPU of tinygrad needs clang: CC names it.
"""

import argparse
import importlib.metadata
import os
import shutil
import sys

import numpy as np

from results import FAILED, PASSED, Results

TARGETS = ("gfx942", "gfx950", "gfx90a", "gfx906")
STEPS, BATCH, SIDE = 30, 32, 16

#: Losses may differ by this much, relative to the larger one. A sum of n numbers in single precision has an error of up
#: to n * 2^-24 of the sum of their magnitudes, where n is at most the 8,192 pixels of a batch in a gradient: 5e-4.
#: Errors of the same size come back in each step, and losses fall, so that they do not grow much.
TOLERANCE = 5e-4


def find_clang():
    """Sets CC to a clang of the host, unless it is set. Returns whether there is one."""
    if not os.environ.get("CC") and not shutil.which("clang"):
        found = next((name for n in range(30, 13, -1) if shutil.which(name := f"clang-{n}")), None)
        if found:
            os.environ["CC"] = found
    return bool(shutil.which(os.environ.get("CC") or "clang"))


#: Three bits a row, five rows a digit.
FONT = (
    (7, 5, 5, 5, 7),
    (2, 6, 2, 2, 7),
    (7, 1, 7, 4, 7),
    (7, 1, 7, 1, 7),
    (5, 5, 7, 1, 1),
    (7, 4, 7, 1, 7),
    (7, 4, 7, 5, 7),
    (7, 1, 1, 2, 2),
    (7, 5, 7, 5, 7),
    (7, 5, 7, 1, 7),
)


def digits(count, seed):
    """Pictures of digits, and the digits."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 10, count)
    images = generator.normal(0, 0.1, (count, 1, SIDE, SIDE)).astype(np.float32)
    for image, label in zip(images[:, 0], labels):
        glyph = np.array([[row >> 2 - x & 1 for x in range(3)] for row in FONT[label]], np.float32)
        glyph = np.kron(glyph, np.ones((2, 2), np.float32))
        y, x = generator.integers(2, 5), generator.integers(4, 7)
        image[y : y + glyph.shape[0], x : x + glyph.shape[1]] += glyph
    return images, labels.astype(np.int32)


def weights(seed):
    """The weights at the start."""
    generator = np.random.default_rng(seed)

    def normal(*shape):
        return (generator.normal(0, 1, shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)

    # 16 by 16 pixels become 7 by 7, and then 2 by 2.
    return [normal(8, 1, 3, 3), np.zeros(8, np.float32), normal(16, 8, 3, 3), np.zeros(16, np.float32), normal(10, 64)]


def train(device, steps=STEPS):
    """The loss before each step on a device of tinygrad, and the share of right digits after the last."""
    from tinygrad import Tensor, TinyJit
    from tinygrad.helpers import Context
    from tinygrad.nn.optim import SGD

    parameters = [Tensor(one, device=device).realize() for one in weights(1)]
    optimizer = SGD(parameters, lr=0.05, momentum=0.9)

    def forward(x):
        first, first_bias, second, second_bias, last = parameters
        x = x.conv2d(first, first_bias).relu().max_pool2d()
        x = x.conv2d(second, second_bias).relu().max_pool2d()
        return x.flatten(1) @ last.transpose()

    @TinyJit
    def step(x, y):
        optimizer.zero_grad()
        loss = forward(x).sparse_categorical_crossentropy(y)
        loss.backward()
        # Together: later, the loss would be that of the new weights.
        return loss.realize(*optimizer.schedule_step())

    images, labels = digits(BATCH * steps, 2)
    losses = []
    with Context(TRAINING=1):
        for n in range(steps):
            part = slice(n * BATCH, (n + 1) * BATCH)
            x, y = Tensor(images[part], device=device), Tensor(labels[part], device=device)
            losses.append(step(x.realize(), y.realize()).item())
    images, labels = digits(200, 3)
    found = forward(Tensor(images, device=device)).argmax(1).numpy()
    return losses, float((found == labels).mean())


def compare(found, expected):
    """The largest difference of losses, relative to the larger one."""
    return max(abs(a - b) / max(abs(a), abs(b)) for a, b in zip(found, expected, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this target")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps of training; {STEPS} by default")
    parser.add_argument("--results", help="a file for the outcomes")
    options = parser.parse_args()
    if not find_clang():
        sys.exit("error: tinygrad's CPU backend needs clang: install it, or set CC")
    import wavemill.tinygrad

    results = Results("tinygrad, training", importlib.metadata.version("tinygrad"))
    expected, right = train("CPU", options.steps)
    print(f"CPU: losses {expected[0]:.6f} to {expected[-1]:.6f}, {right:.0%} right")
    for number, target in enumerate(options.target or TARGETS):
        # Each device has the target of the time when it is opened.
        os.environ["WAVEMILL_TARGET"] = target
        losses, right = train(f"WAVEMILL:{number}", options.steps)
        difference = compare(losses, expected)
        outcome = PASSED if difference <= TOLERANCE else FAILED
        text = f"losses {losses[0]:.6f} to {losses[-1]:.6f}, {right:.0%} right, difference {difference:.2g}"
        print(f"{target}: {outcome}: {text}", flush=True)
        name = f"training, {options.steps} steps of SGD"
        results.add(name, target, outcome, text if outcome == FAILED else "")
    if options.results:
        results.write(options.results)
    sys.exit(results.count(FAILED) > 0)


if __name__ == "__main__":
    main()
