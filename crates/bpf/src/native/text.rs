//! Helpers that copy memory and make text.

use super::{Call, Outcome, bad_address};
use crate::errno;
use crate::host::Host;

/// Copies `len` bytes; if the source is bad, the destination becomes zeros.
pub(super) fn probe_read<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let (to, len, from) = (c.args[0], c.args[1] as u32, c.args[2]);
    c.run.charge(u64::from(len));
    if c.memory.copy(c.host, to, from, len) {
        return Outcome::Value(0);
    }
    match c.memory.bytes_mut(to, len as usize) {
        Some(place) => {
            place.fill(0);
            bad_address()
        }
        None => c.fault("nothing can be written there"),
    }
}

/// Copies a text and its final zero; returns how many bytes.
pub(super) fn probe_read_str<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let (to, len, from) = (c.args[0], c.args[1] as u32, c.args[2]);
    c.run.charge(u64::from(len));
    for i in 0..u64::from(len) {
        let byte = c.memory.load(c.host, from.wrapping_add(i), 1);
        let is_last = i + 1 == u64::from(len);
        let kept = if is_last { 0 } else { byte.unwrap_or(0) };
        if !c.memory.store(c.host, to.wrapping_add(i), 1, kept) {
            return c.fault("nothing can be written there");
        }
        match byte {
            None => {
                if let Some(place) = c.memory.bytes_mut(to, len as usize) {
                    place.fill(0);
                }
                return bad_address();
            }
            Some(0) => return Outcome::Value(i + 1),
            Some(_) => {}
        }
    }
    Outcome::Value(u64::from(len))
}

fn print<H: Host>(c: &mut Call<'_, H>, line: &str) -> Outcome {
    c.run.charge(64 * line.len() as u64);
    c.host.print(line.strip_suffix('\n').unwrap_or(line));
    Outcome::Value(line.len() as u64)
}

/// `bpf_trace_printk(format, size, …)`
pub(super) fn trace_printk<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let max = (c.args[1] as usize).min(4096);
    let Some(format) = c.memory.text(c.host, c.args[0], max) else {
        return Outcome::errno(errno::EINVAL);
    };
    let args = c.args;
    let line = c.memory.format(c.host, &format, &args[2..]);
    print(c, &line)
}

/// `bpf_trace_vprintk(format, size, data, length)`
pub(super) fn trace_vprintk<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let [format, _, data, len, _] = c.args;
    let line = c.memory.format_at(c.host, format, data, len as u32);
    print(c, &line)
}

/// `bpf_snprintf(to, size, format, data, length)`: the length of the whole text and its zero.
pub(super) fn snprintf<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let [to, size, format, data, len] = c.args;
    let text = c.memory.format_at(c.host, format, data, len as u32);
    c.run.charge(64 * text.len() as u64);
    let kept = text.len().min((size as u32 as usize).saturating_sub(1));
    if size as u32 > 0 {
        let Some(place) = c.memory.bytes_mut(to, kept + 1) else {
            return c.fault("nothing can be written there");
        };
        place[..kept].copy_from_slice(&text.as_bytes()[..kept]);
        place[kept] = 0;
    }
    Outcome::Value(text.len() as u64 + 1)
}

/// `bpf_strncmp(a, size, b)`
pub(super) fn strncmp<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let (a, size, b) = (c.args[0], c.args[1] as u32, c.args[2]);
    c.run.charge(64 * u64::from(size));
    for i in 0..u64::from(size) {
        let left = c.memory.load(c.host, a.wrapping_add(i), 1).unwrap_or(0);
        let right = c.memory.load(c.host, b.wrapping_add(i), 1).unwrap_or(0);
        if left != right {
            return Outcome::errno(if left < right { -1 } else { 1 });
        }
        if left == 0 {
            break;
        }
    }
    Outcome::Value(0)
}

/// A dynamic pointer is two numbers here: address and length.
fn dynptr<H: Host>(c: &mut Call<'_, H>, at: u64) -> Option<(u64, u64)> {
    let address = c.memory.load(c.host, at, 8)?;
    Some((address, c.memory.load(c.host, at.wrapping_add(8), 8)?))
}

/// `bpf_dynptr_from_mem(data, size, flags, dynptr)`
pub(super) fn dynptr_from_mem<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let [data, size, _, at, _] = c.args;
    let is_set = c.memory.store(c.host, at, 8, data)
        && c.memory.store(c.host, at.wrapping_add(8), 8, u64::from(size as u32));
    if is_set { Outcome::Value(0) } else { c.fault("nothing can be written there") }
}

/// `bpf_dynptr_read(to, length, dynptr, offset)` and `bpf_dynptr_write(dynptr, offset, from,
/// length)`
pub(super) fn dynptr_copy<H: Host>(c: &mut Call<'_, H>, is_read: bool) -> Outcome {
    let [a, b, d, e, _] = c.args;
    let (at, offset, other, len) = if is_read { (d, e, a, b) } else { (a, b, d, e) };
    let (offset, len) = (u64::from(offset as u32), u64::from(len as u32));
    let Some((address, size)) = dynptr(c, at) else {
        return c.fault("this is no dynamic pointer");
    };
    if offset + len > size {
        return Outcome::errno(errno::E2BIG);
    }
    c.run.charge(len);
    let own = address.wrapping_add(offset);
    let (to, from) = if is_read { (other, own) } else { (own, other) };
    let is_copied = c.memory.copy(c.host, to, from, len as u32);
    if is_copied { Outcome::Value(0) } else { bad_address() }
}

/// `bpf_dynptr_data(dynptr, offset, length)`
pub(super) fn dynptr_data<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let (offset, len) = (u64::from(c.args[1] as u32), u64::from(c.args[2] as u32));
    match dynptr(c, c.args[0]) {
        Some((address, size)) if offset + len <= size => {
            Outcome::Value(address.wrapping_add(offset))
        }
        _ => Outcome::Value(0),
    }
}
