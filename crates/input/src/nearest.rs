//! Did you mean ...? The known name that is nearest to a misspelled one.

/// The hint for a misspelled name: the nearest one, or all if there are few.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there are none".to_string(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// The known name that `word` most likely meant, if any is near enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 200 {
        return None;
    }
    let fold = |s: &str| s.to_ascii_lowercase().replace('-', "_");
    let word = fold(word);
    let rank = |name: &str| {
        let folded = fold(name);
        let distance = strsim::damerau_levenshtein(&word, &folded);
        let longest = word.len().max(folded.len());
        let part =
            folded.len().min(word.len()) >= 4 && (word.contains(&folded) || folded.contains(&word));
        let near = distance <= 1 + longest / 4 && distance < longest;
        (near || part).then_some((!near, distance))
    };
    known
        .into_iter()
        .filter_map(|name| Some((rank(name)?, name)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_forgives_case_dashes_and_slips_but_not_other_words() {
        let names = ["SWQUEUE", "SIS_NODE", "SIS_UTIL"];
        assert_eq!(nearest("sis-node", names), Some("SIS_NODE"));
        assert_eq!(nearest("SWQEUE", names), Some("SWQUEUE"));
        assert_eq!(nearest("LATENCY_NICE", names), None);
    }
}
