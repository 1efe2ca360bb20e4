//! A bundle as plain manifests, which install the operator without OLM.
//!
//! The objects are those that OLM creates: service accounts, roles for the install mode, Deployments with OLM's
//! annotations, webhooks with their Services, and the bundle's other objects. [`objects`] makes them; [`layout`] writes
//! them as YAML, as a kustomize base or as a Helm chart. Certificates come from cert-manager, or are made once
//! (by `certificate`, with the feature `certificates`).
//!
//! Source: `internal/operator-controller/rukpak/render/registryv1` of operator-controller v1.11, which reproduces
//! `pkg/controller/install` of operator-lifecycle-manager.

#[cfg(feature = "certificates")]
pub mod certificate;
mod context;
pub mod layout;
mod rbac;
mod webhook;
mod workload;

use std::collections::BTreeMap;

use serde_json::Value;

use self::context::{Context, list, map, object, string};
use olm_model::{Bundle, bundle};

pub use self::context::{Certificates, Error, MAX_OBJECTS, Options, Pair};
pub use self::layout::Manifests;

/// Returns the install modes that a CSV supports.
fn supported(csv: &Value) -> Vec<&str> {
    list(csv, "/spec/installModes")
        .iter()
        .filter(|mode| mode["supported"] == true)
        .map(|mode| string(mode, "/type"))
        .collect()
}

/// Returns the mode in which an operator in a namespace watches these namespaces.
fn mode(namespace: &str, targets: &[String]) -> &'static str {
    match targets {
        [] => "AllNamespaces",
        [one] if one == namespace => "OwnNamespace",
        [_] => "SingleNamespace",
        _ => "MultiNamespace",
    }
}

/// Returns the namespaces that an operator watches by default: all, or its own.
///
/// # Errors
/// The bundle has no CSV, or supports neither.
pub fn default_targets(bundle: &Bundle, namespace: &str) -> Result<Vec<String>, Error> {
    let csv = bundle.csv().ok_or(Error::NoCsv)?.root.to_json();
    let supported = supported(&csv);
    if supported.contains(&"AllNamespaces") {
        return Ok(Vec::new());
    }
    if supported.contains(&"OwnNamespace") {
        return Ok(vec![namespace.to_owned()]);
    }
    Err(Error::InstallMode {
        mode: "AllNamespaces` or `OwnNamespace".into(),
        supported: supported_modes(&supported),
    })
}

fn supported_modes(names: &[&str]) -> String {
    if names.is_empty() {
        return "or any other: set `supported: true` for one in spec.installModes".to_owned();
    }
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("only {}", names.join(", "))
}

/// Returns the objects that install a bundle.
///
/// # Errors
/// The bundle cannot be read, does not support the install mode, or has something that only OLM can install.
pub fn objects(bundle: &Bundle, options: &Options) -> Result<Manifests, Error> {
    bundle.complete()?;
    let csv = bundle.csv().ok_or(Error::NoCsv)?.root.to_json();
    check(&csv, options)?;
    let webhooks: Vec<_> = list(&csv, "/spec/webhookdefinitions").iter().collect();
    #[cfg_attr(not(feature = "certificates"), expect(unused_mut, reason = "certificates are added to it"))]
    let mut context = Context { csv: &csv, options, webhooks, certificates: BTreeMap::new() };
    #[cfg(feature = "certificates")]
    if options.certificates == Certificates::SelfSigned {
        for deployment in webhook::deployments(&context) {
            let names = webhook::names(&webhook::service_name(&deployment), &options.namespace);
            context.certificates.insert(deployment, certificate::make(&names)?);
        }
    }
    let mut found = vec![object("v1", "Namespace", &options.namespace, None)];
    found.extend(webhook::crds(&context, bundle)?);
    found.extend(rbac::objects(&context)?);
    found.extend(others(&context, bundle)?);
    found.extend(webhook::certificates(&context));
    found.extend(webhook::services(&context));
    found.extend(workload::deployments(&context)?);
    found.extend(webhook::configurations(&context)?);
    if found.len() > MAX_OBJECTS {
        return Err(Error::TooMany);
    }
    let description = match string(&csv, "/metadata/annotations/description") {
        "" => string(&csv, "/spec/displayName"),
        description => description,
    };
    Ok(Manifests {
        name: string(&csv, "/metadata/name").to_owned(),
        version: string(&csv, "/spec/version").to_owned(),
        description: description.to_owned(),
        min_kube_version: string(&csv, "/spec/minKubeVersion").to_owned(),
        objects: found,
    })
}

fn check(csv: &Value, options: &Options) -> Result<(), Error> {
    let supported = supported(csv);
    let mode = mode(&options.namespace, &options.targets);
    if !supported.contains(&mode) {
        return Err(Error::InstallMode { mode: mode.into(), supported: supported_modes(&supported) });
    }
    if options.targets.len() > 1
        && options.targets.contains(&options.namespace)
        && !supported.contains(&"OwnNamespace")
    {
        return Err(Error::InstallMode {
            mode: "OwnNamespace".into(),
            supported: supported_modes(&supported),
        });
    }
    if !list(csv, "/spec/apiservicedefinitions/owned").is_empty() {
        let message =
            "the bundle owns an APIService, whose Service and certificate can be created only by OLM";
        return Err(Error::Unsupported(message.into()));
    }
    Ok(())
}

/// The bundle's other objects.
fn others(context: &Context<'_>, bundle: &Bundle) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for one in bundle.objects() {
        let kind = one.kind();
        if matches!(kind, "ClusterServiceVersion" | "CustomResourceDefinition") {
            continue;
        }
        let Some(is_namespaced) = bundle::is_namespaced(kind) else {
            return Err(Error::Unsupported(format!(
                "{}: OLM does not install objects of kind `{kind}` from a bundle",
                one.file.path
            )));
        };
        let mut json = one.root.to_json();
        if is_namespaced && let Some(metadata) = map(&mut json, "metadata") {
            metadata.insert("namespace".into(), context.options.namespace.as_str().into());
        }
        found.push(json);
    }
    // Service accounts and roles first: what binds or uses them refers to them.
    let rank = |object: &Value| match string(object, "/kind") {
        "ServiceAccount" => 0,
        "Role" | "ClusterRole" => 1,
        "RoleBinding" | "ClusterRoleBinding" => 2,
        _ => 3,
    };
    found.sort_by_key(rank);
    Ok(found)
}
