use serde_json::json;

use super::*;

fn server() -> config::Command {
    let pair = |(name, value): (&str, &str)| (name.into(), value.into());
    config::Command {
        program: "server".into(),
        args: vec!["--stdio".into()],
        cwd: Some("/srv".into()),
        env: [("A", "1"), ("B", "2")].map(pair).to_vec(),
        bounds: config::Bounds::default(),
    }
}

#[track_caller]
fn argv(options: Value) -> Vec<String> {
    let command = Options::read(&options).unwrap_or_else(|error| panic!("{error}")).command(&server());
    let words = std::iter::once(&command.program).chain(&command.args);
    words.map(|word| word.to_str().unwrap().to_owned()).collect()
}

fn refused(options: Value) -> String {
    Options::read(&options).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn a_command_is_a_list_or_a_word_with_arguments() {
    assert_eq!(argv(json!({ "command": ["check", "-p", 5432, true] })), ["check", "-p", "5432", "true"]);
    assert_eq!(argv(json!({ "command": "check" })), ["check"]);
    assert_eq!(argv(json!({ "command": "check", "args": ["a b", ""] })), ["check", "a b", ""]);
    assert_eq!(argv(json!({ "command": "check", "args": null, "env": null, "cwd": null })), ["check"]);
}

#[test]
fn a_program_runs_as_the_server_does_unless_its_link_says_otherwise() {
    let command = |options| Options::read(&options).unwrap().command(&server());
    let plain = command(json!({ "command": "check" }));
    assert_eq!((plain.cwd, plain.env), (server().cwd, server().env));
    let own = command(json!({ "command": "check", "cwd": "/tmp", "env": { "B": 3, "C": "4", "D": null } }));
    assert_eq!(own.cwd, Some(PathBuf::from("/tmp")));
    let env: Vec<_> = own.env.iter().map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect();
    assert_eq!(env, [("A", "1"), ("B", "3"), ("C", "4")]);
}

#[test]
fn exit_codes_are_simple_unless_written() {
    let codes = |options| Options::read(&options).unwrap().exit_codes;
    assert_eq!(codes(json!({ "command": "x" })), Codes::Simple);
    assert_eq!(codes(json!({ "command": "x", "exit_codes": "simple" })), Codes::Simple);
    assert_eq!(codes(json!({ "command": "x", "exit_codes": "nagios" })), Codes::Nagios);
}

#[test]
fn what_cannot_work_is_refused_without_its_values() {
    let needs = "needs a `command`, such as `command: [/usr/local/bin/check-db, --quick]`";
    assert_eq!(refused(json!({})), needs);
    assert_eq!(refused(Value::Null), needs);
    for empty in [json!([]), json!(""), json!([""])] {
        assert_eq!(refused(json!({ "command": empty })), "`command` is empty");
    }
    let both = "`args` goes with a `command` that is one word, not with a list";
    assert_eq!(refused(json!({ "command": ["x"], "args": ["y"] })), both);
    let slip = refused(json!({ "command": "x", "exit_code": "simple" }));
    assert!(slip.starts_with("unknown field `exit_code` (did you mean \"exit_codes\"?), expected `command`"), "{slip}");
    assert_eq!(refused(json!({ "command": "x", "exit_codes": "shell" })), "`exit_codes` is `simple` or `nagios`");
    let secret = [
        json!({ "command": "x", "env": "TOKEN=hush" }),
        json!({ "command": "x", "env": { "TOKEN": ["hush"] } }),
        json!({ "command": "x", "env": { "TOKEN=hush": "" } }),
        json!({ "command": "x", "args": "--token=hush" }),
        json!({ "command": ["x", { "token": "hush" }] }),
        json!({ "command": ["x", "hush\0"] }),
    ];
    for options in secret {
        let message = refused(options.clone());
        assert!(!message.is_empty() && !message.contains("hush"), "{options}: {message}");
    }
    let fraction = "a number with a fraction in `command` has to stand in quotes";
    assert_eq!(refused(json!({ "command": ["x", 1.5] })), fraction);
}
