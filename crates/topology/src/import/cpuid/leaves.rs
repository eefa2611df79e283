//! One file: lines `mask eax ebx ecx edx => eax ebx ecx edx` in hexadecimal; the bits of the mask
//! say which inputs the answer depends on.

use crate::import::runs::items;
use input::Fault;

/// What CPUID answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    pub eax: u32,
    pub ebx: u32,
    pub ecx: u32,
    pub edx: u32,
}

pub(super) struct Leaves(Vec<Leaf>);

struct Leaf {
    eax: u32,
    /// `None` if the answer does not depend on it.
    ecx: Option<u32>,
    out: Registers,
}

impl Leaves {
    /// Reads a file; comments start with `#`.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let lines = items(text, '\n').into_iter();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let leaves: Vec<Leaf> = lines.map(|(at, line)| leaf(at, line)).collect::<Result<_, _>>()?;
        if leaves.is_empty() {
            return Err(Fault::whole("there is no leaf in it"));
        }
        Ok(Self(leaves))
    }

    /// The answer for a leaf and subleaf.
    pub fn get(&self, eax: u32, ecx: u32) -> Option<Registers> {
        let asked = |leaf: &&Leaf| leaf.eax == eax && leaf.ecx.is_none_or(|known| known == ecx);
        self.0.iter().find(asked).map(|leaf| leaf.out)
    }

    pub fn vendor(&self) -> String {
        // The order is CPUID's own: EBX, EDX, ECX.
        let r = self.get(0, 0);
        letters(r.map_or(vec![], |r| vec![r.ebx, r.edx, r.ecx]))
    }

    pub fn is_amd(&self) -> bool {
        matches!(self.vendor().as_str(), "AuthenticAMD" | "HygonGenuine")
    }

    pub fn family(&self) -> u32 {
        let version = self.get(1, 0).map_or(0, |r| r.eax);
        // The extended family is 0 unless the base family is 15.
        (version >> 8 & 0xf) + (version >> 20 & 0xff)
    }

    /// The name of the model.
    pub fn brand(&self) -> Option<String> {
        let leaves = [0x8000_0002, 0x8000_0003, 0x8000_0004].map(|leaf| self.get(leaf, 0));
        let words = leaves.into_iter().flatten().flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx]);
        let brand = letters(words.collect());
        Some(brand.trim().to_owned()).filter(|brand| !brand.is_empty())
    }
}

/// The printable letters in registers, lowest byte first.
fn letters(registers: Vec<u32>) -> String {
    let bytes = registers.into_iter().flat_map(u32::to_le_bytes);
    bytes.map(char::from).filter(|c| *c == ' ' || c.is_ascii_graphic()).collect()
}

fn leaf(at: usize, line: &str) -> Result<Leaf, Fault> {
    let mut numbers = [0u32; 9];
    let words = items(line, ' ').into_iter().filter(|(_, w)| !w.is_empty() && *w != "=>");
    let mut n = 0;
    for (start, word) in words {
        let place = at + start..at + start + word.len();
        let digits = word.bytes().all(|b| b.is_ascii_hexdigit());
        let number = u32::from_str_radix(word, 16).ok().filter(|_| digits);
        let number = number
            .ok_or_else(|| Fault::at(place, format!("`{word}` is no register in hexadecimal")))?;
        if let Some(slot) = numbers.get_mut(n) {
            *slot = number;
        }
        n += 1;
    }
    if n != numbers.len() {
        let message = format!("{n} numbers; `mask eax ebx ecx edx => eax ebx ecx edx` are 9");
        return Err(Fault::at(at..at + line.len(), message));
    }
    let [mask, in_eax, _, in_ecx, _, eax, ebx, ecx, edx] = numbers;
    // Bits of the mask are eax, ebx, ecx, edx: bit 2 tells that the subleaf matters.
    let ecx_counts = mask >> 2 & 1 == 1;
    let out = Registers { eax, ebx, ecx, edx };
    Ok(Leaf { eax: in_eax, ecx: ecx_counts.then_some(in_ecx), out })
}
