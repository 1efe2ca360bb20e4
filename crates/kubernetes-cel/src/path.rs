//! The path from a variable to a value: field names, `@items`, `@keys`, `@values`.
//!
//! cel-go appends to Go slices that share their memory, so that a longer path can change one that
//! was made before it, and with it a cost. Costs have to be the API server's, so paths here share
//! memory in the same way: an append within the capacity writes into the shared steps, one beyond
//! it copies them and doubles the capacity.

use std::cell::RefCell;
use std::rc::Rc;

/// The memory that several paths may share.
#[derive(Debug, Default)]
struct Steps<'a> {
    all: Vec<&'a str>,
    capacity: usize,
}

/// A path; empty if a value cannot be reached from a variable.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path<'a> {
    steps: Rc<RefCell<Steps<'a>>>,
    length: usize,
}

impl<'a> Path<'a> {
    /// The path of a variable.
    pub(crate) fn variable(name: &'a str) -> Self {
        Self { steps: Rc::new(RefCell::new(Steps { all: vec![name], capacity: 1 })), length: 1 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The variable that the path starts at.
    pub(crate) fn first(&self) -> Option<&'a str> {
        (self.length > 0).then(|| self.steps.borrow().all[0])
    }

    /// Calls `each` with every step after the variable until it returns false; returns whether it never did.
    pub(crate) fn walk(&self, mut each: impl FnMut(&'a str) -> bool) -> bool {
        self.steps.borrow().all[..self.length].iter().skip(1).all(|step| each(step))
    }

    /// The path with one more step.
    pub(crate) fn append(&self, step: &'a str) -> Self {
        let length = self.length + 1;
        let mut steps = self.steps.borrow_mut();
        if self.length < steps.capacity {
            if self.length < steps.all.len() {
                steps.all[self.length] = step;
            } else {
                steps.all.push(step);
            }
            return Self { steps: Rc::clone(&self.steps), length };
        }
        let mut all = steps.all[..self.length].to_vec();
        all.push(step);
        let capacity = if steps.capacity == 0 { 1 } else { steps.capacity * 2 };
        Self { steps: Rc::new(RefCell::new(Steps { all, capacity })), length }
    }

    /// The path with one more step, in memory of its own.
    pub(crate) fn copied(&self, step: &'a str) -> Self {
        let mut all = self.steps.borrow().all[..self.length].to_vec();
        all.push(step);
        let capacity = all.len();
        Self { length: capacity, steps: Rc::new(RefCell::new(Steps { all, capacity })) }
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    fn dotted(path: &Path<'_>) -> String {
        let mut out = path.first().unwrap_or_default().to_owned();
        path.walk(|step| {
            out.push('.');
            out.push_str(step);
            true
        });
        out
    }

    #[test]
    fn paths_share_memory_as_go_slices_do() {
        let three = Path::variable("self").append("a").append("b");
        let c = three.append("c");
        assert_eq!(dotted(&c), "self.a.b.c");
        let d = three.append("d");
        assert_eq!(dotted(&d), "self.a.b.d");
        assert_eq!(dotted(&c), "self.a.b.d", "both share the fourth element");
        let own = three.copied("e");
        assert_eq!((dotted(&own), dotted(&d)), ("self.a.b.e".to_owned(), "self.a.b.d".to_owned()));
    }
}
