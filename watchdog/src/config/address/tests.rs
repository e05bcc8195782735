use super::*;

fn tcp(host: &str, port: u16) -> TcpAddress {
    TcpAddress { host: host.to_owned(), port }
}

#[test]
fn what_the_control_plane_listens_on() {
    for (text, meant) in [
        ("auto", ControlListen::Auto),
        ("off", ControlListen::Off),
        ("unix:///run/mcp/control.sock", ControlListen::Unix("/run/mcp/control.sock".into())),
        ("tcp://127.0.0.1:9901", ControlListen::Tcp(tcp("127.0.0.1", 9901))),
        ("tcp://[::1]:9901", ControlListen::Tcp(tcp("::1", 9901))),
        ("tcp://localhost:0", ControlListen::Tcp(tcp("localhost", 0))),
    ] {
        assert_eq!(ControlListen::from_text(text), Ok(meant), "{text}");
    }
    for text in [
        "",
        "on",
        "9901",
        "unix://relative",
        "unix:///",
        "unix:///a/",
        "tcp://:9901",
        "tcp://::1:9901",
        "tcp://[x]:1",
        "tcp://h:99999",
        "tcp://h",
        "tcp://h:-1",
        "tcp://a/b:1",
        "http://h:1",
    ] {
        let error = ControlListen::from_text(text).unwrap_err();
        assert!(error.starts_with("expected `auto`, `off`, `unix:///PATH` or `tcp://HOST:PORT`, not "), "{error}");
    }
}

#[test]
fn addresses_with_and_without_a_scheme() {
    assert_eq!(TcpAddress::from_text("0.0.0.0:9902"), Ok(tcp("0.0.0.0", 9902)));
    assert_eq!(TcpAddress::from_text("tcp://0.0.0.0:9902"), Ok(tcp("0.0.0.0", 9902)));
    assert_eq!(TcpAddress::from_text(":9902"), Err("expected `HOST:PORT`, not \":9902\"".to_owned()));
}

#[test]
fn sockets_of_servers() {
    assert_eq!(Listen::from_text("unix:///run/a.sock"), Ok(Listen::Unix("/run/a.sock".into())));
    let error = Listen::from_text("tcp://127.0.0.1:1").unwrap_err();
    assert_eq!(error, "expected `unix:///PATH`, not \"tcp://127.0.0.1:1\"");
}

#[test]
fn a_socket_has_a_longest_path() {
    let path = |length: usize| format!("unix:///{}", "x".repeat(length - 1));
    assert!(Listen::from_text(&path(LONGEST_SOCKET)).is_ok());
    let error = Listen::from_text(&path(LONGEST_SOCKET + 1)).unwrap_err();
    assert_eq!(error, format!("the path of a socket has at most {LONGEST_SOCKET} bytes, not {}", LONGEST_SOCKET + 1));
}
