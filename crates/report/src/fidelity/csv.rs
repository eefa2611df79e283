//! Fidelity as CSV: one line per published row.

use super::Fidelity;

const HEADER: [&str; 18] = [
    "scenario",
    "machine",
    "variant",
    "baseline",
    "metric",
    "unit",
    "published",
    "published_sd",
    "simulated",
    "off_pct",
    "published_delta_pct",
    "simulated_delta_pct",
    "ci95_low",
    "ci95_high",
    "calibrated",
    "judged_by",
    "right",
    "source",
];

/// All rows as one table.
pub fn csv(fidelity: &Fidelity) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every record has as many fields as the header.
    let _ = writer.write_record(HEADER);
    let cell = |value: Option<f64>| value.map_or(String::new(), |x| x.to_string());
    for compared in &fidelity.scenarios {
        for row in &compared.rows {
            let (p, ci95) = (&row.published, row.delta.and_then(|delta| delta.ci95));
            let _ = writer.write_record([
                &compared.scenario,
                &compared.machine,
                &row.variant,
                &row.baseline.to_string(),
                &p.metric,
                row.unit,
                &p.value.to_string(),
                &cell(p.sd),
                &cell(p.simulated),
                &cell(row.off_pct),
                &cell(p.delta_pct),
                &cell(p.simulated_delta_pct),
                &cell(ci95.map(|[low, _]| low)),
                &cell(ci95.map(|[_, high]| high)),
                &p.calibrated.to_string(),
                row.by.word(),
                &row.right.map_or(String::new(), |right| right.to_string()),
                &p.source,
            ]);
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
