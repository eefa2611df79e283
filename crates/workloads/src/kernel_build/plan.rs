//! The source tree: directories, objects, compile times.

use super::tree::{DEPTHS, OBJECTS};
use super::{Config, work_us};
use crate::random::{self, Purpose};
use rand_distr::{Distribution, StandardNormal};

/// An object file, numbered over the whole tree.
pub type ObjectId = u32;

/// Shortest and longest compile time against the median, as in a sample of Linux 6.1.
const SHORTEST: f64 = 0.25;
const LONGEST: f64 = 15.0;
/// Mean time to compile and assemble an object on the reference machine, s: measured.
const MEAN_COMPILE_S: f64 = 0.38;

/// One directory with a make of its own.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// Subdirectories, built by a `make` of their own.
    pub subdirs: Vec<u32>,
    /// Number of its first object; the others follow.
    pub first_object: ObjectId,
    /// Its objects, without those of subdirectories.
    pub n_objects: u32,
}

/// What there is to build.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Directory 0 is the top.
    pub directories: Vec<Directory>,
    /// Compile time of each object at this machine's full speed, ns.
    pub compile_ns: Vec<u64>,
    /// Factor from time on the reference machine to time on this one.
    pub slowness: f64,
}

impl Plan {
    pub(super) fn new(config: &Config) -> Self {
        let objects = f64::from(config.objects);
        let directories = tree(config);
        let beside_us = objects * work_us::PER_OBJECT as f64
            + objects * work_us::AR_PER_OBJECT as f64
            + directories.len() as f64 * work_us::PER_DIRECTORY as f64;
        let serial_s = config.prepare_s + config.link_s;
        let reference_s = objects * MEAN_COMPILE_S + beside_us * 1e-6 + serial_s;
        let slowness = config.work_s / reference_s;
        let scaled = |s: &f64| (s * slowness * 1e9) as u64;
        let compile_ns = compile_times(config).iter().map(scaled).collect();
        Self { directories, compile_ns, slowness }
    }
}

/// So many directories of the kernel's tree, taken evenly from its list. Subdirectories of one that
/// is left out go to the directory above. A directory's share of the objects is that of the list.
fn tree(config: &Config) -> Vec<Directory> {
    let n = config.directories.clamp(1, config.objects.max(1)) as usize;
    let mut dirs = vec![Directory::default(); n];
    let listed: Vec<usize> = (1..n).map(|d| (d - 1) * DEPTHS.len() / (n - 1)).collect();
    // The way from the top to the directory before, with depths.
    let mut path = vec![(b'0', 0)];
    for (d, &at) in (1..).zip(&listed) {
        path.retain(|(depth, _)| *depth < DEPTHS[at]);
        let parent: usize = path[path.len() - 1].1;
        dirs[parent].subdirs.push(d);
        path.push((DEPTHS[at], d as usize));
    }
    // The top directory has no objects, unless it is alone.
    let shares: Vec<u32> =
        std::iter::once(u32::from(n == 1)).chain(listed.iter().map(|at| OBJECTS[*at])).collect();
    let total = u64::from(shares.iter().sum::<u32>());
    let (mut sum, mut first) = (0, 0);
    for (dir, share) in dirs.iter_mut().zip(&shares) {
        sum += u64::from(*share);
        let end = (sum * u64::from(config.objects) / total) as u32;
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

    fn depths(dirs: &[Directory]) -> Vec<u32> {
        let mut depth = vec![0; dirs.len()];
        for (d, dir) in dirs.iter().enumerate() {
            dir.subdirs.iter().for_each(|sub| depth[*sub as usize] = depth[d] + 1);
        }
        depth
    }

    #[test]
    fn the_whole_tree_is_that_of_the_list() {
        let objects = OBJECTS.iter().sum();
        let dirs = tree(&Config { directories: 1 + DEPTHS.len() as u32, objects, ..config() });
        let listed = DEPTHS.iter().map(|depth| u32::from(depth - b'0'));
        assert_eq!(depths(&dirs)[1..], listed.collect::<Vec<_>>());
        let sizes: Vec<u32> = dirs.iter().map(|d| d.n_objects).collect();
        assert_eq!((sizes[0], &sizes[1..]), (0, &OBJECTS[..]));
    }

    #[test]
    fn a_tree_of_any_size_has_all_its_objects() {
        for directories in [1, 2, 3, 17, 400, 1784, 1785, 1786, 5000] {
            let dirs = tree(&Config { directories, objects: 20_000, ..config() });
            assert_eq!(dirs.iter().map(|d| d.n_objects).sum::<u32>(), 20_000);
            assert_eq!(depths(&dirs)[1..].iter().filter(|d| **d == 0).count(), 0);
        }
    }

    #[test]
    fn the_work_of_the_build_is_what_was_asked_for() {
        let plan = Plan::new(&config());
        let compile_s = plan.compile_ns.iter().sum::<u64>() as f64 * 1e-9;
        let beside_us =
            1000 * (work_us::PER_OBJECT + work_us::AR_PER_OBJECT) + 80 * work_us::PER_DIRECTORY;
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
