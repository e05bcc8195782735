use super::*;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, HeaderValue::from_static(value));
    }
    headers
}

fn status(access: &Access, uri: &'static str, pairs: &[(&'static str, &'static str)], open: bool) -> u16 {
    let checked = access.check(&Uri::from_static(uri), &headers(pairs), open);
    checked.map_or_else(|problem| problem.status, |()| 200)
}

fn host(host: &'static str) -> u16 {
    status(&Access::tcp("box.lan", None), "/mcp/servers", &[("host", host)], false)
}

#[test]
fn hosts_are_numbers_localhost_and_the_configured_one() {
    for known in ["127.0.0.1:9901", "[::1]:9901", "localhost", "LOCALHOST:1", "box.lan:9901", "10.1.2.3", "[fe80::1]"] {
        assert_eq!(host(known), 200, "{known}");
    }
    for foreign in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9901", "box.lan.", "1.2.3"] {
        assert_eq!(host(foreign), 403, "{foreign}");
    }
    assert_eq!(host("a b"), 400);
    let tcp = Access::tcp("127.0.0.1", None);
    assert_eq!(status(&tcp, "/livez", &[], true), 400);
    assert_eq!(status(&tcp, "/livez", &[("host", "localhost"), ("host", "evil.example")], true), 400);
    assert_eq!(status(&tcp, "http://evil.example/livez", &[("host", "localhost")], true), 403);
}

#[test]
fn web_pages_are_never_let_in() {
    let page = [("host", "localhost"), ("origin", "http://localhost:9901")];
    let token = Token::new("secret").unwrap();
    for access in [Access::Unix, Access::tcp("localhost", None), Access::tcp("localhost", Some(token))] {
        assert_eq!(status(&access, "/livez", &page, true), 403);
    }
    assert_eq!(status(&Access::Unix, "/", &[("host", "any.thing")], false), 200, "the kernel knows who it is");
    let tcp = Access::tcp("localhost", None);
    let sent = |site: &'static str| status(&tcp, "/livez", &[("host", "localhost"), ("sec-fetch-site", site)], true);
    for (site, code) in [("none", 200), ("same-origin", 200), ("same-site", 403), ("cross-site", 403), ("", 403)] {
        assert_eq!(sent(site), code, "{site}");
    }
}

#[test]
fn a_token_is_asked_for_except_by_probes() {
    let access = Access::tcp("localhost", Some(Token::new("secret-1").unwrap()));
    let with = |value: &'static str| {
        status(&access, "/mcp/servers", &[("host", "localhost"), ("authorization", value)], false)
    };
    assert_eq!(with("Bearer secret-1"), 200);
    assert_eq!(with("bearer  secret-1"), 200);
    for wrong in
        ["Bearer secret-2", "Bearer secret-", "Bearer secret-11", "Bearer", "Bearer ", "Basic secret-1", "secret-1"]
    {
        assert_eq!(with(wrong), 401, "{wrong}");
    }
    let bare = [("host", "localhost")];
    assert_eq!(status(&access, "/mcp/servers", &bare, false), 401);
    assert_eq!(status(&access, "/livez", &bare, true), 200);
    assert_eq!(status(&access, "/livez", &[("host", "evil.example")], true), 403);
}
