//! The memcached operator of the Operator SDK tutorial, in Rust.

pub mod api;
pub mod controller;
mod identity;
pub mod webhook;

pub use identity::IDENTITY;

use operator_runtime::Operator;
use serde::Serialize;
use serde_json::{Value, json};

use controller::memcached::{MemcachedController, Owned};

/// Options of the operator itself: flags of `run` and of `manifests`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Image of the memcached servers unless a Memcached sets one
    #[arg(long, visible_alias = "operand-image", env = "MEMCACHED_IMAGE")]
    #[arg(value_name = "IMAGE", default_value_t = Args::default().memcached_image)]
    pub memcached_image: String,
    /// Kinds that a Memcached owns
    #[arg(long, value_enum, default_value_t)]
    pub owned: Owned,
}

impl Default for Args {
    fn default() -> Self {
        Self { memcached_image: "docker.io/library/memcached:1.6".to_owned(), owned: Owned::default() }
    }
}

/// Returns everything that the manager runs and that the manifests are generated from.
#[must_use]
pub fn operator(args: &Args) -> Operator {
    Operator::new(IDENTITY)
        // Memcached
        .crd(api::memcached::crd())
        .controller(|watches| MemcachedController::new(watches, &args.memcached_image, args.owned))
        .env("MEMCACHED_IMAGE", &args.memcached_image)
        .webhook(webhook::memcached::defaulting())
        .webhook(webhook::memcached::validation())
        .sample("cache_v1_memcached.yaml", json!(api::memcached::sample()))
        .sample("cache_v1alpha1_memcached.yaml", served("v1alpha1", api::memcached::sample()))
}

/// Returns a sample in another version, which has the same fields.
fn served(version: &str, sample: impl Serialize) -> Value {
    let mut sample = json!(sample);
    let group = sample["apiVersion"].as_str().unwrap_or_default();
    let group = group.split('/').next().unwrap_or_default();
    sample["apiVersion"] = format!("{group}/{version}").into();
    let name = sample["metadata"]["name"].as_str().unwrap_or_default();
    sample["metadata"]["name"] = format!("{name}-{version}").into();
    sample
}
