use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::cgroup::Placement;
use crate::config;

fn order_round_trip(order: &Order) -> Order {
    let mut frames = Frames::default();
    frames.push(&order.to_frame().unwrap());
    let body = frames.next().unwrap().unwrap();
    assert_eq!(frames.next(), Ok(None));
    Order::from_body(&body).unwrap()
}

fn events() -> impl Strategy<Value = ChildEvent> {
    prop_oneof![
        any::<u32>().prop_map(|pid| ChildEvent::Started { pid }),
        (any::<i32>(), 0_u8..9)
            .prop_map(|(errno, step)| ChildEvent::CannotStart { errno, step: Step::from_number(step).unwrap() }),
        any::<i32>().prop_map(|code| ChildEvent::Exited(Ending::Code(code))),
        any::<i32>().prop_map(|number| ChildEvent::Exited(Ending::Signal(number))),
        any::<Option<u64>>().prop_map(|limit| ChildEvent::Exited(Ending::OutOfMemory { limit })),
        proptest::collection::vec(any::<u32>(), 0..20).prop_map(|survivors| ChildEvent::Empty { survivors }),
    ]
}

fn strings() -> impl Strategy<Value = Vec<CString>> {
    let string = proptest::collection::vec(1_u8..=255, 0..40).prop_map(|bytes| CString::new(bytes).unwrap());
    proptest::collection::vec(string, 0..10)
}

proptest! {
    #[test]
    fn events_arrive_in_order_however_the_stream_is_cut(
        sent in proptest::collection::vec(events(), 0..6),
        cut in 1_usize..30,
    ) {
        let stream: Vec<u8> = sent.iter().flat_map(|event| event.to_frame().unwrap()).collect();
        let mut frames = Frames::default();
        let mut received = Vec::new();
        for chunk in stream.chunks(cut) {
            frames.push(chunk);
            while let Some(body) = frames.next().unwrap() {
                received.push(ChildEvent::from_body(&body).unwrap());
            }
        }
        prop_assert_eq!(received, sent);
    }

    #[test]
    fn a_launch_keeps_every_byte(
        argv in strings(),
        env in strings(),
        cwd in strings(),
        limits in (any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<i32>>()),
        placement in any::<Option<(String, Option<u64>)>>(),
    ) {
        let limits = Limits { open_files: limits.0, core: limits.1, oom_score_adj: limits.2 };
        let placement = placement.map(|(name, memory_max)| {
            Placement { folder: PathBuf::from("/sys/fs/cgroup").join(name.replace('\0', "")), memory_max }
        });
        let order = Order::Launch(Launch { argv, env, cwd: cwd.into_iter().next(), limits, placement });
        prop_assert_eq!(order_round_trip(&order), order);
    }

    #[test]
    fn a_stop_keeps_its_milliseconds(eof in any::<u64>(), term in any::<u64>()) {
        let order = Order::Stop { eof_grace: Duration::from_millis(eof), term_grace: Duration::from_millis(term) };
        prop_assert_eq!(order_round_trip(&order), order);
    }

    #[test]
    fn a_signal_keeps_its_number(number in any::<i32>()) {
        prop_assert_eq!(order_round_trip(&Order::Signal(number)), Order::Signal(number));
    }

    #[test]
    fn foreign_bytes_are_refused_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        // Decoding is one to one: what is accepted is exactly what would be written.
        if let Ok(event) = ChildEvent::from_body(&bytes) {
            prop_assert_eq!(&event.to_frame().unwrap()[4..], &bytes[..]);
        }
        _ = Order::from_body(&bytes);
        let mut frames = Frames::default();
        frames.push(&bytes);
        _ = frames.next();
    }
}

#[test]
fn a_frame_that_claims_gigabytes_is_malformed() {
    let mut frames = Frames::default();
    frames.push(&u32::MAX.to_le_bytes());
    assert_eq!(frames.next(), Err(Malformed));
}

#[test]
fn a_launch_joins_the_environment_and_refuses_nul() {
    let mut command = config::Command {
        program: "program".into(),
        args: vec![OsString::from_vec(vec![0xff, 0xfe])],
        cwd: Some(PathBuf::from("/tmp")),
        env: vec![("KEY".into(), "a=b".into())],
        bounds: config::Bounds::default(),
    };
    let launch = Launch::new(&command).unwrap();
    assert_eq!(launch.argv, [c"program".to_owned(), CString::new(vec![0xff, 0xfe]).unwrap()]);
    assert_eq!(launch.env, [c"KEY=a=b".to_owned()]);
    assert_eq!(launch.cwd, Some(c"/tmp".to_owned()));
    command.args.push("a\0b".into());
    assert_eq!(Launch::new(&command), None);
}

#[test]
fn two_megabytes_of_arguments_fit() {
    let argv = vec![CString::new(vec![b'x'; 2 << 20]).unwrap()];
    let limits = Limits { open_files: None, core: None, oom_score_adj: None };
    let order = Order::Launch(Launch { argv, env: Vec::new(), cwd: None, limits, placement: None });
    assert_eq!(order_round_trip(&order), order);
}

#[test]
fn a_missing_program_is_127_and_any_other_refusal_126() {
    assert_eq!(Step::Exec.exit(nix::libc::ENOENT).code(), 127);
    assert_eq!(Step::Exec.exit(nix::libc::EACCES).code(), 126);
    assert_eq!(Step::Chdir.exit(nix::libc::ENOENT).code(), 126);
    assert_eq!(Step::Fork.exit(nix::libc::EAGAIN).code(), 125);
    assert_eq!(Step::OpenFiles.exit(nix::libc::EPERM).code(), 78);
    assert_eq!(Step::Cgroup.exit(nix::libc::EACCES).code(), 125);
}
