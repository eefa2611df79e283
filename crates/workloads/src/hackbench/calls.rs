//! The kernel's functions around each step of hackbench, for profiles (their names in Linux 6.4).

use super::channel::Medium;
use sim_core::Calls;

/// What a task is doing when the profile looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Write,
    /// It wakes the receiver.
    WakeReceiver,
    WaitForRoom,
    Read,
    /// It wakes senders.
    WakeSenders,
    WaitForMessage,
}

const SOCKET_WRITE: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_write",
    "vfs_write",
    "sock_write_iter",
    "unix_stream_sendmsg",
];
const SOCKET_WAKE_RECEIVER: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_write",
    "vfs_write",
    "sock_write_iter",
    "unix_stream_sendmsg",
    "sock_def_readable",
    "__wake_up_sync_key",
];
const SOCKET_WAIT_FOR_ROOM: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_write",
    "vfs_write",
    "sock_write_iter",
    "unix_stream_sendmsg",
    "sock_alloc_send_pskb",
    "schedule_timeout",
];
const SOCKET_READ: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_read",
    "vfs_read",
    "sock_read_iter",
    "unix_stream_recvmsg",
    "unix_stream_read_generic",
];
const SOCKET_WAKE_SENDERS: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_read",
    "vfs_read",
    "sock_read_iter",
    "unix_stream_recvmsg",
    "unix_stream_read_generic",
    "consume_skb",
    "sock_wfree",
    "unix_write_space",
    "__wake_up_sync_key",
];
const SOCKET_WAIT_FOR_MESSAGE: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_read",
    "vfs_read",
    "sock_read_iter",
    "unix_stream_recvmsg",
    "unix_stream_read_generic",
    "schedule_timeout",
];
const PIPE_WRITE: Calls =
    &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_write", "vfs_write", "pipe_write"];
const PIPE_WAKE_RECEIVER: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_write",
    "vfs_write",
    "pipe_write",
    "__wake_up_sync_key",
];
const PIPE_READ: Calls =
    &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_read", "vfs_read", "pipe_read"];
const PIPE_WAKE_SENDERS: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_read",
    "vfs_read",
    "pipe_read",
    "__wake_up_sync_key",
];

/// The functions around a step, the outermost first.
pub(crate) fn of(medium: Medium, step: Step) -> Calls {
    match (medium, step) {
        (Medium::Socket, Step::Write) => SOCKET_WRITE,
        (Medium::Socket, Step::WakeReceiver) => SOCKET_WAKE_RECEIVER,
        (Medium::Socket, Step::WaitForRoom) => SOCKET_WAIT_FOR_ROOM,
        (Medium::Socket, Step::Read) => SOCKET_READ,
        (Medium::Socket, Step::WakeSenders) => SOCKET_WAKE_SENDERS,
        (Medium::Socket, Step::WaitForMessage) => SOCKET_WAIT_FOR_MESSAGE,
        (Medium::Pipe, Step::Write | Step::WaitForRoom) => PIPE_WRITE,
        (Medium::Pipe, Step::WakeReceiver) => PIPE_WAKE_RECEIVER,
        (Medium::Pipe, Step::Read | Step::WaitForMessage) => PIPE_READ,
        (Medium::Pipe, Step::WakeSenders) => PIPE_WAKE_SENDERS,
    }
}
