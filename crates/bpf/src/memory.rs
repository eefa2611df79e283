//! Memory: regions of bytes. An address is `region << 32 | offset`.
//!
//! So no address of one region leads into another one but by the addition of 4 GiB, a null pointer
//! with a small offset is never valid, and a check is two comparisons. Regions from [`HOST`] on
//! belong to the host.
//!
//! A load that hits nothing gives 0 and is counted, as the kernel's probing loads do. A store that
//! hits nothing is a fault.

use crate::host::Host;
use crate::map::Map;
use crate::owned::Owned;
use crate::timer::Timers;
use std::collections::BTreeMap;

/// The stack of the present run.
pub(crate) const STACK: u32 = 1;
/// The arguments of the present run.
pub(crate) const CONTEXT: u32 = 2;
/// Maps themselves: the offset is the map's number times 256.
pub(crate) const MAPS: u32 = 3;
/// Functions: the offset is the number of the first instruction.
pub(crate) const FUNCTIONS: u32 = 4;
/// Addresses of functions of the kernel that only say that these exist.
pub(crate) const SYMBOLS: u32 = 5;
const FIRST_FREE: u32 = 6;

/// The first address that belongs to the host.
pub const HOST: u64 = 1 << 63;

/// The address of a place in a region.
pub fn address(region: u32, offset: u32) -> u64 {
    u64::from(region) << 32 | u64::from(offset)
}

/// The region of an address.
pub(crate) fn region_of(address: u64) -> u32 {
    (address >> 32) as u32
}

/// The offset of an address in its region.
pub(crate) fn offset_of(address: u64) -> u32 {
    address as u32
}

/// The program needs more memory than it may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("more memory is needed than the limit allows")]
pub struct OutOfMemory;

#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    pub bytes: Vec<u8>,
    pub is_writable: bool,
}

/// Everything that programs can reach and that is not the host's.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(crate) regions: Vec<Region>,
    pub(crate) maps: Vec<Map>,
    pub(crate) owned: Owned,
    pub(crate) timers: Timers,
    /// Bytes that may still be allocated.
    bytes_left: usize,
    pub(crate) n_cpus: u32,
    /// A key while it is looked for; kept so that nothing is allocated.
    pub(crate) key: Vec<u8>,
    pub(crate) arena: Option<u32>,
    bad_loads: BTreeMap<usize, u64>,
}

impl Memory {
    /// Memory without maps, for `n_cpus` CPUs and at most so many bytes.
    pub fn new(n_cpus: u32, bytes_max: usize) -> Self {
        let mut regions = vec![Region::default(); FIRST_FREE as usize];
        regions[STACK as usize].is_writable = true;
        regions[CONTEXT as usize].is_writable = true;
        Self {
            regions,
            maps: Vec::new(),
            owned: Owned::default(),
            timers: Timers::default(),
            bytes_left: bytes_max,
            n_cpus: n_cpus.max(1),
            key: Vec::new(),
            arena: None,
            bad_loads: BTreeMap::new(),
        }
    }

    /// Number of CPUs that per-CPU maps are made for.
    pub fn n_cpus(&self) -> u32 {
        self.n_cpus
    }

    /// Bad loads by the number of their instruction in the image.
    pub fn bad_loads(&self) -> &BTreeMap<usize, u64> {
        &self.bad_loads
    }

    /// A new region with these bytes.
    pub(crate) fn add(&mut self, bytes: Vec<u8>, is_writable: bool) -> Result<u32, OutOfMemory> {
        self.take(bytes.len())?;
        u32::try_from(bytes.len()).map_err(|_| OutOfMemory)?;
        self.regions.push(Region { bytes, is_writable });
        Ok(self.regions.len() as u32 - 1)
    }

    /// A new region with a copy of these bytes, which are many, perhaps.
    pub(crate) fn add_copy(&mut self, bytes: &[u8], writable: bool) -> Result<u32, OutOfMemory> {
        if bytes.len() > self.bytes_left {
            return Err(OutOfMemory);
        }
        self.add(bytes.to_vec(), writable)
    }

    /// A new region of so many zeros.
    pub(crate) fn add_zeros(&mut self, len: usize) -> Result<u32, OutOfMemory> {
        if len > self.bytes_left {
            return Err(OutOfMemory);
        }
        self.add(vec![0; len], true)
    }

    /// Makes a region longer by `by` zero bytes; its old length.
    pub(crate) fn grow(&mut self, region: u32, by: usize) -> Result<u32, OutOfMemory> {
        let len = self.regions[region as usize].bytes.len();
        let new = u32::try_from(len + by).map_err(|_| OutOfMemory)?;
        self.take(by)?;
        self.regions[region as usize].bytes.resize(new as usize, 0);
        Ok(len as u32)
    }

    /// Charges bytes that are kept elsewhere, too.
    pub(crate) fn take(&mut self, len: usize) -> Result<(), OutOfMemory> {
        self.bytes_left = self.bytes_left.checked_sub(len).ok_or(OutOfMemory)?;
        Ok(())
    }

    pub(crate) fn give_back(&mut self, len: usize) {
        self.bytes_left = self.bytes_left.saturating_add(len);
    }

    #[inline(always)]
    pub(crate) fn fast_load<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let region = self.regions.get((address >> 32) as usize)?;
        region.bytes.get(address as u32 as usize..)?.first_chunk::<N>().copied()
    }

    #[inline(always)]
    pub(crate) fn fast_store<const N: usize>(&mut self, address: u64, bytes: [u8; N]) -> bool {
        let Some(region) = self.regions.get_mut((address >> 32) as usize) else {
            return false;
        };
        let at = region.bytes.get_mut(address as u32 as usize..);
        match at.and_then(|at| at.first_chunk_mut::<N>()) {
            Some(place) if region.is_writable => {
                *place = bytes;
                true
            }
            _ => false,
        }
    }

    /// Counts a bad load.
    pub(crate) fn note_bad_load(&mut self, pc: usize) {
        *self.bad_loads.entry(pc).or_default() += 1;
    }

    /// The bytes at an address, if they are all there and not the host's.
    pub fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        let start = offset_of(address) as usize;
        self.regions.get(region_of(address) as usize)?.bytes.get(start..start.checked_add(len)?)
    }

    /// The same for writing; not for what programs may only read.
    pub fn bytes_mut(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        let start = offset_of(address) as usize;
        let region = self.regions.get_mut(region_of(address) as usize)?;
        let bytes = region.bytes.get_mut(start..start.checked_add(len)?);
        bytes.filter(|_| region.is_writable)
    }

    /// The unsigned number of `size` bytes (1, 2, 4 or 8) at an address, wherever it is.
    pub fn load<H: Host>(&self, host: &mut H, address: u64, size: u32) -> Option<u64> {
        if address >= HOST {
            return host.load(address, size);
        }
        let mut whole = [0; 8];
        let bytes = self.bytes(address, size as usize)?;
        whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(whole))
    }

    /// Stores the low `size` bytes (1, 2, 4 or 8); false for a bad address.
    pub fn store<H: Host>(&mut self, host: &mut H, address: u64, size: u32, value: u64) -> bool {
        if address >= HOST {
            return host.store(address, size, value);
        }
        let bytes = value.to_le_bytes();
        match (self.bytes_mut(address, size as usize), bytes.get(..size as usize)) {
            (Some(place), Some(bytes)) => {
                place.copy_from_slice(bytes);
                true
            }
            _ => false,
        }
    }

    /// Copies bytes out, wherever they are; false if some are nowhere.
    pub fn read<H: Host>(&self, host: &mut H, address: u64, to: &mut [u8]) -> bool {
        if address >= HOST {
            return read_host(host, address, to);
        }
        self.bytes(address, to.len()).map(|bytes| to.copy_from_slice(bytes)).is_some()
    }

    /// Copies `len` bytes from one place to another one, wherever they are.
    pub(crate) fn copy<H: Host>(&mut self, host: &mut H, to: u64, from: u64, len: u32) -> bool {
        // Both may be in one region: first out, then in, eight bytes at a time.
        let mut done = 0;
        while done < len {
            let mut piece = [0; 64];
            let n = (len - done).min(64) as usize;
            let at = u64::from(done);
            if !self.read(host, from.wrapping_add(at), &mut piece[..n]) {
                return false;
            }
            let Some(place) = self.bytes_mut(to.wrapping_add(at), n) else {
                return false;
            };
            place.copy_from_slice(&piece[..n]);
            done += n as u32;
        }
        true
    }

    /// The text at an address up to its final zero, at most `max` bytes; `None` for a bad address.
    pub fn text<H: Host>(&self, host: &mut H, address: u64, max: usize) -> Option<String> {
        let mut bytes = Vec::new();
        for at in 0..max as u64 {
            match self.load(host, address.checked_add(at)?, 1) {
                None if at == 0 => return None,
                None | Some(0) => break,
                Some(byte) => bytes.push(byte as u8),
            }
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Reads from an object of the host: in one load if the length is that of a number, because a host
/// may know whole fields only; else eight bytes at a time, or byte by byte.
fn read_host<H: Host>(host: &mut H, address: u64, to: &mut [u8]) -> bool {
    if matches!(to.len(), 1 | 2 | 4 | 8)
        && let Some(value) = host.load(address, to.len() as u32)
    {
        to.copy_from_slice(&value.to_le_bytes()[..to.len()]);
        return true;
    }
    if to.len() == 1 {
        return false;
    }
    let len = if to.len() > 8 { 8 } else { 1 };
    let mut pieces = to.chunks_mut(len).zip(0..);
    pieces.all(|(piece, i)| read_host(host, address.wrapping_add(i * len as u64), piece))
}
