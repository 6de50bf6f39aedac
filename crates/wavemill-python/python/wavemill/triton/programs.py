"""Changes to Triton for programs that measure more than a run on a CPU should."""

import time


def skip_benchmarks():
    """`do_bench` and its kin run their function once; reports of `perf_report` are empty."""
    import triton.testing

    def do_bench(fn, *args, quantiles=None, return_mode="mean", **_):
        start = time.perf_counter()
        fn()
        milliseconds = (time.perf_counter() - start) * 1e3
        if quantiles is not None:
            return milliseconds if len(quantiles) == 1 else [milliseconds] * len(quantiles)
        return [milliseconds] if return_mode == "all" else milliseconds

    for name in ("do_bench", "do_bench_cudagraph", "do_bench_cudagraph_proton", "do_bench_proton"):
        if hasattr(triton.testing, name):
            setattr(triton.testing, name, do_bench)
    # `run` of a report returns a table only if it is asked to.
    triton.testing.Mark.run = lambda self, *args, return_df=False, **_: [] if return_df else None


def use_first_configuration():
    """The autotuner takes the first configuration that compiles and fits into the device."""
    from triton.runtime.autotuner import Autotuner

    prune, bench = Autotuner.prune_configs, Autotuner._bench

    def prune_configs(self, kwargs):
        self._wavemill_found = False
        return prune(self, kwargs)

    def _bench(self, *args, config, **meta):
        does_not_fit = [float("inf")] * 3
        if self._wavemill_found:
            return does_not_fit
        cost = bench(self, *args, config=config, **meta)
        self._wavemill_found = cost != does_not_fit
        return cost

    Autotuner.prune_configs, Autotuner._bench = prune_configs, _bench
