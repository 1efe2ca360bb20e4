//! `--suite`: the suites of rules by name.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use olm_model::report::Suite;

/// A suite, or all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SuiteName {
    All,
    One(Suite),
}

impl SuiteName {
    /// The suites that a list of names stands for.
    pub(crate) fn suites(names: &[Self]) -> Vec<Suite> {
        let suites = names.iter().flat_map(|name| match name {
            Self::All => Suite::ALL.to_vec(),
            Self::One(suite) => vec![*suite],
        });
        suites.collect()
    }

    /// Returns the parser of suites to list, which are not enabled by that.
    pub(crate) fn listed() -> impl TypedValueParser<Value = Self> {
        let values = Self::value_variants().iter().map(|suite| match suite {
            Self::All => PossibleValue::new("all").help("All suites"),
            Self::One(suite) => {
                PossibleValue::new(suite.name()).help(suite.description().replace(" (always enabled)", ""))
            }
        });
        PossibleValuesParser::new(values).try_map(|name| Self::from_str(&name, false))
    }
}

impl ValueEnum for SuiteName {
    fn value_variants<'a>() -> &'a [Self] {
        static NAMES: LazyLock<Vec<SuiteName>> = LazyLock::new(|| {
            let one = Suite::ALL.into_iter().map(SuiteName::One);
            one.chain([SuiteName::All]).collect()
        });
        &NAMES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::All => PossibleValue::new("all").help("All suites"),
            Self::One(suite) => PossibleValue::new(suite.name()).help(suite.description()),
        })
    }
}
