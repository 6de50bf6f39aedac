//! The chart of speeds: a bar for each kernel of the first table of BENCHMARKS.md that has a ratio to pocl.

use std::fmt::Write as _;

/// The columns that the chart is drawn from: names of kernels, and ratios.
const COLUMNS: [&str; 2] = ["kernel", "Wavemill / pocl"];

/// Widths in pixels: names, bars, and the numbers after them.
const NAMES: f64 = 190.0;
const BARS: f64 = 500.0;
const NUMBERS: f64 = 60.0;
/// Height of a bar with its gap, and of what is above all bars.
const STEP: f64 = 18.0;
const TOP: f64 = 56.0;

/// Ratios at which the chart has lines.
const LINES: [f64; 9] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];

/// The cells of a table's line.
fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

/// Kernels with their ratios, the smallest first.
fn ratios(page: &str) -> Result<Vec<(&str, f64)>, String> {
    let mut lines =
        page.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let head = cells(lines.next().unwrap_or_default());
    let column = |name: &str| {
        let at = head.iter().position(|cell| *cell == name);
        at.ok_or_else(|| format!("the first table has no column `{name}`: {}", head.join(", ")))
    };
    let [name, ratio] = [column(COLUMNS[0])?, column(COLUMNS[1])?];
    let mut found: Vec<(&str, f64)> =
        lines.map(cells).filter_map(|row| Some((*row.get(name)?, row.get(ratio)?.parse().ok()?))).collect();
    if found.is_empty() {
        return Err(format!("the first table has no number in the column `{}`", COLUMNS[1]));
    }
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(found)
}

/// The chart for the page BENCHMARKS.md.
pub(crate) fn draw(page: &str) -> Result<String, String> {
    let ratios = ratios(page)?;
    let (least, most) = (LINES[0].ln(), ratios.last().map_or(1.0, |last| last.1).max(LINES[8]).ln());
    let x = |ratio: f64| NAMES + BARS * (ratio.max(LINES[0]).ln() - least) / (most - least);
    let (width, height) = (NAMES + BARS + NUMBERS, TOP + STEP * ratios.len() as f64 + 8.0);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
<title>Time of Wavemill divided by the time of pocl, for each kernel</title>
<style>
text {{ font: 12px Consolas, Menlo, "Liberation Mono", monospace; fill: #24292f }}
.title {{ font: bold 14px sans-serif }} .note {{ font: 12px sans-serif; fill: #57606a }}
.faster {{ fill: #1a7f37 }} .slower {{ fill: #8c959f }} line {{ stroke: #d0d7de }} .one {{ stroke: #24292f }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #e6edf3 }} .note {{ fill: #8d96a0 }} .faster {{ fill: #3fb950 }} .slower {{ fill: #6e7681 }}
line {{ stroke: #30363d }} .one {{ stroke: #e6edf3 }} }}
</style>
<text class="title" x="{NAMES}" y="18">Time of Wavemill / time of pocl (log scale)</text>
"#
    );
    let faster = ratios.iter().filter(|(_, ratio)| *ratio < 1.0).count();
    let mut line = |text: String| writeln!(svg, "{text}").expect("writing to a string");
    line(format!(
        r#"<text class="note" x="{NAMES}" y="34">{} kernels; the GPU binary is faster in {faster} (green)</text>"#,
        ratios.len()
    ));
    for ratio in LINES {
        let (x, class) = (x(ratio), if ratio == 1.0 { r#" class="one""# } else { "" });
        line(format!(r#"<line{class} x1="{x:.1}" x2="{x:.1}" y1="{TOP}" y2="{height}"/>"#));
        line(format!(
            r#"<text class="note" x="{x:.1}" y="{}" text-anchor="middle">{ratio}</text>"#,
            TOP - 6.0
        ));
    }
    for (n, (name, ratio)) in ratios.iter().enumerate() {
        let (from, to, y) = (x(1.0).min(x(*ratio)), x(1.0).max(x(*ratio)), TOP + STEP * n as f64 + 4.0);
        let class = if *ratio < 1.0 { "faster" } else { "slower" };
        let base = y + 10.0;
        line(format!(r#"<text x="{}" y="{base}" text-anchor="end">{name}</text>"#, NAMES - 8.0));
        line(format!(
            r#"<rect class="{class}" x="{from:.1}" y="{y}" width="{:.1}" height="{}"/>"#,
            to - from,
            STEP - 6.0
        ));
        line(format!(r#"<text x="{:.1}" y="{base}">{ratio:.2}</text>"#, to + 5.0));
    }
    svg += "</svg>\n";
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_for_each_ratio() {
        let page = "# B\n\n| kernel | pocl | Wavemill / pocl |\n|---|---:|---:|\n| slow | 1 ms | 4.00 |\n\
                    | fast | 1 ms | 0.25 |\n| no | not built | - |\n\n| kernel | Wavemill / pocl |\n| other | 2 |\n";
        assert_eq!(ratios(page), Ok(vec![("fast", 0.25), ("slow", 4.0)]));
        let svg = draw(page).expect("a chart");
        assert_eq!((svg.matches("<rect").count(), svg.matches("\"faster\"").count()), (2, 1));
        assert!(ratios("| kernel | pocl |\n").unwrap_err().contains("no column"));
    }
}
