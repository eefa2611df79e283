//! The source tree: directories, objects, compile times.

use super::{Config, REFERENCE_MHZ};
use crate::random::{self, Purpose};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// An object file, numbered over the whole tree.
pub type ObjectId = u32;

/// The tree is the same kernel in every run: its shape has a seed of its own.
const TREE_SEED: u64 = 0xA276_48C7;
/// How deep directories nest.
const MAX_DEPTH: u32 = 5;
/// Shortest and longest compile time against the median (spec 14.3: 0.5 to 10 s about 2 s).
const SHORTEST: f64 = 0.25;
const LONGEST: f64 = 5.0;
/// Work per object beside compiling, us at the reference clock (see `process`).
const GLUE_US: u64 = 25_025;

/// One directory.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// Subdirectories, built by a `make` of their own.
    pub subdirs: Vec<u32>,
    /// First object.
    pub first_object: ObjectId,
    /// Number of objects.
    pub n_objects: u32,
}

/// What there is to build.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Directory 0 is the top.
    pub directories: Vec<Directory>,
    /// Compile time of each object at full speed, ns.
    pub compile_ns: Vec<u64>,
}

impl Plan {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            directories: tree(config),
            compile_ns: compile_times(config),
        }
    }
}

/// A random recursive tree, bushy at the top like a kernel's; sizes of directories are log-normal.
fn tree(config: &Config) -> Vec<Directory> {
    let n = config.directories.clamp(1, config.objects.max(1));
    let mut rng = random::stream(TREE_SEED, 0, Purpose::Tree);
    let mut depth = vec![0u32; n as usize];
    let mut dirs = vec![Directory::default(); n as usize];
    for d in 1..n {
        let parent = loop {
            let candidate = rng.random_range(0..d);
            if depth[candidate as usize] < MAX_DEPTH {
                break candidate;
            }
        };
        depth[d as usize] = depth[parent as usize] + 1;
        dirs[parent as usize].subdirs.push(d);
    }
    let weight = |rng: &mut random::Stream| -> f64 {
        let x: f64 = StandardNormal.sample(rng);
        libm_exp(x)
    };
    let weights: Vec<f64> = (0..n).map(|_| weight(&mut rng)).collect();
    let total: f64 = weights.iter().sum();
    let (mut sum, mut first) = (0.0, 0);
    for (dir, w) in dirs.iter_mut().zip(&weights) {
        sum += w;
        let end = (sum / total * f64::from(config.objects)).round() as u32;
        (dir.first_object, dir.n_objects) = (first, end - first);
        first = end;
    }
    dirs
}

/// Log-normal, cut at both ends, scaled so that the build's work comes out exactly.
fn compile_times(config: &Config) -> Vec<u64> {
    let shape = |object| {
        let mut rng = random::stream(config.seed, object, Purpose::Compile);
        let x: f64 = StandardNormal.sample(&mut rng);
        libm_exp(config.sigma * x).clamp(SHORTEST, LONGEST)
    };
    let shapes: Vec<f64> = (0..u64::from(config.objects)).map(shape).collect();
    let slow = f64::from(REFERENCE_MHZ) / f64::from(config.clock_mhz);
    let serial_s = (config.prepare_s + config.link_s) * slow;
    let glue_s = f64::from(config.objects) * GLUE_US as f64 * 1e-6 * slow;
    let compile_s = (config.work_s - serial_s - glue_s).max(config.work_s * 0.1);
    let scale = compile_s * 1e9 / shapes.iter().sum::<f64>();
    shapes.iter().map(|s| (s * scale) as u64).collect()
}

/// e^x with the same bits on every system: `rand_distr` draws log-normals through `libm`.
fn libm_exp(x: f64) -> f64 {
    libm::exp(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            jobs: 8,
            objects: 1000,
            directories: 80,
            work_s: 3000.0,
            sigma: 0.7,
            prepare_s: 1.0,
            link_s: 2.0,
            clock_mhz: 4000,
            seed: 1,
        }
    }

    #[test]
    fn every_object_and_directory_is_in_the_tree_once() {
        let plan = Plan::new(&config());
        let objects: u32 = plan.directories.iter().map(|d| d.n_objects).sum();
        assert_eq!(objects, 1000);
        let mut seen = vec![false; plan.directories.len()];
        seen[0] = true;
        for d in plan.directories.iter().flat_map(|d| &d.subdirs) {
            assert!(
                !std::mem::replace(&mut seen[*d as usize], true),
                "{d} twice"
            );
        }
        assert!(seen.iter().all(|s| *s));
    }

    #[test]
    fn the_work_of_the_build_is_what_was_asked_for() {
        let plan = Plan::new(&config());
        let compile_s = plan.compile_ns.iter().sum::<u64>() as f64 * 1e-9;
        let glue_s = 1000.0 * GLUE_US as f64 * 1e-6;
        assert!((compile_s + glue_s + 3.0 - 3000.0).abs() < 0.01);
    }

    #[test]
    fn seeds_change_compile_times_but_not_the_tree() {
        let a = Plan::new(&config());
        let b = Plan::new(&Config {
            seed: 2,
            ..config()
        });
        assert_ne!(a.compile_ns, b.compile_ns);
        let sizes = |p: &Plan| {
            p.directories
                .iter()
                .map(|d| d.n_objects)
                .collect::<Vec<_>>()
        };
        assert_eq!(sizes(&a), sizes(&b));
    }
}
