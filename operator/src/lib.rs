//! The memcached operator of the Operator SDK tutorial, in Rust.
//!
//! | module | contents |
//! | --- | --- |
//! | [`api`] | the Memcached API; the CRD is derived from it |
//! | [`controller`] | what a Memcached owns, and its status |
//! | [`admission`] | the decisions of the webhooks |
//!
//! Everything else is `operator-runtime`.

pub mod admission;
pub mod api;
pub mod controller;

use controller::{Memcacheds, Owned};
use operator_runtime::{Identity, Operator};
use serde_json::{Value, json};

/// The names of the operator.
pub const IDENTITY: Identity = Identity {
    name: env!("CARGO_PKG_NAME"),
    group: api::GROUP,
    version: env!("CARGO_PKG_VERSION"),
    about: env!("CARGO_PKG_DESCRIPTION"),
    image: "example.com/memcached-operator",
};

/// The default image of the memcached servers.
pub const OPERAND_IMAGE: &str = "docker.io/library/memcached:1.6";

/// Options of the operator.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Image of the memcached servers unless a Memcached sets one
    #[arg(long, visible_alias = "operand-image", env = "MEMCACHED_IMAGE", default_value = OPERAND_IMAGE, value_name = "IMAGE")]
    pub memcached_image: String,
    /// Kinds that a Memcached owns
    #[arg(long, value_enum, default_value = "all")]
    pub owned: Owned,
}

/// Returns the operator.
#[must_use]
pub fn operator(args: &Args) -> Operator {
    let image = args.memcached_image.clone();
    Operator::new(IDENTITY)
        .crd(api::crd())
        .controller(Memcacheds { image: image.clone(), owned: args.owned })
        .webhook(admission::defaulting())
        .webhook(admission::validating(image.clone()))
        .env("MEMCACHED_IMAGE", &image)
        .sample("cache_v1_memcached.yaml", sample("v1", "memcached-sample"))
        .sample("cache_v1alpha1_memcached.yaml", sample("v1alpha1", "memcached-sample-v1alpha1"))
}

/// Returns the tutorial's sample in a served version.
fn sample(version: &str, name: &str) -> Value {
    let labels =
        json!({ "app.kubernetes.io/name": IDENTITY.name, "app.kubernetes.io/part-of": IDENTITY.name });
    json!({
        "apiVersion": format!("{}/{version}", api::GROUP),
        "kind": "Memcached",
        "metadata": { "name": name, "labels": labels },
        "spec": { "size": 3, "containerPort": 11211 },
    })
}
