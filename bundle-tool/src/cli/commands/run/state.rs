//! What is known of the cluster before anything is created.

use anstream::StripStream;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::content::Facts;
use super::source::Input;
use crate::terminal::{DIFF_STYLES, messages};
use olm_cluster::install::observe;
use olm_cluster::preflight;
use olm_cluster::preflight::InstallMode;
use olm_cluster::queries::{ANY, NOT_COPIED};
use olm_cluster::snapshot::{Snapshot, list, name_of, string, strings};
use olm_cluster::{Cluster, Diagnosis, Kind, diagnose, kinds};
use olm_model::read;

/// What is known of the cluster.
pub(crate) struct State {
    snapshot: Snapshot,
    version: String,
    pub(crate) openshift: bool,
}

impl State {
    pub(crate) async fn read(cluster: &Cluster, namespace: &str) -> Result<Self> {
        let version = cluster.version().await?;
        let action = "read the APIs of the cluster";
        let groups = cluster.get_path("/apis", action).await?;
        let has = |group: &str| list(&groups, "/groups").iter().any(|one| one["name"] == group);
        if !has("operators.coreos.com") {
            bail!("the cluster has no OLM: it does not serve operators.coreos.com; install OLM first");
        }
        let resources = cluster.get_path("/apis/operators.coreos.com/v1alpha1", action).await?;
        for kind in [kinds::CATALOG_SOURCE, kinds::SUBSCRIPTION, kinds::INSTALL_PLAN, kinds::CSV] {
            if !list(&resources, "/resources").iter().any(|one| one["name"] == kind.plural) {
                bail!("the installation of OLM is incomplete: the cluster does not serve {}", kind.plural);
            }
        }
        let mut snapshot = observe(cluster, namespace).await?;
        let read = [
            kinds::CATALOG_SOURCE,
            kinds::SUBSCRIPTION,
            kinds::INSTALL_PLAN,
            kinds::CSV,
            kinds::OPERATOR_GROUP,
            kinds::POD,
        ];
        if let Some(reason) = snapshot.unread(&read) {
            bail!("the cluster cannot be checked, and nothing was created: {reason}");
        }
        let everywhere =
            [(kinds::CRD, None, ANY), (kinds::SUBSCRIPTION, None, ANY), (kinds::CSV, None, NOT_COPIED)];
        snapshot.merge(cluster.snapshot(&everywhere).await?);
        if snapshot.objects(kinds::DEPLOYMENT).iter().all(|one| name_of(one) != "catalog-operator")
            && !snapshot.unreadable.contains_key(kinds::DEPLOYMENT.kind)
        {
            bail!("the installation of OLM is incomplete: its deployment catalog-operator does not exist");
        }
        Ok(Self { snapshot, version, openshift: has("security.openshift.io") })
    }

    pub(crate) fn has_namespace(&self, namespace: &str) -> bool {
        self.snapshot.objects(kinds::NAMESPACE).iter().any(|one| name_of(one) == namespace)
    }

    /// Returns the image with opm that OLM unpacks bundles with.
    pub(crate) fn opm_image(&self) -> Option<String> {
        olm_cluster::manifests::opm_image(&self.snapshot)
    }

    /// Returns the name of the installed CSV.
    pub(crate) fn installed(&self, facts: &Facts) -> Result<String> {
        let (package, namespace) = (&facts.candidate.package, &facts.candidate.namespace);
        let subscription = self
            .snapshot
            .within(kinds::SUBSCRIPTION, namespace)
            .find(|one| string(one, "/spec/name") == package)
            .with_context(|| {
                format!("package `{package}` is not installed in namespace `{namespace}`; install it with `bundle-tool run bundle`")
            })?;
        let installed = string(subscription, "/status/installedCSV");
        if installed.is_empty() {
            bail!(
                "subscription `{}` of package `{package}` has installed nothing yet; run `bundle-tool doctor {package} -n {namespace}`",
                name_of(subscription)
            );
        }
        Ok(installed.to_owned())
    }

    /// Prints what an upgrade changes; returns whether it breaks something.
    pub(crate) fn breaks(&self, installed: &str, input: &Input, facts: &Facts) -> Result<bool> {
        let csv = self.snapshot.get(kinds::CSV, &facts.candidate.namespace, installed);
        let crds = facts.candidate.owned.iter().filter_map(|name| preflight::crd(&self.snapshot, name));
        let objects = csv.into_iter().map(|csv| (kinds::CSV, csv)).chain(crds.map(|crd| (kinds::CRD, crd)));
        let difference =
            compare(&objects.collect::<Vec<_>>(), olm_diff::Version::of_bundle(&input.bundle), false)?;
        olm_diff::write_text(&difference, &DIFF_STYLES, &mut messages())?;
        Ok(difference.breaks())
    }

    /// Checks what can be known before anything is created.
    #[expect(
        clippy::type_complexity,
        reason = "the namespaces of the group or what is wrong with it, and everything else"
    )]
    pub(crate) fn check(
        &self,
        input: &Input,
        facts: &Facts,
        mode: Option<&InstallMode>,
    ) -> (std::result::Result<Option<Vec<String>>, Box<Diagnosis>>, Vec<Diagnosis>) {
        let mut problems = preflight::problems(&self.snapshot, &facts.candidate, &self.version);
        diagnose::olm(&self.snapshot, &mut problems);
        if !facts.candidate.is_upgrade {
            problems.extend(self.broken_crds(input, facts));
        }
        (preflight::operator_group(&self.snapshot, &facts.candidate, mode), problems)
    }

    /// Returns the deployments of `objects` and of the bundle whose pods the API server rejects.
    pub(crate) async fn rejected_pods(
        &self,
        cluster: &Cluster,
        input: &Input,
        facts: &Facts,
        objects: &[Value],
    ) -> Vec<Diagnosis> {
        let csv = input.bundle.csv().map(|csv| csv.root.to_json()).unwrap_or_default();
        let strategy = list(&csv, "/spec/install/spec/deployments");
        let own = strategy.iter().map(|one| (string(one, "/name"), &one["spec"]));
        let is_deployment = |object: &&Value| object["kind"] == kinds::DEPLOYMENT.kind;
        let created = objects.iter().filter(is_deployment).map(|one| (name_of(one), &one["spec"]));
        let deployments: Vec<_> = created.chain(own).collect();
        preflight::rejected_pods(cluster, &self.snapshot, &facts.candidate.namespace, &deployments).await
    }

    /// Compares the CRDs of the bundle with those of the cluster.
    fn broken_crds(&self, input: &Input, facts: &Facts) -> Vec<Diagnosis> {
        let mut found = Vec::new();
        for name in &facts.candidate.owned {
            let Some(existing) = preflight::crd(&self.snapshot, name) else { continue };
            let crds = input.bundle.of_kind("CustomResourceDefinition").filter(|crd| crd.name() == name);
            let new = olm_diff::Version::of_objects(crds.map(|crd| crd.root));
            if new.is_empty() {
                continue;
            }
            let Ok(difference) = compare(&[(kinds::CRD, existing)], new, false) else { continue };
            let mut text = StripStream::new(Vec::new());
            if difference.breaks() && olm_diff::write_text(&difference, &DIFF_STYLES, &mut text).is_ok() {
                let mut problem = Diagnosis::of_preflight(
                    "crd-breaks-objects",
                    format!("CustomResourceDefinition `{name}`"),
                    format!("CRD `{name}` exists, and the bundle's version of it breaks existing objects"),
                    "keep what the change removes, or delete the CRD if its objects are not needed; --force installs it \
                     anyway"
                        .into(),
                );
                problem.evidence =
                    String::from_utf8_lossy(&text.into_inner()).lines().map(str::to_owned).take(20).collect();
                found.push(problem);
            }
        }
        found
    }
}

/// Compares objects of the cluster with a new version.
pub(crate) fn compare(
    objects: &[(Kind, &Value)],
    new: olm_diff::Version,
    strict: bool,
) -> Result<olm_diff::Difference> {
    let mut manifests = Vec::new();
    for (kind, object) in objects {
        let mut object = (*object).clone();
        // Items of lists have neither.
        object["apiVersion"] = kind.api_version.into();
        object["kind"] = kind.kind.into();
        manifests.extend(read::manifests::stream("cluster", object.to_string().as_bytes())?);
    }
    let old = olm_diff::Version::of_objects(manifests.iter().map(|manifest| manifest.tree.root()));
    let stored_of = |object: &Value| -> Vec<String> {
        strings(object, "/status/storedVersions").map(str::to_owned).collect()
    };
    let stored = objects.iter().map(|(_, object)| (name_of(object).to_owned(), stored_of(object)));
    let stored_versions = olm_diff::StoredVersions::OfCrds(stored.collect());
    Ok(olm_diff::compare(old, new, &olm_diff::Options { strict, stored_versions }))
}
