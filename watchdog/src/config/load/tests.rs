//! Whole configurations, from text to what is meant.

use super::*;
use crate::config::Server;

mod child;
mod control;
mod errors;
mod layers;
mod links;
mod secrets;
mod selection;
mod several;

/// A situation: a file, variables and options.
struct Case {
    folder: tempfile::TempDir,
    input: Input,
}

impl Case {
    /// The sidecar form with a command and nothing else.
    fn command() -> Self {
        let input = Input { command: vec!["/bin/fake-server".into()], ..Input::default() };
        Self::with(input)
    }

    /// The sidecar form with a file. It is named by a path without the folder's name in messages.
    fn file(text: &str) -> Self {
        let mut case = Self::with(Input::default());
        let path = case.write("config.yaml", text);
        case.input.config = Some(path);
        case
    }

    fn with(mut input: Input) -> Self {
        let folder = tempfile::tempdir().unwrap();
        input.places = Places { working: folder.path().to_owned(), system: folder.path().join("etc.yaml") };
        Self { folder, input }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.input.environment.push((name.into(), value.into()));
        self
    }

    fn set(mut self, assignment: &str) -> Self {
        self.input.settings.push(Setting::Set(assignment.into()));
        self
    }

    fn option(mut self, flag: &'static str, key: &'static str, value: &str) -> Self {
        self.input.settings.push(Setting::Named { flag, key, value: value.into() });
        self
    }

    fn name(mut self, name: &str) -> Self {
        self.input.name = Some(name.into());
        self
    }

    fn load(&self) -> Result<Loaded, ConfigErrors> {
        load(&self.input, &known)
    }

    #[track_caller]
    fn all(&self) -> Loaded {
        load_all(&self.input, &known).unwrap_or_else(|errors| panic!("{errors}"))
    }

    #[track_caller]
    fn ok(&self) -> Loaded {
        self.load().unwrap_or_else(|errors| panic!("{errors}"))
    }

    #[track_caller]
    fn server(&self) -> Server {
        self.ok().config.only().clone()
    }

    /// All errors as one text, with the folder left out.
    #[track_caller]
    fn error(&self) -> String {
        self.shown(&self.load().expect_err("this configuration must not load").to_string())
    }

    /// The same for all servers of the file.
    #[track_caller]
    fn error_of_all(&self) -> String {
        let errors = load_all(&self.input, &known).expect_err("this configuration must not load");
        self.shown(&errors.to_string())
    }

    fn shown(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

fn known(link: &Link, _: Option<&Command>) -> Result<(), String> {
    match link.kind.as_str() {
        "ping" if link.options.get("timout").is_some() => Err("probe \"ping\": unknown field `timout`".to_owned()),
        "ping" | "tools_list" => Ok(()),
        other => Err(format!("there is no probe `{other}`")),
    }
}

fn secs(seconds: u64) -> std::time::Duration {
    std::time::Duration::from_secs(seconds)
}
