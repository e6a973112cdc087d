//! When a schedule is due. Pure.

use groundwork_crds::KnowledgeBase;
use groundwork_crds::condition::Reason;
use jiff::{SignedDuration, Timestamp};
use kube_client::ResourceExt;

use crate::verdict::Problem;

/// Knowledge bases with one schedule do not all start in the same second.
const SPREAD_SECONDS: u64 = 60;
const FALLBACK_ZONE: &str = "UTC";

/// A crontab with its time zone.
#[derive(Debug)]
pub(super) struct Schedule {
    crontab: cronexpr::Crontab,
    delay: SignedDuration,
}

impl Schedule {
    /// The schedule of a knowledge base, if it has one.
    pub(super) fn of(base: &KnowledgeBase) -> Result<Option<Self>, Problem> {
        let Some(sync) = &base.spec.sync else { return Ok(None) };
        let Some(fields) = &sync.schedule else { return Ok(None) };
        let zone = sync.time_zone.as_deref().unwrap_or(FALLBACK_ZONE);
        jiff::tz::TimeZone::get(zone).map_err(|_| {
            Problem::new(
                Reason::Invalid,
                format!(
                    "spec.sync.timeZone is {zone:?}, which is no time zone known here; write one such as Europe/Berlin"
                ),
            )
        })?;
        let crontab = cronexpr::parse_crontab(&format!("{fields} {zone}")).map_err(|error| {
            Problem::new(
                Reason::Invalid,
                format!(
                    "spec.sync.schedule is {fields:?}: {}; write minute, hour, day, month and weekday, for example \
                     \"30 2 * * 1-5\"",
                    one_line(&error.to_string())
                ),
            )
        })?;
        Ok(Some(Self { crontab, delay: delay(&base.uid().unwrap_or_default()) }))
    }

    /// The first time after another.
    pub(super) fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        let before = time.checked_sub(self.delay).ok()?;
        let next = self.crontab.find_next(before).ok()?;
        next.timestamp().checked_add(self.delay).ok()
    }
}

/// The same for an object at all times, and spread over all objects.
fn delay(uid: &str) -> SignedDuration {
    // FNV-1a: stable over processes and versions, unlike the standard library's hashes.
    let hash = uid
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    SignedDuration::from_secs((hash % SPREAD_SECONDS) as i64)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn base(sync: serde_json::Value) -> KnowledgeBase {
        serde_json::from_value(json!({
            "apiVersion": "groundwork.dev/v1alpha1", "kind": "KnowledgeBase", "metadata": {"name": "one"},
            "spec": {"sources": [], "sync": sync},
        }))
        .unwrap()
    }

    fn next(sync: serde_json::Value, after: &str) -> String {
        let mut schedule = Schedule::of(&base(sync)).unwrap().unwrap();
        schedule.delay = SignedDuration::ZERO;
        schedule.next_after(after.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn a_schedule_follows_its_time_zone_through_the_change_of_clocks() {
        let sync = || json!({"schedule": "30 2 * * *", "timeZone": "Europe/Berlin"});
        assert_eq!(next(sync(), "2026-01-10T12:00:00Z"), "2026-01-11T01:30:00Z");
        assert_eq!(next(sync(), "2026-07-10T12:00:00Z"), "2026-07-11T00:30:00Z");
        assert_eq!(next(json!({"schedule": "30 2 * * 1-5"}), "2026-01-09T12:00:00Z"), "2026-01-12T02:30:00Z");
    }

    #[test]
    fn mistakes_name_the_field_and_the_fix() {
        for (sync, field) in [
            (json!({"schedule": "61 2 * * *"}), "spec.sync.schedule"),
            (json!({"schedule": "0 2 30 2 x"}), "spec.sync.schedule"),
            (json!({"schedule": "0 2 * * *", "timeZone": "Europe/Atlantis"}), "spec.sync.timeZone"),
        ] {
            let problem = Schedule::of(&base(sync)).unwrap_err();
            assert!(problem.message.starts_with(field) && problem.message.contains("write"), "{}", problem.message);
        }
        assert!(Schedule::of(&base(json!({}))).unwrap().is_none());
    }

    #[test]
    fn delays_are_spread_over_a_minute() {
        let delays: std::collections::BTreeSet<_> = (0..600).map(|uid| delay(&format!("uid-{uid}"))).collect();
        assert!(delays.len() > 50 && delays.iter().all(|delay| delay.as_secs() < 60));
    }
}
