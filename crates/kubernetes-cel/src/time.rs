//! Go's notations for durations and points in time, as literals are checked for them.

/// Seconds from 1970 to the first and last moment that CEL's timestamps know.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

/// Whether seconds since 1970 are within the years 1 to 9999.
pub(crate) fn in_range(seconds: i64) -> bool {
    (FIRST..=LAST).contains(&seconds)
}

/// Nanoseconds of a duration as `time.ParseDuration` reads it: `1h30m`, `-1.5s`, `0`.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let whole_end = rest.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, after) = rest.split_at(whole_end);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => {
                after.split_at(after.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(after.len()))
            }
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_end = after.bytes().position(|b| b == b'.' || b.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let unit = nanoseconds(unit)?;
        let value =
            if whole.is_empty() { 0 } else { whole.parse::<u64>().ok().filter(|value| *value <= 1 << 63)? };
        let value = value.checked_mul(unit)?;
        total = total.checked_add(value)?.checked_add(fraction_of(fraction, unit))?;
        if total > 1 << 63 {
            return None;
        }
        rest = next;
    }
    if negative {
        return Some(0i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).ok()
}

fn nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// A decimal fraction of a unit, in nanoseconds. It cannot decide whether a duration is valid, so
/// digits beyond what a unit can hold do not matter.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let mut place = unit;
    let mut sum = 0;
    for digit in digits.bytes().take(15) {
        place /= 10;
        sum += place * u64::from(digit - b'0');
    }
    sum
}

/// Seconds since 1970 of a time as Go's `time.RFC3339` layout reads it.
pub(crate) fn timestamp(text: &str) -> Option<i64> {
    let mut scan = Scan { rest: text };
    let year = scan.number(4)?;
    scan.literal('-')?;
    let month = scan.number(2)?;
    scan.literal('-')?;
    let day = scan.number(2)?;
    scan.literal('T')?;
    // The layout's hour may have one digit.
    let hour = scan.number(2).or_else(|| scan.number(1))?;
    scan.literal(':')?;
    let minute = scan.number(2)?;
    scan.literal(':')?;
    let second = scan.number(2)?;
    scan.fraction();
    let offset = scan.zone()?;
    let valid = scan.rest.is_empty()
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !valid {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    in_range(seconds).then_some(seconds)
}

/// A duration as CEL's `string()` writes it: seconds.
pub(crate) fn format_duration(nanoseconds: i64) -> String {
    let (seconds, rest) =
        (nanoseconds.unsigned_abs() / 1_000_000_000, nanoseconds.unsigned_abs() % 1_000_000_000);
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{seconds}s"),
        fraction => format!("{sign}{seconds}.{fraction}s"),
    }
}

/// A time as CEL's `string()` writes it, in UTC and without fractions.
pub(crate) fn format_timestamp(seconds: i64) -> String {
    let (mut days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Not later than the year sought.
    let mut year = 1970 + if days < 0 { days.div_euclid(365) } else { days / 366 };
    while days_since_1970(year + 1, 1, 1) <= days {
        year += 1;
    }
    days -= days_since_1970(year, 1, 1);
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
}

struct Scan<'t> {
    rest: &'t str,
}

impl Scan<'_> {
    fn number(&mut self, digits: usize) -> Option<i64> {
        let head = self.rest.get(..digits)?;
        if !head.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        self.rest = &self.rest[digits..];
        head.parse().ok()
    }

    fn literal(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(c)?;
        Some(())
    }

    fn fraction(&mut self) {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else { return };
        let end = after.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(after.len());
        if end > 0 {
            self.rest = &after[end..];
        }
    }

    fn zone(&mut self) -> Option<i64> {
        if self.literal('Z').is_some() {
            return Some(0);
        }
        let sign = if self.literal('+').is_some() {
            1
        } else {
            self.literal('-')?;
            -1
        };
        let hours = self.number(2)?;
        self.literal(':')?;
        let minutes = self.number(2)?;
        (hours <= 24 && minutes <= 60).then_some(sign * (hours * 3_600 + minutes * 60))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let years = before * 365 + before / 4 - before / 100 + before / 400 - i64::from(year == 0);
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    years + months + day - 1 - 719_162
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_as_in_go() {
        assert_eq!(duration("1h30m"), Some(5_400_000_000_000));
        assert_eq!(duration("-1.5s"), Some(-1_500_000_000));
        assert_eq!(duration(".5us"), Some(500));
        assert_eq!(duration("0"), Some(0));
        for text in ["", "-", "1", "1d", "s", "1s ", ".s", "9999999999h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_formatted_as_they_are_parsed() {
        for seconds in [FIRST, LAST, 0, -1, 1_709_204_400, 951_782_400] {
            assert_eq!(timestamp(&format_timestamp(seconds)), Some(seconds));
        }
        for nanoseconds in [0, -1_500_000_000, 3_600_000_000_000, 1] {
            assert_eq!(duration(&format_duration(nanoseconds)), Some(nanoseconds));
        }
    }

    #[test]
    fn timestamps_are_parsed_as_in_go() {
        assert_eq!(timestamp("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(timestamp("2024-02-29T12:00:00.5+01:00"), Some(1_709_204_400));
        assert_eq!(timestamp("0001-01-01T00:00:00Z"), Some(FIRST));
        assert_eq!(timestamp("9999-12-31T23:59:59Z"), Some(LAST));
        for text in [
            "2023-02-29T00:00:00Z",
            "2024-01-01",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00",
            "0000-01-01T00:00:00Z",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }
}
