//! `bundle-tool serve` beside `opm serve`: time from start to the first answer, memory, and the latency of `GetBundle`.
//!
//! With `PROGRAMS` and `OPM` as for the tests. Prints a table of medians. Both servers run one after the other, on the same machine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use catalog_server::client::Client;
use catalog_server::proto::{Bundle, Names};
use clap::Parser;
use e2e::{Programs, opm};
use prost::Message as _;

/// Calls a second.
const RATE: u32 = 2000;

/// Concurrent lists of all bundles.
const LISTS: usize = 200;

#[derive(Parser)]
struct Arguments {
    /// A catalog directory of YAML files
    catalog: PathBuf,
    /// How often each server is started
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// How often the catalog contains each of its packages, under other names
    #[arg(long, default_value_t = 1)]
    copies: usize,
    /// For how many seconds `GetBundle` is called
    #[arg(long, default_value_t = 10)]
    load: u64,
}

/// Writes a catalog with each package under as many names as there are copies.
fn copies(catalog: &Path, count: usize, to: &Path) -> Result<()> {
    for directory in std::fs::read_dir(catalog)? {
        for file in std::fs::read_dir(directory?.path())? {
            let text = std::fs::read_to_string(file?.path())?;
            let package = package(&text).context("a file defines no package")?;
            for copy in 0..count {
                let renamed = to.join(format!("{package}-{copy}"));
                std::fs::create_dir_all(&renamed)?;
                let documents: Vec<_> = text
                    .split("\n---\n")
                    .map(|one| with_package(one, package, &format!("{package}-{copy}")))
                    .collect();
                std::fs::write(renamed.join("catalog.yaml"), documents.join("\n---\n"))?;
            }
        }
    }
    Ok(())
}

/// Returns the name of the package that a file defines; its directory may have another name.
fn package(text: &str) -> Option<&str> {
    let document = text.split("\n---\n").find(|one| one.lines().any(|line| line == "schema: olm.package"))?;
    document.lines().find_map(|line| line.strip_prefix("name: "))
}

/// Returns a document with another name of its package.
fn with_package(document: &str, old: &str, new: &str) -> String {
    let is_package = document.lines().any(|line| line == "schema: olm.package");
    let lines = document.lines().map(|line| match line.trim().split_once(": ") {
        Some(("package" | "packageName", name)) if name == old => line.replacen(old, new, 1),
        Some(("name", name)) if is_package && name == old && line.starts_with("name") => {
            line.replacen(old, new, 1)
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A field of the process's status in MB.
fn memory(child: &Child, field: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).context("no such field")?;
    let kilobytes: f64 = line.trim_start_matches(':').trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}

/// Starts a server and waits for its first answer; returns it with the time in seconds.
async fn start(command: &mut Command, port: u16) -> Result<(Child, Client, f64)> {
    let begin = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    loop {
        if let Ok(client) = Client::connect(("127.0.0.1", port)).await
            && client.call("/grpc.health.v1.Health/Check", &Names::default()).await.is_ok()
        {
            return Ok((child, client, begin.elapsed().as_secs_f64()));
        }
        if let Some(status) = child.try_wait()? {
            bail!("the server ended with {status}");
        }
        ensure!(begin.elapsed() < Duration::from_mins(10), "the server does not start");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn stop(mut child: Child) -> Result<()> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Calls `GetBundle` for all bundles in turn at a fixed rate; returns the 50th and 99th percentile in milliseconds, and the
/// resident memory in MB after a tenth of the time.
async fn load(
    child: &Child,
    client: &Client,
    bundles: &[Names],
    duration: Duration,
) -> Result<(f64, f64, f64)> {
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / RATE);
    let mut calls = tokio::task::JoinSet::new();
    let begin = Instant::now();
    let mut times = Vec::new();
    let mut early = None;
    for names in bundles.iter().cycle() {
        if begin.elapsed() > duration {
            break;
        }
        if early.is_none() && begin.elapsed() > duration / 10 {
            early = Some(memory(child, "VmRSS")?);
        }
        ticks.tick().await;
        let (client, names) = (client.clone(), names.clone());
        calls.spawn(async move {
            let begin = Instant::now();
            let result = client.call("/api.Registry/GetBundle", &names).await;
            result.map(|_| begin.elapsed().as_secs_f64() * 1e3)
        });
        while let Some(done) = calls.try_join_next() {
            times.push(done??);
        }
    }
    while let Some(done) = calls.join_next().await {
        times.push(done??);
    }
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or(f64::NAN);
    Ok((at(50), at(99), early.unwrap_or(f64::NAN)))
}

async fn measure(
    name: &str,
    arguments: &Arguments,
    command: impl Fn(u16) -> Command,
    prepare: impl Fn(),
) -> Result<()> {
    let (mut starts, mut resident, mut peak) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..arguments.runs {
        if let Some((child, _)) = last.take() {
            stop(child)?;
        }
        prepare();
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (child, client, seconds) = start(&mut command(port), port).await?;
        starts.push(seconds);
        resident.push(memory(&child, "VmRSS")?);
        peak.push(memory(&child, "VmHWM")?);
        last = Some((child, client));
    }
    let (child, client) = last.context("no run")?;
    let bundles = client.list("/api.Registry/ListBundles", &Names::default(), &[]).await?;
    let bundles: Vec<Names> = bundles
        .into_iter()
        .map(|message| {
            let bundle = Bundle::decode(message)?;
            let Bundle { package_name: first, channel_name: second, csv_name: third, .. } = bundle;
            Ok(Names { first, second, third, fourth: String::new() })
        })
        .collect::<Result<_>>()?;
    let (p50, p99, early) = load(&child, &client, &bundles, Duration::from_secs(arguments.load)).await?;
    let late = memory(&child, "VmRSS")?;
    let lists = (0..LISTS).map(|_| client.list("/api.Registry/ListBundles", NO_NAMES, &[]));
    let begin = Instant::now();
    for result in futures::future::join_all(lists).await {
        ensure!(result?.len() == bundles.len(), "a list is not complete");
    }
    let listed = begin.elapsed().as_secs_f64();
    let used = memory(&child, "VmHWM")?;
    stop(child)?;
    println!(
        "| {name} | {:.3} s | {:.1} MB | {:.1} MB | {p50:.2} ms | {p99:.2} ms | {early:.1} MB | {late:.1} MB | {listed:.2} s | {used:.1} MB |",
        median(&mut starts),
        median(&mut resident),
        median(&mut peak),
    );
    Ok(())
}

const NO_NAMES: &Names =
    &Names { first: String::new(), second: String::new(), third: String::new(), fourth: String::new() };

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let tool = Programs::from_env()?.path("bundle-tool");
    let opm = opm()?;
    let scratch = tempfile::tempdir()?;
    let (cache, index) = (scratch.path().join("cache"), scratch.path().join("index"));
    let mut catalog = arguments.catalog.clone();
    if arguments.copies > 1 {
        catalog = scratch.path().join("catalog");
        copies(&arguments.catalog, arguments.copies, &catalog)?;
    }
    let with_port = |program: &Path, port: u16, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.arg("serve").arg(&catalog).args(["--port", &port.to_string()]).args(arguments);
        command
    };
    let path = |path: &Path| path.display().to_string();
    println!(
        "| | ready | memory | peak | GetBundle p50 | p99 | memory after a tenth of the load | at its end | {LISTS} lists | peak then |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    if let Some(opm) = opm {
        let forget = || drop(std::fs::remove_dir_all(&cache));
        let options = ["--pprof-addr=", "--cache-enforce-integrity=false", "--cache-dir", &path(&cache)];
        measure("opm, from the catalog", &arguments, |port| with_port(&opm, port, &options), forget).await?;
        let options = ["--pprof-addr=", "--cache-dir", &path(&cache)];
        measure("opm, from its cache", &arguments, |port| with_port(&opm, port, &options), || ()).await?;
    }
    measure("bundle-tool, from the catalog", &arguments, |port| with_port(&tool, port, &[]), || ()).await?;
    let status = Command::new(&tool).arg("serve").arg(&catalog).arg("--build-index").arg(&index).status()?;
    ensure!(status.success(), "the index cannot be built");
    let options = ["--cache-enforce-integrity", "--index", &path(&index)];
    measure("bundle-tool, from the index", &arguments, |port| with_port(&tool, port, &options), || ())
        .await?;
    println!("\nindex: {} kB", std::fs::metadata(&index)?.len() / 1000);
    Ok(())
}
