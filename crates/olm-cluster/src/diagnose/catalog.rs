//! Problems of catalogs.

use super::message;
use super::pod::is_catalog_in_scope;
use super::problem::{Diagnosis, Scope, object, shortened};
use crate::kinds;
use crate::snapshot::{Snapshot, name_of, namespace_of, string};

/// How long OLM may need to connect to a catalog, in seconds: its gRPC client looks up a name that was not known yet again after 30 s.
///
/// Source: `MinResolutionInterval` of `internal/resolver/dns` of grpc-go.
const RECONNECT: u64 = 45;

/// Reports catalogs that OLM cannot use.
pub(crate) fn catalogs(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    for catalog in snapshot.objects(kinds::CATALOG_SOURCE) {
        let (name, namespace) = (name_of(catalog), namespace_of(catalog));
        if !is_catalog_in_scope(snapshot, scope, namespace, name)
            || (scope.package.is_none() && !scope.covers(catalog))
        {
            continue;
        }
        let text = string(catalog, "/status/message");
        if !text.is_empty() {
            let reason = string(catalog, "/status/reason");
            let (id, help) = message::explain_message(text, namespace).unwrap_or_else(|| match reason {
                "SpecInvalidError" => ("catalog-invalid", "fix the spec of the CatalogSource".to_owned()),
                _ => (
                    "catalog-not-served",
                    format!("see its status: kubectl get catalogsource {name} -n {namespace} -o yaml"),
                ),
            });
            found.push(
                Diagnosis::new(
                    id,
                    object(kinds::CATALOG_SOURCE, catalog),
                    format!("OLM cannot serve catalog `{name}`: {}", shortened(text)),
                )
                .evidence(format!("status: {reason}: {}", shortened(text)))
                .help(help)
                .patience(message::patience(text, 6)),
            );
        }
        let state = string(catalog, "/status/connectionState/lastObservedState");
        if matches!(state, "TRANSIENT_FAILURE" | "CONNECTING" | "SHUTDOWN") {
            let address = string(catalog, "/status/connectionState/address");
            found.push(
                Diagnosis::new(
                    "catalog-not-connected",
                    object(kinds::CATALOG_SOURCE, catalog),
                    format!("OLM cannot connect to catalog `{name}` at `{address}`"),
                )
                .evidence(format!("connection state: {state}"))
                .help(format!(
                    "check the pod, the service and the network policies of the catalog: \
                     kubectl get pods,services,endpoints -n {namespace}"
                ))
                .patience(RECONNECT)
                .symptom(),
            );
        }
    }
}
