//! `bundle-tool scorecard`: operator-sdk's scorecard, whose stock tests need no cluster.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use futures::{StreamExt as _, stream};

use crate::cli::bundles;
use crate::cli::cluster::{Connection, Printer};
use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::images::{RegistryArgs, RegistryConnection};
use crate::cli::runtime::SharedRuntime;
use crate::cli::signals::interrupted;
use crate::cli::time_limit::{TimeLimit, duration};
use crate::terminal::{WARNING, messages, stderr};
use kube_yaml::text::{printable, write_json};
use kube_yaml::{Kind, Position};
use olm_cluster::test_pods::{Outcome, PodTest, Settings, TestRun};
use olm_cluster::test_storage::Gathered;
use olm_cluster::{Cluster, Error};
use olm_model::disk;
use olm_model::{Bundle, LabelSelector};
use olm_rules::scorecard;
use olm_rules::scorecard::{Config, State, Test, TestResult, TestSpec};

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Run all tests of the bundle's configuration
  bundle-tool scorecard ./bundle

  # Run the tests of one suite, and print JSON
  bundle-tool scorecard ./bundle --selector suite=olm --output json

  # Run the tests on the cluster in another namespace, for at most 5 minutes
  bundle-tool scorecard ./bundle --namespace gizmo-tests --wait-time 5m

  # Keep the files that tests write to their storage, in test-output/
  bundle-tool scorecard ./bundle --storage-image docker.io/library/busybox:1.37

  # List the tests
  bundle-tool scorecard ./bundle --list")]
#[command(mut_arg("namespace", |argument| argument.help(
    "Namespace of the pods that run tests [default: that of the context]")))]
pub(crate) struct Scorecard {
    /// Bundle: a directory, `oci:DIR`, `oci-archive:FILE` or an image
    #[arg(value_name = "REF")]
    reference: String,
    /// Configuration of the scorecard [default: tests/scorecard/config.yaml in the bundle]
    #[arg(long = "scorecard-config", short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Label selector of the tests to run, such as suite=olm
    #[arg(long, short = 'l', value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    selector: LabelSelector,
    /// List the selected tests without running them
    #[arg(long, short = 'L')]
    list: bool,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    pods: ScorecardPodArgs,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    registries: RegistryConnection,
    /// Time limit for all network access except the tests, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = TimeLimit::parser("--timeout"), help_heading = "Registry options")]
    timeout: TimeLimit,
}

// How tests in images run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for tests in images")]
struct ScorecardPodArgs {
    /// Service account of the pods [default: that of the configuration, or `default`]
    #[arg(long, short, value_name = "NAME")]
    service_account: Option<String>,
    /// Pod Security Standard that the pods meet
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "legacy")]
    pod_security: PodSecurity,
    /// Image of the sidecar that gathers the files that tests write to their storage
    ///
    /// It needs `sh`, `sleep`, `tar`, `gzip` and `base64`, as busybox has them, and with --pod-security
    /// restricted a numeric user other than root. Without it, the files are discarded.
    #[arg(long, short = 'b', value_name = "IMAGE")]
    storage_image: Option<String>,
    /// Directory for these files; each test gets SUITE/TEST, after its labels
    #[arg(long, short, value_name = "DIR", default_value = "test-output", requires = "storage_image")]
    test_output: PathBuf,
    /// Time limit for all tests
    #[arg(long, short, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    wait_time: Duration,
    /// Keep the pods and what they mount
    #[arg(long, short = 'x', visible_alias = "skip-cleanup")]
    no_cleanup: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PodSecurity {
    /// None: the pods have no security context
    Legacy,
    /// `restricted`
    Restricted,
}

/// The maximum number of tests of a stage that run at the same time.
const PARALLEL: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Human-readable text
    Text,
    /// A `TestList`
    Json,
    /// JUnit XML
    Xunit,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

impl Scorecard {
    pub(crate) fn run(self) -> Result<Exit> {
        self.connection.check_namespace()?;
        let runtime = SharedRuntime::default();
        let registries = RegistryArgs::new(self.registries.clone(), self.timeout);
        let bundle = bundles::read_complete(&self.reference, &registries, &runtime)?;
        let config = match &self.config {
            Some(path) => {
                let name = path.display().to_string();
                let documents = disk::manifests::file(path)?;
                let document = documents.first().with_context(|| format!("{name} is empty"))?;
                let root = document.tree.root();
                if root.kind() != Kind::Object {
                    let Position { line, column } = root.position();
                    bail!("{name}:{line}:{column}: expected a map, found {}", root.kind());
                }
                Config::parse(&name, root.to_json())?
            }
            None => scorecard::config(&bundle)?.unwrap_or_else(Config::stock),
        };
        let config = config.selected(&self.selector);
        if config.stages.iter().all(|stage| stage.tests.is_empty()) && !self.selector.is_empty() {
            let selector = self.selector.to_string();
            writeln!(messages(), "{WARNING} the selector `{}` matches no test", printable(&selector))?;
        }
        let is_in_image = |test: &TestSpec| !is_stock(test);
        let tests = if self.list {
            tests_of(config).map(|spec| Test { spec, results: Vec::new() }).collect()
        } else if config.stages.iter().flat_map(|stage| &stage.tests).any(is_in_image) {
            runtime.get()?.block_on(self.tested_on_cluster(config, &bundle, &registries))?
        } else {
            without_cluster(config, &bundle, "")
        };
        self.print(&tests)?;
        let passed = tests.iter().flat_map(|test| &test.results).all(|result| result.state == State::Pass);
        Ok(if passed { Exit::Success } else { Exit::Findings })
    }

    /// Runs the tests; those in images on the cluster, if there is one.
    async fn tested_on_cluster(
        &self,
        config: Config,
        bundle: &Bundle,
        registries: &RegistryArgs,
    ) -> Result<Vec<Test>> {
        let cluster = match registries.reading_cluster(self.connection.connect()).await {
            Ok(cluster) => cluster,
            Err(error) if matches!(error.downcast_ref(), Some(Error::NoConfiguration)) => {
                let reason = format!("the test requires a cluster: {error}");
                return Ok(without_cluster(config, bundle, &reason));
            }
            Err(error) => return Err(error),
        };
        let run = TestRun::new(&cluster, self.settings(&cluster, &config), bundle)?;
        let tests = tokio::select! {
            tests = all(&run, config, bundle, &self.pods.test_output) => tests,
            () = interrupted() => Err(anyhow!("the scorecard was interrupted")),
        };
        if !self.pods.no_cleanup {
            for left in run.clean_up().await {
                writeln!(stderr(), "{WARNING} {}", printable(&left))?;
            }
        }
        tests
    }

    fn settings(&self, cluster: &Cluster, config: &Config) -> Settings {
        let configured = Some(&config.service_account).filter(|name| !name.is_empty());
        let account = self.pods.service_account.as_ref().or(configured);
        Settings {
            namespace: self.connection.namespace(cluster),
            service_account: account.map_or("default", String::as_str).to_owned(),
            storage_image: self.pods.storage_image.clone(),
            restricted: self.pods.pod_security == PodSecurity::Restricted,
            timeout: self.pods.wait_time,
        }
    }

    fn print(&self, tests: &[Test]) -> Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Output::Text => scorecard::text(tests, &mut out)?,
            Output::Json => {
                write_json(&scorecard::json(tests), &mut out)?;
            }
            Output::Xunit => scorecard::xunit(tests, &mut out)?,
        }
        Ok(out.flush()?)
    }
}

fn tests_of(config: Config) -> impl Iterator<Item = TestSpec> {
    config.stages.into_iter().flat_map(|stage| stage.tests)
}

/// Runs the stock tests; the others are not run, for a reason.
fn without_cluster(config: Config, bundle: &Bundle, reason: &str) -> Vec<Test> {
    let run = |spec| if is_stock(&spec) { stock(spec, bundle) } else { not_run(spec, reason) };
    tests_of(config).map(run).collect()
}

/// Runs the stages one after another, and the tests of a parallel stage together.
async fn all(run: &TestRun<'_>, config: Config, bundle: &Bundle, output: &Path) -> Result<Vec<Test>> {
    let printer = std::cell::RefCell::new(Printer::new());
    run.prepare().await?;
    let mut tests = Vec::new();
    for stage in config.stages {
        let (first, printer) = (tests.len(), &printer);
        let running = stage.tests.into_iter().enumerate().map(|(index, spec)| async move {
            if is_stock(&spec) {
                return Ok(stock(spec, bundle));
            }
            printer.borrow_mut().step(&format!("running test `{}` in image {}", name(&spec), spec.image));
            in_image(run, first + index, spec, output).await
        });
        let mut done = stream::iter(running).buffered(if stage.parallel { PARALLEL } else { 1 });
        while let Some(test) = done.next().await {
            tests.push(test?);
        }
    }
    printer.into_inner().finish();
    Ok(tests)
}

/// Runs a test in an image, and writes what it wrote to its storage below `output`.
async fn in_image(run: &TestRun<'_>, index: usize, spec: TestSpec, output: &Path) -> Result<Test> {
    let test = PodTest { image: &spec.image, command: &spec.entrypoint, storage: spec.storage.path() };
    let Outcome { printed, gathered } = run.run(index, test).await?;
    let mut results = match printed {
        Ok(printed) => scorecard::results(&printed)
            .unwrap_or_else(|reason| vec![TestResult::not_run(name(&spec), reason, printed)]),
        Err(reason) => vec![TestResult::not_run(name(&spec), reason, String::new())],
    };
    if let Some(Gathered { files, problem }) = gathered {
        let written = atomic_files::tree(&output.join(output_path(&spec, index)), files);
        let problems = problem.into_iter().chain(written.err().map(|error| error.to_string()));
        results.extend(problems.map(|problem| {
            let reason = format!("failed to gather the files in the storage of the test: {problem}");
            TestResult::not_run(name(&spec), reason, String::new())
        }));
    }
    Ok(Test { spec, results })
}

/// Returns the path below the directory of the output that operator-sdk gives the output of the `index`th test: the labels
/// `suite` and `test`. A test without the latter has its number instead.
fn output_path(spec: &TestSpec, index: usize) -> PathBuf {
    // A label has no `/`, but configurations are not validated as labels are.
    let label = |key| {
        spec.labels
            .get(key)
            .map(|value| value.replace('/', "_"))
            .filter(|value| !matches!(value.as_str(), "" | "." | ".."))
    };
    let test = label("test").unwrap_or_else(|| format!("test-{index}"));
    label("suite").map_or_else(PathBuf::new, PathBuf::from).join(test)
}

fn not_run(spec: TestSpec, reason: &str) -> Test {
    let result = TestResult::not_run(name(&spec), reason.to_owned(), String::new());
    Test { spec, results: vec![result] }
}

/// Returns whether a test is in operator-sdk's image, so that it is run here.
fn is_stock(spec: &TestSpec) -> bool {
    let last = spec.image.rsplit('/').next().unwrap_or_default();
    last.split([':', '@']).next() == Some("scorecard-test")
}

fn name(spec: &TestSpec) -> &str {
    spec.entrypoint.last().unwrap_or(&spec.image)
}

/// Runs a stock test.
fn stock(spec: TestSpec, bundle: &Bundle) -> Test {
    if let Some(result) = scorecard::stock_test(name(&spec), bundle) {
        return Test { spec, results: vec![result] };
    }
    let expected = scorecard::STOCK.join(", ");
    let reason = format!("unknown stock test `{}`: expected one of {expected}", name(&spec));
    not_run(spec, &reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_test_is_below_the_directory_of_its_suite() {
        let path = |labels: &[(&str, &str)]| {
            let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            output_path(&TestSpec { labels, ..TestSpec::default() }, 3)
        };
        assert_eq!(path(&[("suite", "gizmo"), ("test", "load")]), Path::new("gizmo/load"));
        assert_eq!(path(&[("test", "load")]), Path::new("load"));
        assert_eq!(path(&[("suite", ".."), ("test", "../../etc")]), Path::new(".._.._etc"));
        assert_eq!(path(&[]), Path::new("test-3"));
    }
}
