//! What is parsed of a review, and how much.
//!
//! A parsed value takes some hundred bytes, however short it is in JSON, so the number of values is limited as well as the
//! number of bytes. Values are counted before anything is allocated for them.

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Values in one object of a review: strings, numbers, booleans, nulls, lists and maps. The largest object that etcd stores
/// has about as many, if they are as long as usual.
pub(crate) const MAX_OBJECT_VALUES: usize = 50_000;
/// Objects of one conversion review.
pub(crate) const MAX_OBJECTS: usize = 10_000;
/// Values in everything else of a review.
const MAX_HEAD_VALUES: usize = 1_000;

/// Checks that a request with these objects does not contain too many values.
///
/// # Errors
/// With a message that names the limit.
pub(crate) fn check(request: &RawValue, objects: &[&RawValue]) -> Result<(), String> {
    for object in objects {
        check_values(object, MAX_OBJECT_VALUES).map_err(|()| {
            format!("the object has more than {MAX_OBJECT_VALUES} values, which is too many for this webhook")
        })?;
    }
    let maximum = MAX_HEAD_VALUES + objects.len() * MAX_OBJECT_VALUES;
    check_values(request, maximum).map_err(|()| {
        format!("the review has more than {maximum} values, which is too many for this webhook")
    })
}

/// Checks that a JSON document contains at most this number of values.
fn check_values(json: &RawValue, maximum: usize) -> Result<(), ()> {
    let mut left = maximum;
    let mut parser = serde_json::Deserializer::from_str(json.get());
    // It was parsed before, so nothing but the number of values fails.
    Counter { left: &mut left }.deserialize(&mut parser).map_err(drop)
}

/// Counts the values of a JSON document, without keeping any.
struct Counter<'a> {
    left: &'a mut usize,
}

impl Counter<'_> {
    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        *self.left = self.left.checked_sub(1).ok_or_else(|| E::custom("too many values"))?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Counter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.count()
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.count()
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.count()
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        self.count()
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.count()
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        self.count()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let left = self.left;
        Counter { left }.count()?;
        while items.next_element_seed(Counter { left })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let left = self.left;
        Counter { left }.count()?;
        while fields.next_key::<IgnoredAny>()?.is_some() {
            fields.next_value_seed(Counter { left })?;
        }
        Ok(())
    }
}

/// Deserializes a list of at most [`MAX_OBJECTS`] objects, which are not parsed.
pub(crate) fn raw_objects<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<&'de RawValue>, D::Error> {
    struct Objects;

    impl<'de> Visitor<'de> for Objects {
        type Value = Vec<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of objects")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut objects = Vec::new();
            while let Some(object) = items.next_element()? {
                if objects.len() == MAX_OBJECTS {
                    return Err(A::Error::custom(format_args!("more than {MAX_OBJECTS} objects")));
                }
                objects.push(object);
            }
            Ok(objects)
        }
    }

    deserializer.deserialize_seq(Objects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    #[test]
    fn values_of_every_kind_are_counted_and_keys_are_not() {
        let value = json!({"a": [1, -2, 2.5, "x\n", true, null, {}], "b": {"c": {"d": ""}}});
        let raw = to_raw_value(&value).unwrap();
        assert_eq!(check_values(&raw, 12), Ok(()));
        assert_eq!(check_values(&raw, 11), Err(()));
    }

    #[test]
    fn limit_counts_each_object_and_everything_around_them() {
        let raw = |values: usize| to_raw_value(&vec![0; values - 1]).unwrap();
        let around = |object: &RawValue, more: usize| {
            to_raw_value(&json!({"object": serde_json::to_value(object).unwrap(), "more": vec![0; more]}))
                .unwrap()
        };
        let (object, larger) = (raw(MAX_OBJECT_VALUES), raw(MAX_OBJECT_VALUES + 1));
        assert_eq!(check(&around(&object, 900), &[&object]), Ok(()));
        assert!(
            check(&around(&object, MAX_HEAD_VALUES), &[&object]).unwrap_err().contains("the review has more")
        );
        assert!(
            check(&around(&larger, 0), &[&larger]).unwrap_err().contains("the object has more than 50000")
        );
    }
}
