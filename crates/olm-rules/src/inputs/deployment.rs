//! The Deployments of a CSV's install strategy.

use super::csv::Csv;
use super::prepare::Prepared;
use kube_yaml::Path;
use olm_model::Object;
use olm_model::csv::StrategyDeployment;

/// A Deployment as the API server receives it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deployment<'d> {
    /// The CSV.
    pub(crate) object: Object<'d>,
    /// The item of `spec.install.spec.deployments`.
    pub(crate) path: &'d Path<'d>,
    /// Its spec: `spec` below [`Deployment::path`].
    pub(crate) spec_path: &'d Path<'d>,
    /// As written.
    pub(crate) written: &'d StrategyDeployment,
    /// With defaults, without the fields of disabled features.
    pub(crate) prepared: &'d Prepared,
}

impl Csv<'_> {
    /// Calls `visit` with every Deployment of the install strategy.
    pub(crate) fn each_deployment(&self, mut visit: impl FnMut(&Deployment<'_>)) {
        let root = Path::ROOT;
        let list = root.field("spec.install.spec.deployments");
        let written = &self.typed.spec.install.spec.deployments;
        for (index, (written, prepared)) in written.iter().zip(&self.deployments).enumerate() {
            let path = list.index(index);
            let spec_path = path.field("spec");
            visit(&Deployment { object: self.object, path: &path, spec_path: &spec_path, written, prepared });
        }
    }
}
