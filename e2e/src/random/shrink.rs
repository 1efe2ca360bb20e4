//! Minimizes an object with a difference: removes everything that the difference does not depend on.

use std::future::Future;

use serde_json::Value;

use super::case::Case;
use super::edit::set;
use super::template::Step;

/// Takes parts out of the case's object as long as `differs` says that the case still shows the difference.
pub async fn shrink<F, Fut>(case: &Case, differs: F) -> Case
where
    F: Fn(Case) -> Fut,
    Fut: Future<Output = bool>,
{
    let mut small = case.clone();
    loop {
        let mut progress = false;
        let kept = small.change.as_ref().map(|change| change.edit.path.clone()).unwrap_or_default();
        // From the end, so that what stands before keeps its place.
        for path in parts(&small.object).into_iter().rev() {
            if !may_go(&path, &kept) || super::edit::at(&small.object, &path).is_none() {
                continue;
            }
            let mut candidate = small.clone();
            set(&mut candidate.object, &path, None);
            if differs(candidate.clone()).await {
                small = candidate;
                progress = true;
            }
        }
        if !progress {
            return small;
        }
    }
}

/// Whether the part at `path` is neither on the way to `kept` nor an item before one on that way.
fn may_go(path: &[Step], kept: &[Step]) -> bool {
    let common = path.iter().zip(kept).take_while(|(a, b)| a == b).count();
    if common == path.len() {
        return false;
    }
    match (&path[common..], kept.get(common)) {
        ([Step::Index(index)], Some(Step::Index(on_way))) => index > on_way,
        _ => true,
    }
}

/// The ways to all parts of a value, each before those within it.
fn parts(value: &Value) -> Vec<Vec<Step>> {
    let mut all = Vec::new();
    collect(value, &mut Vec::new(), &mut all);
    all
}

fn collect(value: &Value, path: &mut Vec<Step>, all: &mut Vec<Vec<Step>>) {
    let mut child = |step: Step, value: &Value| {
        path.push(step);
        all.push(path.clone());
        collect(value, path, all);
        path.pop();
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| child(Step::Key(key.clone()), value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| child(Step::Index(index), value));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::case::Change;
    use super::super::edit::Edit;
    use super::super::subject::Subject;
    use super::*;

    #[tokio::test]
    async fn only_what_the_difference_needs_stays() {
        let object = json!({"a": [{"x": 1, "y": 2}, {"z": 3}], "b": {"c": 4, "d": 5}, "e": 6});
        let path = vec![Step::Key("a".into()), Step::Index(1), Step::Key("z".into())];
        let case = Case {
            kind: "test",
            subject: Subject::Csv,
            seed: 0,
            object,
            change: Some(Change {
                pattern: "a[].z".to_owned(),
                name: "7".to_owned(),
                edit: Edit { path, value: Some(json!(7)) },
            }),
            cel: None,
        };
        let small = shrink(&case, |case| async move {
            let changed = case.changed();
            changed["a"][1]["z"] == 7 && changed["b"]["d"] == 5
        })
        .await;
        assert_eq!(small.changed(), json!({"a": [{}, {"z": 7}], "b": {"d": 5}}));
    }
}
