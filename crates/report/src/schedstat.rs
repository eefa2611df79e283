//! The text of /proc/schedstat, version 17: what kernel/sched/stats.c prints since Linux 6.14.
//!
//! Nothing is added to it, so that what reads the kernel's file reads this one.

use scenario::schedstat::{CpuStat, DomainStat, SchedStat};
use std::fmt::Write;

/// The version of the format, the file's first line.
const VERSION: u32 = 17;
/// Bits of a mask between two commas.
const CHUNK: usize = 32;

/// The whole text of the file.
pub fn text(stat: &SchedStat) -> String {
    let mut out = format!("version {VERSION}\ntimestamp {}\n", stat.jiffies);
    let n_cpus = stat.cpus.len();
    for (cpu, stat) in stat.cpus.iter().enumerate() {
        cpu_lines(&mut out, cpu, stat, n_cpus);
    }
    out
}

fn cpu_lines(out: &mut String, cpu: usize, stat: &CpuStat, n_cpus: usize) {
    let _ = write!(out, "cpu{cpu}");
    numbers(out, &stat.fields);
    for (level, domain) in stat.domains.iter().enumerate() {
        domain_line(out, level, domain, n_cpus);
    }
}

fn domain_line(out: &mut String, level: usize, domain: &DomainStat, n_cpus: usize) {
    let _ = write!(out, "domain{level} {} {}", domain.name, mask(&domain.cpus, n_cpus));
    numbers(out, &[domain.lb.as_flattened(), &domain.rest].concat());
}

fn numbers(out: &mut String, numbers: &[u64]) {
    for n in numbers {
        let _ = write!(out, " {n}");
    }
    out.push('\n');
}

/// A set of CPUs as `%*pb` prints it: hexadecimal, the highest first, a comma each 32 bits, as wide
/// as the number of CPUs asks for.
fn mask(cpus: &[u32], n_cpus: usize) -> String {
    let mut digits = vec![0u32; n_cpus.div_ceil(4)];
    cpus.iter().for_each(|cpu| digits[*cpu as usize / 4] |= 1 << (cpu % 4));
    let mut text = String::new();
    for (at, digit) in digits.iter().enumerate().rev() {
        let _ = write!(text, "{digit:x}");
        if at > 0 && at % (CHUNK / 4) == 0 {
            text.push(',');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn masks_look_as_the_kernel_prints_them() {
        assert_eq!(mask(&[0, 1], 2), "3");
        assert_eq!(mask(&[0, 5], 6), "21");
        assert_eq!(mask(&[0], 32), "00000001");
        assert_eq!(mask(&[32, 3], 33), "1,00000008");
        let all: Vec<u32> = (0..176).collect();
        assert_eq!(mask(&all, 176), "ffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff");
    }
}
