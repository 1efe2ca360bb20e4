//! Kubernetes' validation of single values: names, labels, selectors, addresses, quantities, ports. Pure functions;
//! rules call them and report what they return. Sources are in `k8s.io/apimachinery/pkg/util/validation`,
//! `k8s.io/apimachinery/pkg/apis/meta/v1/validation` and `k8s.io/kubernetes/pkg/apis/*/validation`.

pub(crate) mod addresses;
pub(crate) mod labels;
pub(crate) mod names;
pub(crate) mod numbers;
pub(crate) mod paths;
pub(crate) mod selectors;
pub(crate) mod urls;
pub(crate) mod webhook_client;
