//! Limits and requests of containers and pods.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`validateResourceRequirements`,
//! `validatePodResourceConsistency`) and `pkg/apis/core/helper/helpers.go`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use crate::kubernetes::names;
use crate::prelude::*;
use kube_yaml::Quantity;
use olm_model::report::suggest::did_you_mean;

type List = BTreeMap<String, Text>;

const HUGE_PAGES: &str = "hugepages-";
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];
/// The standard resources with integer quantities.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Returns a quantity in thousandths, as it is compared. Decoding has rejected invalid quantities.
fn amount(text: &Text) -> Quantity {
    Quantity::parse(&text.0).unwrap_or(Quantity::ZERO).in_thousandths()
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified(&format!("requests.{name}")).is_ok()
}

fn can_be_overcommitted(name: &str) -> bool {
    is_native(name) && !name.starts_with(HUGE_PAGES)
}

fn resource_name(name: &str) -> Result<(), String> {
    names::qualified(name)?;
    let huge = name.starts_with(HUGE_PAGES) || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !STANDARD.contains(&name) && !huge {
        let near = did_you_mean(name, STANDARD);
        return Err(format!("unknown resource `{name}`{near}"));
    }
    Ok(())
}

/// Validates the name of a container's resource.
pub(crate) fn container_name(name: &str) -> Result<(), String> {
    resource_name(name)?;
    if !name.contains('/') {
        let known = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with(HUGE_PAGES);
        if !known {
            return Err(format!(
                "unsupported resource `{name}`: must be `cpu`, `memory`, `ephemeral-storage` or `hugepages-SIZE`"
            ));
        }
    } else if !is_native(name) && !is_extended(name) {
        return Err(format!("invalid extended resource name `{name}`: must be like `example.com/device`"));
    }
    Ok(())
}

/// Validates the name of a pod-level resource.
pub(crate) fn pod_name(name: &str) -> Result<(), String> {
    resource_name(name)?;
    if matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES) {
        Ok(())
    } else {
        Err(format!("unsupported pod-level resource `{name}`: must be `cpu`, `memory` or `hugepages-SIZE`"))
    }
}

/// Validates the names and quantities of limits and requests.
pub(crate) fn validate(
    requirements: &ResourceRequirements,
    name: fn(&str) -> Result<(), String>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    validate_list(requirements.limits.as_ref(), name, &path.field("limits"), errors);
    validate_list(requirements.requests.as_ref(), name, &path.field("requests"), errors);
}

/// Validates the names and quantities of one list.
pub(crate) fn validate_list(
    list: Option<&List>,
    name: fn(&str) -> Result<(), String>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    for (resource, text) in list.into_iter().flatten() {
        let path = path.key(resource);
        if !errors.check(&path, name(resource)) {
            continue;
        }
        let value = amount(text);
        let counted = COUNTED.contains(&resource.as_str()) || is_extended(resource);
        if value.is_negative() {
            errors.add(&path, format!("invalid quantity `{}`: must not be negative", text.0));
        } else if counted && !value.is_whole() {
            errors.add(&path, format!("invalid quantity `{}`: must be an integer", text.0));
        } else if let Some(page) = resource.strip_prefix(HUGE_PAGES)
            && !is_of_pages(&value, page)
        {
            errors.add(
                &path,
                format!("invalid quantity `{}`: must be a multiple of the page size `{page}`", text.0),
            );
        }
    }
}

fn is_of_pages(value: &Quantity, page: &str) -> bool {
    Quantity::parse(page).is_some_and(|page| {
        !page.is_zero()
            && !page.is_negative()
            && page.clone().in_thousandths().is_whole()
            && value.is_multiple_of(&page)
    })
}

/// Compares requests with limits.
pub(crate) fn compare(
    requirements: &ResourceRequirements,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let requests = path.field("requests");
    for (resource, text) in requirements.requests.iter().flatten() {
        let path = requests.key(resource);
        let limit = requirements.limits.as_ref().and_then(|limits| limits.get(resource));
        let order = limit.map(|limit| amount(text).compare(&amount(limit)));
        let shown = limit.map(|limit| limit.0.as_str()).unwrap_or_default();
        match order {
            None if !can_be_overcommitted(resource) => {
                errors.add(&path, format!("missing limit of `{resource}`: must equal the request"));
            }
            Some(order) if order.is_ne() && !can_be_overcommitted(resource) => {
                let message = format!(
                    "invalid request `{}`: must equal the limit `{shown}` of a resource that cannot be overcommitted",
                    text.0
                );
                errors.add(&path, message);
            }
            Some(order) if order.is_gt() => {
                errors
                    .add(&path, format!("invalid request `{}`: must not exceed the limit `{shown}`", text.0));
            }
            _ => {}
        }
    }
    huge_pages_alone(requirements, path, errors);
}

/// Reports huge pages without cpu or memory.
pub(crate) fn huge_pages_alone(
    requirements: &ResourceRequirements,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let lists =
        || [&requirements.limits, &requirements.requests].into_iter().flatten().flat_map(BTreeMap::keys);
    if lists().any(|name| name.starts_with(HUGE_PAGES))
        && !lists().any(|name| name == "cpu" || name == "memory")
    {
        errors.add(path, "huge pages require a limit or request of `cpu` or `memory`");
    }
}

/// Validates the claims that a container uses; `known` are those of the pod.
pub(crate) fn claims(
    requirements: &ResourceRequirements,
    known: &BTreeSet<&str>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let list = path.field("claims");
    let mut used: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (index, claim) in requirements.claims.iter().flatten().enumerate() {
        let path = list.index(index);
        let name = claim.name.as_str();
        if !errors.required(&path.field("name"), name) {
            continue;
        }
        let request = claim.request.as_deref().unwrap_or_default();
        if !request.is_empty() {
            errors.check(&path.field("request"), names::dns_label(request));
        }
        // All requests of a claim overlap with each of them.
        let parts = used.entry(name).or_default();
        let overlaps =
            !parts.is_empty() && (request.is_empty() || parts.contains("") || parts.contains(request));
        if overlaps {
            errors.add(&path, format!("duplicate claim `{name}`"));
        }
        parts.insert(request);
        if !known.contains(name) {
            errors.add(
                &path.field("name"),
                format!("unknown claim `{name}`: not in `resourceClaims` of the pod"),
            );
        }
    }
}

type Totals = BTreeMap<String, Quantity>;

/// Returns the total of a pod's containers: sidecars run beside the others, init containers one after the other.
fn total(pod: &PodSpec, list: fn(&ResourceRequirements) -> Option<&List>) -> Totals {
    let of = |container: &'_ Container| -> Totals {
        let list = container.resources.as_ref().and_then(list);
        list.into_iter().flatten().map(|(name, text)| (name.clone(), amount(text))).collect()
    };
    let mut together = Totals::new();
    for container in &pod.containers {
        add(&mut together, &of(container));
    }
    let mut sidecars = Totals::new();
    let mut peak = Totals::new();
    for container in pod.init_containers.iter().flatten() {
        let mut need = of(container);
        if container.restart_policy.is_some() {
            add(&mut together, &need);
            add(&mut sidecars, &need);
            need.clone_from(&sidecars);
        } else {
            add(&mut need, &sidecars);
        }
        raise(&mut peak, &need);
    }
    raise(&mut together, &peak);
    together
}

fn add(totals: &mut Totals, more: &Totals) {
    for (name, value) in more {
        let total = totals.entry(name.clone()).or_insert(Quantity::ZERO);
        *total = total.plus(value);
    }
}

fn raise(totals: &mut Totals, minimum: &Totals) {
    for (name, value) in minimum {
        let total = totals.entry(name.clone()).or_insert(Quantity::ZERO);
        if value.compare(total).is_gt() {
            *total = value.clone();
        }
    }
}

/// Compares the pod-level limits and requests with those of the containers.
pub(crate) fn totals(
    pod: &PodSpec,
    requirements: &ResourceRequirements,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let requests = requirements.requests.as_ref();
    at_least("request", requests, &total(pod, |requirements| requirements.requests.as_ref()), path, errors);
    let limits = requirements.limits.as_ref();
    let mut pages = total(pod, |requirements| requirements.limits.as_ref());
    pages.retain(|name, _| name.starts_with(HUGE_PAGES));
    at_least("limit", limits, &pages, path, errors);
    let path = path.field("limits");
    for container in &pod.containers {
        let list = container.resources.as_ref().and_then(|resources| resources.limits.as_ref());
        for (name, text) in list.into_iter().flatten() {
            if let Some(whole) = limits.and_then(|limits| limits.get(name))
                && amount(text).compare(&amount(whole)).is_gt()
            {
                let message = format!(
                    "invalid limit `{}`: must be at least the limit `{}` of container `{}`",
                    whole.0, text.0, container.name
                );
                errors.add(&path.key(name), message);
            }
        }
    }
}

/// Compares the pod-level requests or limits with the sums over the containers.
fn at_least(
    what: &str,
    list: Option<&List>,
    totals: &Totals,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    for (name, total) in totals {
        if let Some(text) = list.and_then(|list| list.get(name))
            && total.compare(&amount(text)).is_gt()
        {
            let message = format!(
                "invalid {what} `{}`: must be at least the sum `{}` of the containers' {what}s",
                text.0,
                total.canonical()
            );
            errors.add(&path.field(&format!("{what}s")).key(name), message);
        }
    }
}
