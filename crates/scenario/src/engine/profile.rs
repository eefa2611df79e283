//! The observer behind `schedlab profile`: time by call chain, and lockstat.
//!
//! A run has millions of intervals and some hundred different call chains. The chains are looked
//! up by the addresses of their function names, which are constants of the program; chains that are
//! equal by content only are put together at the end.

use super::run_watched;
use super::times::Times;
use crate::output::{RunError, guarded};
use crate::profile::{LockClass, Profile, SiteTime, StackTime};
use crate::run_spec::RunSpec;
use sim_core::{Category, LockId, Ns, Observer, PathGroup, Site, Stack, TaskId, World};
use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use topology::{CpuId, IdVec};

impl RunSpec {
    /// Runs the simulation and says where the time went.
    ///
    /// # Errors
    /// The run fails.
    pub fn profile(&self, progress: &dyn Fn(f64)) -> Result<Profile, RunError> {
        let mut watch = TimeWatcher::new();
        guarded(|| run_watched(self, &mut watch, progress))?;
        Ok(watch.result)
    }
}

/// Whose name a stack carries if no task's.
const SWAPPER: u32 = 1 << 16;
const MIGRATION: u32 = SWAPPER + 1;

/// A call chain that has been seen.
struct Seen {
    comm: u32,
    group: PathGroup,
    site: Option<&'static Site>,
    functions: Box<[&'static str]>,
    ns: Ns,
}

impl Seen {
    fn is(&self, comm: u32, at: &Stack) -> bool {
        let same = |(a, b): (&&str, &&str)| std::ptr::eq(a.as_ptr(), b.as_ptr());
        self.comm == comm
            && (self.group, self.site) == (at.group, at.site)
            && self.functions.len() == at.functions().len()
            && self.functions.iter().zip(at.functions()).all(same)
    }
}

struct ClassTimes {
    name: &'static str,
    acquisitions: u64,
    bounces: u64,
    contended: u64,
    con_bounces: u64,
    wait: Times,
    hold: Times,
}

/// Watches one run.
struct TimeWatcher {
    seen: Vec<Seen>,
    /// Indices of chains by a hash of their addresses.
    index: HashMap<u64, Vec<u32>>,
    sites: Vec<Times>,
    classes: Vec<ClassTimes>,
    /// By lock: its class, and since when its owner has it.
    class_of: Vec<u32>,
    since: IdVec<LockId, Ns>,
    /// Complete when the run has ended.
    result: Profile,
}

impl TimeWatcher {
    fn new() -> Self {
        Self {
            seen: Vec::new(),
            index: HashMap::new(),
            sites: (0..Site::SLOTS).map(|_| Times::new()).collect(),
            classes: Vec::new(),
            class_of: Vec::new(),
            since: IdVec::new(),
            result: Profile::default(),
        }
    }

    fn class(&mut self, w: &World, lock: LockId) -> &mut ClassTimes {
        let idx = lock.0 as usize;
        while self.class_of.len() <= idx {
            let name = w.locks.class(LockId(self.class_of.len() as u32));
            let known = self.classes.iter().position(|c| c.name == name);
            let class = known.unwrap_or_else(|| {
                self.classes.push(ClassTimes::new(name));
                self.classes.len() - 1
            });
            self.class_of.push(class as u32);
            self.since.push(0);
        }
        &mut self.classes[self.class_of[idx] as usize]
    }

    fn profile(&self, w: &World) -> Profile {
        let mut stacks: BTreeMap<(String, &[&'static str]), StackTime> = BTreeMap::new();
        for seen in &self.seen {
            let comm = name_of(w, seen.comm);
            let place =
                stacks.entry((comm.clone(), &seen.functions)).or_insert_with(|| StackTime {
                    comm,
                    functions: seen.functions.to_vec(),
                    group: seen.group.name(),
                    site: seen.site.map(|site| site.name),
                    ns: 0,
                });
            place.ns += seen.ns;
        }
        let told = |s: &&'static Site| !s.only_if_taken || w.locks.site(s).acquired > 0;
        let site = |site: &'static Site| {
            let wait = self.sites[site.slot as usize].spread();
            let no_lock = site.group == Site::NO_LOCK;
            let acquisitions = if no_lock { wait.n } else { w.locks.site(site).acquired };
            SiteTime { name: site.name, group: site.group, no_lock, acquisitions, wait }
        };
        Profile {
            elapsed_ns: w.now - w.measured_from,
            busy_ns: self.seen.iter().map(|s| s.ns).sum(),
            cpus: w.cpus.len(),
            stacks: stacks.into_values().collect(),
            groups: PathGroup::ALL.map(PathGroup::name).to_vec(),
            sites: workloads::lock_sites().into_iter().filter(told).map(site).collect(),
            locks: self.classes.iter().map(ClassTimes::result).collect(),
        }
    }
}

impl ClassTimes {
    fn new(name: &'static str) -> Self {
        let (wait, hold) = (Times::new(), Times::new());
        Self { name, acquisitions: 0, bounces: 0, contended: 0, con_bounces: 0, wait, hold }
    }

    fn result(&self) -> LockClass {
        LockClass {
            name: self.name,
            acquisitions: self.acquisitions,
            bounces: self.bounces,
            contended: self.contended,
            con_bounces: self.con_bounces,
            wait: self.wait.spread(),
            hold: self.hold.spread(),
        }
    }
}

fn name_of(w: &World, comm: u32) -> String {
    match comm {
        SWAPPER => "swapper".to_string(),
        MIGRATION => "migration".to_string(),
        comm => w.comms.get(comm as usize).cloned().unwrap_or_default(),
    }
}

fn hash(comm: u32, at: &Stack) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = u64::from(comm) ^ ((at.group as u64) << 32);
    for f in at.functions() {
        hash = (hash.rotate_left(5) ^ f.as_ptr() as usize as u64).wrapping_mul(MIX);
    }
    hash
}

impl Observer for TimeWatcher {
    fn watches_time(&self) -> bool {
        true
    }

    fn time_passed(&mut self, w: &World, _cpu: CpuId, _what: Category, at: &Stack, ns: Ns) {
        let comm = match at.task {
            TaskId::IDLE => SWAPPER,
            task if task.is_task() => u32::from(w.tasks[task].attr.comm),
            _ => MIGRATION,
        };
        let same = self.index.entry(hash(comm, at)).or_default();
        if let Some(i) = same.iter().find(|i| self.seen[**i as usize].is(comm, at)) {
            self.seen[*i as usize].ns += ns;
            return;
        }
        same.push(self.seen.len() as u32);
        let functions = at.functions().into();
        self.seen.push(Seen { comm, group: at.group, site: at.site, functions, ns });
    }

    fn acquired(&mut self, w: &World, cpu: CpuId, lock: LockId, last: CpuId, wait: Option<Ns>) {
        let class = self.class(w, lock);
        class.acquisitions += 1;
        class.bounces += u64::from(last != cpu);
        if let Some(ns) = wait {
            class.contended += 1;
            class.con_bounces += u64::from(last != cpu);
            class.wait.add(ns);
        }
        self.since[lock] = w.now;
    }

    fn released(&mut self, w: &World, _cpu: CpuId, lock: LockId) {
        let ns = w.now - self.since.get(lock.0 as usize).copied().unwrap_or(w.now);
        self.class(w, lock).hold.add(ns);
    }

    fn measurement_begins(&mut self, _w: &World) {
        let (class_of, since) = (take(&mut self.class_of), take(&mut self.since));
        let classes = self.classes.iter().map(|c| ClassTimes::new(c.name)).collect();
        *self = Self { class_of, since, classes, ..Self::new() };
    }

    fn end(&mut self, w: &World) {
        self.result = self.profile(w);
    }

    fn waited(&mut self, _w: &World, _cpu: CpuId, site: &'static Site, ns: Ns) {
        self.sites[site.slot as usize].add(ns);
    }
}
