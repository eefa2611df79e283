//! The kernel's functions around each step of netperf, for profiles (Linux 6.4).

use sim_core::Calls;

/// The sender's way down and up again, in the softirq, to the peer's socket.
pub(crate) const UDP_SEND: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_sendto",
    "__sys_sendto",
    "sock_sendmsg",
    "udp_sendmsg",
];

/// The message is in the peer's socket, and the peer is woken.
pub(crate) const UDP_WAKE: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_sendto",
    "__sys_sendto",
    "sock_sendmsg",
    "udp_sendmsg",
    "ip_send_skb",
    "__dev_queue_xmit",
    "__local_bh_enable_ip",
    "__do_softirq",
    "net_rx_action",
    "process_backlog",
    "__netif_receive_skb_one_core",
    "ip_local_deliver_finish",
    "udp_unicast_rcv_skb",
    "sock_def_readable",
    "__wake_up_sync_key",
];

/// The way into a receive, and the copy.
pub(crate) const UDP_RECEIVE: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_recvfrom",
    "__sys_recvfrom",
    "sock_recvmsg",
    "udp_recvmsg",
];

/// The socket is empty: the way into the sleep.
pub(crate) const UDP_WAIT: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_recvfrom",
    "__sys_recvfrom",
    "sock_recvmsg",
    "udp_recvmsg",
    "__skb_recv_udp",
    "__skb_wait_for_more_packets",
    "schedule_timeout",
];

/// The same as [`UDP_SEND`], over TCP.
pub(crate) const TCP_SEND: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_sendto",
    "__sys_sendto",
    "sock_sendmsg",
    "tcp_sendmsg",
];

/// The same as [`UDP_WAKE`], over TCP.
pub(crate) const TCP_WAKE: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_sendto",
    "__sys_sendto",
    "sock_sendmsg",
    "tcp_sendmsg",
    "__tcp_push_pending_frames",
    "ip_queue_xmit",
    "__dev_queue_xmit",
    "__local_bh_enable_ip",
    "__do_softirq",
    "net_rx_action",
    "process_backlog",
    "__netif_receive_skb_one_core",
    "ip_local_deliver_finish",
    "tcp_v4_rcv",
    "tcp_data_ready",
    "sock_def_readable",
    "__wake_up_sync_key",
];

/// The same as [`UDP_RECEIVE`], over TCP.
pub(crate) const TCP_RECEIVE: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_recvfrom",
    "__sys_recvfrom",
    "sock_recvmsg",
    "tcp_recvmsg",
];

/// The same as [`UDP_WAIT`], over TCP.
pub(crate) const TCP_WAIT: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_recvfrom",
    "__sys_recvfrom",
    "sock_recvmsg",
    "tcp_recvmsg",
    "sk_wait_data",
    "wait_woken",
    "schedule_timeout",
];

/// The window is full: the writer's way into its sleep.
pub(crate) const TCP_WAIT_MEMORY: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_sendto",
    "__sys_sendto",
    "sock_sendmsg",
    "tcp_sendmsg",
    "sk_stream_wait_memory",
    "wait_woken",
    "schedule_timeout",
];

/// A read has made room, and its acknowledgment tells the writer.
pub(crate) const TCP_WAKE_WRITER: Calls = &[
    "entry_SYSCALL_64",
    "do_syscall_64",
    "__x64_sys_recvfrom",
    "__sys_recvfrom",
    "sock_recvmsg",
    "tcp_recvmsg",
    "tcp_cleanup_rbuf",
    "__tcp_send_ack",
    "ip_queue_xmit",
    "__dev_queue_xmit",
    "__local_bh_enable_ip",
    "__do_softirq",
    "net_rx_action",
    "process_backlog",
    "__netif_receive_skb_one_core",
    "ip_local_deliver_finish",
    "tcp_v4_rcv",
    "sk_stream_write_space",
    "__wake_up_sync_key",
];
