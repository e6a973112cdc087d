//! May this run make this call? Pure decisions over plain limits, with reason and message, and the two things that count:
//! the [`Budget`] of a run and the [`Throttle`] of callers.
//!
//! A run has one budget. It is asked before each call of a model and told afterwards what the call used; retries, repairs and
//! whatever else a run does share it. No argument of a model reaches it.

mod budget;
mod refusal;
mod throttle;

pub use budget::{Budget, Call, Permit};
pub use refusal::{Refusal, Rule};
pub use throttle::{Slot, Throttle, Throttled};
