//! What the readers of recorders' own files share: a file's events are looked at from the
//! beginning, and then all of them become the recording.
//!
//! A text is read in its own way (`super::read`): its faults have lines, and it has only one pass.

use super::event::{Event, Trouble};
use super::ftrace::Names;
use super::look_ahead::LookAhead;
use super::pace::Pace;
use super::reconstruct::Reconstruction;
use super::{Asked, ReplayError};
use input::Fault;
use topology::Machine;
use workloads::replay::Recording;

/// Events at the beginning that tell how long the kernel's paths took, and the first names of
/// threads.
const BEGINNING_EVENTS: u32 = 300_000;

/// The events that are left in a file, in order of time.
pub(super) trait EventsOfFile {
    /// The next event; `None` after the last one.
    fn next(&mut self) -> Result<Option<Event<'_>>, ReplayError>;
}

/// What the first events tell: how long paths took, and the names of threads.
pub(super) fn beginning(mut events: impl EventsOfFile) -> (Pace, Names) {
    let (mut pace, mut names) = (Pace::default(), Names::default());
    let mut goes_on = true;
    for _ in 0..BEGINNING_EVENTS {
        // What is wrong with the file is told when all of it is read.
        let Ok(Some(event)) = events.next() else { break };
        goes_on = goes_on && pace.see(&event);
        names.see_first(&event.what);
    }
    (pace, names)
}

/// The recording of all events of a file, made on `machine` at that pace.
///
/// # Errors
/// What of the file cannot be read or contradicts what was before.
pub(super) fn recording(
    mut events: impl EventsOfFile,
    pace: Pace,
    machine: &Machine,
    asked: Asked<'_>,
) -> Result<Recording, ReplayError> {
    let (reconstruction, paths) = Reconstruction::at_pace(pace, machine, asked);
    let mut events_ahead = LookAhead::new(reconstruction);
    let mut number = 0;
    while let Some(event) = events.next()? {
        number += 1;
        events_ahead.take(&event).map_err(|trouble| at_event(number, trouble))?;
    }
    let recording = events_ahead.finish().map_err(ReplayError::Whole)?;
    Ok(Recording { paths: Some(paths), in_ns: true, ..recording })
}

fn at_event(event: u64, trouble: Trouble) -> ReplayError {
    let fault = Fault::whole(trouble.message).help_if(trouble.help);
    ReplayError::Event { event, fault: Box::new(fault) }
}
