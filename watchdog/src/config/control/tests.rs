use super::*;

#[test]
fn only_addresses_of_this_machine_are_loopback() {
    for (host, loopback) in [
        ("127.0.0.1", true),
        ("127.8.9.1", true),
        ("::1", true),
        ("::ffff:127.0.0.1", true),
        ("localhost", true),
        ("LocalHost", true),
        ("0.0.0.0", false),
        ("::", false),
        ("192.168.1.1", false),
        ("localhost.example.com", false),
        ("127.1", false),
    ] {
        assert_eq!(TcpAddress { host: host.to_owned(), port: 1 }.is_loopback(), loopback, "{host}");
    }
}

#[test]
fn addresses_are_written_as_they_are_read() {
    assert_eq!(TcpAddress { host: "::1".to_owned(), port: 9901 }.to_string(), "[::1]:9901");
    assert_eq!(TcpAddress { host: "localhost".to_owned(), port: 0 }.to_string(), "localhost:0");
}

#[test]
fn a_token_hides_itself() {
    let token = Token::new("s3cr3t-~+/=").unwrap();
    assert_eq!(token.expose(), "s3cr3t-~+/=");
    assert!(!format!("{token:?}").contains("s3cr3t"), "{token:?}");
}

#[test]
fn a_token_must_fit_into_a_header() {
    for text in ["", "two words", "umläut", "line\nend", "nul\0"] {
        let error = Token::new(text).unwrap_err();
        assert!(text.is_empty() || !error.contains(text), "{error}");
    }
}
