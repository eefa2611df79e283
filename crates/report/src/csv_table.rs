//! All samples as CSV: one line per variant, seed and metric, nothing averaged away.

use crate::analysis::Analysis;

const HEADER: [&str; 12] = [
    "scenario", "machine", "variant", "baseline", "policy", "rules", "features", "seed", "metric",
    "unit", "better", "value",
];

/// The samples of several experiments as one table.
pub fn csv<'a>(analyses: impl IntoIterator<Item = &'a Analysis>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every record has as many fields as the header.
    let _ = writer.write_record(HEADER);
    for analysis in analyses {
        for variant in &analysis.variants {
            let features = variant.features.join(" ");
            for metric in &variant.metrics {
                for (seed, value) in analysis.seeds.iter().zip(&metric.values) {
                    let _ = writer.write_record([
                        analysis.scenario.as_str(),
                        &analysis.machine.name,
                        &variant.name,
                        if variant.baseline { "true" } else { "false" },
                        variant.policy,
                        variant.rules.unwrap_or(""),
                        &features,
                        &seed.to_string(),
                        &metric.name,
                        metric.unit,
                        metric.better.word(),
                        &value.to_string(),
                    ]);
                }
            }
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::example;
    use expect_test::expect;

    #[test]
    fn every_sample_has_a_line() {
        let text = csv([&example(2, &["off", "on"])]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 24 * 2 * 2);
        expect![[r#"
            scenario,machine,variant,baseline,policy,rules,features,seed,metric,unit,better,value
            example,example,off,true,cfs,6.4,,1,elapsed,s,lower,300.72750483122707
            example,example,off,true,cfs,6.4,,2,elapsed,s,lower,300.9542763294908
            example,example,off,true,cfs,6.4,,1,cpu_pct,%,none,302.0599825599588"#]]
        .assert_eq(&lines[..4].join("\n"));
    }
}
