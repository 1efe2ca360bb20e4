//! CRDs with `x-kubernetes-validations`: an expression of one function, and at most one defect.
//!
//! Which functions are used, and in which one the defect is, is recorded, to be counted.

use fastrand::Rng;
use serde_json::json;

use super::case::{Case, Change, Used};
use super::cel::{FUNCTIONS, call, grow};
use super::cel_crd::{crd, spec_path};
use super::cel_defects;
use super::edit::set;
use super::subject::Subject;
use super::template::Step;

/// A CRD with an expression of the function whose `turn` it is; with a defect, where one is asked for.
#[must_use]
pub fn case(seed: u64, turn: usize, defective: bool) -> Case {
    let mut rng = Rng::with_seed(seed);
    let (name, ty, pattern) = FUNCTIONS[turn % FUNCTIONS.len()];
    let mut used = Vec::new();
    let grown = call(&mut rng, name, ty, pattern, 2, &mut used);
    let mut rule = json!({"rule": grown.rule()});
    if rng.f64() < 0.2 {
        rule["message"] = json!("it must be so");
    }
    if rng.f64() < 0.2 {
        rule["messageExpression"] = json!(format!("'it is ' + {}", grow(&mut rng, 'S', 1, &mut used)));
    }
    if rng.f64() < 0.1 {
        rule["reason"] = json!(
            ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]
                [rng.usize(..4)]
        );
    }
    if rng.f64() < 0.1 {
        rule["fieldPath"] = json!([".s", ".o.x", ".l", ".m['a']"][rng.usize(..4)]);
    }
    let mut object = crd(&mut rng);
    let path = spec_path();
    let mut at = path.clone();
    at.push(Step::Key("x-kubernetes-validations".into()));
    set(&mut object, &at, Some(json!([rule])));
    let mut record = Used { functions: used, defective: None, defect: None };
    let change = defective.then(|| {
        // Every function's call is defective in every second round.
        let in_call = (turn / FUNCTIONS.len()).is_multiple_of(2);
        let (defect, edit) = cel_defects::choose(&mut rng, &grown, in_call);
        record.defect = Some(defect);
        record.defective = in_call.then_some(grown.name);
        Change { pattern: format!("x-kubernetes-validations: {defect}"), name: defect.to_owned(), edit }
    });
    Case { kind: "CRD with CEL", subject: Subject::Crd, seed, object, change, cel: Some(record) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hole_is_filled() {
        for seed in 0..500 {
            let case = case(seed, usize::try_from(seed).unwrap_or_default(), seed % 2 == 0);
            let text = case.object.to_string();
            assert!(!FUNCTIONS.iter().any(|(_, ty, _)| text.contains(&format!("{{{ty}}}"))), "{text}");
        }
    }

    #[test]
    fn every_function_takes_the_defect_in_some_case() {
        let defective: std::collections::BTreeSet<_> = (0..2_000)
            .filter_map(|turn: usize| case(turn as u64, turn, true).cel.and_then(|used| used.defective))
            .collect();
        let all: std::collections::BTreeSet<_> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
        assert_eq!(defective, all);
    }
}
