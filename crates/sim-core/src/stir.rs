//! Numbers that look random, from numbers that do not.

/// Each bit of the result depends on all of `number`; no two numbers have the same (the finalizer
/// of splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[inline]
pub const fn stir(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
