//! The Deployments of a CSV's install strategy.

use super::csv::Csv;
use super::prepare::Prepared;
use crate::model::Object;
use crate::model::csv::StrategyDeployment;
use crate::model::yaml::Path;

/// A Deployment as the API server receives it.
#[derive(Debug, Clone, Copy)]
pub(in crate::rules) struct Deployment<'d> {
    /// The CSV.
    pub(in crate::rules) object: Object<'d>,
    /// The item of `spec.install.spec.deployments`.
    pub(in crate::rules) path: &'d Path<'d>,
    /// Its spec: `spec` below [`Deployment::path`].
    pub(in crate::rules) spec_path: &'d Path<'d>,
    /// As written.
    pub(in crate::rules) written: &'d StrategyDeployment,
    /// With defaults, without the fields of disabled features.
    pub(in crate::rules) prepared: &'d Prepared,
}

impl Csv<'_> {
    /// Calls `visit` with every Deployment of the install strategy.
    pub(in crate::rules) fn each_deployment(&self, mut visit: impl FnMut(&Deployment<'_>)) {
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
