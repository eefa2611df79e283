//! The source tree: directories, objects, compile times.

use super::{Config, us};
use crate::random::{self, Purpose};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// An object file, numbered over the whole tree.
pub type ObjectId = u32;

/// The tree is the same kernel in every run: its shape has a seed of its own.
const TREE_SEED: u64 = 0xA276_48C7;
/// How deep directories nest.
const MAX_DEPTH: u32 = 5;
/// Spread of the sizes of directories: sigma of their log-normal distribution, as counted in Linux
/// 6.1 (median 6 objects, 368 at most).
const DIRECTORY_SIGMA: f64 = 1.16;
/// Shortest and longest compile time against the median, as in a sample of Linux 6.1.
const SHORTEST: f64 = 0.25;
const LONGEST: f64 = 15.0;
/// Mean time to compile and assemble an object on the reference machine, s: measured.
const MEAN_COMPILE_S: f64 = 0.38;

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
    /// Compile time of each object at this machine's full speed, ns.
    pub compile_ns: Vec<u64>,
    /// Time on this machine by time on the reference machine.
    pub slowness: f64,
}

impl Plan {
    pub(super) fn new(config: &Config) -> Self {
        let objects = f64::from(config.objects);
        let directories = tree(config);
        let beside_us = objects * us::PER_OBJECT as f64
            + objects * us::AR_PER_OBJECT as f64
            + directories.len() as f64 * us::PER_DIRECTORY as f64;
        let serial_s = config.prepare_s + config.link_s;
        let reference_s = objects * MEAN_COMPILE_S + beside_us * 1e-6 + serial_s;
        let slowness = config.work_s / reference_s;
        let scaled = |s: &f64| (s * slowness * 1e9) as u64;
        let compile_ns = compile_times(config).iter().map(scaled).collect();
        Self { directories, compile_ns, slowness }
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
        libm::exp(DIRECTORY_SIGMA * x)
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

/// Compile times on the reference machine, s: log-normal, cut at both ends, with exactly the mean
/// that they should have.
fn compile_times(config: &Config) -> Vec<f64> {
    let shape = |object| {
        let mut rng = random::stream(config.seed, object, Purpose::Compile);
        let x: f64 = StandardNormal.sample(&mut rng);
        libm::exp(config.sigma * x).clamp(SHORTEST, LONGEST)
    };
    let shapes: Vec<f64> = (0..u64::from(config.objects)).map(shape).collect();
    let scale = f64::from(config.objects) * MEAN_COMPILE_S / shapes.iter().sum::<f64>();
    shapes.iter().map(|s| s * scale).collect()
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
            assert!(!std::mem::replace(&mut seen[*d as usize], true), "{d} twice");
        }
        assert!(seen.iter().all(|s| *s));
    }

    #[test]
    fn the_work_of_the_build_is_what_was_asked_for() {
        let plan = Plan::new(&config());
        let compile_s = plan.compile_ns.iter().sum::<u64>() as f64 * 1e-9;
        let beside_us = 1000 * (us::PER_OBJECT + us::AR_PER_OBJECT) + 80 * us::PER_DIRECTORY;
        let rest_s = (beside_us as f64 * 1e-6 + 3.0) * plan.slowness;
        assert!((compile_s + rest_s - 3000.0).abs() < 0.01);
    }

    #[test]
    fn seeds_change_compile_times_but_not_the_tree() {
        let a = Plan::new(&config());
        let b = Plan::new(&Config { seed: 2, ..config() });
        assert_ne!(a.compile_ns, b.compile_ns);
        let sizes = |p: &Plan| p.directories.iter().map(|d| d.n_objects).collect::<Vec<_>>();
        assert_eq!(sizes(&a), sizes(&b));
    }
}
