//! Random changes of real catalogs: `catalog validate` rejects what `opm validate` rejects, and nothing else.
//!
//! Needs `OPM` and the catalogs in `LARGE_CATALOG`, but no cluster. Half of the changes are to a field (names, edges, ranges,
//! versions, types, the case of keys), a quarter to documents, a quarter to characters and lines of the text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, ensure};
use e2e::{Programs, opm, skip};
use fastrand::Rng;
use kube_yaml::emit;
use serde_json::{Map, Value, json};

/// The size in bytes up to which a catalog is changed often: opm takes as long for a small change of a large one.
const SMALL: usize = 128 << 10;

/// Strings that a field may get: what opm looks at, and what YAML may take for something else.
const STRINGS: [&str; 36] = [
    "",
    " ",
    "a",
    "A",
    "a b",
    "a.b",
    "olm.package",
    "olm.channel",
    "olm.bundle",
    "olm.deprecations",
    "olm.gvk",
    "olm.bundle.object",
    "olm.csv.metadata",
    "olm.package.required",
    "olm.gvk.required",
    "olm.constraint",
    "1.0.0",
    "v1.0.0",
    "1.0",
    "1.0.0-rc.1",
    "1.0.0+5",
    "01.0.0",
    "99999999999999999999.0.0",
    ">=1.0.0 <2.0.0",
    ">=1.0.0 || <0.1.0",
    "<1.x",
    "!1.0.0",
    "=>1",
    "||",
    "quay.io/a/b:v1",
    "Quay.io/A/B",
    "a@sha256:00",
    "a:b:c",
    "no",
    "ab=",
    "YQ==",
];

/// What a line or a character may become.
const TEXT: [&str; 26] = [
    "", " ", "\t", ":", "-", "- ", "\"", "'", "{", "}", "[", "]", "#", "&a ", "*a", "!", "%", "|", ">",
    "---", "...", "~", "\u{e9}", "\u{85}", "\0", "\\",
];

struct Catalog {
    name: String,
    documents: Vec<Value>,
    text: String,
}

fn catalogs(root: &Path) -> Result<Vec<Catalog>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let directory = entry?.path();
        let mut text = String::new();
        for file in std::fs::read_dir(&directory)? {
            let part = std::fs::read_to_string(file?.path())?;
            writeln!(text, "{}{part}", if text.is_empty() { "" } else { "---\n" })?;
        }
        let parsed = kube_yaml::parse(text.as_bytes());
        ensure!(parsed.error.is_none(), "{} cannot be read", directory.display());
        let documents = parsed.documents.iter().map(|tree| tree.root().to_json()).collect();
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push(Catalog { name, documents, text });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Returns a changed catalog and what was changed.
fn changed(catalog: &Catalog, rng: &mut Rng) -> (String, String) {
    match rng.u8(0..4) {
        0 => {
            let mut text = catalog.text.clone();
            let what = change_text(&mut text, rng);
            (text, what)
        }
        kind => {
            let mut documents = catalog.documents.clone();
            let what = if kind == 1 {
                change_documents(&mut documents, rng)
            } else {
                change_field(&mut documents, rng)
            };
            let as_json = rng.u8(0..8) == 0;
            let texts = documents.iter().map(|document| {
                if as_json { document.to_string() + "\n" } else { format!("---\n{}", emit(document)) }
            });
            (texts.collect(), what)
        }
    }
}

fn change_text(text: &mut String, rng: &mut Rng) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = rng.usize(0..lines.len());
    let what = match rng.u8(0..5) {
        0 => format!("remove line {at}: {}", lines.remove(at)),
        1 => {
            let line = lines[at].clone();
            lines.insert(rng.usize(0..lines.len()), line);
            format!("copy line {at}")
        }
        2 => {
            let other = rng.usize(0..lines.len());
            lines.swap(at, other);
            format!("swap lines {at} and {other}")
        }
        3 => {
            let new = *rng.choice(&TEXT).unwrap_or(&"");
            lines.insert(at, format!("{new}\n"));
            format!("insert {new:?} as line {at}")
        }
        _ => {
            let new = *rng.choice(&TEXT).unwrap_or(&"");
            let ends: Vec<usize> = lines[at].char_indices().map(|(at, _)| at).collect();
            let from = ends[rng.usize(0..ends.len())];
            let to = if rng.bool() {
                from
            } else {
                lines[at][from..].chars().next().map_or(from, |c| from + c.len_utf8())
            };
            lines[at].replace_range(from..to, new);
            format!("write {new:?} into line {at}")
        }
    };
    *text = lines.concat();
    what
}

fn change_documents(documents: &mut Vec<Value>, rng: &mut Rng) -> String {
    let at = rng.usize(0..documents.len());
    match rng.u8(0..6) {
        0 => format!("remove document {at}: {}", documents.remove(at)["schema"]),
        1 => {
            let copy = documents[at].clone();
            documents.push(copy);
            format!("copy document {at}")
        }
        2 => {
            let mut copy = documents[at].clone();
            copy["name"] = json!(format!("{}x", copy["name"].as_str().unwrap_or_default()));
            documents.push(copy);
            format!("copy document {at} with another name")
        }
        3 => {
            let package =
                documents.iter().find_map(|document| document["package"].as_str()).unwrap_or("x").to_owned();
            let names: Vec<Value> = documents.iter().map(|document| document["name"].clone()).collect();
            let schema = rng.choice(["olm.package", "olm.channel", "olm.bundle", "", "x"]).unwrap_or("x");
            let name = rng.choice(&names).cloned().unwrap_or_default();
            let mut reference = Map::new();
            reference.insert("schema".to_owned(), schema.into());
            if rng.u8(0..4) > 0 {
                reference.insert("name".to_owned(), name);
            }
            let message = rng.choice(["gone", ""]).unwrap_or("gone");
            let entry = json!({"reference": reference, "message": message});
            documents.push(json!({"schema": "olm.deprecations", "package": package, "entries": [entry]}));
            "add a deprecation".to_owned()
        }
        4 => {
            documents.push(
                rng.choice([
                    json!({}),
                    json!([]),
                    json!("x"),
                    Value::Null,
                    json!({"schema": "x"}),
                    json!({"schema": 1}),
                ])
                .unwrap_or_default(),
            );
            "add a document".to_owned()
        }
        _ => {
            let bundle = documents.iter().find(|document| document["schema"] == "olm.bundle").cloned();
            documents.extend(bundle.map(|mut bundle| {
                bundle["image"] = json!("");
                bundle["name"] = json!("other");
                bundle
            }));
            "add a bundle without an image".to_owned()
        }
    }
}

/// The places of all values in a document, as JSON pointers; those within the metadata of CSVs seldom.
fn places(value: &Value, pointer: &str, rng: &mut Rng, found: &mut Vec<String>) {
    if pointer.matches('/').count() > 4 && rng.u8(0..20) > 0 {
        return;
    }
    found.push(pointer.to_owned());
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                places(
                    value,
                    &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                    rng,
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{pointer}/{index}"), rng, found);
            }
        }
        _ => {}
    }
}

fn change_field(documents: &mut [Value], rng: &mut Rng) -> String {
    let names: Vec<String> =
        documents.iter().filter_map(|document| document["name"].as_str().map(str::to_owned)).collect();
    // Channels as often as all others together.
    let channels: Vec<usize> =
        (0..documents.len()).filter(|at| documents[*at]["schema"] == "olm.channel").collect();
    let at = match rng.choice(&channels) {
        Some(&at) if rng.bool() => at,
        _ => rng.usize(0..documents.len()),
    };
    let mut found = Vec::new();
    places(&documents[at], "", rng, &mut found);
    let pointer = found.swap_remove(rng.usize(0..found.len()));
    let what = rng.u8(0..10);
    let (parent, key) = pointer.rsplit_once('/').map_or(("", ""), |(parent, key)| (parent, key));
    let key = key.replace("~1", "/").replace("~0", "~");
    if what < 4
        && let Some(Value::Object(map)) = documents[at].pointer_mut(parent)
        && !key.is_empty()
    {
        let value = map.get(&key).cloned().unwrap_or_default();
        match what {
            0 => {
                map.remove(&key);
                return format!("remove {pointer} of document {at}");
            }
            1 => {
                map.remove(&key);
                map.insert(key.to_uppercase(), value);
                return format!("write {pointer} of document {at} in capitals");
            }
            2 => {
                map.insert(key.to_uppercase(), value);
                return format!("write {pointer} of document {at} twice");
            }
            _ => {
                let field = rng
                    .choice(["replaces", "skips", "skipRange", "release", "version", "properties"])
                    .unwrap_or("skips");
                let name = rng.choice(&names).cloned().unwrap_or_default();
                let string = *rng.choice(&STRINGS).unwrap_or(&"");
                let new = rng
                    .choice([json!(name), json!([name]), json!(string), json!([string])])
                    .unwrap_or_default();
                let text = format!("set {field} beside {pointer} of document {at} to {new}");
                map.insert(field.to_owned(), new);
                return text;
            }
        }
    }
    let Some(value) = documents[at].pointer_mut(&pointer) else { return "nothing".to_owned() };
    let name = rng.choice(&names).cloned().unwrap_or_default();
    let string = *rng.choice(&STRINGS).unwrap_or(&"");
    *value = match rng.u8(0..12) {
        0 => Value::Null,
        1 => json!(1),
        2 => json!(true),
        3 => json!([]),
        4 => json!({}),
        5 => json!([value.clone()]),
        6 | 7 => json!(name),
        8 => json!(value.as_str().map_or_else(|| "x".to_owned(), |text| format!("{text}x"))),
        _ => json!(string),
    };
    format!("set {pointer} of document {at} to {}", value.to_string().chars().take(80).collect::<String>())
}

/// Returns whether a program accepts the catalog in a directory, and what it says.
fn accepts(command: &mut Command) -> Result<(bool, String)> {
    let output = command.stdin(Stdio::null()).output()?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), text))
}

fn number(name: &str, default: u64) -> Result<u64> {
    std::env::var(name)
        .map_or(Ok(default), |text| text.parse().with_context(|| format!("{name} is not a number")))
}

#[test]
fn random_changes_of_catalogs_get_the_verdict_of_opm() -> Result<()> {
    let (Some(opm), Some(root)) = (opm()?, std::env::var_os("LARGE_CATALOG").map(PathBuf::from)) else {
        skip("OPM and LARGE_CATALOG are not set");
        return Ok(());
    };
    let tool = Programs::from_env()?.path("bundle-tool");
    let catalogs = catalogs(&root)?;
    let small: Vec<usize> = (0..catalogs.len()).filter(|at| catalogs[*at].text.len() < SMALL).collect();
    let (count, seed) = (number("CATALOG_CHANGES", 500)?, number("CATALOG_SEED", 1)?);
    let (accepted, differences) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    let next = AtomicU64::new(0);
    let work = || -> Result<()> {
        let scratch = tempfile::tempdir()?;
        let path = scratch.path().join("c");
        std::fs::create_dir(&path)?;
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= count {
                return Ok(());
            }
            let mut rng = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(case));
            let at = if rng.u8(0..50) == 0 {
                rng.usize(0..catalogs.len())
            } else {
                *rng.choice(&small).context("no small catalog")?
            };
            let (text, what) = changed(&catalogs[at], &mut rng);
            std::fs::write(path.join("catalog.yaml"), &text)?;
            let (theirs, message) = accepts(Command::new(&opm).arg("validate").arg(&path))?;
            let (ours, findings) = accepts(Command::new(&tool).args(["catalog", "validate"]).arg(&path))?;
            accepted.fetch_add(u64::from(theirs), Ordering::Relaxed);
            if ours != theirs {
                let shown = |text: &str| text.chars().take(700).collect::<String>();
                let verdict = |accepts| if accepts { "accepts" } else { "rejects" };
                let report = format!(
                    "{}: {what}\n  opm {}: {}\n  bundle-tool {}: {}",
                    catalogs[at].name,
                    verdict(theirs),
                    shown(&message),
                    verdict(ours),
                    shown(&findings)
                );
                if let Some(directory) = std::env::var_os("CATALOG_DIFFERENCES").map(PathBuf::from) {
                    std::fs::create_dir_all(&directory)?;
                    std::fs::write(directory.join(format!("{case}.yaml")), &text)?;
                }
                differences
                    .lock()
                    .map_err(|_| anyhow::anyhow!("a thread has panicked"))?
                    .insert(case, report);
            }
        }
    };
    std::thread::scope(|scope| -> Result<()> {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a thread has panicked"))?)
    })?;
    let differences = differences.into_inner().map_err(|_| anyhow::anyhow!("a thread has panicked"))?;
    for (case, report) in &differences {
        println!("case {case}: {report}");
    }
    let accepted = accepted.into_inner();
    println!(
        "{count} changes with seed {seed}: opm accepts {accepted}; {} agreed, {} differed",
        count - differences.len() as u64,
        differences.len()
    );
    ensure!(differences.is_empty(), "{} verdicts differ", differences.len());
    Ok(())
}
