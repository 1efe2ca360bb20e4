//! Printers of results, in operator-sdk's formats.

use std::io::{self, Write};

use super::test::{API_VERSION, State, Test};
use kube_yaml::text::{printable, xml_escaped};

/// Returns the results as a `TestList`.
#[must_use]
pub fn json(tests: &[Test]) -> serde_json::Value {
    let items: Vec<_> = tests
        .iter()
        .map(|test| {
            let mut status = serde_json::json!({});
            if !test.results.is_empty() {
                status["results"] = serde_json::json!(test.results);
            }
            serde_json::json!({
                "apiVersion": API_VERSION, "kind": "Test", "spec": test.spec, "status": status,
            })
        })
        .collect();
    serde_json::json!({"apiVersion": API_VERSION, "kind": "TestList", "items": items})
}

/// Prints results as text.
///
/// # Errors
/// `out` cannot be written to.
pub fn text(tests: &[Test], out: &mut dyn Write) -> io::Result<()> {
    if tests.is_empty() {
        return writeln!(out, "0 tests selected");
    }
    for test in tests {
        writeln!(out, "{}", "-".repeat(80))?;
        writeln!(out, "Image:      {}", printable(&test.spec.image))?;
        if !test.spec.entrypoint.is_empty() {
            writeln!(out, "Entrypoint: [{}]", printable(&test.spec.entrypoint.join(" ")))?;
        }
        if !test.spec.labels.is_empty() {
            writeln!(out, "Labels:")?;
            for (key, value) in &test.spec.labels {
                writeln!(out, "\t{key:?}:{value:?}")?;
            }
        }
        if !test.results.is_empty() {
            writeln!(out, "Results:")?;
        }
        for result in &test.results {
            writeln!(out, "\tName: {}", printable(&result.name))?;
            writeln!(out, "\tState: {}\n", result.state.name())?;
            for (title, lines) in [("Suggestions", &result.suggestions), ("Errors", &result.errors)] {
                if !lines.is_empty() {
                    writeln!(out, "\t{title}:")?;
                }
                for line in lines {
                    writeln!(out, "\t\t{}", printable(line))?;
                }
            }
            if !result.log.is_empty() {
                writeln!(out, "\tLog:")?;
                for line in result.log.lines() {
                    writeln!(out, "\t\t{}", printable(line))?;
                }
            }
            writeln!(out)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Prints results as `JUnit` XML.
///
/// # Errors
/// `out` cannot be written to.
pub fn xunit(tests: &[Test], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"scorecard\">")?;
    for test in tests {
        let count = |state: State| test.results.iter().filter(|result| result.state == state).count();
        let name = test.spec.labels.get("test").or_else(|| test.spec.entrypoint.last());
        writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
            xml_escaped(name.map_or("", String::as_str)),
            test.results.len(),
            count(State::Fail),
            count(State::Error)
        )?;
        writeln!(out, "    <properties>")?;
        let entrypoint = test.spec.entrypoint.join(" ");
        let labels = test.spec.labels.iter().map(|(key, value)| (format!("labels.{key}"), value.as_str()));
        let properties = [
            ("spec.image".to_owned(), test.spec.image.as_str()),
            ("spec.entrypoint".to_owned(), entrypoint.as_str()),
        ];
        for (key, value) in properties.into_iter().chain(labels) {
            writeln!(
                out,
                "      <property name=\"{}\" value=\"{}\"></property>",
                xml_escaped(&key),
                xml_escaped(value)
            )?;
        }
        writeln!(out, "    </properties>")?;
        for result in &test.results {
            writeln!(out, "    <testcase name=\"{}\">", xml_escaped(&result.name))?;
            let tag = match result.state {
                State::Pass => "",
                State::Fail => "failure",
                State::Error => "error",
            };
            if !tag.is_empty() {
                let message = result.errors.iter().chain(&result.suggestions).map(String::as_str);
                let message = xml_escaped(&message.collect::<Vec<_>>().join("; "));
                writeln!(out, "      <{tag} message=\"{message}\"></{tag}>")?;
            }
            if !result.log.is_empty() {
                writeln!(out, "      <system-out>{}</system-out>", xml_escaped(&result.log))?;
            }
            writeln!(out, "    </testcase>")?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}
