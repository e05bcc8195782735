//! What a Dockerfile of examples/container says about the image that its last stage makes. There is no Docker in the tests: they put
//! the same files into a folder and start the same command there. An instruction that is not understood is a failure.

use std::fs;

use harness::Value;

use crate::rig::root;

/// The last stage of a Dockerfile.
#[derive(Debug, Default)]
pub(crate) struct Image {
    pub(crate) base: String,
    pub(crate) copies: Vec<Copy>,
    /// Empty folders that belong to the user.
    pub(crate) folders: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) workdir: String,
    pub(crate) user: String,
    pub(crate) healthcheck: Vec<String>,
    pub(crate) entrypoint: Vec<String>,
}

/// A `COPY` of one file or folder.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Whether it comes from the stage that builds, and not from the checkout.
    pub(crate) is_built: bool,
    pub(crate) from: String,
    pub(crate) to: String,
}

impl Image {
    /// Reads one of examples/container.
    pub(crate) fn of(file: &str) -> Self {
        let path = root().join("examples/container").join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let joined = text.replace("\\\n", " ");
        let mut image = Self { workdir: "/".into(), ..Self::default() };
        for line in joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            image.take(line);
        }
        assert!(!image.entrypoint.is_empty() && !image.healthcheck.is_empty() && !image.copies.is_empty(), "{image:?}");
        image
    }

    fn take(&mut self, line: &str) {
        let (instruction, rest) = line.split_once(' ').expect("an instruction has something behind it");
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (instruction, &words[..]) {
            ("FROM", [base, ..]) => *self = Self { base: (*base).into(), workdir: "/".into(), ..Self::default() },
            // The stage that builds; what it makes is made by the tests.
            _ if self.base.starts_with("rust:") => {}
            ("COPY", [options @ .., from, to]) => {
                let is_built = options.contains(&"--from=build");
                self.copies.push(Copy { is_built, from: (*from).into(), to: (*to).into() });
            }
            ("RUN", ["install", "-d", "-m", "0700", "-o", _, "-g", _, folder]) => self.folders.push((*folder).into()),
            ("ENV", pairs) => {
                let pairs = pairs.iter().filter_map(|pair| pair.split_once('='));
                self.environment.extend(pairs.map(|(name, value)| (name.into(), value.into())));
            }
            ("WORKDIR", [folder]) => self.workdir = (*folder).into(),
            ("USER", [user]) => self.user = (*user).into(),
            ("HEALTHCHECK", _) => {
                let (_, command) = rest.split_once("CMD ").expect("a health check has a command");
                self.healthcheck = array(command);
            }
            ("ENTRYPOINT", _) => self.entrypoint = array(rest),
            _ => panic!("not understood here: {line}"),
        }
    }
}

/// The form of a command that no shell reads.
fn array(text: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let words = value.as_array().expect("a command is an array").iter();
    words.map(|word| word.as_str().expect("of strings").to_owned()).collect()
}
