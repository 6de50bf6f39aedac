//! The report of `--stats` as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use wavemill::stats::LaunchStats;

use crate::message::data;

/// The details of the report about a launch.
pub(in crate::run) fn json(index: usize, kernel: &str, stats: &LaunchStats, times: &[Duration]) -> Value {
    let mut parts = data(stats);
    parts["launch"] = json!(index + 1);
    parts["kernel"] = json!(kernel);
    parts["seconds"] = json!(times.iter().map(Duration::as_secs_f64).collect::<Vec<f64>>());
    parts
}
