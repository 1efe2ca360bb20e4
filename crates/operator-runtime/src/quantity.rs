//! Amounts of memory and storage in Kubernetes' notation.
//!
//! The API server writes a quantity with the largest unit that keeps it an integer: `8388608Ki` is read back as `8Gi`. So compare
//! amounts, never their texts.
//!
//! Source: `k8s.io/apimachinery/pkg/api/resource/quantity.go` and `suffix.go`.

/// Units, and how many bytes each is.
const UNITS: [(&str, u128); 12] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("Ei", 1 << 60),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000),
];

/// Digits of a number; the API server computes longer ones with more than 64 bits.
const MAX_DIGITS: usize = 18;

/// Returns an amount of memory or storage such as `96Mi`, `1.5G`, `1e9` or `500m` in bytes, rounded up; `None` if it is negative, longer
/// than 18 digits, or not a quantity.
///
/// ```
/// use operator_runtime::quantity::bytes;
///
/// assert_eq!(bytes("8388608Ki"), bytes("8Gi"));
/// assert!(bytes("1G") < bytes("1Gi"));
/// ```
#[must_use]
pub fn bytes(quantity: &str) -> Option<u128> {
    let (number, factor, divisor) = split(quantity)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.len() <= MAX_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let parse = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u128>().ok() };
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let scaled = parse(whole)?.checked_mul(scale)?.checked_add(parse(fraction)?)?;
    Some(scaled.checked_mul(factor)?.div_ceil(scale.checked_mul(divisor)?))
}

/// Splits a quantity into its number, and what that is multiplied with and divided by.
fn split(quantity: &str) -> Option<(&str, u128, u128)> {
    if let Some((number, factor)) =
        UNITS.iter().find_map(|(unit, factor)| Some((quantity.strip_suffix(unit)?, *factor)))
    {
        return Some((number, factor, 1));
    }
    if let Some((number, exponent)) = quantity.split_once(['e', 'E']) {
        let exponent: i32 = exponent.parse().ok()?;
        let power = 10_u128.checked_pow(exponent.unsigned_abs())?;
        return Some(if exponent < 0 { (number, 1, power) } else { (number, power, 1) });
    }
    let thousandths = quantity.strip_suffix('m').map(|number| (number, 1, 1_000));
    Some(thousandths.unwrap_or((quantity, 1, 1)))
}

/// Returns an amount of memory in the API server's notation: with the largest unit that keeps it an integer.
#[must_use]
pub fn mebibytes(amount: u32) -> String {
    let (mut amount, mut units) = (amount, ["Mi", "Gi", "Ti"].into_iter().peekable());
    let mut unit = units.next().unwrap_or_default();
    while amount.is_multiple_of(1024) && units.peek().is_some() {
        amount /= 1024;
        unit = units.next().unwrap_or_default();
    }
    format!("{amount}{unit}")
}

/// Returns the mebibytes of an amount of memory such as `96Mi` or `1Gi`; `None` if it is not a whole number of mebibytes.
#[must_use]
pub fn parse_mebibytes(text: &str) -> Option<u32> {
    let bytes = bytes(text).filter(|bytes| bytes.is_multiple_of(1 << 20))?;
    u32::try_from(bytes >> 20).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_compared_whatever_way_they_are_written() {
        assert_eq!(bytes("1Gi"), Some(1 << 30));
        assert_eq!(bytes("1.5Gi"), Some(3 << 29));
        assert_eq!(bytes("1e3"), bytes("1k"));
        assert_eq!(bytes("1E3"), bytes("1000"));
        assert_eq!(bytes("1E"), Some(1_000_000_000_000_000_000));
        assert_eq!(bytes("1500m"), Some(2), "rounded up");
        assert_eq!(bytes("1500e-3"), Some(2));
        assert_eq!(bytes("0.0001"), Some(1));
        for other in ["", "Gi", "-1", "1.2.3Gi", "1e", "1e99", "9999999999999999999", "é", "1 Gi"] {
            assert_eq!(bytes(other), None, "{other}");
        }
    }

    #[test]
    fn memory_is_parsed_in_mebibytes() {
        assert_eq!(["96Mi", "2Gi", "2048Ki"].map(parse_mebibytes), [Some(96), Some(2048), Some(2)]);
        for bad in ["", "Mi", "1", "5M", "é", "99999999Gi"] {
            assert_eq!(parse_mebibytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn amounts_are_formatted_as_the_api_server_formats_them() {
        assert_eq!([96, 1024, 1536, 2048, 3 << 20].map(mebibytes), ["96Mi", "1Gi", "1536Mi", "2Gi", "3Ti"]);
    }
}
