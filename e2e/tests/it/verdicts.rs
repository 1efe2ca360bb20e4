//! Random objects, validated by the API server and by us: the verdicts are the same.
//!
//! Objects come from `e2e::random` (`VERDICTS_SEED`, `VERDICTS_OBJECTS`); the API server is asked for a dry-run create
//! of what OLM would create, so nothing is left behind but, where the test fails, an empty namespace.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::Cluster;
use e2e::random::report::{self, Difference, Expressions, Outcome};
use e2e::random::subject::{Request, ValidBundle};
use e2e::random::{Case, Change, Count, Generator, shrink, wanted};
use futures::StreamExt as _;
use kube::Client;
use kube::api::{GetParams, PostParams};
use olm_model::Bundle;
use olm_model::kubernetes::{Minor, Versions};
use olm_model::read;
use olm_model::report::{Finding, Project, Severity, Source, Suite};
use olm_rules::{Level, Selection, Settings};
use serde_json::Value;

/// How many objects a full run has; only then are the counts held against what is asked for.
const FULL: usize = 17_500;
/// How many objects are made before the API server's answers choose the next fields.
const BATCH: usize = 500;
/// How many requests are under way at a time.
const IN_FLIGHT: usize = 64;
/// How often a question is asked again whose connection broke, and how long is waited before.
const ATTEMPTS: usize = 120;
const PAUSE: Duration = Duration::from_secs(1);
/// How many differences are made small, if `VERDICTS_SHRUNK` does not say otherwise.
const SHRUNK: usize = 40;

fn number(name: &str, default: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(value) => value.parse().with_context(|| format!("{name} is no number")),
        Err(_) => Ok(default),
    }
}

fn bundle(valid: &ValidBundle, case: &Case) -> Bundle {
    read::bundle::files("random", &valid.files(case.subject, &case.changed()))
}

/// Our findings of severity error, in the suite that is always on.
fn validate(valid: &ValidBundle, case: &Case, selection: &Selection) -> Vec<Finding> {
    let report = olm_rules::validate(&bundle(valid, case), selection);
    let refuses = |finding: &Finding| finding.is_failure() && finding.suite == Suite::Bundle;
    report.findings.into_iter().filter(refuses).collect()
}

/// Why the API server rejects one of the requests.
async fn ask(client: &Client, requests: Vec<Request>) -> Result<Option<String>> {
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    for Request { path, body } in requests {
        let request = kube::core::Request::new(&path).create(&parameters, body.to_string().into_bytes())?;
        match client.request::<Value>(request).await {
            Ok(_) => {}
            // What is there already was compared only after everything was validated.
            Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => {}
            Err(kube::Error::Api(status)) if (400..500).contains(&status.code) && status.code != 429 => {
                return Ok(Some(format!("{} {}", status.code, status.message)));
            }
            Err(error) => return Err(error).with_context(|| format!("{path}: {body}")),
        }
    }
    Ok(None)
}

/// As [`ask`], asking again where the connection broke. A server that answers others and breaks off at this object
/// again and again rejects it too: its validation panics (selectable fields of a schema that is not structural do that
/// to apiextensions 1.34).
async fn ask_again(client: &Client, requests: Vec<Request>) -> Result<Option<String>> {
    let mut broken = 0;
    for _ in 0..ATTEMPTS {
        match ask(client, requests.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(_) if client.apiserver_version().await.is_ok() => broken += 1,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        if broken == 3 {
            return Ok(Some("the API server breaks off".to_owned()));
        }
    }
    ask(client, requests).await
}

struct Validators {
    client: Client,
    valid: ValidBundle,
    namespace: String,
    /// Every rule, for the version of the API server.
    selection: Selection,
}

/// Returns the selection of every rule for the version of an API server.
async fn selection_for(client: &Client) -> Result<Selection> {
    let version = client.apiserver_version().await?.git_version;
    let versions = Versions::parse(&version).with_context(|| format!("the API server is {version}"))?;
    Ok(Selection {
        settings: Settings { versions: Some(versions), ..Settings::default() },
        ..Selection::default()
    })
}

impl Validators {
    async fn outcomes(&self, cases: Vec<Case>) -> Result<Vec<Outcome>> {
        let requests: Vec<_> = cases
            .iter()
            .map(|case| self.valid.requests(case.subject, &case.changed(), &self.namespace))
            .collect();
        let client = self.client.clone();
        // The API server validates while we do.
        let asked = tokio::spawn(async move {
            futures::stream::iter(requests)
                .map(|requests| {
                    let client = client.clone();
                    async move { tokio::spawn(async move { ask_again(&client, requests).await }).await? }
                })
                .buffered(IN_FLIGHT)
                .collect::<Vec<Result<_>>>()
                .await
        });
        let ours = tokio::task::block_in_place(|| {
            cases.iter().map(|case| validate(&self.valid, case, &self.selection)).collect::<Vec<_>>()
        });
        let asked = asked.await?;
        let mut outcomes = Vec::with_capacity(cases.len());
        for ((case, theirs), ours) in cases.into_iter().zip(asked).zip(ours) {
            outcomes.push(Outcome { case, theirs: theirs?, ours });
        }
        Ok(outcomes)
    }

    async fn outcome(&self, case: Case) -> Result<Outcome> {
        let theirs =
            ask_again(&self.client, self.valid.requests(case.subject, &case.changed(), &self.namespace))
                .await?;
        let ours = validate(&self.valid, &case, &self.selection);
        Ok(Outcome { case, theirs, ours })
    }

    /// Whether `case` differs in this way, and does not without its change.
    async fn differs(&self, case: Case, wanted: Difference) -> bool {
        let mut unchanged = case.clone();
        let changed = unchanged.change.take().is_some();
        let is = |outcome: Result<Outcome>| {
            outcome.ok().and_then(|outcome| report::difference(outcome.theirs.as_deref(), &outcome.ours))
        };
        is(self.outcome(case).await) == Some(wanted)
            && (!changed
                || self
                    .outcome(unchanged)
                    .await
                    .is_ok_and(|outcome| outcome.theirs.is_none() && outcome.ours.is_empty()))
    }
}

/// The schema of the CRD of CSVs.
async fn csv_schema(client: &Client) -> Result<Value> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = kube::core::Request::new(path)
        .get("clusterserviceversions.operators.coreos.com", &GetParams::default())?;
    let crd: Value = client.request(request).await.context("the cluster has no OLM")?;
    Ok(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn random_objects_get_the_verdict_of_the_api_server() -> Result<()> {
    let seed = number("VERDICTS_SEED", 1)?;
    let objects = usize::try_from(number("VERDICTS_OBJECTS", FULL as u64)?)?;
    eprintln!("VERDICTS_SEED={seed} VERDICTS_OBJECTS={objects}");
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace("verdicts").await?;
    let validators = Validators {
        client: cluster.client.clone(),
        valid: ValidBundle::default().with_csv_schema(csv_schema(&cluster.client).await?),
        namespace: namespace.name.clone(),
        selection: selection_for(&cluster.client).await?,
    };
    let mut generator = Generator::new();
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(objects);
    let start = Instant::now();
    let mut batch = 0;
    while outcomes.len() < objects {
        let size = BATCH.min(objects - outcomes.len());
        let cases = generator.batch(seed.wrapping_mul(1_000_003).wrapping_add(batch), size);
        let new = validators.outcomes(cases).await?;
        for outcome in &new {
            generator.count(&outcome.case, outcome.theirs.is_some());
        }
        outcomes.extend(new);
        batch += 1;
        eprintln!("{:6.1} s  {} objects", start.elapsed().as_secs_f64(), outcomes.len());
    }

    let expressions = Expressions::of(&outcomes);
    println!("{}", report::tables(&generator, &expressions));
    let unsound = unsound(&outcomes);
    let differences = differences(&validators, &outcomes).await;
    let refused = outcomes.iter().filter(|outcome| outcome.theirs.is_some()).count();
    println!(
        "{} objects, {refused} refused; {} with CEL, {} of them refused; {} differences",
        outcomes.len(),
        expressions.objects.set,
        expressions.objects.refused,
        differences.len()
    );
    let mut text = unsound.clone();
    text.extend(differences.iter().map(|(_, text)| text.clone()));
    if let Ok(file) = std::env::var("VERDICTS_DIFFERENCES") {
        std::fs::write(&file, text.join("\n"))?;
    }
    for text in &text {
        println!("{text}");
    }
    let mut problems = Vec::new();
    if !unsound.is_empty() {
        problems.push(format!("{} valid objects were refused: the generator is wrong", unsound.len()));
    }
    if !differences.is_empty() {
        problems.push(format!("{} fields differ", differences.len()));
    }
    if objects >= FULL {
        problems.extend(uncovered(&generator, &expressions));
        let idle = idle_rules(&validators.valid, &outcomes, &validators.selection);
        if !idle.is_empty() {
            problems.push(format!("rules without which every verdict stays the same: {}", idle.join(", ")));
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    namespace.delete().await
}

/// Objects without a change that the API server rejects: the generator's own mistakes.
fn unsound(outcomes: &[Outcome]) -> Vec<String> {
    let mut seen = BTreeMap::new();
    for outcome in
        outcomes.iter().filter(|outcome| outcome.case.change.is_none() && outcome.case.cel.is_none())
    {
        if let Some(message) = &outcome.theirs {
            let start: String = message.chars().take(160).collect();
            seen.entry((outcome.case.kind, start)).or_insert(outcome);
        }
    }
    seen.values()
        .map(|outcome| {
            format!("the generator's own mistake: {}", report::describe(Difference::Missed, outcome, None, 1))
        })
        .collect()
}

/// Each difference once by kind, field and way, with the smallest object that shows it.
async fn differences(validators: &Validators, outcomes: &[Outcome]) -> Vec<(Difference, String)> {
    let mut groups: BTreeMap<_, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        if outcome.case.change.is_none() && outcome.theirs.is_some() && outcome.case.cel.is_none() {
            continue;
        }
        if let Some(difference) = report::difference(outcome.theirs.as_deref(), &outcome.ours) {
            let field = outcome.case.change.as_ref().map(|change| change.pattern.clone());
            let rule = if difference == Difference::FalseAlarm { outcome.ours[0].rule } else { "" };
            groups.entry((difference, outcome.case.kind, field, rule)).or_default().push(outcome);
        }
    }
    let shown =
        usize::try_from(number("VERDICTS_SHRUNK", SHRUNK as u64).unwrap_or_default()).unwrap_or(SHRUNK);
    let described = groups.into_iter().enumerate().map(async |(index, ((difference, ..), alike))| {
        let outcome = alike[0];
        let small = if index < shown {
            Some(shrink::shrink(&outcome.case, |case| validators.differs(case, difference)).await)
        } else {
            None
        };
        let mut text = report::describe(difference, outcome, small.as_ref(), alike.len());
        for other in alike.iter().skip(1).take(4) {
            if let Some(Change { edit, .. }) = &other.case.change {
                let _ = write!(text, "  also:    {edit}");
                if let Some(theirs) = &other.theirs {
                    let _ = write!(text, "  ({})", theirs.chars().take(200).collect::<String>());
                }
                text.push('\n');
            }
        }
        (difference, text)
    });
    futures::stream::iter(described).buffered(IN_FLIGHT).collect().await
}

/// Fields and CEL functions that were not rejected often enough.
fn uncovered(generator: &Generator, expressions: &Expressions) -> Vec<String> {
    let mut problems = Vec::new();
    let lacking: Vec<_> = generator
        .counts
        .iter()
        .filter(|((kind, _), count)| count.refused < wanted(kind, count.leaf))
        .map(|((kind, pattern), count)| {
            format!("  {kind} {pattern}: {} of {}", count.refused, wanted(kind, count.leaf))
        })
        .collect();
    if !lacking.is_empty() {
        problems.push(format!("{} fields were refused too rarely:\n{}", lacking.len(), lacking.join("\n")));
    }
    let unused: Vec<_> = expressions
        .functions
        .iter()
        .filter(|(_, count)| count.set == 0 || count.refused == 0)
        .map(|(name, _)| *name)
        .collect();
    if !unused.is_empty() {
        problems.push(format!("CEL functions that were not set and refused: {unused:?}"));
    }
    if expressions.objects.set < 2_000 || expressions.objects.refused * 2 < expressions.objects.set {
        let Count { set, refused, .. } = expressions.objects;
        problems.push(format!("only {set} objects with CEL, {refused} of them refused"));
    }
    problems
}

/// Rules of the server's version that can be switched off without any verdict changing; there should be none. Only where
/// a rule alone finds something can a verdict depend on it; whether it does, judging without it says.
fn idle_rules(valid: &ValidBundle, outcomes: &[Outcome], all: &Selection) -> Vec<&'static str> {
    let newest = all.settings.versions.and_then(Versions::last);
    // Older API servers drop what a newer rule is about.
    let has = |source: &Source| {
        let since = source.since.and_then(|since| since.parse::<Minor>().ok());
        source.project != Project::Kubernetes || since <= newest
    };
    let judging = olm_rules::all().filter(|rule| {
        rule.severity == Severity::Error
            && rule.suite == Suite::Bundle
            && report::is_of_api_server(rule.id)
            && rule.sources.iter().any(has)
    });
    let needed = |rule: &str| {
        let selection = Selection { levels: vec![(rule.to_owned(), Level::Allow)], ..all.clone() };
        outcomes.iter().any(|outcome| {
            let mut counted =
                outcome.ours.iter().filter(|finding| report::is_of_api_server(finding.rule)).peekable();
            outcome.theirs.is_some()
                && counted.peek().is_some()
                && counted.all(|finding| finding.rule == rule)
                && report::difference(outcome.theirs.as_deref(), &validate(valid, &outcome.case, &selection))
                    == Some(Difference::Missed)
        })
    };
    judging.map(|rule| rule.id).filter(|rule| !needed(rule)).collect()
}
