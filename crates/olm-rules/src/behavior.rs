//! Runs rules once for each distinct behavior of the versions of Kubernetes, not once for each version.
//!
//! Rules are written for one version, and call [`Server::since`] where versions differ. The server records the answers, and so for
//! which other versions the findings are the same; the rules run again for the remaining versions. For most bundles, no rule asks,
//! so that validating for eight versions takes as long as for one.

use std::collections::HashMap;

use kubernetes_cel::Server;
use olm_model::kubernetes::Versions;
use olm_model::report::Finding;

use super::reporter::Findings;

/// Runs `run` for all versions of a set, and returns the findings of all of them: each once, with the versions that it holds for if
/// there are others in the set.
pub(crate) fn for_each(versions: Versions, mut run: impl FnMut(&Server) -> Findings) -> Findings {
    let mut pending = versions;
    let mut runs = Vec::new();
    // The newest version comes first: where messages differ, its message stays.
    while let Some(minor) = pending.last() {
        let server = Server::new(minor.number());
        let findings = run(&server);
        let same = Versions::of_numbers(&server.same()).intersection(pending);
        pending = pending.without(same);
        runs.push((same, findings));
    }
    match runs.len() {
        0 => Findings::default(),
        1 => runs.pop().map(|(_, findings)| findings).unwrap_or_default(),
        _ => merged(versions, runs),
    }
}

/// What identifies a defect across versions: rule, file, position, path, and its number among the findings of the rule at that
/// place. The message is not part of it, because messages can differ between versions, for example in estimated costs.
type Defect = (&'static str, Option<String>, Option<(u32, u32)>, Option<String>, usize);

fn merged(versions: Versions, runs: Vec<(Versions, Findings)>) -> Findings {
    let mut defects: Vec<(Finding, Versions)> = Vec::new();
    let mut known: HashMap<Defect, usize> = HashMap::new();
    let mut counts = Findings::default();
    for (same, findings) in runs {
        let mut seen: HashMap<Defect, usize> = HashMap::new();
        for mut finding in findings.drain_into(&mut counts) {
            let place = finding.line.zip(finding.column);
            let mut key = (finding.rule, finding.file.clone(), place, finding.path.clone(), 0);
            let nth = seen.entry(key.clone()).or_default();
            key.4 = *nth;
            *nth += 1;
            // Findings of the schema of a CRD are already merged, for a part of the versions.
            let holds = finding.versions.take().map_or(same, |versions| versions.intersection(same));
            if let Some(index) = known.get(&key) {
                defects[*index].1 = defects[*index].1.union(holds);
            } else {
                known.insert(key, defects.len());
                defects.push((finding, holds));
            }
        }
    }
    for (mut finding, holds) in defects {
        finding.versions = (holds != versions).then_some(holds);
        counts.keep(finding);
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use olm_model::kubernetes;

    use super::*;
    use crate::reporter::Reporter;

    /// The findings of all versions for a rule that answers `find`, and how often it ran.
    fn found(find: impl Fn(&mut Reporter<'_>)) -> (Vec<Finding>, usize) {
        let rule = crate::all().next().unwrap();
        let runs = Cell::new(0);
        let findings = for_each(Versions::reproduced(), |server| {
            runs.set(runs.get() + 1);
            let mut findings = Findings::default();
            find(&mut Reporter::new(rule.head(), &mut findings, server));
            findings
        });
        (findings.into_list(), runs.get())
    }

    #[test]
    fn newest_version_is_the_same_everywhere() {
        assert_eq!(Server::NEWEST, kubernetes::newest().number());
    }

    #[test]
    fn rules_run_once_for_each_distinct_behavior() {
        let (list, runs) = found(|reporter| reporter.bundle("always"));
        assert_eq!((list.len(), runs, list[0].versions), (1, 1, None));
        let (list, runs) = found(|reporter| {
            if reporter.since(36) {
                reporter.bundle("new");
            }
        });
        assert_eq!((list.len(), runs), (1, 2));
        assert_eq!(list[0].versions.unwrap().to_string(), "Kubernetes 1.36 and 1.37 (OpenShift 4.23)");
    }

    #[test]
    fn one_defect_is_one_finding_whatever_its_message() {
        let (list, runs) = found(|reporter| {
            let cost = if reporter.since(33) { 5 } else { 7 };
            reporter.path("manifests/a.yaml", format!("cost {cost}"));
        });
        assert_eq!((list.len(), runs, list[0].versions, list[0].message.as_str()), (1, 2, None, "cost 5"));
    }
}
