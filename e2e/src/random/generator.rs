//! Chooses which objects are made, by how often each field was changed and rejected so far.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use fastrand::Rng;
use serde_json::Value;

use super::case::{Case, Change};
use super::cel_case;
use super::edit::Edit;
use super::kinds::{Kind, kinds};
use super::subject::ValidBundle;

/// Chooses which fields are changed next, and how: those that were rejected least often, by what may be rejected.
#[derive(Debug)]
pub struct Generator {
    kinds: Vec<Kind>,
    valid: ValidBundle,
    /// How many objects with expressions were made.
    expressions: usize,
    /// How often each field was changed and rejected, by kind and pattern.
    pub counts: BTreeMap<(&'static str, String), Count>,
    /// How often each change of a field was made, and the verdicts on it, by the text of the change.
    changes: BTreeMap<(&'static str, String), BTreeMap<String, Tries>>,
}

/// How often a change was made.
#[derive(Debug, Clone, Copy, Default)]
struct Tries {
    made: usize,
    refused: usize,
    taken: usize,
}

impl Tries {
    /// How late its next turn is: what was taken every time is made again seldom, so that it is still seen to be taken.
    fn turn(self) -> usize {
        if self.refused == 0 && self.taken > 0 { self.made * 16 } else { self.made }
    }
}

/// How often a field was changed, and how often that was rejected.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    /// Whether it is a single value, rather than a map or a list.
    pub leaf: bool,
    /// How often it was changed.
    pub set: usize,
    /// How often the API server rejected that.
    pub refused: usize,
}

/// What [`Generator::counts`] holds for the metadata of all kinds together.
const ANY: &str = "any kind";

/// Where a change is counted: metadata is the same for all kinds, but for its name.
fn counted(kind: &'static str, pattern: &str) -> (&'static str, String) {
    let common = pattern.starts_with("metadata.") && pattern != "metadata.name";
    (if common { ANY } else { kind }, pattern.to_owned())
}

/// How often a change of a field is to be rejected in a full run: a single value of a kind whose every field is
/// validated twenty times, maps and lists, whose own defects are few, and the other kinds less often.
#[must_use]
pub fn wanted(kind: &str, leaf: bool) -> usize {
    match (kind, leaf) {
        (
            "APIService"
            | "ClusterServiceVersion"
            | "ConfigMap"
            | "Secret"
            | "PodDisruptionBudget"
            | "PriorityClass"
            | "NetworkPolicy",
            true,
        ) => 8,
        ("large ConfigMap" | "large Secret" | "CustomResourceDefinition of a protected group", _)
        | (_, false) => 4,
        ("CustomResourceDefinition of few fields", true) => 60,
        (_, true) => 20,
    }
}

impl Generator {
    /// Creates a generator without any counts.
    #[must_use]
    pub fn new() -> Self {
        let kinds = kinds();
        let mut counts = BTreeMap::new();
        for kind in &kinds {
            for field in &kind.template.fields {
                let count: &mut Count = counts.entry(counted(kind.name, &field.pattern)).or_default();
                count.leaf |= field.leaf;
            }
        }
        Self { kinds, valid: ValidBundle::default(), expressions: 0, counts, changes: BTreeMap::new() }
    }

    /// The valid bundle.
    #[must_use]
    pub fn bundle(&self) -> &ValidBundle {
        &self.valid
    }

    /// The next `size` objects: one in forty is valid, five in forty have expressions, the others have a change of the
    /// fields that are furthest from having been rejected often enough.
    pub fn batch(&mut self, seed: u64, size: usize) -> Vec<Case> {
        let mut rng = Rng::with_seed(seed);
        let mut wanted = self.wanted(size);
        (0..size)
            .map(|index| {
                let seed = rng.u64(..);
                match index % 20 {
                    0 if index % 40 == 0 => self.valid(seed),
                    // Five in forty.
                    1 | 9 | 17 if index % 40 != 17 => {
                        self.expressions += 1;
                        cel_case::case(seed, self.expressions / 2, self.expressions.is_multiple_of(2))
                    }
                    _ => match wanted.next() {
                        Some(field) => self.changed(seed, &field),
                        None => self.valid(seed),
                    },
                }
            })
            .collect()
    }

    /// The next `size` fields: always the one that lacks most, if all before it are rejected; of those that lack
    /// nothing the one that was changed least often.
    fn wanted(&self, size: usize) -> std::vec::IntoIter<(&'static str, String)> {
        let turn = |kind: &str, count: Count, pending: usize| {
            let wanted = wanted(kind, count.leaf);
            // Changes that never led to a rejection are tried less often.
            let vain = count.set.saturating_sub(2 * wanted);
            let lacks = wanted.saturating_sub(count.refused + pending) * 1000 / (wanted + vain);
            (lacks, Reverse(count.set + pending))
        };
        let mut fields: BinaryHeap<_> =
            self.counts.iter().map(|(field, count)| (turn(field.0, *count, 0), Reverse(field), 0)).collect();
        let mut list = Vec::with_capacity(size);
        while list.len() < size {
            let Some((_, Reverse(field), pending)) = fields.pop() else { break };
            list.push(field.clone());
            fields.push((turn(field.0, self.counts[field], pending + 1), Reverse(field), pending + 1));
        }
        list.into_iter()
    }

    fn valid(&self, seed: u64) -> Case {
        let mut rng = Rng::with_seed(seed);
        let kind = &self.kinds[rng.usize(..self.kinds.len())];
        let object = kind.template.instantiate(&mut rng, None).object;
        let object = self.valid.object(kind.subject, object);
        Case { kind: kind.name, subject: kind.subject, seed, object, change: None, cel: None }
    }

    fn changed(&mut self, seed: u64, (kind, pattern): &(&'static str, String)) -> Case {
        let mut rng = Rng::with_seed(seed);
        let tries = self.changes.entry((*kind, pattern.clone())).or_default();
        let turn: usize = tries.values().map(|tries| tries.made).sum();
        let fields: Vec<_> = self
            .kinds
            .iter()
            .flat_map(|known| known.template.fields.iter().map(move |field| (known, field)))
            .filter(|(known, field)| field.pattern == *pattern && (known.name == *kind || *kind == ANY))
            .collect();
        let (kind, field) = fields[turn % fields.len()];
        let instance = kind.template.instantiate(&mut rng, Some(field));
        let object = self.valid.object(kind.subject, instance.object);
        let change = instance.target.and_then(|(path, place)| {
            let mut options = Edit::options(&mut rng, &object, &path, place);
            // Without a version there is no place to send an object to.
            options.retain(|(_, edit)| {
                pattern != "apiVersion" || edit.value.as_ref().is_some_and(Value::is_string)
            });
            let turn = |name: &str| tries.get(name).map_or(0, |tries| tries.turn());
            let (name, edit) = options.into_iter().min_by_key(|(name, _)| turn(name))?;
            tries.entry(name.clone()).or_default().made += 1;
            Some(Change { pattern: pattern.clone(), name, edit })
        });
        Case { kind: kind.name, subject: kind.subject, seed, object, change, cel: None }
    }

    /// Records the API server's verdict on an object.
    pub fn count(&mut self, case: &Case, refused: bool) {
        let Some(Change { pattern, name, .. }) = &case.change else { return };
        let field = counted(case.kind, pattern);
        if let Some(count) = self.counts.get_mut(&field) {
            count.set += 1;
            count.refused += usize::from(refused);
        }
        if let Some(tries) = self.changes.get_mut(&field).and_then(|tries| tries.get_mut(name)) {
            tries.refused += usize::from(refused);
            tries.taken += usize::from(!refused);
        }
    }
}

impl Default for Generator {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_objects() {
        let texts = |seed| {
            let mut generator = Generator::new();
            generator.batch(seed, 200).iter().map(|case| case.changed().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(texts(1), texts(1));
        assert_ne!(texts(1), texts(2));
    }

    #[test]
    fn a_change_changes_the_object() {
        let mut generator = Generator::new();
        let cases = generator.batch(3, 2000);
        let same = cases.iter().filter(|case| case.change.is_some() && case.changed() == case.object).count();
        assert!(same < 100, "{same} changes of {} change nothing", cases.len());
    }
}
