//! All samples as CSV: one line per variant, seed and metric, nothing averaged away.

use crate::Outcome;
use crate::analysis::Analysis;
use std::io::{self, Write};

const BEFORE: [&str; 2] = ["scenario", "machine"];
const AFTER: [&str; 10] = [
    "variant", "baseline", "policy", "rules", "features", "seed", "metric", "unit", "better",
    "value",
];

/// The samples of several studies as one table. The keys that any of them sweeps have a column
/// each, between the machine and the variant.
pub fn csv<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> String {
    let mut bytes = Vec::new();
    write(outcomes, &mut bytes).expect("memory takes it, and each record has all fields");
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes that table line by line: it may be long.
pub(crate) fn write<'a>(
    outcomes: impl IntoIterator<Item = &'a Outcome>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let outcomes: Vec<&Outcome> = outcomes.into_iter().collect();
    let keys = swept(&outcomes);
    let mut writer = csv::Writer::from_writer(to);
    let header = BEFORE.into_iter().chain(keys.iter().copied()).chain(AFTER);
    writer.write_record(header).map_err(of_io)?;
    for outcome in outcomes {
        match outcome {
            Outcome::One(analysis) => {
                samples(&mut writer, analysis, &vec![""; keys.len()]).map_err(of_io)?
            }
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
                    samples(&mut writer, &point.analysis, &at).map_err(of_io)?;
                }
            }
        }
    }
    writer.flush()
}

/// What the system said; each record has as many fields as the header.
fn of_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
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
fn samples(
    writer: &mut csv::Writer<&mut dyn Write>,
    analysis: &Analysis,
    at: &[&str],
) -> csv::Result<()> {
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
                writer.write_record(before.iter().chain(at).chain(&after))?;
            }
        }
    }
    Ok(())
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
        assert_eq!(lines.len(), 1 + 50 * 2 * 2);
        expect![[r#"
            scenario,machine,variant,baseline,policy,rules,features,seed,metric,unit,better,value
            example,example,off,true,cfs,6.4,,1,elapsed,s,lower,300.72750483122707
            example,example,off,true,cfs,6.4,,2,elapsed,s,lower,300.9542763294908
            example,example,off,true,cfs,6.4,,1,cpu_pct,%,none,302.0599825599588"#]]
        .assert_eq(&lines[..4].join("\n"));
    }
}
