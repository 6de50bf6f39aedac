//! How exact the instructions of a launch are.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use wavemill::stats::{Facet, FidelityCounts, InexactCount};

use crate::html::Html;

/// How exact the executed instructions are: `Stats.fidelity` of a launch with `count=True`.
///
/// The handbook's page about fidelity explains the levels and the facets.
#[pyclass(frozen, name = "Fidelity", module = "wavemill")]
#[derive(Debug)]
pub(crate) struct PyFidelity(pub(crate) FidelityCounts);

/// An instruction that is not exact, and how often waves ran it.
#[pyclass(frozen, name = "InexactInstruction", module = "wavemill")]
#[derive(Clone, Debug)]
pub(crate) struct PyInexact(InexactCount);

#[pymethods]
impl PyInexact {
    /// The mnemonic.
    #[getter]
    fn mnemonic(&self) -> &'static str {
        self.0.mnemonic
    }

    /// How exact it is: `rounded`, `modelled` or `unsupported`.
    #[getter]
    fn level(&self) -> &'static str {
        self.0.fidelity.name()
    }

    /// How often waves ran it.
    #[getter]
    fn count(&self) -> u64 {
        self.0.count
    }

    /// Names of its facets.
    #[getter]
    fn facets(&self) -> Vec<&'static str> {
        self.0.facets.iter().map(|facet| facet.name).collect()
    }

    fn __repr__(&self) -> String {
        format!("<InexactInstruction {}: {}, {} times>", self.0.mnemonic, self.level(), self.0.count)
    }
}

/// What the manuals leave open about instructions, and how often waves ran such instructions.
#[pyclass(frozen, name = "Facet", module = "wavemill")]
#[derive(Clone, Debug)]
pub(crate) struct PyFacet {
    facet: &'static Facet,
    /// How often waves ran instructions that have it.
    #[pyo3(get)]
    count: u64,
    instructions: Vec<(&'static str, u64)>,
}

#[pymethods]
impl PyFacet {
    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.facet.name
    }

    /// What is open, and what Wavemill does.
    #[getter]
    fn open(&self) -> &'static str {
        self.facet.open
    }

    /// The evidence that would settle it.
    #[getter]
    fn settled_by(&self) -> &'static str {
        self.facet.settled_by
    }

    /// The instructions that have it, and how often waves ran each.
    #[getter]
    fn instructions(&self) -> BTreeMap<&'static str, u64> {
        self.instructions.iter().copied().collect()
    }

    fn __repr__(&self) -> String {
        format!("<Facet {}: {} times>", self.facet.name, self.count)
    }
}

impl PyFidelity {
    /// The levels that occurred, with their counts.
    fn levels(&self) -> Vec<(&'static str, u64)> {
        let FidelityCounts { exact, rounded, modelled, unsupported, .. } = &self.0;
        let all = [
            ("exact", *exact),
            ("rounded", *rounded),
            ("modelled", *modelled),
            ("unsupported", *unsupported),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// `26 exact, 2 rounded`.
    pub(crate) fn summary(&self) -> String {
        let levels: Vec<String> =
            self.levels().iter().map(|(name, count)| format!("{count} {name}")).collect();
        if levels.is_empty() { "no instructions".to_owned() } else { levels.join(", ") }
    }
}

#[pymethods]
impl PyFidelity {
    /// Instructions all of whose bits, except those of facets, a cited text or an outside oracle
    /// fixes.
    #[getter]
    fn exact(&self) -> u64 {
        self.0.exact
    }

    /// Instructions that are rounded correctly, where the manual gives an error bound or nothing.
    #[getter]
    fn rounded(&self) -> u64 {
        self.0.rounded
    }

    /// Instructions whose whole meaning is a documented choice.
    #[getter]
    fn modelled(&self) -> u64 {
        self.0.modelled
    }

    /// Instructions without a meaning; they end a launch.
    #[getter]
    fn unsupported(&self) -> u64 {
        self.0.unsupported
    }

    /// All instructions.
    #[getter]
    fn total(&self) -> u64 {
        self.0.total()
    }

    /// The instructions that are not exact, the most frequent first.
    #[getter]
    fn inexact(&self) -> Vec<PyInexact> {
        self.0.inexact.iter().cloned().map(PyInexact).collect()
    }

    /// The facets of the executed instructions, the most frequent first.
    #[getter]
    fn facets(&self) -> Vec<PyFacet> {
        let facet = |one: &wavemill::stats::FacetCount| PyFacet {
            facet: one.facet,
            count: one.count,
            instructions: one.instructions.clone(),
        };
        self.0.facets.iter().map(facet).collect()
    }

    fn __repr__(&self) -> String {
        let facets: Vec<&str> = self.0.facets.iter().map(|one| one.facet.name).collect();
        let facets =
            if facets.is_empty() { String::new() } else { format!("; facets {}", facets.join(", ")) };
        format!("<Fidelity: {}{facets}>", self.summary())
    }

    fn _repr_html_(&self) -> String {
        let mut html = Html::table("Fidelity");
        self.levels().iter().for_each(|(name, count)| html.row(&[name, &count.to_string()]));
        for one in &self.0.facets {
            html.row(&[&format!("facet {}", one.facet.name), &format!("{}: {}", one.count, one.facet.open)]);
        }
        html.end()
    }
}
