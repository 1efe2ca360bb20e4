//! The result of a run: how often each field and each CEL function was set and rejected, and all differences.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use olm_model::report::{Finding, Validator};

use super::case::{Case, Change};
use super::cel;
use super::generator::{Count, Generator};

/// The verdicts on one object.
#[derive(Debug)]
pub struct Outcome {
    /// The object.
    pub case: Case,
    /// Why the API server rejects it; `None` if it accepts it.
    pub theirs: Option<String>,
    /// Our findings of severity error.
    pub ours: Vec<Finding>,
}

/// The difference between two verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// The API server rejects what we accept.
    Missed,
    /// We reject what the API server accepts.
    FalseAlarm,
    /// Both reject it, with different costs.
    Cost,
}

/// Rules for objects that are not sent here: those of several megabytes, and the Services that OLM creates for webhooks.
const NOT_SENT: [&str; 2] = ["object-too-large", "webhook-service-name-invalid"];

/// Returns whether a rule reproduces a rejection by the API server. If only others find something, the API server may
/// accept the object.
#[must_use]
pub fn is_of_api_server(rule: &str) -> bool {
    !NOT_SENT.contains(&rule)
        && olm_rules::find(rule).is_none_or(|rule| rule.is_rejected_by(Validator::ApiServer))
}

/// Returns how our findings differ from the API server's verdict.
#[must_use]
pub fn difference(theirs: Option<&str>, ours: &[Finding]) -> Option<Difference> {
    match theirs {
        Some(message) => {
            if !ours.iter().any(|finding| is_of_api_server(finding.rule)) {
                return Some(Difference::Missed);
            }
            let theirs = factors(message);
            let ours: Vec<_> = ours.iter().flat_map(|finding| factors(&finding.message)).collect();
            (!theirs.iter().all(|factor| ours.contains(factor))).then_some(Difference::Cost)
        }
        None => ours.iter().any(|finding| is_of_api_server(finding.rule)).then_some(Difference::FalseAlarm),
    }
}

/// Returns the factors by which budgets are exceeded, according to a message.
fn factors(message: &str) -> Vec<String> {
    message
        .match_indices("factor of ")
        .filter_map(|(at, found)| {
            let rest = message[at + found.len()..].trim_start_matches("more than ");
            let end = rest.find('x')?;
            Some(rest[..end].to_owned())
        })
        .collect()
}

/// How often CEL functions and defects were set and rejected.
#[derive(Debug, Default)]
pub struct Expressions {
    /// By function: how often it stood in a rule that was taken, and how often a call of it was rejected.
    pub functions: BTreeMap<&'static str, Count>,
    /// By defect.
    pub defects: BTreeMap<&'static str, Count>,
    /// Objects with expressions, and how many of them were rejected.
    pub objects: Count,
}

impl Expressions {
    /// Counts the objects with expressions.
    #[must_use]
    pub fn of(outcomes: &[Outcome]) -> Self {
        let mut all = Self::default();
        for (name, ..) in cel::FUNCTIONS {
            all.functions.entry(name).or_default();
        }
        for outcome in outcomes {
            let Some(used) = &outcome.case.cel else { continue };
            let refused = usize::from(outcome.theirs.is_some());
            all.objects.set += 1;
            all.objects.refused += refused;
            for function in &used.functions {
                all.functions.entry(function).or_default().set += 1;
            }
            if let Some(function) = used.defective {
                all.functions.entry(function).or_default().refused += refused;
            }
            if let Some(defect) = used.defect {
                let count = all.defects.entry(defect).or_default();
                count.set += 1;
                count.refused += refused;
            }
        }
        all
    }
}

/// Formats the tables of a run.
#[must_use]
pub fn tables(generator: &Generator, expressions: &Expressions) -> String {
    let mut text = String::new();
    let mut last = "";
    for ((kind, pattern), count) in &generator.counts {
        if *kind != last {
            let _ = writeln!(text, "{kind}: field, changed, refused");
            last = kind;
        }
        let _ = writeln!(
            text,
            "  {:5} {:5}  {pattern}{}",
            count.set,
            count.refused,
            if count.leaf { "" } else { "  (whole)" }
        );
    }
    let _ = writeln!(text, "CEL functions: set, refused");
    for (name, count) in &expressions.functions {
        let _ = writeln!(text, "  {:5} {:5}  {name}", count.set, count.refused);
    }
    let _ = writeln!(text, "CEL defects: set, refused");
    for (name, count) in &expressions.defects {
        let _ = writeln!(text, "  {:5} {:5}  {name}", count.set, count.refused);
    }
    text
}

/// Formats one difference.
#[must_use]
pub fn describe(difference: Difference, outcome: &Outcome, small: Option<&Case>, alike: usize) -> String {
    let case = &outcome.case;
    let mut text = String::new();
    let what = match difference {
        Difference::Missed => "the API server rejects it, we do not",
        Difference::FalseAlarm => "we reject it, the API server does not",
        Difference::Cost => "both reject it, with different costs",
    };
    let _ = writeln!(text, "{} (seed {}): {what}; {alike} alike", case.kind, case.seed);
    match &case.change {
        Some(Change { pattern, edit, .. }) => {
            let _ = writeln!(text, "  field:   {pattern}\n  change:  {edit}");
        }
        None => {
            let _ = writeln!(text, "  change:  none");
        }
    }
    if let Some(message) = &outcome.theirs {
        let _ = writeln!(text, "  theirs:  {}", shortened(message, 600));
    }
    for finding in &outcome.ours {
        let _ = writeln!(
            text,
            "  ours:    {}: {} {}",
            finding.rule,
            finding.path.as_deref().unwrap_or_default(),
            shortened(&finding.message, 300)
        );
    }
    if let Some(small) = small {
        let _ = writeln!(text, "  smallest: {}", shortened(&small.changed().to_string(), 2000));
    }
    text
}

fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars().take(length).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_budgets_are_found() {
        let message = "exceeds budget by factor of more than 100x (a), and by factor of 1.400000x";
        assert_eq!(factors(message), ["100", "1.400000"]);
    }
}
