"""The compiler that Triton asks each back end for."""

from triton.backends.compiler import BaseBackend


class WavemillCompiler(BaseBackend):
    """A compiler for no target: Triton's own compiler for AMD GPUs makes the code."""

    @staticmethod
    def supports_target(target):
        return False

    @staticmethod
    def _never():
        raise NotImplementedError("Triton's compiler for AMD GPUs compiles for Wavemill")

    def hash(self):
        self._never()

    def parse_options(self, options):
        self._never()

    def add_stages(self, stages, options, language=None):
        self._never()

    def load_dialects(self, context):
        self._never()

    def get_module_map(self):
        self._never()


# A later Triton may ask for further methods. An abstract class would fail `import triton`.
WavemillCompiler.__abstractmethods__ = frozenset()
