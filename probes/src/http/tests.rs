use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use probe_api::testing::FakeContext;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::{ConfigError, DISCARDED, Duration, Http, Probe as _, ProbeKind as _, Verdict};

fn probe(options: Value) -> Result<Http, ConfigError> {
    Http::new(serde_json::from_value(options).map_err(|error| ConfigError(error.to_string()))?)
}

fn refusal(options: Value) -> String {
    probe(options).unwrap_err().0
}

/// A server of one connection. Joining it returns what it was asked, and what it made of it.
fn serving<T: Send + 'static>(
    serve: impl FnOnce(&mut TcpStream) -> T + Send + 'static,
) -> (u16, JoinHandle<(String, T)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        let mut byte = [0];
        while !asked.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            asked.push(byte[0]);
        }
        let made = serve(&mut stream);
        (String::from_utf8(asked).unwrap(), made)
    });
    (port, server)
}

/// A server that answers with these bytes and hangs up; it tells whether the client took them all.
fn answering(answer: impl Into<Vec<u8>>) -> (u16, JoinHandle<(String, bool)>) {
    let answer = answer.into();
    serving(move |stream| stream.write_all(&answer).is_ok())
}

async fn verdict(options: impl FnOnce(u16) -> Value, answer: impl Into<Vec<u8>>) -> (Verdict, String) {
    let (port, server) = answering(answer);
    let verdict = probe(options(port)).unwrap().check(&FakeContext::new()).await;
    (verdict, server.join().unwrap().0)
}

fn health(port: u16) -> Value {
    json!({ "url": format!("http://127.0.0.1:{port}/health?key=secret") })
}

#[tokio::test]
async fn an_answer_of_the_right_status_passes() {
    let (verdict, asked) = verdict(health, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    assert_eq!(verdict, Verdict::Pass);
    assert!(asked.starts_with("GET /health?key=secret HTTP/1.1\r\n"), "{asked}");
    let headers: Vec<_> = asked.lines().map(str::to_lowercase).collect();
    let host = headers.iter().find_map(|line| line.strip_prefix("host: 127.0.0.1:"));
    assert!(host.is_some_and(|port| port.parse::<u16>().is_ok()), "{asked}");
    assert!(headers.iter().any(|line| line.starts_with("user-agent: mcp-watchdog/")), "{asked}");
}

#[tokio::test]
async fn an_answer_without_a_length_that_ends_with_the_connection_passes() {
    assert_eq!(verdict(health, "HTTP/1.0 204 No Content\r\n\r\n").await.0, Verdict::Pass);
    assert_eq!(verdict(health, "HTTP/1.1 200 OK\r\n\r\nuntil the end").await.0, Verdict::Pass);
    let broken = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\ncut";
    assert_eq!(verdict(health, broken).await.0, Verdict::Pass, "the status had come");
}

#[tokio::test]
async fn another_status_fails_and_no_redirect_is_followed() {
    let unwell = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
    let (port, server) = answering(unwell);
    let told = Verdict::Fail(format!("GET 127.0.0.1:{port}/health answered 503, not 200-399"));
    assert_eq!(probe(health(port)).unwrap().check(&FakeContext::new()).await, told, "and no word of the query");
    server.join().unwrap();
    let moved = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(verdict(health, moved).await.0, Verdict::Pass);
    let strict = |port| json!({ "url": format!("http://127.0.0.1:{port}"), "status": 200 });
    let (verdict, asked) = verdict(strict, moved).await;
    assert!(matches!(&verdict, Verdict::Fail(reason) if reason.ends_with("/ answered 302, not 200")), "{verdict:?}");
    assert!(asked.starts_with("GET / HTTP/1.1\r\n"), "{asked}");
}

#[tokio::test]
async fn method_and_headers_are_as_written() {
    let options = |port| {
        json!({
            "url": format!("http://127.0.0.1:{port}/up"),
            "method": "HEAD",
            "headers": { "Authorization": "Bearer abc", "Host": "inner.example" },
            "status": ["200", 204],
        })
    };
    // HEAD names the length of a body that does not come.
    let (verdict, asked) = verdict(options, "HTTP/1.1 204 No Content\r\ncontent-length: 10\r\n\r\n").await;
    assert_eq!(verdict, Verdict::Pass);
    let asked = asked.to_lowercase();
    assert!(asked.starts_with("head /up http/1.1\r\n"), "{asked}");
    assert!(asked.contains("authorization: bearer abc\r\n") && asked.contains("host: inner.example\r\n"), "{asked}");
    assert!(!asked.contains("host: 127"), "{asked}");
    let told = format!("{:?}", probe(options(1)).unwrap());
    assert!(!told.contains("abc"), "{told}");
}

#[tokio::test]
async fn a_small_body_is_read_to_its_end() {
    let (port, server) = answering([b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; DISCARDED / 2].as_slice()].concat());
    assert_eq!(probe(health(port)).unwrap().check(&FakeContext::new()).await, Verdict::Pass);
    assert!(server.join().unwrap().1, "the server could write all of it");
}

#[tokio::test]
async fn a_body_without_an_end_is_not_waited_for() {
    let (port, server) = serving(|stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        // It ends when the client does.
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    let cx = FakeContext::new().remaining_for(Duration::from_secs(60));
    assert_eq!(probe(health(port)).unwrap().check(&cx).await, Verdict::Pass);
    server.join().unwrap();
}

#[tokio::test]
async fn what_is_no_answer_fails_with_the_reason() {
    for (answer, fault) in [
        ("220 smtp.example ESMTP\r\n", "invalid HTTP version parsed"),
        ("HTTP/1.1 200", "connection closed before message completed"),
        ("", "connection closed before message completed"),
    ] {
        let (port, server) = answering(answer);
        let verdict = probe(health(port)).unwrap().check(&FakeContext::new()).await;
        let told = format!("GET 127.0.0.1:{port}/health was not answered: {fault}");
        assert_eq!(verdict, Verdict::Fail(told));
        server.join().unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let cx = FakeContext::new().remaining_for(Duration::from_millis(50));
    let silent = Verdict::Fail(format!("no answer to GET 127.0.0.1:{port}/health within 50ms"));
    assert_eq!(probe(health(port)).unwrap().check(&cx).await, silent);
    // A port that is taken, and where nobody listens.
    let nobody = TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = nobody.local_addr().unwrap().port();
    let verdict = probe(health(port)).unwrap().check(&cx).await;
    assert_eq!(verdict, Verdict::Fail(format!("no connection to 127.0.0.1:{port}: connection refused")));
}

#[test]
fn a_url_has_a_host_and_perhaps_a_port() {
    let address = |url: &str| probe(json!({ "url": url })).unwrap().address.to_string();
    assert_eq!(address("http://localhost"), "localhost:80");
    assert_eq!(address("HTTP://localhost:8080?x"), "localhost:8080");
    assert_eq!(address("http://[::1]:8080/x"), "[::1]:8080");
}

#[test]
fn a_url_that_cannot_work_is_refused_with_the_remedy() {
    let https = "`url` is https, which this probe does not speak: use a link of `type: exec` that runs curl";
    assert_eq!(refusal(json!({ "url": "https://localhost/" })), https);
    let user = "`url` must not have a user and password: set the header `Authorization`";
    assert_eq!(refusal(json!({ "url": "http://u:p@localhost/" })), user);
    for url in ["", "localhost:8080", "/health", "ftp://localhost/", "http:///x", "http://a b/"] {
        let error = refusal(json!({ "url": url }));
        assert!(error.starts_with("`url` must have the form http://HOST:PORT/PATH"), "{url}: {error}");
    }
    for url in ["http://localhost:0/", "http://localhost:99999/", "http://localhost:/"] {
        assert!(refusal(json!({ "url": url })).starts_with("`url` "), "{url}");
    }
}

#[test]
fn statuses_methods_and_headers_that_cannot_work_are_refused() {
    let with = |key: &str, value: Value| refusal(json!({ "url": "http://a", key: value }));
    for status in
        [json!(99), json!(600), json!("399-200"), json!("ok"), json!([]), json!(["200-"]), json!(-1), json!("")]
    {
        let error = with("status", status.clone());
        assert!(
            error.contains("expected a status such as 200, a range such as 200-399, or a list"),
            "{status}: {error}"
        );
    }
    assert!(with("method", json!("POST")).contains("unknown variant `POST`, expected `GET` or `HEAD`"));
    assert_eq!(with("headers", json!({ "a b": "c" })), "`headers`: \"a b\" is not the name of a header");
    assert_eq!(with("headers", json!({ "a": "s\n" })), "`headers`: the value of \"a\" has control characters");
    assert!(with("header", json!({})).contains("unknown field `header`"));
}
