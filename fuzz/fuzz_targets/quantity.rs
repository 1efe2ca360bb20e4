//! Quantities: two of them on two lines are compared and added, and written as the API server does.

#![no_main]

use std::cmp::Ordering;

use kube_yaml::Quantity;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (one, other) = input.split_once('\n').unwrap_or((input, "1"));
    let (Some(one), Some(other)) = (Quantity::parse(one), Quantity::parse(other)) else { return };
    assert_eq!(one.compare(&other), other.compare(&one).reverse());
    assert_eq!(one.plus(&other).compare(&other.plus(&one)), Ordering::Equal);
    let _ = (one.is_whole(), one.is_multiple_of(&other), one.is_zero(), one.is_negative());
    let written = one.canonical();
    let again = Quantity::parse(&written);
    // It may be rounded, and written in another format.
    assert!(again.is_some(), "{written}");
});
