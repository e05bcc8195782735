//! Links of a chain: their own keys, and what becomes of their options.

use std::path::Path;

use super::*;

fn links(chain: &str) -> Vec<Link> {
    Case::file(&format!("servers: {{fs: {{command: a, probe: {{chain: [{chain}]}}}}}}")).server().probe.chain
}

fn error(chain: &str) -> String {
    let error = Case::file(&format!("servers: {{fs: {{command: a, probe: {{chain: [{chain}]}}}}}}")).error();
    error.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_link_is_called_by_its_type_where_it_has_no_name() {
    let names = |chain| links(chain).into_iter().map(|link| link.name).collect::<Vec<_>>();
    assert_eq!(names("{type: ping}, {type: tools_list}"), ["ping", "tools_list"]);
    assert_eq!(
        names("{type: ping}, {type: ping}, {type: ping, name: db}, {type: ping}"),
        ["ping", "ping#2", "db", "ping#3"]
    );
    assert_eq!(names("{type: ping}, {type: tools_list, name: ping}"), ["ping#2", "ping"]);
}

#[test]
fn names_are_words_and_belong_to_one_link() {
    let taken = error("{type: ping, name: db}, {type: ping, name: db}");
    assert!(taken.ends_with("probe.chain[1].name: another link is called `db` already"), "{taken}");
    for name in ["''", "'a b'", "'a#2'", "é"] {
        let wrong = error(&format!("{{type: ping, name: {name}}}"));
        assert!(wrong.contains("probe.chain[0].name: expected a name of letters, digits"), "{wrong}");
    }
}

#[test]
fn methods_are_plain_and_none_that_a_probe_must_never_call() {
    let methods = links("{type: ping, allow_methods: [resources/read, tools/call]}").remove(0).allow_methods;
    assert_eq!(methods, ["resources/read", "tools/call"]);
    assert!(links("{type: ping, allow_methods: ~}").remove(0).allow_methods.is_empty());
    let wrong = |method: &str| error(&format!("{{type: ping, allow_methods: [tools/call, {method}]}}"));
    for method in ["''", "'a b'", "'*'"] {
        let wrong = wrong(method);
        assert!(wrong.contains("probe.chain[0].allow_methods[1]: expected a method such as"), "{wrong}");
    }
    for method in ["initialize", "notifications/cancelled"] {
        let expected = format!("probe.chain[0].allow_methods[1]: \"{method}\" is not for probes");
        assert!(wrong(method).ends_with(&expected), "{}", wrong(method));
    }
}

#[test]
fn the_keys_of_a_link_are_no_options() {
    let link = links("{type: ping, name: db, timeout: 2s, allow_methods: [a/b], deep: 1}").remove(0);
    assert_eq!((link.timeout, link.options), (Some(secs(2)), serde_json::json!({ "deep": 1 })));
}

#[test]
fn what_a_probe_says_of_an_option_is_told_with_the_options_place() {
    let why = error("{type: tools_list}, {type: ping, deep: 1, timout: 3s}");
    assert!(why.ends_with("servers.fs.probe.chain[1]: probe \"ping\": unknown field `timout`"), "{why}");
    let there = Case::file(
        "servers:\n  fs:\n    command: a\n    probe:\n      chain:\n        - type: ping\n          timout: 3s\n",
    );
    assert!(there.error().starts_with("config.yaml:7:11: "), "{}", there.error());
    let why = error("{type: other, deep: 1}");
    assert!(why.ends_with("servers.fs.probe.chain[0]: there is no probe `other`"), "{why}");
}

#[test]
fn variables_are_expanded_where_a_command_would_expand_them() {
    let chain = "probe.chain=[{type: ping, command: ['${P}', 5], args: ['$${P}'], env: {A: '${P}', B: '${NO:-b}'}, expect: '${P}'}]";
    let options = Case::command().env("P", "v").set(chain).server().probe.chain.remove(0).options;
    let expected = serde_json::json!({
        "command": ["v", 5], "args": ["${P}"], "env": { "A": "v", "B": "b" }, "expect": "${P}",
    });
    assert_eq!(options, expected);
    let unset = error("{type: ping, cwd: '/${NO}'}");
    let why = "probe.chain[0].cwd: the variable `NO` is not set, and has no default (`${NO:-default}`)";
    assert!(unset.ends_with(why), "{unset}");
}

#[test]
fn a_library_lies_beside_the_file_that_names_it() {
    let library = |case: &Case| {
        let options = case.server().probe.chain.remove(0).options;
        options["library"].as_str().map(ToOwned::to_owned).unwrap()
    };
    let text =
        |path: &str| format!("servers: {{fs: {{command: a, probe: {{chain: [{{type: ping, library: {path}}}]}}}}}}");
    let case = Case::file(&text("probes/x.so"));
    assert_eq!(Path::new(&library(&case)), case.folder.path().join("probes/x.so"));
    assert_eq!(library(&Case::file(&text("/lib/x.so"))), "/lib/x.so");
    assert_eq!(library(&Case::file(&text("'${D}/x.so'")).env("D", "/d")), "/d/x.so");
    let typed = library(&Case::command().set("probe.chain=[{type: ping, library: x.so}]"));
    assert_eq!(Path::new(&typed), std::env::current_dir().unwrap().join("x.so"));
}

#[test]
fn a_chain_that_cannot_do_its_work_is_warned_of() {
    let warnings = |chain: &str| Case::file(&format!("servers: {{fs: {{command: a, {chain}}}}}")).ok().warnings;
    let cut = warnings("probe: {total_timeout: 2s, chain: [{type: ping, timeout: 1s}, {type: tools_list}]}");
    assert_eq!(
        cut,
        [
            "`fs`: probe.chain[1]: its timeout of 3s is never used up for an overdue call, since `probe.total_timeout` is 2s"
        ]
    );
    assert!(warnings("tool_timeout: 3s").is_empty());
}
