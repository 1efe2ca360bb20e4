//! The pod template of one Deployment.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use k8s_openapi::api::core::v1::{Container, PodSecurityContext, PodSpec, PodTemplateSpec, Volume};

use super::csv::Csv;
use super::deployment::Deployment;
use super::metadata::MAX_ANNOTATIONS;
use kube_yaml::Path;
use olm_model::Object;

/// A pod template with defaults, and its path.
#[derive(Debug)]
pub(crate) struct PodTemplate<'t> {
    /// The CSV.
    pub(crate) object: Object<'t>,
    /// `…spec.template`
    pub(crate) path: &'t Path<'t>,
    /// `…spec.template.spec`
    pub(crate) spec_path: &'t Path<'t>,
    /// The template; its spec is in [`PodTemplate::spec`].
    pub(crate) template: &'t PodTemplateSpec,
    /// The pods' spec with defaults.
    pub(crate) spec: &'t PodSpec,
    /// The CSV's annotations, which OLM adds to those of the template.
    added_annotations: Option<&'t BTreeMap<String, String>>,
    added_bytes: usize,
    has_image_volumes: bool,
    volumes: OnceCell<HashMap<&'t str, &'t Volume>>,
    dropped: OnceCell<BTreeSet<&'t str>>,
}

/// The role of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerRole {
    /// One of `containers`.
    Regular,
    /// One of `initContainers` that must end before the next one starts.
    Init,
    /// One of `initContainers` with `restartPolicy: Always`, which runs beside the regular ones.
    Sidecar,
}

impl<'t> PodTemplate<'t> {
    fn new(
        deployment: &Deployment<'t>,
        csv: &'t Csv<'_>,
        path: &'t Path<'t>,
        spec_path: &'t Path<'t>,
    ) -> Self {
        let template = &deployment.prepared.spec.template;
        Self {
            object: deployment.object,
            path,
            spec_path,
            template,
            spec: &deployment.prepared.pod,
            added_annotations: csv.typed.metadata.annotations.as_ref(),
            added_bytes: csv.annotation_bytes,
            has_image_volumes: deployment.prepared.has_image_volumes,
            volumes: OnceCell::new(),
            dropped: OnceCell::new(),
        }
    }

    /// Returns whether the API server keeps a volume: those of type `image` only where they are supported.
    fn keeps(&self, volume: &Volume) -> bool {
        volume.image.is_none() || self.has_image_volumes
    }

    /// The annotations of the template itself.
    #[must_use]
    pub(crate) fn own_annotations(&self) -> Option<&'t BTreeMap<String, String>> {
        self.template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref())
    }

    /// An annotation of the pods: OLM replaces those of the template by those of the CSV.
    #[must_use]
    pub(crate) fn annotation(&self, key: &str) -> Option<&'t str> {
        let maps = [self.added_annotations, self.own_annotations()];
        maps.into_iter().flatten().find_map(|map| map.get(key)).map(String::as_str)
    }

    /// The annotations of the pods whose keys begin with one of `prefixes`. Those of a CSV that has more of them than an
    /// object may have are omitted: another rule reports them.
    pub(crate) fn annotations_with<'p>(
        &'p self,
        prefixes: &'p [&'p str],
    ) -> impl Iterator<Item = (&'t str, &'t str)> + 'p {
        let of = move |map: Option<&'t BTreeMap<String, String>>, prefix: &'p str| {
            let range = map.map(|map| map.range::<str, _>((Bound::Included(prefix), Bound::Unbounded)));
            range.into_iter().flatten().take_while(move |(key, _)| key.starts_with(prefix))
        };
        let few = self.added_annotations.filter(|_| self.added_bytes <= MAX_ANNOTATIONS);
        prefixes.iter().flat_map(move |prefix| {
            let added = of(few, prefix);
            let replaced =
                move |key: &str| self.added_annotations.is_some_and(|added| added.contains_key(key));
            let own = of(self.own_annotations(), prefix).filter(move |(key, _)| !replaced(key));
            added.chain(own).map(|(key, value)| (key.as_str(), value.as_str()))
        })
    }

    /// How many bytes the annotations that only the template has take, and those that the CSV adds.
    #[must_use]
    pub(crate) fn annotation_bytes(&self) -> (usize, usize) {
        let size = |(key, value): (&String, &String)| key.len() + value.len();
        let added = |key: &str| self.added_annotations.is_some_and(|added| added.contains_key(key));
        let own = self.own_annotations().into_iter().flatten().filter(|(key, _)| !added(key));
        (own.map(size).sum(), self.added_bytes)
    }

    /// Calls `visit` with every container, its path and its role.
    pub(crate) fn each_container(&self, mut visit: impl FnMut(&'t Container, &Path<'_>, ContainerRole)) {
        let list = self.spec_path.field("containers");
        for (index, container) in self.spec.containers.iter().enumerate() {
            visit(container, &list.index(index), ContainerRole::Regular);
        }
        let list = self.spec_path.field("initContainers");
        for (index, container) in self.spec.init_containers.iter().flatten().enumerate() {
            let role = if container.restart_policy.as_deref() == Some("Always") {
                ContainerRole::Sidecar
            } else {
                ContainerRole::Init
            };
            visit(container, &list.index(index), role);
        }
    }

    /// Calls `visit` with every volume and its path; volumes of type `image` are skipped in versions
    /// that do not support them.
    pub(crate) fn each_volume(&self, mut visit: impl FnMut(&'t Volume, &Path<'_>)) {
        let list = self.spec_path.field("volumes");
        for (index, volume) in self.spec.volumes.iter().flatten().enumerate() {
            if self.keeps(volume) {
                visit(volume, &list.index(index));
            }
        }
    }

    /// Returns the volume with this name.
    #[must_use]
    pub(crate) fn volume(&self, name: &str) -> Option<&'t Volume> {
        let volumes = self.volumes.get_or_init(|| {
            let mut volumes = HashMap::new();
            for volume in self.spec.volumes.iter().flatten().filter(|volume| self.keeps(volume)) {
                volumes.entry(volume.name.as_str()).or_insert(volume);
            }
            volumes
        });
        volumes.get(name).copied()
    }

    /// Returns whether mounts of this name are dropped because the volume is of type `image`.
    #[must_use]
    pub(crate) fn is_dropped(&self, name: &str) -> bool {
        let dropped = self.dropped.get_or_init(|| {
            let images = self.spec.volumes.iter().flatten().filter(|volume| !self.keeps(volume));
            images.map(|volume| volume.name.as_str()).collect()
        });
        dropped.contains(name)
    }

    /// Returns the pods' security context.
    #[must_use]
    pub(crate) fn security(&self) -> Option<&'t PodSecurityContext> {
        self.spec.security_context.as_ref()
    }

    /// Returns whether the pods use the host network.
    #[must_use]
    pub(crate) fn host_network(&self) -> bool {
        self.spec.host_network.unwrap_or_default()
    }

    /// Returns whether the pods use the user namespace of the host, which is the default.
    #[must_use]
    pub(crate) fn host_users(&self) -> bool {
        self.spec.host_users.unwrap_or(true)
    }

    /// Returns `os.name`, if it is set.
    #[must_use]
    pub(crate) fn os(&self) -> Option<&'t str> {
        self.spec.os.as_ref().map(|os| os.name.as_str())
    }
}

impl Csv<'_> {
    /// Calls `visit` with the pod template of every Deployment of the install strategy.
    pub(crate) fn each_pod_template(&self, mut visit: impl FnMut(&PodTemplate<'_>)) {
        self.each_deployment(|deployment| {
            let path = deployment.spec_path.field("template");
            let spec_path = path.field("spec");
            visit(&PodTemplate::new(deployment, self, &path, &spec_path));
        });
    }
}
