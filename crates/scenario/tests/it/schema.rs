//! The JSON Schemas judge as the parser does: what it accepts they accept, and what it refuses for
//! one key alone (unknown, of a wrong type, out of range, a name that does not exist) they refuse.

use super::mutations::RIGHT;
use jsonschema::Validator;
use scenario::registry::{Fallback, KeyDef, Kind, POLICIES, WORKLOADS, WorkloadDef};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

fn validator(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).expect("it is JSON");
    jsonschema::meta::validate(&schema).expect("it is a schema");
    jsonschema::draft202012::new(&schema).expect("it is one of 2020-12")
}

fn json_of(text: &str) -> Value {
    toml::from_str(text).expect("it is TOML")
}

/// The messages of a schema about a text.
fn complaints(validator: &Validator, text: &str) -> Vec<String> {
    let doc = json_of(text);
    validator.iter_errors(&doc).map(|e| e.to_string()).collect()
}

/// All files below a folder of the project that end in `.toml`.
fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut found, mut folders) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|e| e == "toml") => found.push(path),
                false => {}
            }
        }
    }
    found
}

#[test]
fn every_file_of_the_project_is_valid() {
    let scenario = validator(&scenario::schema::scenario());
    let machine = validator(&scenario::schema::machine());
    let files = files("scenarios");
    assert!(files.len() > 30, "{}", files.len());
    // A manifest of recordings is the judge's (docs/JUDGE.md).
    for file in files.into_iter().filter(|file| !file.ends_with("judge.toml")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_machine = file.parent().is_some_and(|folder| folder.ends_with("machines"));
        let judge = if is_machine { &machine } else { &scenario };
        let faults = complaints(judge, &text);
        assert!(faults.is_empty(), "{}: {faults:#?}", file.display());
    }
}

/// What EEVDF beside a scheduler of some tasks makes right, the schema takes.
#[test]
fn a_group_beside_a_scheduler_of_some_tasks_is_valid() {
    let judge = validator(&scenario::schema::scenario());
    let of = |variant: &str| {
        let workload = "[workload]\nkind = \"hackbench\"\ncpu_weight = 20";
        complaints(&judge, &format!("machine = \"7950x\"\n{workload}\n[[variant]]\n{variant}"))
    };
    let fifo = "name = \"A\"\npolicy = \"fifo\"\n";
    assert_eq!(of(&format!("{fifo}sched_ext = [\"make\"]")), [""; 0]);
    assert_eq!(of("name = \"A\"\npolicy = \"eevdf\""), [""; 0]);
    assert_ne!(of(fifo), [""; 0]);
}

/// Faults that the schemas do not see: they depend on other keys, on files, or on how many values
/// there are.
const OF_SEVERAL_KEYS: &[&str] = &[
    "cannot read the machine file",
    "the machine has no `cores_per_llc`",
    "[latency] has no `",
    "no variant is named",
    "this variant has no policy",
    "never ends by itself",
    "`shard_cores` means nothing here",
    "metric `elapsed` is in s, not in",
    ", less than `",
    " LLCs of ",
    " cores of ",
    "a source for `",
    "[variation] has no `hold_ns`",
    "do not divide into",
    "it must have ",
    "a row of ",
    "the list of C-states is empty",
    "would never hear of `cpu_max`",
];

/// In what parser and schema disagree about a text.
fn disagreement(schema: &Validator, text: &str) -> Option<String> {
    let said = complaints(schema, text);
    match scenario::load_str(Path::new("s.toml"), text.to_string()) {
        Ok(_) => (!said.is_empty()).then(|| format!("it is right, but the schema says {said:?}")),
        Err(faults) => {
            let of_several = |text: &str| OF_SEVERAL_KEYS.iter().any(|part| text.contains(part));
            let fault = faults.0.iter().find(|fault| !of_several(&fault.message))?;
            said.is_empty().then(|| format!("the schema does not see: {}", fault.message))
        }
    }
}

/// Scenarios with every key of every table in them.
fn complete() -> Vec<Value> {
    let mut base = json_of(RIGHT);
    base["rules"] = "6.4".into();
    base["run"]["until"] = "5s".into();
    base["workload"]["cpu_weight"] = 200.into();
    base["published"][0]["sd"] = 0.5.into();
    base["published"][0]["runs"] = 3.into();
    base["published"][0]["mechanism"] = "left-out".into();
    base["published"][0]["calibrated"] = true.into();
    let mut queue = base.clone();
    queue["workload"] = json_of(
        "kind = 'dm-crypt'\nnumjobs = 2\nhash_mb_s = 500\ncrypt_mb_s = 200.5\n\
         change = [{ at = '1s', scope = 'cache_shard', shard_cores = 2, strict = true }]",
    );
    queue["variant"][0]["workqueue"] =
        json!({ "scope": "smt", "strict": true, "localize": 1, "max_active": 3 });
    queue["published"] = json!([]);
    let mut kernel_only = queue.clone();
    kernel_only["workload"] = json_of("kind = 'queue-work'\nissuers = 3\nwork_ns = 9");
    let mut netperf = base.clone();
    netperf["workload"] = json_of("kind = 'netperf'\ntest = 'UDP_RR'\nservice_ns = 1000");
    let mut machine = base.clone();
    machine["machine"] = json_of(include_str!("../../../topology/src/file/example.toml"));
    vec![base, queue, kernel_only, netperf, machine]
}

/// Calls `judge` with every value of a document replaced by others, with every key taken out, and
/// with an unknown key beside every other.
fn mutants(doc: &Value, judge: &mut dyn FnMut(&Value, String)) {
    let others = [
        json!("a text"),
        json!(""),
        json!(3),
        json!(-3),
        json!(2.5),
        json!(1e18),
        json!(true),
        json!([]),
        json!([7]),
        json!({}),
        json!({ "a": 1 }),
    ];
    for pointer in pointers(doc, "") {
        for other in &others {
            let mut mutant = doc.clone();
            *mutant.pointer_mut(&pointer).unwrap() = other.clone();
            judge(&mutant, format!("{pointer} = {other}"));
        }
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let mut mutant = doc.clone();
        let Some(table) = mutant.pointer_mut(parent).and_then(Value::as_object_mut) else {
            continue;
        };
        let value = table.remove(key).unwrap();
        judge(&mutant, format!("without {pointer}"));
        let table = mutant.pointer_mut(parent).and_then(Value::as_object_mut).unwrap();
        table.insert(format!("{key}x"), value.clone());
        judge(&mutant, format!("{pointer}x"));
        let table = mutant.pointer_mut(parent).and_then(Value::as_object_mut).unwrap();
        table.insert(key.to_string(), value);
        judge(&mutant, format!("{pointer} and {pointer}x"));
    }
}

fn pointers(value: &Value, at: &str) -> Vec<String> {
    let tables = value.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v));
    let arrays = value.as_array().into_iter().flatten().enumerate();
    let inner = tables.chain(arrays.map(|(n, v)| (n.to_string(), v)));
    let of = |(key, inner): (String, &Value)| {
        let here = format!("{at}/{key}");
        let mut all = pointers(inner, &here);
        all.push(here);
        all
    };
    inner.flat_map(of).collect()
}

#[test]
fn parser_and_schema_agree_about_every_value_of_every_key() {
    let schema = validator(&scenario::schema::scenario());
    let (mut n, mut found) = (0, Vec::new());
    for doc in complete() {
        assert_eq!(disagreement(&schema, &toml::to_string(&doc).unwrap()), None);
        mutants(&doc, &mut |mutant, what| {
            let text = toml::to_string(mutant).expect("nothing is null");
            found.extend(disagreement(&schema, &text).map(|words| format!("{what}: {words}")));
            n += 1;
        });
    }
    assert!(n > 1000, "{n}");
    assert!(found.is_empty(), "{} of {n}:\n{}", found.len(), found.join("\n"));
}

/// A small `[workload]` of each kind that needs no file.
fn workloads() -> Vec<Value> {
    let value = |key: &KeyDef| match key.kind {
        Kind::Int { min, .. } => json!(min),
        Kind::Float { min, .. } => json!(min),
        Kind::Word(words) => json!(words[0]),
        Kind::Tables(_) => json!([{ "name": "one", "work_us": 1 }]),
        _ => panic!("{} has no default", key.name),
    };
    let smallest = |def: &WorkloadDef| {
        let required = def.keys.iter().filter(|key| key.default == Fallback::Required);
        let mut table: Map<String, Value> =
            required.map(|key| (key.name.to_string(), value(key))).collect();
        table.insert("kind".to_string(), def.kind.into());
        Value::Object(table)
    };
    let needs_file = |def: &&WorkloadDef| def.keys.iter().any(|key| matches!(key.kind, Kind::File));
    WORKLOADS.iter().filter(|def| !needs_file(def)).map(smallest).collect()
}

#[test]
fn parser_and_schema_agree_about_who_has_a_cpu_weight() {
    let schema = validator(&scenario::schema::scenario());
    let mut base = json_of(RIGHT);
    base["run"]["until"] = "1s".into();
    base["published"] = json!([]);
    base["variant"] = json!([{ "name": "A" }, { "name": "B" }]);
    let mut found = Vec::new();
    for mut workload in workloads() {
        workload["cpu_weight"] = 100.into();
        base["workload"] = workload;
        for (top, first) in POLICIES.iter().flat_map(|top| POLICIES.iter().map(move |of| (top, of)))
        {
            for own in [&[][..], &[0], &[0, 1]] {
                let mut doc = base.clone();
                doc["policy"] = top.name.into();
                own.iter().for_each(|v| doc["variant"][*v]["policy"] = first.name.into());
                let text = toml::to_string(&doc).expect("nothing is null");
                found.extend(disagreement(&schema, &text).map(|words| format!("{words}\n{text}")));
            }
        }
    }
    assert!(found.is_empty(), "{}:\n{}", found.len(), found.join("\n"));
}

#[test]
fn what_is_misspelled_is_refused() {
    let schema = validator(&scenario::schema::scenario());
    for (line, by) in [
        ("title = ", "titel = "),
        ("policy = \"cfs\"", "policy = \"bfs\""),
        ("policy = \"cfs\"", "policy = \"cfs\"\nrules = \"6.5\""),
        ("llcs_per_socket = 2", "llc_per_socket = 2"),
        ("llc_ns = 25", "lcc_ns = 25"),
        ("cores_per_llc = 4", "cores_per_llc = \"4\""),
        ("cores_per_llc = 4", "cores_per_llc = 0"),
        ("kind = \"kernel-build\"", "kind = \"kernel-bild\""),
        ("work_seconds = 10", "work_secs = 10"),
        ("work_seconds = 10", ""),
        ("work_seconds = 10", "work_seconds = 10\ntasks = 3"),
        ("seeds = 2", "sedes = 2"),
        ("seeds = 2", "seeds = 0"),
        ("seeds = 2", "seeds = 2\nuntil = \"10x\""),
        ("name = \"A\"", "nam = \"A\""),
        ("baseline = true", "baseline = \"yes\""),
        ("\"SWQUEUE\"", "\"SWQEUE\""),
        ("migration_cost_ns = 500000", "migration_cost = 500000"),
        ("migration_cost_ns = 500000", "migration_cost_ns = \"500us\""),
        ("metric = \"elapsed\"", "metric = \"elapse\""),
        ("metric = \"elapsed\"", "metric = \"spin_pct.\""),
        ("value = 322.44", "value = -1"),
        ("unit = \"s\"", "unit = \"sec\""),
        ("source = \"here\"", "sources = \"here\""),
    ] {
        assert!(RIGHT.contains(line), "{line}");
        let text = RIGHT.replacen(line, by, 1);
        assert!(scenario::load_str(Path::new("s.toml"), text.clone()).is_err(), "{by}");
        assert!(!complaints(&schema, &text).is_empty(), "{by}");
    }
    assert_eq!(complaints(&schema, RIGHT), [""; 0]);
}
