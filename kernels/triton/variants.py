"""Which kernels there are, with which types and constants."""

VARIANTS = []
CDNA2 = ["gfx90a", "gfx942", "gfx950"]
CDNA3 = ["gfx942", "gfx950"]
CDNA4 = ["gfx950"]


def variant(name, types, warps=4, stages=2, only=None, **constants):
    """Compile the kernel with these types of arguments (separated by blanks) and constants, as `name`."""

    def register(kernel):
        VARIANTS.append((name, kernel, types.split(), constants, warps, stages, only))
        return kernel

    return register
