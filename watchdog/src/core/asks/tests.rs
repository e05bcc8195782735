use proptest::prelude::*;

use super::*;
use crate::core::testing::{base, id, key, secs};

const ONE: Generation = Generation(1);
const TWO: Generation = Generation(2);

#[test]
fn an_answer_goes_to_the_live_generation_that_asked() {
    let mut asks = Asks::default();
    assert_eq!(asks.asked(base(), ONE, &id("0"), None), None, "its own id will do");
    assert_eq!(asks.answered(&key("0"), Some(ONE)), Answer::Pass(id("0")));
    assert_eq!(asks.answered(&key("0"), Some(ONE)), Answer::Unknown, "once");
}

#[test]
fn an_answer_for_a_dead_generation_is_swallowed() {
    let mut asks = Asks::default();
    asks.asked(base(), ONE, &id("0"), None);
    assert_eq!(asks.lost(ONE), [id("0")]);
    assert_eq!(asks.answered(&key("0"), Some(TWO)), Answer::Swallow);
    assert_eq!(asks.answered(&key("0"), Some(TWO)), Answer::Unknown);
}

#[test]
fn a_reused_id_is_replaced_and_restored() {
    for raw in ["0", "\"a\"", "1.5"] {
        let mut asks = Asks::default();
        asks.asked(base(), ONE, &id(raw), None);
        asks.lost(ONE);
        let replacement = asks.asked(base(), TWO, &id(raw), None).expect("the old one is unanswered");
        assert_ne!(replacement.key, key(raw));
        assert_eq!(asks.answered(&key(raw), Some(TWO)), Answer::Swallow, "the late answer to the old dialog");
        assert_eq!(asks.answered(&replacement.key, Some(TWO)), Answer::Pass(id(raw)));
    }
}

#[test]
fn a_replacement_is_of_the_same_kind_and_inside_i32() {
    let mut asks = Asks::default();
    asks.asked(base(), ONE, &id("\"a\""), None);
    asks.asked(base(), ONE, &id("0"), None);
    let text = asks.asked(base(), TWO, &id("\"a\""), None).expect("taken");
    let number = asks.asked(base(), TWO, &id("0"), None).expect("taken");
    assert!(matches!(text.key, IdKey::Text(_)));
    assert!(matches!(number.key, IdKey::Int(n) if (2_000_000_000..=i64::from(i32::MAX)).contains(&n)));
}

#[test]
fn questions_are_withdrawn_under_the_ids_that_the_client_knows_oldest_first() {
    let mut asks = Asks::default();
    asks.asked(base(), ONE, &id("1.0"), None);
    asks.asked(base(), ONE, &id("0"), None);
    assert_eq!(asks.lost(ONE), [id("1.0"), id("0")], "as they were spelled");
    let replacement = asks.asked(base(), TWO, &id("0"), None).expect("taken");
    asks.asked(base(), TWO, &id("5"), None);
    assert_eq!(asks.withdrawn(TWO, &key("5")), Some(id("5")), "by the server itself");
    assert_eq!(asks.withdrawn(TWO, &key("1")), None, "the question of another one");
    assert_eq!(asks.lost(TWO), [replacement]);
}

#[test]
fn progress_for_a_dead_question_is_dead_unless_its_token_is_used_again() {
    let mut asks = Asks::default();
    let token = Some(key("\"t\""));
    assert!(!asks.token_is_dead(&key("\"t\""), Some(ONE)), "nothing is known of it");
    asks.asked(base(), ONE, &id("0"), token.clone());
    assert!(!asks.token_is_dead(&key("\"t\""), Some(ONE)));
    asks.lost(ONE);
    assert!(asks.token_is_dead(&key("\"t\""), Some(TWO)));
    asks.asked(base(), TWO, &id("0"), token);
    assert!(!asks.token_is_dead(&key("\"t\""), Some(TWO)));
}

#[test]
fn a_question_counts_for_so_long_whatever_becomes_of_it() {
    let (mut asks, limit) = (Asks::default(), secs(10));
    assert_eq!(asks.owed_until(ONE, limit), None);
    asks.asked(base() + secs(3), ONE, &id("0"), None);
    asks.asked(base() + secs(1), ONE, &id("\"0\""), None);
    assert_eq!((asks.owed_until(ONE, limit), asks.owed_until(TWO, limit)), (Some(base() + secs(13)), None));
    asks.postpone(secs(100));
    asks.answered(&key("0"), Some(ONE));
    assert_eq!(asks.owed_until(ONE, limit), Some(base() + secs(111)));
}

#[test]
fn dead_questions_are_not_kept_for_ever() {
    let mut asks = Asks::default();
    for generation in 1..100 {
        for number in 0..100 {
            asks.asked(base(), Generation(generation), &id(&number.to_string()), None);
        }
        asks.lost(Generation(generation));
        assert!(asks.open.len() <= MAX_DEAD + 100);
    }
}

proptest! {
    /// Whatever ids the generations use, an answer reaches only the question that it was given to.
    #[test]
    fn an_answer_never_reaches_another_question(steps in prop::collection::vec((0_u8..4, 0_u8..4), 1..60)) {
        let (mut asks, mut live) = (Asks::default(), 1_u64);
        // What the client has on its screen: the id it knows, who asked, and under which id.
        let mut screen: Vec<(IdKey, u64, String)> = Vec::new();
        for (what, number) in steps {
            match what {
                0 | 1 => {
                    let raw = number.to_string();
                    if screen.iter().any(|(_, generation, asked)| *generation == live && *asked == raw) {
                        continue;
                    }
                    let known = asks.asked(base(), Generation(live), &id(&raw), None).unwrap_or_else(|| id(&raw));
                    prop_assert!(screen.iter().all(|(key, ..)| *key != known.key), "two questions under one id");
                    screen.push((known.key, live, raw));
                }
                2 if !screen.is_empty() => {
                    let (key, generation, raw) = screen.remove(usize::from(number) % screen.len());
                    let expected = if generation == live { Answer::Pass(id(&raw)) } else { Answer::Swallow };
                    prop_assert_eq!(asks.answered(&key, Some(Generation(live))), expected);
                }
                _ => {
                    let open = screen.iter().filter(|(_, generation, _)| *generation == live).count();
                    prop_assert_eq!(asks.lost(Generation(live)).len(), open);
                    live += 1;
                }
            }
        }
    }
}
