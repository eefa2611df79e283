//! Numbers and texts of a little-endian file, one after another; `None` beyond its end.

/// The rest of some bytes.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A text of `struct perf_header_string`: its length with padding, then it.
    pub(super) fn header_string(&mut self) -> Option<&'a str> {
        let n = usize::try_from(self.u32()?).ok()?;
        let text = self.take(n)?;
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(n);
        std::str::from_utf8(&text[..end]).ok()
    }
}
