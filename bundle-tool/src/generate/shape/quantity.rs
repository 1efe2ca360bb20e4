//! Amounts of resources in their canonical form: no fraction, the largest suffix that keeps the value exact.
//!
//! Source: `quantity.go` and `suffix.go` of `k8s.io/apimachinery/pkg/api/resource`.

/// How an amount is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// `Ki`, `Mi`…
    Binary,
    /// `m`, `k`, `M`…
    Decimal,
    /// `e3`
    Exponent,
}

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// The amount `text` as Kubernetes writes it; nothing where it is none.
pub(super) fn canonical(text: &str) -> Option<String> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (whole, rest) = unsigned.split_at(end);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (format, base_two, exponent) = interpret(suffix)?;
    let digits = format!("{}{fraction}", whole.trim_start_matches('0'));
    let scale = exponent - i32::try_from(fraction.len()).ok()?;
    // What is written canonically in the decimal form keeps its text, even where a larger suffix would do.
    if format != Format::Binary
        && scale % 3 == 0
        && scale >= -9
        && digits.len() <= 18
        && !digits.is_empty()
        && !digits.starts_with('0')
        && !digits.ends_with("000")
    {
        return Some(text.to_owned());
    }
    let mantissa: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let nano = nano(mantissa.checked_mul(1i128.checked_shl(base_two)?)?, scale)?;
    let sign = if negative && nano != 0 { "-" } else { "" };
    Some(format!("{sign}{}", write(nano, format)))
}

/// The format, the power of two and the power of ten that a suffix stands for.
fn interpret(suffix: &str) -> Option<(Format, u32, i32)> {
    if let Some((_, shift)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((Format::Binary, *shift, 0));
    }
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((Format::Decimal, 0, *exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((Format::Exponent, 0, exponent))
}

/// `mantissa` times ten to the power of `scale` in billionths, rounded up.
fn nano(mantissa: i128, scale: i32) -> Option<i128> {
    let shift = scale.checked_add(9)?;
    let factor = 10i128.checked_pow(shift.unsigned_abs());
    match factor {
        Some(factor) if shift >= 0 => mantissa.checked_mul(factor),
        Some(factor) => Some(mantissa / factor + i128::from(mantissa % factor != 0)),
        None if shift < 0 => Some(i128::from(mantissa != 0)),
        None => None,
    }
}

fn write(nano: i128, format: Format) -> String {
    const UNIT: i128 = 1_000_000_000;
    if nano == 0 {
        return "0".to_owned();
    }
    if format == Format::Binary && nano % UNIT == 0 && nano / UNIT >= 1024 {
        let mut value = nano / UNIT;
        let mut suffix = "";
        for (name, _) in BINARY {
            if value % 1024 != 0 {
                break;
            }
            value /= 1024;
            suffix = name;
        }
        return format!("{value}{suffix}");
    }
    let mut value = nano;
    let mut exponent = -9;
    while value % 1000 == 0 && exponent < 18 {
        value /= 1000;
        exponent += 3;
    }
    if format == Format::Exponent {
        return if exponent == 0 { value.to_string() } else { format!("{value}e{exponent}") };
    }
    let suffix = DECIMAL.iter().find(|(_, power)| *power == exponent).map_or("", |(name, _)| name);
    format!("{value}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_take_the_largest_suffix_without_a_fraction() {
        for (text, wanted) in [
            ("1024Mi", "1Gi"),
            ("512Mi", "512Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("100m", "100m"),
            ("1500m", "1500m"),
            ("1.5", "1500m"),
            ("0", "0"),
            ("0Mi", "0"),
            ("1000", "1k"),
            ("64", "64"),
            ("1e3", "1e3"),
            ("0.1Ki", "102400m"),
            ("1000Ki", "1000Ki"),
            ("-2048Ki", "-2Mi"),
            ("+5", "+5"),
            ("0.0000000001", "1n"),
            ("500Ki", "500Ki"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(wanted), "{text}");
        }
        for text in ["", "-", "1Gb", "x", "1.2.3", "Mi", "1 Gi"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
