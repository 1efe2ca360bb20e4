//! One sample of each served version; they are also the CSV's `alm-examples`.

use crate::crd::{GROUP, OLD_VERSION, STORED_VERSION};
use serde_json::{Value, json};

/// Returns the tutorial's sample in a served version.
fn sample(version: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{version}"),
        "kind": "Memcached",
        "metadata": {
            "name": name,
            "labels": {
                "app.kubernetes.io/name": "memcached-operator",
                "app.kubernetes.io/part-of": "memcached-operator",
            },
        },
        "spec": { "size": 3, "containerPort": 11211 },
    })
}

/// Returns file names and objects, the stored version first.
pub(crate) fn all() -> [(String, Value); 2] {
    [
        (STORED_VERSION, "memcached-sample".to_owned()),
        (OLD_VERSION, format!("memcached-sample-{OLD_VERSION}")),
    ]
    .map(|(version, name)| (format!("cache_{version}_memcached.yaml"), sample(version, &name)))
}
