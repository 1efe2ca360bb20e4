//! Objects at random, for `tests/verdicts.rs`: valid ones, and valid ones with exactly one change.
//!
//! One file for each kind of object holds its template; [`template`] makes objects of it, [`values`] knows the classes
//! of values, [`edit`] the changes, [`subject`] the bundle that carries an object and the requests that ask for its
//! verdict, [`cel`] writes expressions, [`shrink`] makes a differing object small, [`report`] counts and prints.
//! Everything follows from a seed: the same seed gives the same objects.

pub mod cel;
mod cel_defects;
mod crd;
mod csv;
mod deployment;
pub mod edit;
mod manifests;
mod metadata;
mod rbac;
pub mod report;
mod service;
pub mod shrink;
pub mod subject;
pub mod template;
mod typed;
mod values;
mod webhook;

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::Value;

use edit::Edit;
use subject::{Sound, Subject};
use template::Template;

/// A kind of object.
#[derive(Debug)]
pub struct Kind {
    /// How reports name it.
    pub name: &'static str,
    /// How it comes into a bundle.
    pub subject: Subject,
    template: Template,
}

/// One object, and what was changed.
#[derive(Debug, Clone)]
pub struct Case {
    /// The kind's name.
    pub kind: &'static str,
    /// How it comes into a bundle.
    pub subject: Subject,
    /// The seed of this object.
    pub seed: u64,
    /// The valid object.
    pub object: Value,
    /// The field that is changed, as reports name it, and the change.
    pub change: Option<(String, Edit)>,
    /// The CEL functions of the object, where it has expressions; the last is the one that was changed.
    pub cel: Option<cel::Used>,
}

impl Case {
    /// The object with its change.
    #[must_use]
    pub fn changed(&self) -> Value {
        subject::changed(&self.object, self.change.as_ref().map(|(_, edit)| edit))
    }
}

/// All kinds but the CRDs with expressions, which [`cel`] makes.
#[must_use]
pub fn kinds() -> Vec<Kind> {
    let kind = |name, subject, text: &str| Kind { name, subject, template: Template::parse(text) };
    let rbac = |name, path: &'static str, text: String| kind(name, Subject::Manifest(path), &text);
    vec![
        kind("Deployment", Subject::Deployment, deployment::TEMPLATE),
        kind("Deployment of few fields", Subject::Deployment, deployment::SMALL),
        kind("Service", Subject::Manifest(SERVICES), &service::template()),
        kind("Service with sticky sessions", Subject::Manifest(SERVICES), service::STICKY),
        kind("ValidatingWebhook", Subject::Webhook, webhook::TEMPLATE),
        kind("MutatingWebhook", Subject::Webhook, webhook::MUTATING),
        kind("CustomResourceDefinition", Subject::Crd, crd::TEMPLATE),
        kind("CustomResourceDefinition of few fields", Subject::Crd, crd::SMALL),
        kind("CustomResourceDefinition of a protected group", Subject::Crd, crd::PROTECTED),
        kind("ClusterServiceVersion", Subject::Csv, &csv::template()),
        kind("permissions", Subject::Permission, rbac::PERMISSION),
        kind("clusterPermissions", Subject::ClusterPermission, rbac::CLUSTER_PERMISSION),
        rbac("Role", "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles", rbac::role()),
        rbac("ClusterRole", "/apis/rbac.authorization.k8s.io/v1/clusterroles", rbac::cluster_role()),
        rbac(
            "RoleBinding",
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
            rbac::role_binding(),
        ),
        rbac(
            "ClusterRoleBinding",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            rbac::cluster_role_binding(),
        ),
        rbac("ServiceAccount", "/api/v1/namespaces/{namespace}/serviceaccounts", rbac::service_account()),
        rbac("ConfigMap", "/api/v1/namespaces/{namespace}/configmaps", manifests::config_map()),
        kind(
            "large ConfigMap",
            Subject::Manifest("/api/v1/namespaces/{namespace}/configmaps"),
            manifests::LARGE_CONFIG_MAP,
        ),
        kind(
            "large Secret",
            Subject::Manifest("/api/v1/namespaces/{namespace}/secrets"),
            manifests::LARGE_SECRET,
        ),
        kind("APIService", Subject::ApiService, csv::API_SERVICE),
        rbac("Secret", "/api/v1/namespaces/{namespace}/secrets", manifests::secret()),
        rbac(
            "PodDisruptionBudget",
            "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
            manifests::pod_disruption_budget(),
        ),
        rbac("PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses", manifests::priority_class()),
        rbac(
            "NetworkPolicy",
            "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies",
            manifests::network_policy(),
        ),
    ]
}

const SERVICES: &str = "/api/v1/namespaces/{namespace}/services";

/// Chooses which fields are changed next: those that were refused least often.
#[derive(Debug)]
pub struct Generator {
    kinds: Vec<Kind>,
    sound: Sound,
    /// How many objects with expressions were made.
    expressions: usize,
    /// How often each field was changed and refused, by kind and pattern.
    pub counts: BTreeMap<(&'static str, String), Count>,
}

/// How often a field was changed, and how often that was refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    /// Whether it is a single value, rather than a map or a list.
    pub leaf: bool,
    /// How often it was changed.
    pub set: usize,
    /// How often the API server refused that.
    pub refused: usize,
}

/// What [`Generator::counts`] holds for the metadata of all kinds together.
const ANY: &str = "any kind";

/// Where a change is counted: metadata is the same for all kinds, but for its name.
fn counted(kind: &'static str, pattern: &str) -> (&'static str, String) {
    let common = pattern.starts_with("metadata.") && pattern != "metadata.name";
    (if common { ANY } else { kind }, pattern.to_owned())
}

/// How often a change of a field is to be refused in a full run: a single value of a kind whose every field is
/// validated twenty times, maps and lists, whose own defects are few, and the other kinds less often.
#[must_use]
pub fn wanted(kind: &str, leaf: bool) -> usize {
    match (kind, leaf) {
        (
            "APIService"
            | "ClusterServiceVersion"
            | "ConfigMap"
            | "Secret"
            | "PodDisruptionBudget"
            | "PriorityClass"
            | "NetworkPolicy",
            true,
        ) => 8,
        ("large ConfigMap" | "large Secret" | "CustomResourceDefinition of a protected group", _) => 4,
        ("CustomResourceDefinition of few fields", true) => 60,
        (_, true) => 20,
        (_, false) => 4,
    }
}

impl Generator {
    /// A generator that has made nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let kinds = kinds();
        let mut counts = BTreeMap::new();
        for kind in &kinds {
            for field in &kind.template.fields {
                let count: &mut Count = counts.entry(counted(kind.name, &field.pattern)).or_default();
                count.leaf |= field.leaf;
            }
        }
        Self { kinds, sound: Sound::default(), expressions: 0, counts }
    }

    /// The sound bundle.
    #[must_use]
    pub fn sound(&self) -> &Sound {
        &self.sound
    }

    /// The next `size` objects: one in forty is valid, three in twenty have expressions, the others have a change of the
    /// fields that are furthest from having been refused often enough.
    pub fn batch(&mut self, seed: u64, size: usize) -> Vec<Case> {
        let mut rng = Rng::with_seed(seed);
        let mut wanted = self.wanted(size);
        let mut turns = BTreeMap::new();
        (0..size)
            .map(|index| {
                let seed = rng.u64(..);
                match index % 20 {
                    0 if index % 40 == 0 => self.valid(seed),
                    1 | 7 | 13 => {
                        self.expressions += 1;
                        cel::case(seed, self.expressions / 2, self.expressions.is_multiple_of(2))
                    }
                    _ => match wanted.next() {
                        Some(field) => {
                            let turn = turns.entry(field.clone()).or_insert_with(|| self.counts[&field].set);
                            *turn += 1;
                            self.changed(seed, &field, *turn - 1)
                        }
                        None => self.valid(seed),
                    },
                }
            })
            .collect()
    }

    /// Fields, by how much they lack, in turns.
    fn wanted(&self, size: usize) -> std::vec::IntoIter<(&'static str, String)> {
        let mut fields: Vec<_> = self
            .counts
            .iter()
            .map(|(field, count)| {
                let wanted = wanted(field.0, count.leaf);
                // What is tried in vain again and again is tried less often.
                let lacks = wanted.saturating_sub(count.refused) * 100
                    / (wanted + count.set.saturating_sub(2 * wanted));
                (lacks, wanted.saturating_sub(count.refused).max(1), field)
            })
            .collect();
        fields.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.cmp(b.2)));
        let mut list = Vec::with_capacity(size);
        let mut turn = 0;
        while list.len() < size {
            let before = list.len();
            list.extend(
                fields.iter().filter(|(_, lacks, _)| *lacks > turn).map(|(_, _, field)| (*field).clone()),
            );
            turn += 1;
            if list.len() == before {
                turn = 0;
            }
        }
        list.truncate(size);
        list.into_iter()
    }

    fn valid(&self, seed: u64) -> Case {
        let mut rng = Rng::with_seed(seed);
        let kind = &self.kinds[rng.usize(..self.kinds.len())];
        let object = kind.template.instantiate(&mut rng, None).object;
        let object = self.sound.object(kind.subject, object);
        Case { kind: kind.name, subject: kind.subject, seed, object, change: None, cel: None }
    }

    fn changed(&self, seed: u64, (kind, pattern): &(&'static str, String), turn: usize) -> Case {
        let mut rng = Rng::with_seed(seed);
        let fields: Vec<_> = self
            .kinds
            .iter()
            .flat_map(|known| known.template.fields.iter().map(move |field| (known, field)))
            .filter(|(known, field)| field.pattern == *pattern && (known.name == *kind || *kind == ANY))
            .collect();
        let field_of_any = *kind == ANY;
        let (kind, field) = fields[turn % fields.len()];
        // All kinds have the same metadata; other fields of one name have values of their own.
        let turn = if field_of_any { turn } else { turn / fields.len() };
        let instance = kind.template.instantiate(&mut rng, Some(field));
        let object = self.sound.object(kind.subject, instance.object);
        let change = instance.target.and_then(|(path, place)| {
            let mut options = Edit::options(&mut rng, &object, &path, place);
            // Without a version there is no place to send an object to.
            options
                .retain(|edit| pattern != "apiVersion" || edit.value.as_ref().is_some_and(Value::is_string));
            let choice = turn % options.len().max(1);
            (choice < options.len()).then(|| (pattern.clone(), options.swap_remove(choice)))
        });
        Case { kind: kind.name, subject: kind.subject, seed, object, change, cel: None }
    }

    /// Takes down what the API server said of an object.
    pub fn count(&mut self, case: &Case, refused: bool) {
        if let Some((pattern, _)) = &case.change
            && let Some(count) = self.counts.get_mut(&counted(case.kind, pattern))
        {
            count.set += 1;
            count.refused += usize::from(refused);
        }
    }
}

impl Default for Generator {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_parse_and_make_objects() {
        for kind in kinds() {
            for seed in 0..50 {
                let object = kind.template.instantiate(&mut Rng::with_seed(seed), None).object;
                assert!(object.is_object(), "{}", kind.name);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_objects() {
        let texts = |seed| {
            let mut generator = Generator::new();
            generator.batch(seed, 200).iter().map(|case| case.changed().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(texts(1), texts(1));
        assert_ne!(texts(1), texts(2));
    }

    #[test]
    fn a_change_changes_the_object() {
        let mut generator = Generator::new();
        let cases = generator.batch(3, 2000);
        let same = cases.iter().filter(|case| case.change.is_some() && case.changed() == case.object).count();
        assert!(same < 100, "{same} changes of {} change nothing", cases.len());
    }
}
