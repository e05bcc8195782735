use std::process::{Command, Stdio};

use super::*;

fn pid_of(child: &std::process::Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

#[test]
fn a_command_name_with_spaces_and_parentheses_is_skipped() {
    let fields = "S 7 8 9 0 -1 4194560 1 2 3 4 50 6 70 8 20 0 1 0 12345 9999 321 18446744073709551615";
    let text = format!("42 (a) b (c) {fields}");
    let stat = parse_stat(text.as_bytes()).unwrap();
    assert_eq!((stat.state, stat.parent.as_raw(), stat.group.as_raw()), (b'S', 7, 8));
    assert_eq!((stat.own_ticks, stat.reaped_ticks, stat.start, stat.resident_pages), (56, 78, 12345, 321));
}

#[test]
fn a_short_or_foreign_text_is_no_stat() {
    assert_eq!(parse_stat(b""), None);
    assert_eq!(parse_stat(b"1 (x) S 1 2"), None);
    assert_eq!(parse_stat(b"1 (x"), None);
}

#[test]
fn our_own_stat_names_our_parent_and_group() {
    let stat = stat(getpid()).unwrap();
    assert_eq!(stat.parent, nix::unistd::getppid());
    assert_eq!(stat.group, nix::unistd::getpgrp());
    assert!(!stat.is_dead() && stat.resident_pages > 0);
}

#[test]
fn both_ways_of_listing_find_a_grandchild_below_its_parent() {
    let mut child = Command::new("sh").args(["-c", "sleep 60 & echo $!; wait"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    io::BufRead::read_line(&mut io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    let grandchild = Member { pid: Pid::from_raw(line.trim().parse().unwrap()), parent: pid_of(&child) };
    let walked = walk_children_files(pid_of(&child)).unwrap();
    let scanned = scan_parents(pid_of(&child)).unwrap();
    let below_us = descendants(getpid()).unwrap();
    nix::sys::signal::kill(grandchild.pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    assert_eq!(walked, [grandchild]);
    assert_eq!(scanned, [grandchild]);
    assert!(below_us.contains(&grandchild));
}

#[test]
fn a_process_that_has_gone_has_no_start_time_and_no_children() {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = pid_of(&child);
    assert!(start_time(pid).is_some());
    child.wait().unwrap();
    assert_eq!(start_time(pid), None);
    assert!(walk_children_files(pid).is_err());
}

#[test]
fn a_dead_member_does_not_count_as_one_of_its_group() {
    use std::os::unix::process::CommandExt;
    let mut child = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
    let pid = pid_of(&child);
    assert_eq!(group_members(pid).unwrap(), [pid]);
    child.kill().unwrap();
    let peek = nix::sys::wait::WaitPidFlag::WEXITED | nix::sys::wait::WaitPidFlag::WNOWAIT;
    nix::sys::wait::waitid(nix::sys::wait::Id::Pid(pid), peek).unwrap();
    assert_eq!(group_members(pid).unwrap(), []);
    child.wait().unwrap();
}
