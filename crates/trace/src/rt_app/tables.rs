//! Things that events refer to by name, numbered in the order of first use: rt-app makes them then.

use workloads::rt_app::{BarrierSpec, Spec, TimerSpec};

/// More task groups than this are taken for a mistake.
pub(super) const TASKGROUPS_MAX: usize = 1000;

/// Names met so far.
#[derive(Default)]
pub(super) struct Tables {
    /// Names of all tasks.
    pub tasks: Vec<String>,
    mutexes: Vec<String>,
    conds: Vec<String>,
    timers: Vec<String>,
    barriers: Vec<BarrierSpec>,
    /// Paths of task groups, an outer one before what is in it.
    taskgroups: Vec<String>,
}

impl Tables {
    pub fn mutex(&mut self, name: &str) -> u32 {
        number(&mut self.mutexes, name)
    }

    pub fn cond(&mut self, name: &str) -> u32 {
        number(&mut self.conds, name)
    }

    pub fn timer(&mut self, name: &str) -> u32 {
        number(&mut self.timers, name)
    }

    /// The task group of this path, with all groups that it is in; `None` is the root. No more are
    /// kept than tell that there are too many.
    pub fn taskgroup(&mut self, path: &str) -> Option<u16> {
        if path == "/" {
            return None;
        }
        let outer = path.match_indices('/').skip(1).map(|(end, _)| &path[..end]);
        let mut last = None;
        for path in outer.chain([path]) {
            if self.taskgroups.len() > TASKGROUPS_MAX {
                break;
            }
            last = Some(number(&mut self.taskgroups, path) as u16);
        }
        last
    }

    /// The barrier of this name. One more event, of `users` threads, refers to it.
    pub fn barrier(&mut self, name: &str, users: u32) -> u32 {
        let known = self.barriers.iter().position(|b| b.name == name);
        let i = known.unwrap_or_else(|| {
            self.barriers.push(BarrierSpec { name: name.to_owned(), users: 0 });
            self.barriers.len() - 1
        });
        self.barriers[i].users = self.barriers[i].users.saturating_add(users);
        i as u32
    }

    /// Hands the tables over.
    pub fn fill(&mut self, spec: &mut Spec) {
        let timer = |name: String| TimerSpec { unique: name.starts_with("unique"), name };
        spec.mutexes = std::mem::take(&mut self.mutexes);
        spec.conds = std::mem::take(&mut self.conds);
        spec.barriers = std::mem::take(&mut self.barriers);
        spec.taskgroups = std::mem::take(&mut self.taskgroups);
        spec.timers = std::mem::take(&mut self.timers).into_iter().map(timer).collect();
    }
}

fn number(names: &mut Vec<String>, name: &str) -> u32 {
    let known = names.iter().position(|n| n == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u32
}
