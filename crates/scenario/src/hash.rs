//! Fingerprints of the input files, so that a result names what it was computed from, and digests
//! that finished runs are named by.
//!
//! A fingerprint is FNV-1a over 64 bits: it tells edited files apart, it does not resist an
//! attacker. A digest does.

use std::io::{BufRead, Read};

const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// The fingerprint of several texts, in order, as 16 hexadecimal digits.
pub fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = START;
    let mut feed = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    for text in texts {
        text.bytes().for_each(&mut feed);
        feed(0);
    }
    format!("{hash:016x}")
}

/// Digits of a digest: 128 bits, which two inputs do not share by chance.
const DIGEST_DIGITS: usize = 32;

/// The digest of several texts, in order, as 32 hexadecimal digits. Finished runs are named by it,
/// so no two inputs may have the same one: it is made with BLAKE3.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    digits(&hasher)
}

/// The digest of a file of any kind.
///
/// # Errors
/// It cannot be read.
pub fn digest_of_file(path: &std::path::Path) -> std::io::Result<String> {
    digest_of(std::fs::File::open(path)?)
}

/// The digest of all that can be read.
///
/// # Errors
/// It cannot be read.
pub fn digest_of(reader: impl Read) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(reader)?;
    Ok(digits(&hasher))
}

fn digits(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex()[..DIGEST_DIGITS].to_string()
}

/// Takes the digest of all that is read through it.
pub struct HashingReader<R> {
    inner: R,
    hasher: blake3::Hasher,
}

impl<R: BufRead> HashingReader<R> {
    /// Nothing is read yet.
    pub fn new(inner: R) -> Self {
        Self { inner, hasher: blake3::Hasher::new() }
    }

    /// Of what has been read.
    pub fn digest(&self) -> String {
        digits(&self.hasher)
    }
}

impl<R: BufRead> Read for HashingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(into)?;
        self.hasher.update(&into[..n]);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for HashingReader<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        // What is consumed is still in the buffer, so nothing is read here.
        if let Ok(buffer) = self.inner.fill_buf() {
            self.hasher.update(&buffer[..n.min(buffer.len())]);
        }
        self.inner.consume(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_does_not_depend_on_how_a_file_is_read() {
        let text: Vec<u8> = (0..=255).cycle().take(1003).collect();
        let read = |buffer: usize, from: usize| {
            let reader = std::io::BufReader::with_capacity(buffer, &text[from..]);
            let mut reader = HashingReader::new(reader);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).unwrap() > 0 {}
            reader.digest()
        };
        assert_eq!(read(1, 0), read(1000, 0));
        assert_eq!(read(13, 0), read(8, 0));
        assert_ne!(read(8, 0), read(8, 1));
    }

    #[test]
    fn the_border_between_texts_counts() {
        assert_ne!(fingerprint(["ab", "c"]), fingerprint(["a", "bc"]));
        assert_eq!(fingerprint([]), "cbf29ce484222325");
        assert_ne!(digest(["ab", "c"]), digest(["a", "bc"]));
        assert_ne!(digest(["ab"]), digest(["a", "b"]));
        assert_eq!(digest([]), "af1349b9f5f9a1a6a0404dea36dcc949");
    }
}
