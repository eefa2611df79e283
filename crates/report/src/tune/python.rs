//! The optimizer: the package in `python/` has it, and speaks JSON, a line at a time.

use super::{Optimizer, Point, Told, TuneError};
use crate::units::ray::PYTHON;
use scenario::Tune;
use scenario::tune::{TunedKey, Values};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An optimizer in a process of its own.
pub struct Python<'a> {
    keys: &'a [TunedKey],
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl<'a> Python<'a> {
    /// Starts it for a search.
    ///
    /// # Errors
    /// There is no Python, or it lacks what it needs; what that is it says itself.
    pub fn start(tune: &'a Tune, search_seed: u64) -> Result<Self, TuneError> {
        let python = std::env::var_os(PYTHON).unwrap_or("python3".into());
        let mut command = Command::new(&python);
        command.args(["-m", "schedlab.tune"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| {
            let python = python.display();
            TuneError::Optimizer(format!("cannot run {python}: {e}; {PYTHON} names another one"))
        })?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let Some(output) = output else {
            return Err(ended());
        };
        let output = BufReader::new(output);
        let mut optimizer = Self { keys: &tune.keys, name: String::new(), child, input, output };
        let goals =
            tune.goals.iter().map(|goal| if goal.maximize { "maximize" } else { "minimize" });
        let space: Vec<Value> = tune.keys.iter().map(described).collect();
        let question = json!({
            "space": space,
            "directions": goals.collect::<Vec<_>>(),
            "seed": search_seed,
        });
        let answer = optimizer.talk(&question)?;
        optimizer.name = answer["optimizer"].as_str().unwrap_or_default().to_string();
        Ok(optimizer)
    }

    /// Says a line, and reads the answer.
    fn talk(&mut self, question: &Value) -> Result<Value, TuneError> {
        let Some(input) = &mut self.input else {
            return Err(ended());
        };
        // If nobody listens, there is no answer either.
        let _ = writeln!(input, "{question}").and_then(|()| input.flush());
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) | Err(_) => Err(ended()),
            Ok(_) => serde_json::from_str(&line).map_err(|_| {
                TuneError::Optimizer(format!("the optimizer has said `{}`", line.trim()))
            }),
        }
    }
}

fn ended() -> TuneError {
    TuneError::Optimizer(format!(
        "the optimizer does not run; `pip install './python[tune]'` installs what it needs, and \
         {PYTHON} names a Python other than python3"
    ))
}

/// What a key may be, in the optimizer's words.
fn described(key: &TunedKey) -> Value {
    let name = &key.key;
    match &key.values {
        Values::Choices(values) => json!({ "name": name, "choices": values.len() }),
        Values::Feature => json!({ "name": name, "choices": 2 }),
        Values::Whole { low, high, log } => {
            json!({ "name": name, "whole": true, "low": low, "high": high, "log": log })
        }
        Values::Real { low, high, log } => {
            json!({ "name": name, "whole": false, "low": low, "high": high, "log": log })
        }
    }
}

impl Optimizer for Python<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&mut self, n: usize) -> Result<Vec<Point>, TuneError> {
        let answer = self.talk(&json!({ "ask": n }))?;
        let point = |point: &Value| -> Option<Point> {
            let numbers = point.as_array().filter(|numbers| numbers.len() == self.keys.len())?;
            self.keys.iter().zip(numbers).map(|(key, n)| key.coordinate(n.as_f64()?)).collect()
        };
        let points = answer["points"].as_array().map(|list| list.iter().map(point).collect());
        let points: Option<Vec<Point>> = points.flatten();
        points.filter(|points| points.len() == n).ok_or_else(|| {
            TuneError::Optimizer(format!(
                "the optimizer was asked for {n} points, and said {answer}"
            ))
        })
    }

    fn tell(&mut self, told: &[Told]) -> Result<(), TuneError> {
        self.talk(&json!({ "tell": told })).map(drop)
    }
}

impl Drop for Python<'_> {
    fn drop(&mut self) {
        // The end of its input tells it to go.
        self.input = None;
        let _ = self.child.wait();
    }
}
