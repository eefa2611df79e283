//! Conditions for scripts: `throughput < -1%` fails if B's throughput is more than 1 % below A's.

use super::{Change, Comparison};
use crate::number::{interval, percent};
use scenario::nearest;

/// A change that must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As it was written.
    pub text: String,
    /// The variant that it is about; `None` for all.
    pub variant: Option<String>,
    /// The metric.
    pub metric: String,
    /// It fails above the limit; else below.
    pub above: bool,
    /// The limit, in percent.
    pub limit_pct: f64,
}

/// What a condition came to for one variant of one scenario.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The condition.
    pub condition: Condition,
    /// The scenario's title.
    pub title: String,
    /// The variant.
    pub variant: String,
    /// What was measured.
    pub change: Change,
    /// The change is beyond the limit.
    pub fails: bool,
}

impl std::str::FromStr for Condition {
    type Err = String;

    /// Reads `[VARIANT:] METRIC <|> PERCENT%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let hint = "write [VARIANT:] METRIC < PERCENT%, such as 'throughput < -1%'";
        let at = text.rfind(['<', '>']).ok_or(hint)?;
        let (left, limit) = (text[..at].trim(), text[at + 1..].trim());
        let (variant, metric) = match left.rsplit_once(':') {
            Some((variant, metric)) => (Some(variant.trim().to_string()), metric.trim()),
            None => (None, left),
        };
        if metric.is_empty() || metric.contains(char::is_whitespace) {
            return Err(hint.to_string());
        }
        let number = limit.strip_suffix('%').map(str::trim);
        let limit_pct: Option<f64> = number.and_then(|number| number.parse().ok());
        let limit_pct = limit_pct.filter(|pct| pct.is_finite());
        let limit_pct = limit_pct.ok_or_else(|| format!("`{limit}` is no percentage; {hint}"))?;
        Ok(Self {
            text: text.trim().to_string(),
            variant,
            metric: metric.to_string(),
            above: text[at..].starts_with('>'),
            limit_pct,
        })
    }
}

impl Condition {
    /// Looks at all that the condition is about.
    ///
    /// # Errors
    /// Nothing is: the variant or the metric is not in both files.
    pub fn judge(&self, comparison: &Comparison) -> Result<Vec<Verdict>, String> {
        let (mut verdicts, mut variants) = (Vec::new(), 0);
        for pair in &comparison.pairs {
            let wanted = |name: &str| self.variant.as_ref().is_none_or(|own| own == name);
            for variant in pair.variants.iter().filter(|variant| wanted(&variant.name)) {
                variants += 1;
                let changes = variant.metrics.iter().filter(|change| change.name == self.metric);
                verdicts.extend(changes.map(|change| Verdict {
                    condition: self.clone(),
                    title: pair.title.clone(),
                    variant: variant.name.clone(),
                    change: change.clone(),
                    fails: self.fails(change),
                }));
            }
        }
        match (verdicts.is_empty(), variants) {
            (false, _) => Ok(verdicts),
            (true, 0) => Err(self.no_variant(comparison)),
            (true, _) => Err(self.no_metric(comparison)),
        }
    }

    fn fails(&self, change: &Change) -> bool {
        let [a, b] = change.means;
        // From nothing to something is more than any percentage.
        let pct = change.delta.pct.unwrap_or(if b > a { f64::INFINITY } else { -f64::INFINITY });
        if self.above { pct > self.limit_pct } else { pct < self.limit_pct }
    }

    fn no_variant(&self, comparison: &Comparison) -> String {
        let wanted = self.variant.as_deref().unwrap_or_default();
        let known = comparison.pairs.iter().flat_map(|pair| &pair.variants);
        let known: Vec<&str> = known.map(|variant| variant.name.as_str()).collect();
        let hint = match nearest(wanted, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "the two files have no variant in common".to_string(),
            None => format!("they have: {}", known.join(", ")),
        };
        format!("--fail-if '{}': no variant `{wanted}` is in both files; {hint}", self.text)
    }

    fn no_metric(&self, comparison: &Comparison) -> String {
        let hint = match nearest(&self.metric, comparison.changes().map(|c| c.name.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`schedlab list metrics` prints all of them".to_string(),
        };
        format!("--fail-if '{}': no metric `{}` is in both files; {hint}", self.text, self.metric)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { condition, title, variant, change, .. } = self;
        let shown = change.shown();
        let [a, b] = change.means.map(|mean| shown.with_unit(mean));
        let pct = change.delta.pct.map_or("from nothing".to_string(), percent);
        write!(f, "`{}`: {title}, {variant}: {a} became {b}, {pct}", condition.text)?;
        match change.delta.ci95 {
            Some(ci95) if !change.is_change() => {
                write!(f, " {}: more seeds tell chance from effect", interval(ci95))
            }
            Some(ci95) => write!(f, " {}", interval(ci95)),
            None => Ok(()),
        }
    }
}
