//! Error numbers of the kernel, as functions return them.

pub(crate) const ENOENT: i64 = -2;
pub(crate) const E2BIG: i64 = -7;
pub(crate) const ENOMEM: i64 = -12;
pub(crate) const EFAULT: i64 = -14;
pub(crate) const EBUSY: i64 = -16;
pub(crate) const EEXIST: i64 = -17;
pub(crate) const EINVAL: i64 = -22;
pub(crate) const ENOSPC: i64 = -28;
