//! The scorecard's configuration: what the input says or, failing that, what lies in the bundle already.

use std::collections::BTreeMap;

use super::input::Collected;
use super::ledger::{Fate, Ledger};
use crate::model::yaml;

/// Where the configuration lies in a bundle.
pub(super) const PATH: &str = "tests/scorecard/config.yaml";

pub(super) fn file(
    collected: &Collected,
    previous: &BTreeMap<String, Vec<u8>>,
    ledger: &mut Ledger,
) -> Option<Vec<u8>> {
    match collected.scorecards.first() {
        Some(item) => {
            ledger.fate(item.source, Fate::File(PATH.to_owned()));
            Some(yaml::emit(&item.json).into_bytes())
        }
        None => previous.get(PATH).cloned(),
    }
}
