//! `bundle-tool run bundle`: installs a bundle.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::content::{self, Facts};
use super::source::{self, Input};
use crate::cli::cluster::{Connection, Printer, print_problem};
use crate::cli::exit::Exit;
use crate::cli::images::{Location, Registries, duration};
use crate::cli::runtime::runtime;
use crate::cluster::install::{Failure, Installation, Report, look};
use crate::cluster::kinds;
use crate::cluster::manifests::{Catalog, Request};
use crate::cluster::preflight::{self, InstallMode};
use crate::cluster::snapshot::{Snapshot, list, name_of, namespace_of, string};
use crate::cluster::{Cluster, Problem};
use crate::model::{self, yaml};
use crate::report::{self, Severity};
use crate::rules::{self, Selection};
use crate::{diff, read};

/// Install a bundle on a cluster with OLM, and explain what goes wrong
///
/// Serves a catalog with the bundle from the cluster, subscribes to it and waits until the operator runs. The bundle is an
/// image, or a directory or archive: then the catalog contains the manifests themselves, and no registry is used unless
/// --push-to names one. What can be known is checked before anything is created. The first problem that does not pass by
/// itself ends the wait, with its reason.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Install a bundle directory, without a registry
  bundle-tool run bundle ./bundle --namespace gizmos --create-namespace

  # Install a bundle image for one namespace
  bundle-tool run bundle quay.io/example/gizmo-bundle:v1.2.0 --install-mode SingleNamespace=team-a

  # Push a bundle and an index image, and install from them
  bundle-tool run bundle ./bundle --push-to registry.example.com/gizmo-bundle

  # Print the manifests for GitOps
  bundle-tool run bundle quay.io/example/gizmo-bundle:v1.2.0 --dry-run=client -o yaml")]
pub(in super::super) struct RunBundle {
    /// Bundle: a directory, `oci:DIR`, `oci-archive:FILE` or an image
    #[arg(value_name = "REF")]
    reference: String,
    /// Namespaces that the operator watches: `AllNamespaces`, `OwnNamespace`, `SingleNamespace=NS` or
    /// `MultiNamespace=NS,…` [default: those of the existing `OperatorGroup`, or the first of `AllNamespaces` and
    /// `OwnNamespace` that the bundle supports]
    #[arg(long, value_name = "MODE[=NS,…]")]
    install_mode: Option<InstallMode>,
    /// Index image whose catalog the bundle is added to
    #[arg(long, value_name = "IMAGE")]
    index_image: Option<String>,
    /// Channel of the subscription [default: the bundle's default channel]
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Push the bundle to this repository, and an index image beside it
    #[arg(long, value_name = "REGISTRY/REPO[:TAG]")]
    push_to: Option<String>,
    /// Create the namespace if it does not exist
    #[arg(long)]
    create_namespace: bool,
    /// Install even if a check before the installation fails
    #[arg(long)]
    force: bool,
    /// Print the objects and create none: as they are sent (client), or as the API server would store them (server)
    #[arg(long, value_name = "WHERE", value_enum)]
    dry_run: Option<DryRun>,
    /// Output format of --dry-run
    #[arg(long, short, value_enum, default_value_t = Format::Yaml, requires = "dry_run")]
    output: Format,
    #[command(flatten)]
    pods: Pods,
    /// Maximum time for everything
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    access: Access,
    /// Whether an installed bundle is replaced.
    #[arg(skip)]
    is_upgrade: bool,
}

/// What runs on the cluster to serve the catalog.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Catalog options")]
pub(super) struct Pods {
    /// Image with opm that serves the catalog [default: the one that OLM unpacks bundles with]
    #[arg(long, value_name = "IMAGE")]
    opm_image: Option<String>,
    /// Secret with credentials for pulling images, in the operator's namespace
    #[arg(long, value_name = "NAME")]
    pull_secret_name: Option<String>,
    /// Service account of the catalog's pod
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,
    /// Pod Security level that the catalog's pod complies with
    #[arg(long, value_enum, default_value_t = Security::Restricted)]
    security_context_config: Security,
}

/// How registries are reached from here.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Registry options")]
pub(super) struct Access {
    /// Secret with a certificate authority of the registry in its key cert.pem, in the operator's namespace
    #[arg(long, value_name = "NAME")]
    ca_secret_name: Option<String>,
    /// PEM file with certificate authorities to trust in addition to the system's (repeatable)
    #[arg(long, value_name = "FILE")]
    ca_file: Vec<PathBuf>,
    /// Use HTTP without TLS for the registries of REF, --index-image and --push-to
    #[arg(long)]
    use_http: bool,
    /// Deprecated name of --use-http
    #[arg(long, hide = true)]
    skip_tls: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DryRun {
    /// Print the objects as they are sent
    Client,
    /// Have the API server validate the objects, and print them as it would store them
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// YAML documents
    Yaml,
    /// One JSON list
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Security {
    /// Restricted
    Restricted,
    /// No security context
    Legacy,
}

/// The maximum size of the certificate in --ca-secret-name.
const MAX_CERTIFICATE: usize = 1 << 20;

impl RunBundle {
    /// Returns the command that replaces an installed bundle.
    pub(super) fn upgrade(
        reference: String,
        channel: Option<String>,
        push_to: Option<String>,
        force: bool,
        timeout: Duration,
        (pods, connection, access): (Pods, Connection, Access),
    ) -> Self {
        Self {
            reference,
            install_mode: None,
            index_image: None,
            channel,
            push_to,
            create_namespace: false,
            force,
            dry_run: None,
            output: Format::Yaml,
            pods,
            timeout,
            connection,
            access,
            is_upgrade: true,
        }
    }

    pub(in super::super) fn run(self) -> Result<Exit> {
        runtime()?.block_on(self.install())
    }

    async fn install(&self) -> Result<Exit> {
        let mut printer = Printer::new();
        // Printing what would be sent needs no cluster, if nothing of the cluster is asked for.
        let offline = self.dry_run == Some(DryRun::Client) && self.access.ca_secret_name.is_none();
        let cluster = match self.connection.connect().await {
            Ok(cluster) => Some(cluster),
            Err(_) if offline => None,
            Err(error) => return Err(error),
        };
        let namespace = match (&self.connection.namespace, &cluster) {
            (Some(namespace), _) => namespace.clone(),
            (None, Some(cluster)) => self.connection.namespace(cluster),
            (None, None) => "default".to_owned(),
        };
        let registries = self
            .access
            .registries(
                cluster.as_ref(),
                &namespace,
                [Some(&self.reference), self.index_image.as_ref(), self.push_to.as_ref()],
                self.timeout,
            )
            .await?;
        printer.step(&format!("reading {}", self.reference));
        let mut input = Input::read(&self.reference, &registries.options).await?;
        let mut facts = content::facts(&input.bundle, &namespace)?;
        facts.candidate.create_namespace = self.create_namespace;
        facts.candidate.is_upgrade = self.is_upgrade;
        if let Some(channel) = &self.channel {
            facts.channels.insert(0, channel.clone());
        }
        if !self.force && !is_valid(&input)? {
            bail!(
                "bundle {} is invalid and was not installed; use --force to install it nevertheless",
                self.reference
            );
        }
        let state = match &cluster {
            Some(cluster) if !offline => Some(State::read(cluster, &namespace).await?),
            Some(cluster) => State::read(cluster, &namespace).await.ok(),
            None => None,
        };
        let mut targets = match &self.install_mode {
            Some(mode) if mode.kind == "OwnNamespace" => Some(vec![namespace.clone()]),
            mode => Some(mode.as_ref().map(|mode| mode.namespaces.clone()).unwrap_or_default()),
        };
        if let Some(state) = &state {
            printer.step("checking the cluster");
            match state.check(&input, &facts, self.install_mode.as_ref()) {
                (Ok(found), problems) if problems.is_empty() || self.force || offline => {
                    targets = found;
                    printer.finish();
                    print_problems("warning", &problems)?;
                }
                (group, mut problems) => {
                    problems.extend(group.err().map(|problem| *problem));
                    printer.finish();
                    print_problems("error", &problems)?;
                    bail!("nothing was created");
                }
            }
        }
        let mut replaces = String::new();
        if let (true, Some(state)) = (self.is_upgrade, &state) {
            replaces = state.installed(&facts)?;
            printer.finish();
            if replaces != facts.candidate.csv && state.breaks(&replaces, &input, &facts)? && !self.force {
                bail!(
                    "the upgrade breaks existing objects, and nothing was changed; use --force to upgrade nevertheless"
                );
            }
        }
        let request = self
            .request(&mut input, &facts, (targets, &replaces), state.as_ref(), &registries.options)
            .await?;
        let objects = request.objects()?;
        if self.dry_run == Some(DryRun::Client) {
            printer.finish();
            return self.print(&objects);
        }
        let (Some(cluster), Some(state)) = (cluster, state) else { bail!("no cluster is configured") };
        let mut installation = Installation::new(&cluster, &request, self.timeout);
        let create_namespace = self.create_namespace && !state.has_namespace(&namespace);
        if !create_namespace {
            let stored = installation.dry_run(&objects).await.context("nothing was created")?;
            if self.dry_run == Some(DryRun::Server) {
                printer.finish();
                return self.print(&stored);
            }
        } else if self.dry_run == Some(DryRun::Server) {
            bail!("namespace `{namespace}` does not exist: --dry-run=server needs it; use --dry-run=client");
        }
        let mut show = |report: Report| printer.report(&report);
        let result = tokio::select! {
            result = installation.run(&objects, &mut show) => result.map(|()| true),
            () = interrupted() => Ok(false),
        };
        printer.finish();
        let package = &request.package;
        match result {
            Ok(true) => {
                let mut out = io::stdout().lock();
                writeln!(out, "{} is installed in namespace {namespace}", request.csv)?;
                out.flush()?;
                Ok(Exit::Success)
            }
            Ok(false) => {
                left_behind(installation.created(), package, &namespace)?;
                bail!("interrupted")
            }
            Err(failure) => {
                print_failure(&failure)?;
                left_behind(installation.created(), package, &namespace)?;
                match failure {
                    Failure::Cluster(error) => Err(error.into()),
                    _ => bail!("{} is not installed", request.csv),
                }
            }
        }
    }

    async fn request(
        &self,
        input: &mut Input,
        facts: &Facts,
        (targets, replaces): (Option<Vec<String>>, &str),
        state: Option<&State>,
        registries: &Registries,
    ) -> Result<Request> {
        let tag = self.push_to.as_ref().map(|name| tagged(name, &facts.version));
        if let (Some(name), None) = (&tag, self.dry_run) {
            input.push(name, registries).await?;
        } else if let Some(name) = &tag {
            input.image = Some(name.clone());
        }
        let mut catalog = content::single(&input.bundle, input.image.as_deref(), facts, replaces)?;
        if let Some(index) = &self.index_image {
            let contents = Location::parse(index)?
                .contents(registries)
                .await
                .with_context(|| format!("failed to read index image {index}"))?;
            if !contents.is_catalog() {
                bail!(
                    "{index} is not a file-based index image: it has no label `operators.operatorframework.io.index.configs.v1`"
                );
            }
            let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
            atomic_files::tree(scratch.path(), contents.files)?;
            catalog = content::inject(read::catalog::read(scratch.path())?, catalog, index)?;
        }
        let mut text = Vec::new();
        catalog.write_json(&mut text)?;
        let catalog = match &tag {
            Some(name) => {
                let index = format!("{name}-index");
                let image = match self.dry_run {
                    None => source::push_index(&index, text, registries).await?,
                    Some(_) => index,
                };
                Catalog::Image(image)
            }
            None => self.pods.served(text, state)?,
        };
        Ok(Request {
            package: facts.candidate.package.clone(),
            channel: facts.channels.first().cloned().unwrap_or_default(),
            csv: facts.candidate.csv.clone(),
            namespace: facts.candidate.namespace.clone(),
            targets,
            catalog,
            pull_secret: self.pods.pull_secret_name.clone(),
            restricted: self.pods.security_context_config == Security::Restricted,
            create_namespace: self.create_namespace
                && state.is_none_or(|state| !state.has_namespace(&facts.candidate.namespace)),
        })
    }

    fn print(&self, objects: &[Value]) -> Result<Exit> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.output {
            Format::Yaml => {
                for object in objects {
                    write!(out, "---\n{}", yaml::emit(object))?;
                }
            }
            Format::Json => {
                let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
                serde_json::to_writer_pretty(&mut out, &list)?;
                writeln!(out)?;
            }
        }
        out.flush()?;
        Ok(Exit::Success)
    }
}

/// Ends when the process is to end.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        // Without a handler, the process ends with the signal's default.
        Err(_) => std::future::pending().await,
    }
}

/// Returns the name of the image with a tag: the one given, or the version.
fn tagged(name: &str, version: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains(':') { name.to_owned() } else { format!("{name}:v{}", version.replace('+', "-")) }
}

/// Validates a bundle; prints the errors.
fn is_valid(input: &Input) -> Result<bool> {
    let mut report = rules::validate(&input.bundle, &Selection::default());
    if report.passed() {
        return Ok(true);
    }
    report.findings.retain(|finding| finding.severity == Severity::Error);
    report::text(&[report], &[], &mut io::stderr().lock())?;
    Ok(false)
}

fn print_problems(label: &str, problems: &[Problem]) -> io::Result<()> {
    let mut out = io::stderr().lock();
    problems.iter().try_for_each(|problem| print_problem(&mut out, label, problem, ""))
}

fn print_failure(failure: &Failure) -> io::Result<()> {
    let mut out = io::stderr().lock();
    match failure {
        Failure::Problem { problem, log } => print_problem(&mut out, "error", problem, log),
        Failure::Timeout { problems, .. } => {
            writeln!(out, "error: {}", model::text::printable(&failure.to_string()))?;
            problems.iter().try_for_each(|problem| print_problem(&mut out, "note", problem, ""))
        }
        Failure::Cluster(_) => Ok(()),
    }
}

/// Names what an installation that did not end well leaves behind.
fn left_behind(created: &[String], package: &str, namespace: &str) -> io::Result<()> {
    if created.is_empty() {
        return Ok(());
    }
    let mut out = io::stderr().lock();
    writeln!(out, "note: created in namespace `{namespace}` and not removed: {}", created.join(", "))?;
    writeln!(
        out,
        "help: remove them with `bundle-tool cleanup {package} -n {namespace}`, or run the same command again to continue"
    )
}

/// The registries, with the file of the certificate that a secret has.
struct Prepared {
    options: Registries,
    /// Deleted when the command ends.
    _certificate: Option<tempfile::NamedTempFile>,
}

impl Access {
    async fn registries(
        &self,
        cluster: Option<&Cluster>,
        namespace: &str,
        references: [Option<&String>; 3],
        timeout: Duration,
    ) -> Result<Prepared> {
        let mut files = self.ca_file.clone();
        let mut certificate = None;
        if let (Some(name), Some(cluster)) = (&self.ca_secret_name, cluster) {
            let secret = cluster
                .get(kinds::SECRET, namespace, name)
                .await?
                .with_context(|| format!("secret `{name}` does not exist in namespace `{namespace}`"))?;
            let encoded = secret["data"]["cert.pem"]
                .as_str()
                .with_context(|| format!("secret `{name}` has no key cert.pem"))?;
            let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded)
                .with_context(|| format!("key cert.pem of secret `{name}` is not valid base64"))?;
            if bytes.len() > MAX_CERTIFICATE {
                bail!("key cert.pem of secret `{name}` exceeds {MAX_CERTIFICATE} bytes");
            }
            let mut file = tempfile::NamedTempFile::new().context("failed to create a temporary file")?;
            file.write_all(&bytes).context("failed to write a temporary file")?;
            files.push(file.path().to_owned());
            certificate = Some(file);
        }
        let mut hosts = Vec::new();
        if self.use_http || self.skip_tls {
            for reference in references.into_iter().flatten() {
                if let Ok(Location::Registry(name)) = Location::parse(reference) {
                    hosts.push(name.registry().to_owned());
                }
            }
        }
        Ok(Prepared { options: Registries::new(files, hosts, timeout), _certificate: certificate })
    }
}

impl Pods {
    /// Returns a catalog that is served from a `ConfigMap`.
    fn served(&self, content: Vec<u8>, state: Option<&State>) -> Result<Catalog> {
        let image = self.opm_image.clone().or_else(|| state.and_then(State::opm_image)).context(
            "the image with opm is not known from OLM's catalog-operator; name one with --opm-image",
        )?;
        let digest = oci_images::layout::sha256(&content).to_string();
        Ok(Catalog::Served {
            content: String::from_utf8(content).context("the catalog is not valid UTF-8")?,
            digest,
            image,
            service_account: self.service_account.clone(),
            // OpenShift assigns a user of its own, and rejects others.
            user: (!state.is_some_and(|state| state.openshift)).then_some(1001),
        })
    }
}

/// What is known of the cluster.
struct State {
    snapshot: Snapshot,
    version: String,
    openshift: bool,
}

impl State {
    async fn read(cluster: &Cluster, namespace: &str) -> Result<Self> {
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
        let mut snapshot = look(cluster, namespace).await?;
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
        let any = crate::cluster::client::Select::default();
        let all = cluster
            .snapshot(&[
                (kinds::CRD, None, any),
                (kinds::SUBSCRIPTION, None, any),
                (kinds::CSV, None, crate::cluster::client::Select { labels: "!olm.copiedFrom", fields: "" }),
            ])
            .await?;
        for kind in [kinds::CRD, kinds::SUBSCRIPTION, kinds::CSV] {
            let elsewhere: Vec<_> =
                all.of(kind).iter().filter(|one| namespace_of(one) != namespace).cloned().collect();
            snapshot.extend(kind, elsewhere);
        }
        if snapshot.of(kinds::DEPLOYMENT).iter().all(|one| name_of(one) != "catalog-operator")
            && !snapshot.unreadable.contains_key(kinds::DEPLOYMENT.kind)
        {
            bail!("the installation of OLM is incomplete: its deployment catalog-operator does not exist");
        }
        Ok(Self { snapshot, version, openshift: has("security.openshift.io") })
    }

    fn has_namespace(&self, namespace: &str) -> bool {
        self.snapshot.of(kinds::NAMESPACE).iter().any(|one| name_of(one) == namespace)
    }

    /// Returns the image with opm that OLM unpacks bundles with.
    fn opm_image(&self) -> Option<String> {
        crate::cluster::manifests::opm_image(&self.snapshot)
    }

    /// Returns the name of the installed CSV.
    fn installed(&self, facts: &Facts) -> Result<String> {
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
    fn breaks(&self, installed: &str, input: &Input, facts: &Facts) -> Result<bool> {
        let csv = self.snapshot.get(kinds::CSV, &facts.candidate.namespace, installed);
        let crds = facts.candidate.owned.iter().filter_map(|name| preflight::crd(&self.snapshot, name));
        let mut manifests = Vec::new();
        for object in
            csv.into_iter().map(|csv| (kinds::CSV, csv)).chain(crds.clone().map(|crd| (kinds::CRD, crd)))
        {
            let mut object = (object.0, object.1.clone());
            // Items of lists have neither.
            object.1["apiVersion"] = object.0.api_version.into();
            object.1["kind"] = object.0.kind.into();
            manifests.extend(read::manifests::stream("cluster", object.1.to_string().as_bytes())?);
        }
        let old = diff::Version::of_objects(manifests.iter().map(|manifest| manifest.tree.root()));
        let stored_versions = crds
            .flat_map(|crd| list(crd, "/status/storedVersions"))
            .filter_map(|version| version.as_str().map(str::to_owned))
            .collect();
        let options = diff::Options { strict: false, stored_versions };
        let difference = diff::compare(old, diff::Version::of_bundle(&input.bundle), &options);
        diff::text(&difference, &mut io::stderr().lock())?;
        Ok(difference.breaks())
    }

    /// Checks what can be known before anything is created.
    #[expect(
        clippy::type_complexity,
        reason = "the namespaces of the group or what is wrong with it, and everything else"
    )]
    fn check(
        &self,
        input: &Input,
        facts: &Facts,
        mode: Option<&InstallMode>,
    ) -> (std::result::Result<Option<Vec<String>>, Box<Problem>>, Vec<Problem>) {
        let crds: Vec<String> =
            self.snapshot.of(kinds::CRD).iter().map(|crd| name_of(crd).to_owned()).collect();
        let mut problems = preflight::problems(&self.snapshot, &facts.candidate, &self.version, &crds);
        let olm = crate::cluster::diagnose::olm_deployments(&self.snapshot)
            .filter(|one| crate::cluster::snapshot::number(one, "/status/availableReplicas") == 0);
        for deployment in olm {
            let name = name_of(deployment);
            problems.push(Problem::of_preflight(
                "olm-not-running",
                crate::cluster::diagnose::object(kinds::DEPLOYMENT, deployment),
                format!("OLM's deployment `{name}` has no available replica"),
                format!("see why: kubectl describe deployment {name} -n {}", namespace_of(deployment)),
            ));
        }
        if !facts.candidate.is_upgrade {
            problems.extend(self.broken_crds(input, facts));
        }
        (preflight::operator_group(&self.snapshot, &facts.candidate, mode), problems)
    }

    /// Compares the CRDs of the bundle with those of the cluster.
    fn broken_crds(&self, input: &Input, facts: &Facts) -> Vec<Problem> {
        let mut found = Vec::new();
        for name in &facts.candidate.owned {
            let Some(existing) = preflight::crd(&self.snapshot, name) else { continue };
            let mut object = existing.clone();
            // Items of lists have neither.
            object["apiVersion"] = kinds::CRD.api_version.into();
            object["kind"] = kinds::CRD.kind.into();
            let Ok(manifests) = read::manifests::stream("cluster", object.to_string().as_bytes()) else {
                continue;
            };
            let old = diff::Version::of_objects(manifests.iter().map(|manifest| manifest.tree.root()));
            let crds = input.bundle.of_kind("CustomResourceDefinition").filter(|crd| crd.name() == name);
            let new = diff::Version::of_objects(crds.map(|crd| crd.root));
            if new.is_empty() || old.is_empty() {
                continue;
            }
            let stored_versions = list(existing, "/status/storedVersions")
                .iter()
                .filter_map(|version| version.as_str().map(str::to_owned))
                .collect();
            let difference = diff::compare(old, new, &diff::Options { strict: false, stored_versions });
            let mut text = Vec::new();
            if difference.breaks() && diff::text(&difference, &mut text).is_ok() {
                let mut problem = Problem::of_preflight(
                    "crd-breaks-objects",
                    format!("CustomResourceDefinition `{name}`"),
                    format!("CRD `{name}` exists, and the bundle's breaks it for existing objects"),
                    "keep what the change removes, or delete the CRD if its objects are not needed; --force installs it \
                     nevertheless"
                        .into(),
                );
                problem.evidence =
                    String::from_utf8_lossy(&text).lines().map(str::to_owned).take(20).collect();
                found.push(problem);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_get_the_version_as_tag() {
        assert_eq!(tagged("localhost:5000/a", "1.2.0+x"), "localhost:5000/a:v1.2.0-x");
        assert_eq!(tagged("quay.io/a/b:dev", "1.2.0"), "quay.io/a/b:dev");
    }
}
