"""Where lanes of a kernel wait for others, and which instructions it runs, as pictures.

    python divergence.py KERNELS/mandelbrot.co heat.png mix.svg

A wave runs each tile of the Mandelbrot set. Its loop ends when the last of its lanes has left it.
"""

import sys

import matplotlib
import numpy

import wavemill

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "divergence"
from matplotlib import pyplot

code, heat, mix = sys.argv[1:]
kernel = wavemill.Module.load(code)["mandelbrot"]
TILE, ACROSS, DOWN, STEP, LIMIT = 8, 48, 32, 3 / (48 * 8), 256

steps = numpy.zeros((DOWN * TILE, ACROSS * TILE), numpy.uint32)
lanes = numpy.zeros((DOWN, ACROSS))
counts = {}
for y in range(DOWN):
    for x in range(ACROSS):
        tile = numpy.zeros((TILE, TILE), numpy.uint32)
        left, top = -2.2 + x * TILE * STEP, 1.0 - y * TILE * STEP
        stats = kernel[(1, 1), (TILE, TILE)](tile, TILE, TILE, left, top, STEP, LIMIT, count=True).to_dict()
        steps[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE] = tile
        lanes[y, x] = stats["mean_lanes"]
        for kind, count in stats["mix"].items():
            counts[kind] = counts.get(kind, 0) + count

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.imshow(numpy.log1p(steps), cmap="magma")
left.set_title("iterations")
picture = right.imshow(lanes / 64, cmap="viridis", vmin=0, vmax=1)
right.set_title("active lanes, on average")
figure.colorbar(picture, ax=right, format="{x:.0%}")
for axes in (left, right):
    axes.set_axis_off()
figure.savefig(heat, dpi=90)

counts = {kind: count for kind, count in sorted(counts.items(), key=lambda one: one[1]) if count}
figure, axes = pyplot.subplots(figsize=(7, 2.4), layout="constrained")
bars = axes.barh(list(counts), list(counts.values()), color="tab:blue")
axes.bar_label(bars, labels=[f"{count:,}" for count in counts.values()], padding=3)
axes.set_xlabel("instructions of waves")
axes.spines[["top", "right"]].set_visible(False)
axes.margins(x=0.15)
figure.savefig(mix, metadata={"Date": None})

print(f"{lanes.mean() / 64:.0%} of the lanes are active, {lanes.min() / 64:.0%} in the worst tile")
