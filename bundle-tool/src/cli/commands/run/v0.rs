//! What is checked before a bundle is installed with OLM v0, or an operator upgraded to it.

use anyhow::{Result, bail};

use super::checked::{InstallMethod, LoadedBundle, V0Plan, ValidatedBundle, nothing_created};
use super::content::Facts;
use super::request::{Common, Wanted};
use super::source::Input;
use super::state::State;
use crate::cli::cluster::{Printer, print_problems, settings_for};
use crate::cli::report::check_bundle;
use crate::terminal::{ERROR, WARNING};
use olm_cluster::preflight::InstallMode;
use olm_rules::Selection;

/// Installs a bundle with OLM v0, or upgrades to it.
pub(crate) struct Installer<'i> {
    pub(crate) common: &'i Common,
    pub(crate) install_mode: Option<&'i InstallMode>,
    pub(crate) index_image: Option<&'i str>,
    pub(crate) create_namespace: bool,
    pub(crate) is_dry_run: bool,
}

impl Installer<'_> {
    /// Checks the bundle and the cluster, and builds what is requested.
    pub(crate) async fn check(&self, read: LoadedBundle, printer: &mut Printer) -> Result<ValidatedBundle> {
        let LoadedBundle { cluster, is_offline, registries, mut input, facts } = read;
        let namespace = &facts.candidate.namespace;
        let settings = settings_for(cluster.as_ref().filter(|_| !is_offline)).await;
        let selection = Selection { settings, ..Selection::default() };
        if !self.common.force && !check_bundle(&input.bundle, &selection)? {
            bail!(
                "bundle {} is invalid and was not installed; pass --force to install it anyway",
                self.common.reference
            );
        }
        let state = match &cluster {
            Some(cluster) if !is_offline => Some(State::read(cluster, namespace).await?),
            Some(cluster) => State::read(cluster, namespace).await.ok(),
            None => None,
        };
        let targets = match &state {
            Some(state) => self.check_cluster(state, &input, &facts, is_offline, printer)?,
            None => Some(self.targets(namespace)),
        };
        let replaces = match &state {
            Some(state) if facts.candidate.is_upgrade => self.replaced(state, &input, &facts, printer)?,
            _ => String::new(),
        };
        let wanted = Wanted {
            targets,
            replaces: &replaces,
            index_image: self.index_image,
            create_namespace: self.create_namespace,
            is_dry_run: self.is_dry_run,
        };
        let options = &self.common.options;
        let (request, uploads) =
            options.request(&mut input, &facts, wanted, state.as_ref(), &registries.options).await?;
        let objects = request.objects()?;
        let method = InstallMethod::V0(Box::new(V0Plan { request, input, state }));
        Ok(ValidatedBundle { cluster, registries, facts, objects, uploads, method })
    }

    /// Returns the namespaces that the install mode names, none for all.
    fn targets(&self, namespace: &str) -> Vec<String> {
        match self.install_mode {
            Some(mode) if mode.kind == "OwnNamespace" => vec![namespace.to_owned()],
            mode => mode.map(|mode| mode.namespaces.clone()).unwrap_or_default(),
        }
    }

    /// Checks what can be known of the cluster; returns the namespaces of the `OperatorGroup` to create.
    fn check_cluster(
        &self,
        state: &State,
        input: &Input,
        facts: &Facts,
        is_offline: bool,
        printer: &mut Printer,
    ) -> Result<Option<Vec<String>>> {
        printer.step("checking the cluster");
        let (group, mut problems) = state.check(input, facts, self.install_mode);
        printer.finish();
        match group {
            Ok(targets) if problems.is_empty() || self.common.force || is_offline => {
                print_problems(WARNING, &problems)?;
                Ok(targets)
            }
            group => {
                problems.extend(group.err().map(|problem| *problem));
                print_problems(ERROR, &problems)?;
                Err(nothing_created(&problems))
            }
        }
    }

    /// Returns the installed CSV that the bundle replaces, if the upgrade breaks nothing.
    fn replaced(&self, state: &State, input: &Input, facts: &Facts, printer: &mut Printer) -> Result<String> {
        let installed = state.installed(facts)?;
        printer.finish();
        if installed != facts.candidate.csv && state.breaks(&installed, input, facts)? && !self.common.force {
            bail!(
                "the upgrade breaks existing objects, and nothing was changed; pass --force to upgrade anyway"
            );
        }
        Ok(installed)
    }
}
