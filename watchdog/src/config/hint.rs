//! "Did you mean": the nearest of the names that would have been right.

/// ` (did you mean "timeout"?)` with a space in front, or nothing where no candidate is near.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map(|found| format!(" (did you mean \"{found}\"?)")).unwrap_or_default()
}

/// ` (did you mean "files"?); there are: files, memory`: the end of a sentence about a name that nothing has.
pub(crate) fn among<S: AsRef<str>>(name: &str, known: &[S]) -> String {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let near = did_you_mean(name, known.iter().copied());
    let all = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("{near}; there are: {all}")
}

/// The candidate with the fewest typing errors between it and the word, if those are few for its length.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Distance is quadratic in the length, and no name of ours is near this long.
    const LONGEST: usize = 100;
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Typing errors; `-` and `_` and the case make no difference.
fn distance(word: &str, candidate: &str) -> usize {
    strsim::damerau_levenshtein(&word.replace('-', "_"), &candidate.to_lowercase().replace('-', "_"))
}

/// The nearest key among dotted ones: a key that ends in the whole word is nearer than any typing error.
pub(crate) fn nearest_key<'a>(key: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let ending = candidates.iter().copied().find(|candidate| {
        candidate.len() > key.len()
            && candidate.ends_with(key)
            && candidate[..candidate.len() - key.len()].ends_with('.')
    });
    ending.or_else(|| nearest(key, candidates.iter().copied()))
}

/// `` `a`, `b` or `c` ``.
pub(crate) fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [head @ .., last] => {
            let head: Vec<String> = head.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{last}`", head.join(", "))
        }
    }
}
