//! Statistics of launches.

use pyo3::prelude::*;
use wavemill::stats::LaunchStats;

use crate::fidelity::PyFidelity;
use crate::html::Html;
use crate::json;

/// Statistics of a launch.
#[pyclass(frozen, name = "Stats", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyStats {
    pub(crate) kernel: String,
    pub(crate) stats: LaunchStats,
    /// Seconds on the host.
    #[pyo3(get)]
    pub(crate) seconds: f64,
}

/// `1 wave`, `2 waves`.
fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[pymethods]
impl PyStats {
    /// Name of the kernel.
    #[getter]
    fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Guest instructions of all waves.
    #[getter]
    fn instructions(&self) -> u64 {
        self.stats.run.instructions
    }

    /// Workgroups of the grid in each dimension.
    #[getter]
    fn grid(&self) -> (u32, u32, u32) {
        self.stats.workgroups.into()
    }

    /// Workgroups that ran to their end.
    #[getter]
    fn workgroups(&self) -> u64 {
        self.stats.run.workgroups
    }

    /// Waves that ran to their end.
    #[getter]
    fn waves(&self) -> u64 {
        self.stats.run.waves
    }

    /// Work-items of the grid.
    #[getter]
    fn work_items(&self) -> u64 {
        self.stats.work_items
    }

    /// Host threads that took part.
    #[getter]
    fn threads(&self) -> usize {
        self.stats.run.threads
    }

    /// Bytes of LDS that each workgroup requested, including dynamic LDS.
    #[getter]
    fn lds(&self) -> u32 {
        self.stats.lds_size
    }

    /// The engine that ran it, with its tier.
    #[getter]
    fn engine(&self) -> String {
        self.stats.engine.to_string()
    }

    /// How exact the executed instructions are, with `count=True`; `None` without it.
    #[getter]
    fn fidelity(&self) -> Option<PyFidelity> {
        self.stats.fidelity.clone().map(PyFidelity)
    }

    /// All statistics as a dictionary, with those that `count=True` and `traffic=True` add: kinds
    /// and rows of the executed instructions, their fidelity, and accesses to memory.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.stats)
    }

    fn __repr__(&self) -> String {
        let run = &self.stats.run;
        format!(
            "<Stats of {}: {}, {}, {}, {}, {:.3} ms>",
            self.kernel,
            count(run.instructions, "instruction"),
            count(run.workgroups, "workgroup"),
            count(run.waves, "wave"),
            count(run.threads as u64, "thread"),
            self.seconds * 1e3
        )
    }

    fn _repr_html_(&self) -> String {
        let run = &self.stats.run;
        let mut html = Html::table(&self.kernel);
        let [x, y, z] = self.stats.workgroups;
        let mut row = |name: &str, value: String| html.row(&[name, &value]);
        row("grid", format!("{x} x {y} x {z}"));
        row("workgroups", run.workgroups.to_string());
        row("waves", run.waves.to_string());
        row("instructions", run.instructions.to_string());
        row("threads", run.threads.to_string());
        row("time", format!("{:.3} ms", self.seconds * 1e3));
        if let Some(fidelity) = self.fidelity() {
            row("fidelity", fidelity.summary());
        }
        html.end()
    }
}
