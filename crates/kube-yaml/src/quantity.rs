//! Kubernetes' quantities: `100m`, `1.5Gi`, `1e3`. Decoding rejects what [`Quantity::parse`] rejects; rules compare them.
//!
//! Source: `k8s.io/apimachinery/pkg/api/resource/quantity.go` and `suffix.go`.

use std::cmp::Ordering;

/// How a quantity was written, and so how it is written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    DecimalExponent,
    BinarySi,
    DecimalSi,
}

/// A decimal number of any size, and the way it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    negative: bool,
    /// Decimal digits without leading and trailing zeros; none for zero.
    digits: Vec<u8>,
    /// The power of ten that the digits are multiplied with.
    exponent: i64,
    format: Format,
    /// The text, where it is taken to be canonical already.
    canonical: Option<String>,
}

/// The number of decimal digits that are computed in 64 bits.
const MAX_DIGITS: i64 = 18;
/// The smallest part that a quantity can hold: a billionth.
const NANO: i64 = -9;

impl Quantity {
    /// Zero.
    pub const ZERO: Self =
        Self { negative: false, digits: Vec::new(), exponent: 0, format: Format::DecimalSi, canonical: None };

    /// Parses a quantity. Returns `None` if Kubernetes rejects the string.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches('0');
        let whole_end = digits_end(unsigned);
        let whole = &unsigned[..whole_end];
        let rest = &unsigned[whole_end..];
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits_end(rest)),
            None => ("", rest),
        };
        if !is_suffix(suffix) {
            return None;
        }
        let (binary, exponent, format) = interpret(suffix)?;
        let has_digits = text[..text.len() - suffix.len()].contains(|c: char| c.is_ascii_digit());
        let whole = if whole.is_empty() { "0" } else { whole };
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        let scale = -i64::try_from(fraction.len()).ok()?;
        let length = i64::try_from(digits.len()).ok()?;
        let short = if binary {
            // 1Mi has about six decimal digits, so this many are left for the number itself.
            fraction.is_empty() && 15 - length - exponent * 3 / 10 > 0
        } else {
            length <= MAX_DIGITS && exponent + scale >= NANO
        };
        // A suffix alone is zero, but only where it is computed in 64 bits.
        if !short && !has_digits {
            return None;
        }
        let last_three_are_zero = digits.ends_with(&[0, 0, 0]);
        let canonical = short
            && if binary {
                exponent % 10 == 0 && digits.last().is_some() && low_bits_set(&digits)
            } else {
                (exponent + scale) % 3 == 0 && !last_three_are_zero && digits.first() != Some(&0)
            };
        if binary {
            double(&mut digits, exponent);
        }
        let mut quantity = Self {
            negative,
            digits,
            exponent: scale + if binary { 0 } else { exponent },
            format,
            canonical: canonical.then(|| text.to_owned()),
        };
        quantity.normalize();
        quantity.round_up(NANO);
        if binary {
            let largest = Self::integer(i64::MAX);
            if quantity.compare_magnitude(&largest) == Ordering::Greater {
                quantity.digits = largest.digits;
                quantity.exponent = largest.exponent;
            }
            let one = Self::integer(1);
            if !quantity.is_zero() && quantity.compare_magnitude(&one) == Ordering::Less {
                quantity.format = Format::DecimalSi;
            }
        }
        Some(quantity)
    }

    /// A whole number.
    #[must_use]
    pub fn integer(value: i64) -> Self {
        let digits = value.unsigned_abs().to_string().bytes().map(|byte| byte - b'0').collect();
        let mut quantity =
            Self { negative: value < 0, digits, exponent: 0, format: Format::DecimalSi, canonical: None };
        quantity.normalize();
        quantity
    }

    /// Whether the quantity is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether the quantity is below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    /// The quantity as Kubernetes keeps it in lists of resources: nothing smaller than a thousandth, rounded up.
    #[must_use]
    pub fn in_thousandths(mut self) -> Self {
        self.round_up(-3);
        self
    }

    /// Whether the quantity has no fraction.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.exponent >= 0 || self.is_zero()
    }

    /// Whether the quantity, rounded up to a whole number, is a multiple of `unit`, which is a positive whole number.
    #[must_use]
    pub fn is_multiple_of(&self, unit: &Self) -> bool {
        let mut whole = self.clone();
        whole.round_up(0);
        match (whole.to_i128(), unit.to_i128()) {
            (Some(value), Some(unit)) if unit != 0 => value % unit == 0,
            _ => true,
        }
    }

    /// The sum of two quantities that are not negative; a negative one counts as zero.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let (left, right) = (self.positive_part(), other.positive_part());
        let exponent = left.exponent.min(right.exponent);
        let (left, right) = (left.aligned(exponent), right.aligned(exponent));
        let length = left.len().max(right.len());
        let digit =
            |digits: &[u8], place: usize| digits.len().checked_sub(place + 1).map_or(0, |at| digits[at]);
        let mut sum = Vec::with_capacity(length + 1);
        let mut carry = 0;
        for place in 0..=length {
            let value = digit(&left, place) + digit(&right, place) + carry;
            sum.push(value % 10);
            carry = value / 10;
        }
        sum.reverse();
        let mut quantity =
            Self { negative: false, digits: sum, exponent, format: self.format, canonical: None };
        quantity.normalize();
        quantity
    }

    /// The quantity as Kubernetes writes it; what it takes for canonical already stays as it was written.
    #[must_use]
    pub fn canonical(&self) -> String {
        if let Some(text) = &self.canonical {
            return text.clone();
        }
        let sign = if self.is_negative() { "-" } else { "" };
        if self.is_zero() {
            return "0".to_owned();
        }
        if self.format == Format::BinarySi
            && self.compare_magnitude(&Self::integer(1024)) != Ordering::Less
            // A fraction is kept, in the decimal form.
            && self.is_whole()
            && let Some(mut value) = self.to_i128().map(i128::abs)
        {
            let mut suffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
            let mut suffix = "";
            while value % 1024 == 0
                && let Some(next) = suffixes.next()
            {
                value /= 1024;
                suffix = next;
            }
            return format!("{sign}{value}{suffix}");
        }
        let exponent = self.exponent.div_euclid(3) * 3;
        let mut text: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        for _ in 0..self.exponent - exponent {
            text.push('0');
        }
        let suffix = if self.format == Format::DecimalExponent {
            if exponent == 0 { String::new() } else { format!("e{exponent}") }
        } else {
            DECIMAL
                .iter()
                .find(|(_, power)| *power == exponent)
                .map_or_else(String::new, |(name, _)| (*name).to_owned())
        };
        format!("{sign}{text}{suffix}")
    }

    fn positive_part(&self) -> Self {
        if self.is_negative() { Self::ZERO } else { self.clone() }
    }

    fn aligned(&self, exponent: i64) -> Vec<u8> {
        let mut digits = self.digits.clone();
        // Sums are only made of quantities that people write; an absurd exponent is cut.
        let zeros = usize::try_from(self.exponent - exponent).unwrap_or(0).min(4096);
        digits.resize(digits.len() + zeros, 0);
        digits
    }

    fn to_i128(&self) -> Option<i128> {
        let mut value: i128 = 0;
        for digit in &self.digits {
            value = value.checked_mul(10)?.checked_add((*digit).into())?;
        }
        for _ in 0..self.exponent.clamp(0, 64) {
            value = value.checked_mul(10)?;
        }
        Some(if self.negative { -value } else { value })
    }

    fn normalize(&mut self) {
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..leading);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        if self.digits.is_empty() {
            self.exponent = 0;
        }
    }

    /// Rounds away from zero so that no part below ten to the power of `exponent` is left.
    fn round_up(&mut self, exponent: i64) {
        if self.exponent >= exponent || self.is_zero() {
            return;
        }
        let dropped = usize::try_from(exponent - self.exponent).unwrap_or(usize::MAX);
        let kept = self.digits.len().saturating_sub(dropped);
        self.digits.truncate(kept);
        let mut carry = true;
        for digit in self.digits.iter_mut().rev() {
            if !carry {
                break;
            }
            carry = *digit == 9;
            *digit = if carry { 0 } else { *digit + 1 };
        }
        if carry {
            self.digits.insert(0, 1);
        }
        self.exponent = exponent;
        self.canonical = None;
        self.normalize();
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let place = |quantity: &Self| quantity.exponent + i64::try_from(quantity.digits.len()).unwrap_or(0);
        // Without trailing zeros, digits of equal places compare as texts do.
        place(self).cmp(&place(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.compare(other))
    }
}

impl Quantity {
    /// Compares the values, whatever way they are written.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
        }
    }
}

const DECIMAL: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, i64); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// Whether the base is two, the exponent, and the format.
fn interpret(suffix: &str) -> Option<(bool, i64, Format)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((false, *exponent, Format::DecimalSi));
    }
    if let Some((_, exponent)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((true, *exponent, Format::BinarySi));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "Kubernetes keeps the lower 32 bits, too")]
    Some((false, (exponent as i32).into(), Format::DecimalExponent))
}

fn is_suffix(suffix: &str) -> bool {
    let rest = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    rest.bytes().all(|byte| byte.is_ascii_digit())
}

fn digits_end(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

fn low_bits_set(digits: &[u8]) -> bool {
    // A number is a multiple of eight where its last three digits are.
    let tail = digits.iter().rev().take(3).rev().fold(0_u32, |value, digit| value * 10 + u32::from(*digit));
    !tail.is_multiple_of(8)
}

fn double(digits: &mut Vec<u8>, times: i64) {
    for _ in 0..times {
        let mut carry = 0;
        for digit in digits.iter_mut().rev() {
            let value = *digit * 2 + carry;
            *digit = value % 10;
            carry = value / 10;
        }
        if carry > 0 {
            digits.insert(0, carry);
        }
    }
}

/// Returns a message about a string that is not a quantity, with the likely unit: `128MB` means `128M` or `128Mi`.
#[must_use]
pub fn invalid(text: &str) -> String {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let number = number.trim_end();
    let letter = match unit.to_ascii_lowercase().as_str() {
        "kb" | "ki" | "kib" => Some(("k", "Ki")),
        "mb" | "mi" | "mib" => Some(("M", "Mi")),
        "g" | "gb" | "gi" | "gib" => Some(("G", "Gi")),
        "t" | "tb" | "ti" | "tib" => Some(("T", "Ti")),
        _ => None,
    };
    let is_number = number.contains(|c: char| c.is_ascii_digit()) && Quantity::parse(number).is_some();
    match letter.filter(|_| is_number) {
        Some((_, binary)) if unit.contains(['i', 'I']) => {
            format!("invalid quantity `{text}`: did you mean `{number}{binary}`?")
        }
        Some((decimal, binary)) => {
            format!("invalid quantity `{text}`: did you mean `{number}{decimal}` or `{number}{binary}`?")
        }
        None => format!(
            "invalid quantity `{text}`: expected a number with an optional unit, such as `100m`, `1.5` or `64Mi`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text} is a quantity"))
    }

    #[test]
    fn what_kubernetes_reads_is_read() {
        for text in
            ["0", "100m", "1.5Gi", ".5", "1.", "1e3", "1E", "1E3", "-1", "+1", " 1 ", "0.1n", "00", "1e+3"]
        {
            assert!(Quantity::parse(text).is_some(), "{text}");
        }
        for text in
            ["", "lots", "1 Gi", "1Gb", "1kb", "1ki", "1e", "1.2.3", "0x10", "1Ki5", "--1", "1,5", "1e1.5"]
        {
            assert!(Quantity::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn an_invalid_unit_gets_a_suggestion() {
        assert_eq!(invalid("128MB"), "invalid quantity `128MB`: did you mean `128M` or `128Mi`?");
        assert_eq!(invalid("1.5gib"), "invalid quantity `1.5gib`: did you mean `1.5Gi`?");
        assert_eq!(invalid("64 Mi"), "invalid quantity `64 Mi`: did you mean `64Mi`?");
        for text in ["", "lots", "-MB", "1x"] {
            assert!(!invalid(text).contains("did you mean"), "{text}");
        }
    }

    #[test]
    fn values_compare_across_formats() {
        for (left, right) in [("1000m", "1"), ("1Ki", "1024"), ("0.5Gi", "512Mi"), ("1e3", "1k"), ("0", "-0")]
        {
            assert_eq!(quantity(left).compare(&quantity(right)), Ordering::Equal, "{left} {right}");
        }
        for (left, right) in
            [("1", "2"), ("-2", "-1"), ("-1", "0"), ("999Mi", "1Gi"), ("1G", "1Gi"), ("9", "10")]
        {
            assert_eq!(quantity(left).compare(&quantity(right)), Ordering::Less, "{left} {right}");
            assert_eq!(quantity(right).compare(&quantity(left)), Ordering::Greater, "{left} {right}");
        }
    }

    #[test]
    fn canonical_texts_are_those_of_apimachinery() {
        // What `json.Marshal` of apimachinery v0.34.4 returns for a quantity that `json.Unmarshal` has read; `None` where that
        // fails.
        for (text, canonical) in [
            ("0", Some("0")),
            ("-0", Some("0")),
            ("+0", Some("0")),
            ("00", Some("0")),
            ("1", Some("1")),
            ("+1", Some("+1")),
            ("-1", Some("-1")),
            ("64", Some("64")),
            ("1000", Some("1k")),
            ("1500", Some("1500")),
            ("10000", Some("10k")),
            ("100m", Some("100m")),
            ("1000m", Some("1")),
            ("1500m", Some("1500m")),
            ("0.5", Some("500m")),
            ("1.5", Some("1500m")),
            ("0.001", Some("1m")),
            ("1.", Some("1.")),
            (".5", Some("500m")),
            ("1.0", Some("1")),
            ("0.1n", Some("1n")),
            ("0.0000000001", Some("1n")),
            ("-0.0000000001", Some("-1n")),
            ("1e3", Some("1e3")),
            ("1E3", Some("1E3")),
            ("1000e0", Some("1e3")),
            ("10e-1", Some("1")),
            ("1e-10", Some("1e-9")),
            ("12e5", Some("1200e3")),
            ("1e100", Some("10e99")),
            ("1E", Some("1E")),
            ("1000E", Some("1")),
            ("1.5E", Some("1500P")),
            ("999999999999999999", Some("999999999999999999")),
            ("1000000000000000000", Some("1E")),
            ("1234567890123456789012", Some("1234567890123456789012")),
            ("123456789012345678.123", Some("123456789012345678123m")),
            ("1Ki", Some("1Ki")),
            ("8Ki", Some("8Ki")),
            ("512Ki", Some("512Ki")),
            ("1000Ki", Some("1000Ki")),
            ("1024Ki", Some("1Mi")),
            ("1024Mi", Some("1Gi")),
            ("1.5Gi", Some("1536Mi")),
            ("0.5Ki", Some("512")),
            ("0.1Ki", Some("102400m")),
            ("1.1Ki", Some("1126400m")),
            (".92Mi", Some("964689920m")),
            ("98.040Pi", Some("110383226866850856960m")),
            ("-5.728Mi", Some("-6006243328m")),
            ("-2048Ki", Some("-2Mi")),
            ("0Mi", Some("0")),
            ("1Pi", Some("1Pi")),
            ("8Ei", Some("9223372036854775807")),
            ("8388608Ti", Some("9223372036854775807")),
            ("1000Ei", Some("9223372036854775807")),
            ("0.0000000001Ki", Some("103n")),
            ("Mi", Some("0")),
            ("-", Some("0")),
            (".", Some("0")),
            ("Pi", None),
            ("-Pi", None),
            (".Ei", None),
            ("-e-17", None),
            (".e-12", None),
            (" 1Gi ", Some("1Gi")),
        ] {
            let ours = Quantity::parse(text).map(|quantity| quantity.canonical());
            assert_eq!(ours.as_deref(), canonical, "{text:?}");
        }
    }

    #[test]
    fn sums_and_multiples() {
        assert_eq!(quantity("100m").plus(&quantity("0.9")).compare(&quantity("1")), Ordering::Equal);
        assert_eq!(quantity("1Gi").plus(&quantity("1")).compare(&quantity("1073741825")), Ordering::Equal);
        assert!(quantity("4Mi").is_multiple_of(&quantity("2Mi")));
        assert!(!quantity("3Mi").is_multiple_of(&quantity("2Mi")));
        assert_eq!(quantity("0.1m").in_thousandths().compare(&quantity("1m")), Ordering::Equal);
    }
}
