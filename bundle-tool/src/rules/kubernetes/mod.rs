//! Kubernetes' validation of single values: names, labels, selectors, addresses, quantities, ports. Pure functions;
//! rules call them and report what they return. Sources are in `k8s.io/apimachinery/pkg/util/validation`,
//! `k8s.io/apimachinery/pkg/apis/meta/v1/validation` and `k8s.io/kubernetes/pkg/apis/*/validation`.

pub(super) mod addresses;
pub(super) mod labels;
pub(crate) mod names;
pub(super) mod numbers;
pub(super) mod paths;
pub(super) mod selectors;
pub(super) mod urls;
pub(super) mod webhook_client;
