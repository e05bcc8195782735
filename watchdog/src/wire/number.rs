//! JSON numbers, compared by value without losing a digit.

/// The value of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Number {
    /// An integral value that fits.
    Int(i64),
    /// Any other value: its digits without zeros at either end, then `e` and the power of ten, as in `-15e-1`.
    Other(String),
}

/// Whether `text` is a number of the JSON grammar.
pub(super) fn is_number(text: &[u8]) -> bool {
    parts(text).is_some()
}

/// Reads a number; `None` for what is not one.
pub(super) fn read(text: &[u8]) -> Option<Number> {
    let parts = parts(text)?;
    let digits = || parts.integer.iter().chain(parts.fraction);
    let total = parts.integer.len() + parts.fraction.len();
    let leading = digits().take_while(|&&digit| digit == b'0').count();
    if leading == total {
        return Some(Number::Int(0));
    }
    let trailing = digits().rev().take_while(|&&digit| digit == b'0').count();
    let significant = digits().copied().take(total - trailing).skip(leading);
    let Some(power) = power_of_ten(&parts, trailing) else {
        // A power of ten beyond 64 bits: no client has such an id, and equality of spelling is good enough.
        return Some(Number::Other(String::from_utf8_lossy(text).to_ascii_lowercase()));
    };
    Some(match integral(significant.clone(), power, parts.negative) {
        Some(value) => Number::Int(value),
        None => Number::Other(canonical(significant, power, parts.negative)),
    })
}

fn canonical(digits: impl Iterator<Item = u8>, power: i64, negative: bool) -> String {
    let sign = if negative { "-" } else { "" };
    let digits: String = digits.map(char::from).collect();
    format!("{sign}{digits}e{power}")
}

fn integral(digits: impl Iterator<Item = u8>, power: i64, negative: bool) -> Option<i64> {
    let zeros = usize::try_from(power).ok().filter(|&zeros| zeros < 20)?;
    let magnitude = digits
        .chain(std::iter::repeat_n(b'0', zeros))
        .try_fold(0_i128, |value, digit| value.checked_mul(10)?.checked_add(i128::from(digit - b'0')))?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// The power of ten of the last significant digit.
fn power_of_ten(parts: &Parts<'_>, trailing_zeros: usize) -> Option<i64> {
    let exponent = parts
        .exponent
        .iter()
        .try_fold(0_i64, |value, digit| value.checked_mul(10)?.checked_add(i64::from(digit - b'0')))?;
    let exponent = if parts.exponent_negative { -exponent } else { exponent };
    let fraction = i64::try_from(parts.fraction.len()).ok()?;
    exponent.checked_sub(fraction)?.checked_add(i64::try_from(trailing_zeros).ok()?)
}

/// A number, taken apart; all but the flags are digits only.
struct Parts<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    exponent_negative: bool,
    exponent: &'a [u8],
}

fn parts(text: &[u8]) -> Option<Parts<'_>> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (integer, mut rest) = digits(rest)?;
    if integer.len() > 1 && integer[0] == b'0' {
        return None;
    }
    let mut fraction = &b""[..];
    if let [b'.', after @ ..] = rest {
        (fraction, rest) = digits(after)?;
    }
    let mut exponent_negative = false;
    let mut exponent = &b""[..];
    if let [b'e' | b'E', after @ ..] = rest {
        let unsigned = match after {
            [b'+' | b'-', unsigned @ ..] => unsigned,
            _ => after,
        };
        exponent_negative = after.first() == Some(&b'-');
        (exponent, rest) = digits(unsigned)?;
    }
    rest.is_empty().then_some(Parts { negative, integer, fraction, exponent_negative, exponent })
}

/// The digits at the beginning, at least one, and what follows.
fn digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then(|| text.split_at(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(text: &str) -> Option<Number> {
        Some(Number::Other(text.to_owned()))
    }

    #[test]
    fn integral_values_are_integers_however_spelled() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("0e99999999999999999999999", 0),
            ("1.0", 1),
            ("1e2", 100),
            ("100e-2", 1),
            ("1.50e+1", 15),
            ("0.001e3", 1),
            ("9007199254740993", 9_007_199_254_740_993),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("-92233720368547758080e-1", i64::MIN),
        ] {
            assert_eq!(read(text.as_bytes()), Some(Number::Int(value)), "{text}");
        }
    }

    #[test]
    fn other_values_have_one_spelling_and_keep_every_digit() {
        for text in ["1.5", "1.50", "15e-1", "0.15E1", "0.0150e+02"] {
            assert_eq!(read(text.as_bytes()), other("15e-1"), "{text}");
        }
        assert_eq!(read(b"9223372036854775808"), other("9223372036854775808e0"));
        assert_eq!(read(b"-1e20"), other("-1e20"));
        assert_ne!(read(b"123456789012345678901234567890"), read(b"123456789012345678901234567891"));
        assert_eq!(read(b"1E99999999999999999999"), other("1e99999999999999999999"));
    }

    #[test]
    fn what_json_does_not_call_a_number_is_none() {
        for text in
            ["", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x1", "1 ", "NaN", "Infinity", "-Infinity", "1.2.3"]
        {
            assert_eq!(read(text.as_bytes()), None, "{text}");
            assert!(!is_number(text.as_bytes()), "{text}");
        }
    }
}
