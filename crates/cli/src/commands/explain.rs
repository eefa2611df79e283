//! `schedlab explain`: why CPUs of one run idled while tasks waited, or why wake-ups took long.

use super::Chosen;
use crate::args::{ExplainArgs, ExplainFormat};
use crate::output::{Stop, count, print};
use report::explain::{self, View, latency};
use scenario::latency::{Beyond, LatencyQuestion};

/// Runs one variant under one seed and prints its ledger.
pub fn explain(args: &ExplainArgs) -> Result<(), Stop> {
    if args.stall.fail_on_stall && !args.latency {
        return Err(Stop::BadInput("--fail-on-stall needs --latency here".into()));
    }
    let chosen = Chosen::load(&args.run)?;
    if args.latency {
        return explain_latency(args, &chosen);
    }
    let found = chosen.run(|spec, progress| spec.explain(progress));
    let explanation = &found.map_err(|e| chosen.failed(&e))?;
    let view = View { run: chosen.described(), explanation };
    print(&match args.format {
        ExplainFormat::Text => explain::text(&view),
        ExplainFormat::Json => explain::json(&view),
    })
}

fn explain_latency(args: &ExplainArgs, chosen: &Chosen) -> Result<(), Stop> {
    let beyond = args.beyond.unwrap_or(Beyond::DEFAULT);
    let question = LatencyQuestion { beyond, stall_ns: args.stall.stall };
    let found = chosen.run(|spec, progress| spec.explain_latency(&question, progress));
    let latencies = &found.map_err(|e| chosen.failed(&e))?;
    let view = latency::View { run: chosen.described(), beyond, latencies };
    print(&match args.format {
        ExplainFormat::Text => latency::text(&view),
        ExplainFormat::Json => latency::json(&view),
    })?;
    match latencies.n_stalls {
        n if n > 0 && args.stall.fail_on_stall => {
            let stalls = count(n as usize, "wait");
            Err(Stop::RunFailed(format!("{stalls} for a CPU took longer than --stall")))
        }
        _ => Ok(()),
    }
}
