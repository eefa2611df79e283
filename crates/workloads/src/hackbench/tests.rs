//! Which sender writes to which receiver.

use super::*;

fn bench(groups: u32, fds: u32) -> Hackbench {
    Hackbench::new(Config {
        groups,
        fds,
        loops: 2,
        datasize: 100,
        medium: Medium::Socket,
        threads: false,
        message_ns: None,
        spread: 0.1,
        seed: 1,
    })
}

#[test]
fn a_sender_writes_to_each_receiver_of_its_group_in_turn() {
    let mut bench = bench(2, 3);
    let sender = 2 * 3 + 4; // the second one of the second group
    assert!(bench.is_sender(sender));
    let written: Vec<usize> = (0..bench.share())
        .map(|done| {
            bench.workers[sender].done = done;
            bench.channel_of(sender)
        })
        .collect();
    assert_eq!(written, [3, 4, 5, 3, 4, 5]);
}

#[test]
fn a_receiver_reads_from_its_own_channel() {
    let bench = bench(2, 3);
    let receivers: Vec<usize> = (0..12).filter(|me| !bench.is_sender(*me)).collect();
    assert_eq!(receivers, [0, 1, 2, 6, 7, 8]);
    let channels: Vec<usize> = receivers.iter().map(|me| bench.channel_of(*me)).collect();
    assert_eq!(channels, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn many_messages_are_counted() {
    let mut bench = bench(1, 128);
    bench.config.loops = 1 << 25;
    assert_eq!(bench.share(), 1 << 32);
}
