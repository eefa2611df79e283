//! All samples as CSV: one line per variant, seed and metric, nothing averaged away.

use crate::Outcome;
use crate::analysis::Analysis;

const BEFORE: [&str; 2] = ["scenario", "machine"];
const AFTER: [&str; 10] = [
    "variant", "baseline", "policy", "rules", "features", "seed", "metric", "unit", "better",
    "value",
];

/// The samples of several studies as one table. The keys that any of them sweeps have a column
/// each, between the machine and the variant.
pub fn csv<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> String {
    let outcomes: Vec<&Outcome> = outcomes.into_iter().collect();
    let keys = swept(&outcomes);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = BEFORE.into_iter().chain(keys.iter().copied()).chain(AFTER);
    // Writing to memory cannot fail, and every record has as many fields as the header.
    let _ = writer.write_record(header);
    for outcome in outcomes {
        match outcome {
            Outcome::One(analysis) => samples(&mut writer, analysis, &vec![""; keys.len()]),
            Outcome::Sweep(sweep) => {
                for point in &sweep.points {
                    let own: Vec<(&str, &str)> = sweep
                        .axes
                        .iter()
                        .map(|axis| axis.key.as_str())
                        .zip(sweep.values(point))
                        .collect();
                    let value =
                        |key: &&str| own.iter().find(|(own, _)| own == key).map_or("", |(_, v)| v);
                    let at: Vec<&str> = keys.iter().map(value).collect();
                    samples(&mut writer, &point.analysis, &at);
                }
            }
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// The keys that studies sweep, each once.
fn swept<'a>(outcomes: &[&'a Outcome]) -> Vec<&'a str> {
    let mut keys: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if let Outcome::Sweep(sweep) = outcome {
            for axis in &sweep.axes {
                if !keys.contains(&axis.key.as_str()) {
                    keys.push(&axis.key);
                }
            }
        }
    }
    keys
}

/// A line for each sample of an experiment, at these values of the swept keys.
fn samples(writer: &mut csv::Writer<Vec<u8>>, analysis: &Analysis, at: &[&str]) {
    for variant in &analysis.variants {
        let features = variant.features.join(" ");
        for metric in &variant.metrics {
            for (seed, value) in analysis.seeds.iter().zip(&metric.values) {
                let (seed, value) = (seed.to_string(), value.to_string());
                let before = [analysis.scenario.as_str(), &analysis.machine.name];
                let after = [
                    variant.name.as_str(),
                    if variant.baseline { "true" } else { "false" },
                    variant.policy,
                    variant.rules.unwrap_or(""),
                    &features,
                    &seed,
                    &metric.name,
                    metric.unit,
                    metric.better.word(),
                    &value,
                ];
                let _ = writer.write_record(before.iter().chain(at).chain(&after));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::example;
    use expect_test::expect;

    #[test]
    fn every_sample_has_a_line() {
        let outcome = Outcome::One(Box::new(example(2, &["off", "on"])));
        let text = csv([&outcome]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 48 * 2 * 2);
        expect![[r#"
            scenario,machine,variant,baseline,policy,rules,features,seed,metric,unit,better,value
            example,example,off,true,cfs,6.4,,1,elapsed,s,lower,300.72750483122707
            example,example,off,true,cfs,6.4,,2,elapsed,s,lower,300.9542763294908
            example,example,off,true,cfs,6.4,,1,cpu_pct,%,none,302.0599825599588"#]]
        .assert_eq(&lines[..4].join("\n"));
    }
}
