//! What earlier chains have taught about single links.

use std::collections::BTreeMap;

use super::{Chain, Heard, LinkIndex};

/// Remembers, for as long as its owner keeps it (one generation of the server), which links are not worth asking
/// first. Some healthy servers drop every `ping`: asked again and again, they would be suspected at each check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Latches {
    by_link: BTreeMap<LinkIndex, Latch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Latch {
    /// It was answered too late once: slow, and not ignored.
    Slow,
    /// It was refused as unknown: still a sign of life, but the others are asked first.
    Unknown,
    /// It was ignored while another link was answered: left out.
    Ignored,
}

impl Latches {
    /// Learns from a chain that has ended.
    pub fn learn(&mut self, chain: &Chain) {
        if chain.links.len() < 2 {
            return;
        }
        let any_reply = chain.any_reply();
        for (index, (link, heard)) in chain.links.iter().zip(&chain.heard).enumerate() {
            let index = LinkIndex(index);
            match heard {
                _ if !link.skippable => {}
                Heard::Unknown => {
                    self.by_link.insert(index, Latch::Unknown);
                }
                Heard::Silence if any_reply => {
                    self.by_link.entry(index).or_insert(Latch::Ignored);
                }
                Heard::Silence | Heard::Nothing | Heard::Answer => {}
            }
        }
    }

    /// A request of this link was answered after all, too late for its check: the server does not ignore it.
    pub fn heard_late(&mut self, link: LinkIndex) {
        let latch = self.by_link.entry(link).or_insert(Latch::Slow);
        if *latch == Latch::Ignored {
            *latch = Latch::Slow;
        }
    }

    /// The order in which the links of a chain of this length run. All of them, where all are ignored.
    pub(super) fn order(&self, links: usize) -> Vec<LinkIndex> {
        let all = || (0..links).map(LinkIndex);
        let latch = |link: &LinkIndex| self.by_link.get(link).copied();
        let first = all().filter(|link| matches!(latch(link), None | Some(Latch::Slow)));
        let last = all().filter(|link| latch(link) == Some(Latch::Unknown));
        let order: Vec<_> = first.chain(last).collect();
        if order.is_empty() { all().collect() } else { order }
    }
}
