//! What is read of a cluster: the selectors that several commands share, and the lists that explain the state of operators.

use super::client::Select;
use super::kinds::{self, Kind};

/// A list to read: its kind, its namespace (all without one), and what it is limited to.
pub type Read<'q> = (Kind, Option<&'q str>, Select<'q>);

/// All objects.
pub const ANY: Select<'static> = Select { labels: "", fields: "" };
/// CSVs in the namespace of their operator, without the copies in the namespaces that it watches.
pub const NOT_COPIED: Select<'static> = Select { labels: "!olm.copiedFrom", fields: "" };
/// Events that are warnings.
pub const WARNINGS: Select<'static> = Select { labels: "", fields: "type=Warning" };
/// OLM's own deployments.
pub const OLM: Select<'static> = Select { labels: "app in (olm-operator,catalog-operator)", fields: "" };

/// Returns the field selector of the object with a name.
#[must_use]
pub fn named(name: &str) -> String {
    format!("metadata.name={name}")
}

/// Returns the lists that explain the state of the operators of a namespace, or of all. Catalogs are not among them: those of
/// other namespaces may count, too. `fields` selects the namespace itself.
#[must_use]
pub fn operators<'q>(namespace: Option<&'q str>, fields: &'q str) -> Vec<Read<'q>> {
    let mut reads = vec![
        (kinds::SUBSCRIPTION, namespace, ANY),
        (kinds::INSTALL_PLAN, namespace, ANY),
        (kinds::CSV, namespace, NOT_COPIED),
        (kinds::OPERATOR_GROUP, namespace, ANY),
        (kinds::POD, namespace, ANY),
        (kinds::DEPLOYMENT, namespace, ANY),
        (kinds::EVENT, namespace, WARNINGS),
        (kinds::NAMESPACE, None, Select { labels: "", fields }),
    ];
    if namespace.is_some() {
        reads.push((kinds::DEPLOYMENT, None, OLM));
    }
    reads
}
