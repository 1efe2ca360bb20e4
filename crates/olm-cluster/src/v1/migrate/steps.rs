//! The steps of a move, as commands and manifests.

use std::fmt::Write as _;

use serde_json::Value;

use super::plan::{Blocker, Operator, Plan, Step};
use crate::v1::manifests::{ClusterExtension, namespace};

impl Operator {
    /// Returns the plan.
    #[must_use]
    pub fn plan(mut self) -> Plan {
        if let Some(catalog) = self.catalog.as_ref().filter(|catalog| catalog.image.is_empty()) {
            self.blockers.push(Blocker::new(
                "catalog-image-unknown",
                format!("CatalogSource `{}` has no image, which a ClusterCatalog requires", catalog.name),
                "push the catalog as an image, and pass it with --catalog-image",
            ));
        }
        self.blockers.sort();
        self.blockers.dedup();
        self.notes.sort();
        self.notes.dedup();
        let steps = if self.blockers.is_empty() { self.steps() } else { Vec::new() };
        Plan {
            package: self.extension.package,
            bundle: self.bundle,
            namespace: self.extension.namespace,
            movable: self.blockers.is_empty(),
            complete: !self.is_partial,
            blockers: self.blockers,
            notes: self.notes,
            steps,
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut step = |text: String, commands: Vec<String>, manifests: Vec<Value>| {
            steps.push(Step { text, commands, manifests });
        };
        let space = &shell(&self.extension.namespace);
        if let Some(installed) = &self.installed {
            let mut objects = vec![format!("subscriptions.operators.coreos.com/{}", installed.subscription)];
            objects.push(format!("clusterserviceversions.operators.coreos.com/{}", self.bundle));
            objects.extend(
                installed.groups.iter().map(|name| format!("operatorgroups.operators.coreos.com/{name}")),
            );
            let objects: Vec<String> = objects.iter().map(|name| shell(name)).collect();
            let file = shell(&format!("{}-olmv0.yaml", self.extension.package));
            step(
                "save what is deleted below".into(),
                vec![format!("kubectl get -n {space} {} -o yaml > {file}", objects.join(" "))],
                Vec::new(),
            );
        }
        if let Some(catalog) = &self.catalog {
            step(
                format!("create ClusterCatalog `{}`, and wait until it is served", catalog.name),
                vec![format!(
                    "kubectl wait --for=condition=Serving --timeout=5m {}",
                    shell(&format!("clustercatalog/{}", catalog.name))
                )],
                vec![catalog.object()],
            );
        }
        if let Some(installed) = &self.installed {
            step(
                "delete the Subscription, so that OLM v0 does not install the operator again".into(),
                vec![delete(space, "subscriptions.operators.coreos.com", &installed.subscription)],
                Vec::new(),
            );
            if installed.deletes_objects {
                let csv = shell(&format!("clusterserviceversions.operators.coreos.com/{}", self.bundle));
                step(
                    "keep OLM v0 from deleting the objects of the CRDs with the CSV (spec.cleanup)".into(),
                    vec![format!(
                        "kubectl patch -n {space} {csv} --type merge -p '{{\"spec\":{{\"cleanup\":{{\"enabled\":false}}}}}}'"
                    )],
                    Vec::new(),
                );
            }
            step(
                "delete the CSV: the operator stops, and its CRDs and their objects stay".into(),
                vec![delete(space, "clusterserviceversions.operators.coreos.com", &self.bundle)],
                Vec::new(),
            );
            if !installed.crds.is_empty() {
                step(
                    "let OLM v1 adopt the CRDs: its installer, Helm, takes over only objects with this label and these annotations".into(),
                    adoption(&installed.crds, &self.extension),
                    Vec::new(),
                );
            }
        }
        let extension = &self.extension;
        let created = self.installed.is_none().then(|| namespace(&extension.namespace)).into_iter();
        let name = shell(&format!("clusterextension/{}", extension.name));
        step(
            format!("create ClusterExtension `{}`, and wait until it is installed", extension.name),
            vec![format!("kubectl wait --for=condition=Installed --timeout=10m {name}")],
            created.chain([extension.object()]).collect(),
        );
        let Some(installed) = &self.installed else { return steps };
        let groups =
            installed.groups.iter().map(|name| delete(space, "operatorgroups.operators.coreos.com", name));
        let source = installed
            .source
            .iter()
            .map(|(namespace, name)| delete(&shell(namespace), "catalogsources.operators.coreos.com", name));
        let rest: Vec<String> = groups.chain(source).collect();
        if !rest.is_empty() {
            steps.push(Step {
                text: "delete what no other operator of OLM v0 needs".into(),
                commands: rest,
                manifests: Vec::new(),
            });
        }
        if installed.is_automatic && !extension.version.is_empty() {
            steps.push(Step {
                text: "permit upgrades again, as the Subscription did".into(),
                commands: vec![format!(
                    "kubectl patch {name} --type json -p '[{{\"op\":\"remove\",\"path\":\"/spec/source/catalog/version\"}}]'"
                )],
                manifests: Vec::new(),
            });
        }
        steps
    }
}

/// Returns the commands that mark CRDs as objects of the extension's Helm release.
fn adoption(crds: &[String], extension: &ClusterExtension) -> Vec<String> {
    let names: Vec<String> = crds.iter().map(|name| shell(name)).collect();
    let names = names.join(" ");
    let mut annotate = format!("kubectl annotate crd {names}");
    for (key, value) in [("name", &extension.name), ("namespace", &extension.namespace)] {
        // Writing to a string cannot fail.
        let _ = write!(annotate, " {}", shell(&format!("meta.helm.sh/release-{key}={value}")));
    }
    vec![format!("kubectl label crd {names} app.kubernetes.io/managed-by=Helm --overwrite"), annotate]
}

fn delete(namespace: &str, resource: &str, name: &str) -> String {
    format!("kubectl delete -n {namespace} {}", shell(&format!("{resource}/{name}")))
}

/// Returns a word of a shell command.
fn shell(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._/:@=+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell;

    #[test]
    fn words_of_commands_are_quoted() {
        assert_eq!(shell("a.b/c:d@e"), "a.b/c:d@e");
        assert_eq!(shell("a; rm 'x'"), r"'a; rm '\''x'\'''");
    }
}
