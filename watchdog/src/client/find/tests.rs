use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use super::*;

fn live(pid: u32, names: &[&str]) -> Live {
    let watchdog = Watchdog::new(Endpoint::Unix(format!("/run/w-{pid}.sock").into()), None);
    let server = |name: &&str| Server { name: (*name).to_owned(), ..Server::default() };
    Live { watchdog, servers: names.iter().map(server).collect() }
}

fn survey(live: Vec<Live>) -> Survey {
    Survey { live, ..Survey::default() }
}

fn chosen(survey: &Survey, name: Option<&str>) -> Result<(Option<u32>, String), String> {
    let found = survey.server(name, &["/run".into()]);
    found.map(|(watchdog, server)| (watchdog.pid(), server.name.clone())).map_err(|error| error.to_string())
}

#[test]
fn the_only_server_needs_no_name() {
    let one = survey(vec![live(1, &["a"])]);
    assert_eq!(chosen(&one, None), Ok((Some(1), "a".to_owned())));
    assert_eq!(chosen(&one, Some("a")), Ok((Some(1), "a".to_owned())));
}

#[test]
fn a_name_is_looked_up_over_all_watchdogs() {
    let all = survey(vec![live(1, &["a", "b"]), live(2, &["c"])]);
    assert_eq!(chosen(&all, Some("c")), Ok((Some(2), "c".to_owned())));
    assert_eq!(chosen(&all, Some("b")), Ok((Some(1), "b".to_owned())));
    let unknown = chosen(&all, Some("d")).unwrap_err();
    assert_eq!(unknown, "no running watchdog has a server \"d\"; there are: a, b, c");
    let misspelt = chosen(&survey(vec![live(1, &["files", "memory"])]), Some("memroy")).unwrap_err();
    assert_eq!(
        misspelt,
        "no running watchdog has a server \"memroy\" (did you mean \"memory\"?); there are: files, memory"
    );
}

#[test]
fn a_server_that_is_not_found_may_be_that_of_a_watchdog_that_is_silent() {
    let silent = "the watchdog at /run/b-2.sock did not answer within 1s".to_owned();
    let one = Survey { silent: vec![silent.clone()], ..survey(vec![live(1, &["a"])]) };
    let unknown = chosen(&one, Some("b")).unwrap_err();
    assert_eq!(unknown, format!("no running watchdog has a server \"b\"; there are: a\n  {silent}"));
    let nobody = chosen(&Survey { silent: vec![silent.clone()], ..Survey::default() }, Some("b")).unwrap_err();
    assert!(nobody.ends_with(&format!("\n  {silent}")), "{nobody}");
}

#[test]
fn who_is_silent_may_be_meant_where_nobody_is_named() {
    let silent = "the watchdog at /run/b-2.sock did not answer within 1s".to_owned();
    let two = Survey { silent: vec![silent.clone()], ..survey(vec![live(1, &["a"])]) };
    for error in [two.server(None, &[]).unwrap_err(), two.watchdog(None, &[]).unwrap_err()] {
        let text = error.to_string();
        assert!(text.ends_with(&format!("\n  a: process 1, --socket /run/w-1.sock\n  {silent}")), "{text}");
        assert_eq!(error.exit().code(), 78);
    }
    assert_eq!(chosen(&two, Some("a")), Ok((Some(1), "a".to_owned())));
    // Anybody can make a folder that we do not look into, and nobody is hidden in it.
    let folder = Survey { problems: vec!["/x is not yours".to_owned()], ..survey(vec![live(1, &["a"])]) };
    assert_eq!(chosen(&folder, None), Ok((Some(1), "a".to_owned())));
    assert_eq!(folder.watchdog(None, &[]).unwrap().pid(), Some(1));
}

#[test]
fn who_is_meant_has_to_be_said_when_there_are_several() {
    let all = survey(vec![live(1, &["a", "b"]), live(2, &["a"])]);
    assert_eq!(
        chosen(&all, Some("a")).unwrap_err(),
        "more than one watchdog has a server \"a\": choose one with --socket; there are:\n  \
         a: process 1, --socket /run/w-1.sock\n  a: process 2, --socket /run/w-2.sock"
    );
    assert!(chosen(&all, None).unwrap_err().contains("\n  b: process 1,"));
    let error = all.watchdog(None, &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("\n  a, b: process 1, --socket /run/w-1.sock\n  a: process 2, --socket /run/w-2.sock")
    );
    assert_eq!(error.exit().code(), 78);
    assert_eq!(all.watchdog(Some("b"), &[]).unwrap().pid(), Some(1));
}

#[test]
fn nobody() {
    let none = Survey { problems: vec!["/x is not yours".to_owned()], ..Survey::default() };
    let error = none.server(None, &["/run/a".into(), "/tmp/b".into()]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("no running watchdog found in /run/a or /tmp/b: ") && text.contains("--no-control"),
        "{text}"
    );
    assert!(text.ends_with("\n  /x is not yours"), "{text}");
    assert_eq!(error.exit().code(), 4);
}

/// A private folder with a socket that somebody listens at, one that nobody does, and things that are none.
fn folder() -> (tempfile::TempDir, UnixListener, u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
    drop(UnixListener::bind(path.join("dead-1.sock")).unwrap());
    let listener = UnixListener::bind(path.join("live-2.sock")).unwrap();
    fs::write(path.join("note.sock"), "").unwrap();
    (folder, listener, nix::unistd::geteuid().as_raw())
}

#[test]
fn only_control_sockets_of_private_folders_are_looked_at() {
    let (folder, _listener, user) = folder();
    let path = folder.path().to_owned();
    let missing = path.join("missing");
    let (found, problems) = sockets(&[missing, path.clone()], user);
    assert_eq!(found, [path.join("dead-1.sock"), path.join("live-2.sock")]);
    assert!(problems.is_empty(), "{problems:?}");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    let (found, problems) = sockets(&[path], user);
    assert!(found.is_empty() && problems[0].contains("chmod 700"), "{problems:?}");
}

#[tokio::test]
async fn sockets_without_a_watchdog_are_told_apart() {
    let (folder, _listener, user) = folder();
    let (found, _) = sockets(&[folder.path().to_owned()], user);
    assert_eq!(running(found).await, [folder.path().join("live-2.sock")]);
}

/// Those who asked one that is stopped have gone, and stay in its queue.
#[tokio::test]
async fn a_watchdog_whose_queue_is_full_runs_all_the_same() {
    let (folder, listener, user) = folder();
    nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::new(0).unwrap()).unwrap();
    let path = folder.path().join("live-2.sock");
    while Endpoint::Unix(path.clone()).connect().await.is_ok() {}
    let (found, problems) = sockets(&[folder.path().to_owned()], user);
    assert_eq!(running(found.clone()).await, [path]);
    let survey = super::survey(found, problems).await;
    let [silent] = &survey.silent[..] else { panic!("{survey:?}") };
    assert!(silent.contains("live-2.sock: it takes no more connections"), "{silent}");
}

/// Virtual time: the limit passes as soon as nothing else can happen.
#[tokio::test(start_paused = true)]
async fn a_watchdog_that_says_nothing_is_told_and_a_dead_one_is_not() {
    let (folder, listener, user) = folder();
    let (found, problems) = sockets(&[folder.path().to_owned()], user);
    let survey = super::survey(found, problems).await;
    drop(listener);
    assert!(survey.live.is_empty());
    let [silent] = &survey.silent[..] else { panic!("{survey:?}") };
    assert!(silent.contains("live-2.sock did not answer within 1s"), "{silent}");
}
