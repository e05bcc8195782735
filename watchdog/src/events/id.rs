//! Ids of events: ULIDs, which sort by time.

use std::time::SystemTime;

/// Crockford's alphabet, as the ULID specification has it.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// 48 bits of milliseconds and 80 bits of chance, as 26 characters.
pub(super) fn ulid(time: SystemTime, chance: u128) -> String {
    let milliseconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let value = (milliseconds << 80) | (chance & ((1 << 80) - 1));
    (0..26).rev().map(|place| digit(value >> (5 * place))).collect()
}

fn digit(value: u128) -> char {
    // Five bits are always within the table.
    let index = usize::try_from(value & 31).unwrap_or(0);
    char::from(ALPHABET[index])
}
