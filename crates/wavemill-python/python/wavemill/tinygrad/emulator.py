"""Machine code in memory of this process, as tinygrad's mock driver of AMD passes it."""


def run_asm(*arguments):
    raise NotImplementedError
