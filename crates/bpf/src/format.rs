//! `bpf_printk` and its family: the kernel's format strings with 64-bit arguments
//! (`bpf_bprintf_prepare`).

use crate::host::Host;
use crate::memory::Memory;

/// A text or character sequence longer than this is cut.
const TEXT_MAX: usize = 512;

/// One `%…` of a format.
#[derive(Clone, Copy, Default)]
struct Spec {
    left: bool,
    zero: bool,
    sharp: bool,
    plus: bool,
    width: usize,
    longs: u32,
}

impl Memory {
    /// What a format string with these arguments says.
    pub fn format<H: Host>(&self, host: &mut H, format: &str, args: &[u64]) -> String {
        let (mut out, mut args) = (String::new(), args.iter().copied());
        let mut rest = format.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut spec = Spec::default();
            let kind = loop {
                match rest.next() {
                    Some('-') => spec.left = true,
                    Some('0') if spec.width == 0 => spec.zero = true,
                    Some('#') => spec.sharp = true,
                    Some('+') => spec.plus = true,
                    Some(d @ '0'..='9') => {
                        let digit = d.to_digit(10).unwrap_or(0) as usize;
                        spec.width = (spec.width * 10 + digit).min(TEXT_MAX);
                    }
                    Some('l') => spec.longs += 1,
                    Some('h' | ' ' | '.') => {}
                    other => break other,
                }
            };
            // Extensions of %p, as %pK and %pks, say how a pointer is shown.
            let mut extension = String::new();
            while kind == Some('p') && rest.peek().is_some_and(char::is_ascii_alphabetic) {
                extension.extend(rest.next());
            }
            match kind {
                Some('%') => out.push('%'),
                None => {}
                Some(kind) => {
                    let arg = args.next().unwrap_or(0);
                    let is_text = kind == 's' || extension == "ks" || extension == "us";
                    let text = if is_text {
                        self.text(host, arg, TEXT_MAX).unwrap_or_default()
                    } else {
                        number(kind, spec, arg)
                    };
                    pad(&mut out, spec, &text);
                }
            }
        }
        out
    }

    /// The same with the arguments as an array of 64-bit numbers in memory, and the format's
    /// address: as `scx_bpf_error_bstr` and `bpf_trace_vprintk` get them.
    pub fn format_at<H: Host>(&self, host: &mut H, format: u64, data: u64, len: u32) -> String {
        let format = self.text(host, format, 4096).unwrap_or_default();
        let n = (len / 8).min(12);
        let at = |i: u32| data.wrapping_add(u64::from(i) * 8);
        let args: Vec<u64> = (0..n).map(|i| self.load(host, at(i), 8).unwrap_or(0)).collect();
        self.format(host, &format, &args)
    }
}

fn number(kind: char, spec: Spec, arg: u64) -> String {
    let unsigned = if spec.longs > 0 { arg } else { u64::from(arg as u32) };
    let signed = if spec.longs > 0 { arg as i64 } else { i64::from(arg as i32) };
    match kind {
        'd' | 'i' if spec.plus => format!("{signed:+}"),
        'd' | 'i' => signed.to_string(),
        'u' => unsigned.to_string(),
        'x' if spec.sharp => format!("{unsigned:#x}"),
        'x' => format!("{unsigned:x}"),
        'X' => format!("{unsigned:X}"),
        'o' => format!("{unsigned:o}"),
        'p' => format!("{arg:016x}"),
        'c' => char::from(arg as u8).to_string(),
        other => format!("%{other}"),
    }
}

fn pad(out: &mut String, spec: Spec, text: &str) {
    let n = spec.width.saturating_sub(text.chars().count());
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) if spec.zero => ("-", digits),
        _ => ("", text),
    };
    let fill = if spec.zero && !spec.left { "0" } else { " " };
    if !spec.left {
        out.push_str(sign);
        out.push_str(&fill.repeat(n));
        out.push_str(digits);
    } else {
        out.push_str(text);
        out.push_str(&" ".repeat(n));
    }
}
