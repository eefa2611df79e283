//! Where the fair class takes locks (see [`Site`]).

use sim_core::Site;

/// Group of the sites that append to a shared queue.
pub const ENQUEUE: &str = "enqueue";
/// Group of the sites that unlink a task from a shared queue.
pub const REMOVE: &str = "remove";
/// Group of the site that pops from a shared queue in a pull.
pub const POP: &str = "pop";

/// `enqueue_task_fair()` appends to a shared queue.
pub const TTWU_ENQUEUE: &Site = &Site::new(0, "ttwu_enqueue_swq", ENQUEUE);
/// `put_prev_task_fair()` appends to a shared queue (shared_runq, version 2).
pub const PUT_PREV_ENQUEUE: &Site = &Site::new(1, "put_prev_enqueue_swq", ENQUEUE);
/// `pick_next_task_fair()` unlinks the picked task from its shared queue.
pub const PICK_REMOVE: &Site = &Site::new(2, "pick_remove_swq", REMOVE);
/// `dequeue_task_fair()` unlinks the task from its shared queue.
pub const DEQUEUE_REMOVE: &Site = &Site::new(3, "dequeue_remove_swq", REMOVE);
/// `swqueue_pick_next_task()` pops from a shared queue.
pub const PULL_POP: &Site = &Site::new(4, "pull_pop_swq", POP);
/// `swqueue_pick_next_task()` locks the runqueue of the popped task.
pub const PULL_TASK_RQ_LOCK: &Site = &Site::new(5, "pull_task_rq_lock", Site::RQ_LOCKS);
/// Newidle balance locks a runqueue.
pub const NEWIDLE_RQ_LOCK: &Site = &Site::new(9, "newidle_lb_rq_lock", Site::RQ_LOCKS);
/// Periodic and nohz-idle balance lock a runqueue.
pub const PERIODIC_RQ_LOCK: &Site = &Site::new(10, "periodic_lb_rq_lock", Site::RQ_LOCKS);
/// The lock that serializes NUMA balancing.
pub const BALANCE_SERIALIZE: &Site = &Site::new(17, "balance_serialize", Site::OTHER_LOCKS);

/// All of them.
pub const ALL: [&Site; 9] = [
    TTWU_ENQUEUE,
    PUT_PREV_ENQUEUE,
    PICK_REMOVE,
    DEQUEUE_REMOVE,
    PULL_POP,
    PULL_TASK_RQ_LOCK,
    NEWIDLE_RQ_LOCK,
    PERIODIC_RQ_LOCK,
    BALANCE_SERIALIZE,
];
