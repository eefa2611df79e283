//! From the document of a scenario to a study: what is set, the points of a sweep, an experiment
//! each.
//!
//! For each point its values are put into a copy of the document, which is then read like any
//! scenario. Machines and recordings that are the same at several points are read once.

use super::Changes;
use super::machine::{MachinePlace, find_machine};
use super::objects;
use super::source_files::Files;
use super::text::{files, machine_place, stem};
use super::workload;
use crate::bpf_policy::ObjectFiles;
use crate::edit::{self, Edit, Target, Texts, shown};
use crate::experiment::Experiment;
use crate::glue::{self, Machine};
use crate::hash::{digest, fingerprint};
use crate::parse;
use crate::parse::find;
use crate::parse::sweep::{self, Sweep};
use crate::parse::tune::{self, Tuned};
use crate::study::{Axis, Point, RUNS_MAX, Study};
use crate::tune::Tune;
use crate::workload::WorkloadFile;
use input::{Fault, Faults, Source, Walk};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A scenario to be read.
pub(super) struct Asked<'a> {
    /// Where the files are that it names.
    pub files: &'a dyn Files,
    pub path: &'a Path,
    pub changes: Changes<'a>,
    /// The points to be read, by their indexes; all if nothing is said.
    pub points: Option<&'a BTreeSet<usize>>,
    /// It is a point of a search: what is looked for is known, and was checked.
    pub is_tuned: bool,
}

/// Reads the document of a scenario, changed as is asked.
pub(super) fn study(
    asked: &Asked<'_>,
    source: &Arc<Source>,
    doc: &DeTable<'_>,
) -> Result<Study, Faults> {
    let Asked { files, path, changes, points, is_tuned } = *asked;
    let Changes { sets, machines } = changes;
    let of_set = sets.iter().map(|set| Source::new("--set", set.as_str()));
    let of_machine = machines.iter().map(|name| Source::new("--machine", name.as_str()));
    let mut texts: Vec<Arc<Source>> = of_set.chain(of_machine).collect();
    texts.push(source.clone());
    let mut reader = Reader {
        files,
        path,
        wanted: points,
        is_tuned,
        name: stem(path),
        source: source.clone(),
        walk: Walk::default(),
        machines: BTreeMap::new(),
        objects: ObjectFiles::new(),
        workload_files: BTreeMap::new(),
    };
    let probes: Vec<String> = sets.iter().map(|set| as_toml(set)).collect();
    let found = reader.study(doc, changes, &probes);
    let mut faults = reader.walk.faults;
    let texts = Texts(texts);
    faults.iter_mut().for_each(|fault| texts.settle(fault));
    let mut faults = Faults::of(faults, source).0;
    let is_elsewhere = |fault: &Fault| fault.source.as_ref().is_some_and(|s| s.path != source.path);
    faults.sort_by_key(|fault| (is_elsewhere(fault), fault.start()));
    // The same fault may show at several points of a sweep.
    faults.dedup_by(|a, b| (&a.span, &a.message) == (&b.span, &b.message));
    match found {
        Some(study) if faults.is_empty() => Ok(study),
        _ => Err(Faults(faults)),
    }
}

/// The value of `KEY=VALUE` as a TOML document of one key; text without quotes gets them.
fn as_toml(set: &str) -> String {
    let value = set.split_once('=').map_or("", |(_, value)| value.trim());
    let document = format!("value = {value}");
    let is_one_value = DeTable::parse(&document).is_ok_and(|doc| doc.get_ref().len() == 1);
    if is_one_value { document } else { format!("value = {}", quoted(value)) }
}

/// A text as a basic string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

struct Reader<'p> {
    files: &'p dyn Files,
    path: &'p Path,
    /// The points to be read; all if nothing is said.
    wanted: Option<&'p BTreeSet<usize>>,
    /// What is looked for was read before.
    is_tuned: bool,
    name: String,
    /// The scenario's text.
    source: Arc<Source>,
    walk: Walk,
    /// Machines by what the points say of them, each with the text of its file.
    machines: BTreeMap<String, Option<(Arc<Machine>, String)>>,
    /// BPF objects that policies are.
    objects: ObjectFiles,
    /// Files of workloads by what the points say of them, each with a text for the fingerprint.
    workload_files: BTreeMap<String, Option<(WorkloadFile, String)>>,
}

impl Reader<'_> {
    fn study<'a>(
        &mut self,
        doc: &DeTable<'a>,
        changes: Changes<'_>,
        probes: &'a [String],
    ) -> Option<Study> {
        let sets = changes.sets;
        let mut doc = doc.clone();
        let edits = self.set_values(&doc, sets, probes)?;
        let mut sweep = Sweep::default();
        tune::must_be_no_sweep(&mut self.walk, &doc);
        let searched = doc.remove("tune").filter(|_| !self.is_tuned);
        match doc.remove("sweep") {
            Some(node) => sweep = sweep::sweep(&mut self.walk, &doc, &node),
            None => sweep::no_points(&mut self.walk, &doc),
        }
        let rows = match self.walk.faults.is_empty() {
            true => sweep::published_at(&mut self.walk, &doc, &sweep),
            false => Vec::new(),
        };
        let set = self.apply(&mut doc, &mut sweep, edits);
        let text = Arc::clone(&self.source);
        let tuned = searched.map(|node| tune::tune(&mut self.walk, &doc, &node, &text.text));
        // What is said of a scenario that was changed was not measured of it.
        let published_dropped = set.is_changed && doc.remove("published").is_some();
        if !self.walk.faults.is_empty() && !sweep.axes.is_empty() {
            return None;
        }
        let own_machine = self.on_machines(&mut doc, &mut sweep, changes);
        let doc = Document { doc, sweep, rows, of_machine: set.of_machine, own_machine };
        let mut study = self.points(&doc, changes)?;
        study.published_dropped = published_dropped;
        if let Some(tuned) = tuned {
            study.tune = Some(self.tuned(&doc, tuned?, changes)?);
        }
        Some(study)
    }

    /// What is looked for, if its keys take all their values: each is put in place alone.
    fn tuned(
        &mut self,
        doc: &Document<'_>,
        Tuned { tune, probes }: Tuned<'_>,
        changes: Changes<'_>,
    ) -> Option<Tune> {
        for axis in probes {
            let n = axis.values.len();
            let doc = Document {
                doc: doc.doc.clone(),
                sweep: Sweep { axes: vec![axis], ..Sweep::default() },
                rows: Vec::new(),
                of_machine: doc.of_machine.clone(),
                own_machine: None,
            };
            for value in 0..n {
                if self.walk.faults.len() < Faults::SHOWN_MAX {
                    self.point(&doc, &[value], changes);
                }
            }
        }
        self.walk.faults.is_empty().then_some(tune)
    }

    /// What `--set` says, each value with its place.
    fn set_values<'a>(
        &mut self,
        doc: &DeTable<'a>,
        sets: &[String],
        probes: &'a [String],
    ) -> Option<Vec<Edit<'a>>> {
        let mut edits = Vec::new();
        for (idx, (set, probe)) in sets.iter().zip(probes).enumerate() {
            let place = Texts::place(idx, 0..set.len());
            let words = match edit::split(set) {
                Ok((words, _)) => words,
                Err(why) => {
                    let hint = "write KEY=VALUE, such as workload.clients=64";
                    self.walk.fault(Fault::at(place, why).help(hint));
                    continue;
                }
            };
            let Some(target) = edit::target(&mut self.walk, doc, &words, place.clone()) else {
                continue;
            };
            let value = DeTable::parse(probe).ok()?.into_inner().remove("value")?;
            edits.push(Edit { target, key: place.clone(), value: Texts::at(&place, value) });
        }
        self.walk.faults.is_empty().then_some(edits)
    }

    /// Makes changes of the document; that of a key which is swept chooses its value.
    fn apply<'a>(
        &mut self,
        doc: &mut DeTable<'a>,
        sweep: &mut Sweep<'a>,
        edits: Vec<Edit<'a>>,
    ) -> Set<'a> {
        let mut set = Set::default();
        for edit in edits {
            if sweep.choose(&mut self.walk, &edit) {
                continue;
            }
            set.is_changed = true;
            if edit.is_searched(doc) {
                doc.remove("find");
            }
            self.put(doc, &edit);
            if matches!(edit.target, Target::Machine(_)) {
                set.of_machine.push(edit);
            }
        }
        set
    }

    /// Has the scenario run on the machines that were asked for, if any were; gives its own one.
    fn on_machines<'a>(
        &mut self,
        doc: &mut DeTable<'a>,
        sweep: &mut Sweep<'a>,
        changes: Changes<'_>,
    ) -> Option<OwnMachine> {
        let (first, names) = (changes.sets.len(), changes.machines);
        if names.is_empty() {
            return None;
        }
        let (files, scenario) = (self.files, self.path);
        let (source, name) = (&*self.source, &*self.name);
        let place = MachinePlace { files, scenario, source, name, changes: &[] };
        // One that cannot be read is no fault: it is not to be used.
        let own = find_machine(&mut Walk::default(), doc, &place);
        let text = own.map_or(String::new(), |(machine, _)| without_name(&machine));
        let asked = names.iter().enumerate().map(|(idx, name)| {
            let span = Texts::place(first + idx, 0..name.len());
            let value = DeValue::String(from_here(self.files, self.path, name).into());
            (label(name), Spanned::new(span, value))
        });
        let mut asked: Vec<_> = asked.collect();
        let is_axis = asked.len() > 1;
        if is_axis {
            sweep.on_machines(&mut self.walk, asked);
        } else if let Some((_, value)) = asked.pop() {
            sweep.on_machines(&mut self.walk, Vec::new());
            doc.remove("machine");
            doc.insert(Spanned::new(value.span(), "machine".into()), value);
        }
        Some(OwnMachine { text, is_axis })
    }

    fn put<'a>(&mut self, doc: &mut DeTable<'a>, edit: &Edit<'a>) {
        if let Err(name) = edit::apply(doc, edit) {
            self.walk.fault(Fault::at(edit.key.clone(), format!("`{name}` is not a table")));
        }
    }

    /// All points, each an experiment of its own.
    fn points(&mut self, doc: &Document<'_>, changes: Changes<'_>) -> Option<Study> {
        let n = doc.sweep.points().unwrap_or(usize::MAX);
        let mut points = Vec::new();
        self.must_be_few(&doc.sweep, n)?;
        let wanted = self.wanted;
        for idx in (0..n).filter(|idx| wanted.is_none_or(|wanted| wanted.contains(idx))) {
            let experiment = self.point(doc, &doc.sweep.at(idx), changes);
            // A point that is wrong does not keep others from being read: their faults are told.
            let Some(experiment) = experiment.filter(|_| self.walk.faults.is_empty()) else {
                if self.walk.faults.len() >= Faults::SHOWN_MAX {
                    break;
                }
                continue;
            };
            let runs_each = experiment.variants.len() * experiment.seeds.len();
            self.must_be_few(&doc.sweep, n.saturating_mul(runs_each))?;
            let at = doc.sweep.at(idx);
            let reference = doc.sweep.reference(&at);
            points.push(Point { at, reference, experiment });
        }
        let first = &points.first()?.experiment;
        let (name, title, files) = (first.name.clone(), first.title.clone(), first.files.clone());
        let axes: Vec<Axis> =
            doc.sweep.axes.iter().map(|axis| axis.described(&first.workload)).collect();
        let hash = match axes[..] {
            [] => first.hash.clone(),
            _ => fingerprint(points.iter().map(|point| point.experiment.hash.as_str())),
        };
        let metrics = doc.sweep.metrics.clone();
        let published_dropped = false;
        Some(Study {
            name,
            title,
            hash,
            axes,
            points,
            metrics,
            tune: None,
            published_dropped,
            files,
        })
    }

    fn must_be_few(&mut self, sweep: &Sweep<'_>, n_runs: usize) -> Option<()> {
        if n_runs <= RUNS_MAX {
            return Some(());
        }
        self.walk.fault(
            Fault::at(sweep.place.clone(), format!("this sweep has more than {RUNS_MAX} runs"))
                .label("points x variants x seeds")
                .help("take fewer values, or split it into several scenarios"),
        );
        None
    }

    /// The experiment at a point.
    fn point(
        &mut self,
        doc: &Document<'_>,
        at: &[usize],
        Changes { sets, machines }: Changes<'_>,
    ) -> Option<Experiment> {
        let mut there = doc.doc.clone();
        let edits = doc.sweep.edits(at, sets.len() + machines.len());
        edits.iter().for_each(|edit| self.put(&mut there, edit));
        self.begin_search(&mut there);
        doc.keep_published(&mut there, at);
        let words = |is_wanted: fn(&Target) -> bool| -> String {
            let wanted = edits.iter().filter(|edit| is_wanted(&edit.target));
            wanted
                .map(|edit| format!("{:?}={}\n", edit.target, shown(edit.value.get_ref())))
                .collect()
        };
        let of_machine = words(Target::is_of_machine);
        let of_file = of_machine.clone() + &words(Target::is_of_file);
        let (machine, machine_text) = self.machine(doc, &there, &edits, of_machine).unzip();
        doc.keep_published_of(&mut there, machine.as_deref());
        let (file, file_text) = self.file(&there, machine.as_deref(), of_file).unzip();
        objects::read(&mut self.walk, self.files, &there, self.path, &mut self.objects);
        let (walk, name) = (&mut self.walk, &self.name);
        let mut experiment = parse::experiment(walk, &there, name, machine, file, &self.objects)?;
        let at = doc.sweep.words(at);
        if let Some(text) = &file_text {
            experiment.workload.file_hash = digest([text.as_str()]);
        }
        let own_text = self.source.text.clone();
        let texts = [Some(own_text), machine_text, file_text].into_iter().flatten();
        let objects = experiment.variants.iter().filter_map(|v| v.bpf.as_ref());
        let texts = texts.chain(objects.map(|bpf| bpf.fingerprint().to_string()));
        let texts: Vec<String> = texts.chain(sets.iter().cloned()).chain(at.clone()).collect();
        experiment.hash = fingerprint(texts.iter().map(String::as_str));
        experiment.files = files(self.files, self.path, &there);
        experiment.at = at.join(", ");
        for expected in &mut experiment.expect {
            let before = self.source.text.get(..expected.span.start).unwrap_or_default();
            let line = 1 + before.matches('\n').count();
            expected.place = format!("{}:{line}", self.source.path);
        }
        let machine = there.get("machine").and_then(|node| node.get_ref().as_str());
        experiment
            .remarks
            .extend(machine.and_then(|file| machine_place(self.files, self.path, file).1));
        Some(experiment)
    }

    /// A key that is searched has the low end of its range at first.
    fn begin_search(&mut self, there: &mut DeTable<'_>) {
        let Some(key) = find::searched(there).map(str::to_string) else {
            return;
        };
        if edit::workload(there).is_none_or(|def| def.keys.iter().all(|known| known.name != key)) {
            return;
        }
        let range = there.get("find").and_then(|find| find.get_ref().get("range"));
        let Some(low) = range.and_then(|range| range.get_ref().get(0)).cloned() else {
            return;
        };
        let workload = there.get_mut("workload").map(Spanned::get_mut);
        let Some(DeValue::Table(workload)) = workload else {
            return;
        };
        match workload.get(key.as_str()) {
            Some(stated) => {
                self.walk.fault(
                    Fault::at(stated.span(), format!("[find] searches `{key}`"))
                        .help("leave it out here, or remove [find]"),
                );
            }
            None => {
                workload.insert(Spanned::new(low.span(), key.into()), low);
            }
        }
    }

    /// The machine of a document, read once for all points that say the same of it.
    fn machine(
        &mut self,
        doc: &Document<'_>,
        there: &DeTable<'_>,
        edits: &[Edit<'_>],
        said: String,
    ) -> Option<(Arc<Machine>, String)> {
        if let Some(known) = self.machines.get(&said) {
            return known.clone();
        }
        let of_sweep = edits.iter().filter(|edit| matches!(edit.target, Target::Machine(_)));
        let changes: Vec<Edit<'_>> = doc.of_machine.iter().chain(of_sweep).cloned().collect();
        let (files, scenario) = (self.files, self.path);
        let (source, name) = (&*self.source, &*self.name);
        let place = MachinePlace { files, scenario, source, name, changes: &changes };
        let found = find_machine(&mut self.walk, there, &place);
        self.machines.insert(said, found.clone());
        found
    }

    /// The file of a document's workload, read once for all points that say the same of it.
    fn file(
        &mut self,
        there: &DeTable<'_>,
        machine: Option<&Machine>,
        said: String,
    ) -> Option<(WorkloadFile, String)> {
        if let Some(known) = self.workload_files.get(&said) {
            return known.clone();
        }
        let (files, scenario, source) = (self.files, self.path, &*self.source);
        let place = workload::Place { doc: there, files, scenario, source, machine };
        let found = workload::file(&mut self.walk, &place);
        self.workload_files.insert(said, found.clone());
        found
    }
}

/// What `--set` came to.
#[derive(Default)]
struct Set<'a> {
    /// Something of the scenario is not as its file says.
    is_changed: bool,
    /// Changes of the machine.
    of_machine: Vec<Edit<'a>>,
}

/// A scenario as it is at all points.
struct Document<'a> {
    doc: DeTable<'a>,
    sweep: Sweep<'a>,
    /// For each published row, the values of the point that it belongs to.
    rows: Vec<Option<Vec<String>>>,
    /// Changes of the machine, the same at all points.
    of_machine: Vec<Edit<'a>>,
    /// The scenario's own machine, if others are asked for.
    own_machine: Option<OwnMachine>,
}

/// The machine of a scenario that is to run on others: what was published was measured there.
struct OwnMachine {
    /// The text of a machine file.
    text: String,
    /// The others are the last axis of the sweep.
    is_axis: bool,
}

/// A machine as the text of a file, whatever it is called.
fn without_name(machine: &Machine) -> String {
    let nameless = Machine { name: String::new(), title: String::new(), ..machine.clone() };
    glue::machine_file(&nameless, "")
}

/// The path that a machine has for a scenario, if it was asked for on the command line: a file is
/// one of the current directory there.
fn from_here(files: &dyn Files, scenario: &Path, name: &str) -> String {
    let is_beside = scenario.parent().is_none_or(|folder| folder.as_os_str().is_empty());
    match std::path::absolute(name) {
        Ok(path) if !is_beside && files.is_there(&path) => path.display().to_string(),
        _ => name.to_string(),
    }
}

/// What tables call a machine.
fn label(name: &str) -> String {
    match glue::is_synthetic(name) {
        true => name.to_string(),
        false => stem(Path::new(name)),
    }
}

impl Document<'_> {
    /// Leaves published rows on their own machine only.
    fn keep_published_of(&self, there: &mut DeTable<'_>, machine: Option<&Machine>) {
        let (Some(own), Some(machine)) = (&self.own_machine, machine) else {
            return;
        };
        if without_name(machine) != own.text {
            there.remove("published");
        }
    }

    /// Leaves the published rows of that point only.
    fn keep_published(&self, there: &mut DeTable<'_>, at: &[usize]) {
        let Some(DeValue::Array(list)) = there.get_mut("published").map(Spanned::get_mut) else {
            return;
        };
        let mut here = self.sweep.values(at);
        if self.own_machine.as_ref().is_some_and(|own| own.is_axis) {
            // Machines that were asked for come last; rows know nothing of them.
            here.pop();
        }
        if here.is_empty() {
            return;
        }
        let rows = list.iter().zip(&self.rows);
        let kept = rows.filter(|(_, row)| row.as_deref() == Some(&here[..]));
        *list = kept.map(|(row, _)| row.clone()).collect();
        for row in list.iter_mut() {
            if let DeValue::Table(row) = row.get_mut() {
                row.remove("at");
            }
        }
    }
}
