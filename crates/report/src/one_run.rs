//! Which run a profile or an explanation is of: the head and the foot of the text, and the first
//! fields of the JSON.

use crate::TOOL;
use crate::view::size;
use anstyle::Style;
use scenario::Experiment;
use scenario::glue::machine_info;
use serde_json::{Value, json};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// One seed of one variant.
pub struct OneRun<'a> {
    /// Short name of the scenario.
    pub experiment: &'a Experiment,
    /// Name of the variant.
    pub variant: &'a str,
    /// Seed of the run.
    pub seed: u64,
}

impl OneRun<'_> {
    /// The title, and a line of what ran where.
    pub(crate) fn head(&self) -> String {
        let e = self.experiment;
        let machine = machine_info(&e.machine);
        format!(
            "{BOLD}{}{BOLD:#}\nmachine {}, {}   workload {}   variant {}   seed {}\n",
            e.title,
            machine.name,
            size(&machine),
            e.workload.def.kind,
            self.variant,
            self.seed
        )
    }

    /// The line that says what made the text.
    pub(crate) fn foot(&self) -> String {
        format!("\n{DIM}{TOOL}, scenario {}.{DIM:#}\n", self.experiment.hash)
    }

    /// An indented document: what identifies the run, then the fields of `found`.
    pub(crate) fn document(&self, schema: u32, found: Value) -> String {
        let e = self.experiment;
        let machine = machine_info(&e.machine);
        let mut document = json!({
            "schema": schema,
            "tool": TOOL,
            "scenario": e.name,
            "scenario_hash": e.hash,
            "title": e.title,
            "machine": { "name": machine.name, "cpus": machine.cpus, "llcs": machine.llcs },
            "workload": e.workload.def.kind,
            "variant": self.variant,
            "seed": self.seed,
        });
        if let (Value::Object(fields), Value::Object(found)) = (&mut document, found) {
            fields.extend(found);
        }
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
    }
}
