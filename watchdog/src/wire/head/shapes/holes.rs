//! Which values of a line are likely to be others in the next one.
//!
//! They are looked for where the scan looks: in the message, in `params`, and in `params._meta`. The first names of a message are
//! known, and the method has to stay; of the others nobody knows what they hold, and they may as well differ.

use smallvec::SmallVec;

use super::super::super::Span;
use super::super::super::read::{Name, Reader};
use super::places::HOLES;
use super::shape::Class;

/// What a client says of itself in `_meta` of each of its requests.
const ALWAYS_THE_SAME: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];

/// The holes of a line.
pub(super) type Holes = SmallVec<[(Span, Class); HOLES]>;

/// The values of a message that are likely to be others in the next one, in their order; `None` where they are too many.
pub(super) fn of(line: &[u8]) -> Option<Holes> {
    let mut holes = Holes::new();
    members(&mut Reader::new(line), &mut |name, reader| {
        if name.is("params") {
            of_params(line, reader, &mut holes)
        } else if name.is("id") || name.is("result") || name.is("error") {
            hole(line, reader, &mut holes)
        } else {
            reader.skip_value()
        }
    })?;
    (holes.len() <= HOLES).then_some(holes)
}

fn of_params(line: &[u8], reader: &mut Reader<'_>, holes: &mut Holes) -> Option<()> {
    if reader.peek() != Some(b'{') {
        return reader.skip_value();
    }
    members(reader, &mut |name, reader| {
        if name.is("_meta") { of_meta(line, reader, holes) } else { hole(line, reader, holes) }
    })
}

fn of_meta(line: &[u8], reader: &mut Reader<'_>, holes: &mut Holes) -> Option<()> {
    if reader.peek() != Some(b'{') {
        return reader.skip_value();
    }
    members(reader, &mut |name, reader| {
        if ALWAYS_THE_SAME.iter().any(|known| name.is(known)) { reader.skip_value() } else { hole(line, reader, holes) }
    })
}

/// Passes over a value that is a hole, if it has a class.
fn hole(line: &[u8], reader: &mut Reader<'_>, holes: &mut Holes) -> Option<()> {
    let span = reader.value()?;
    if let Some(class) = line.get(span.clone()).and_then(Class::of) {
        holes.push((span, class));
    }
    Some(())
}

fn members<'a>(reader: &mut Reader<'a>, member: &mut dyn FnMut(Name<'a>, &mut Reader<'a>) -> Option<()>) -> Option<()> {
    let mut more = reader.enter(b'{', b'}')?;
    while more {
        let name = reader.name()?;
        member(name, reader)?;
        more = reader.goes_on(b'}')?;
    }
    Some(())
}
