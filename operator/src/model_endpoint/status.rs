//! What the status says. Pure.

use super::observe::Observed;
use crate::report::Findings;
use crate::users;
use crate::verdict::Verdict;

pub(super) fn status(verdict: &Verdict, observed: &Observed) -> Findings {
    Findings { facts: verdict.facts(), fields: users::fields(&observed.users) }
}
