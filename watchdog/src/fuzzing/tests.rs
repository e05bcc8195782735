//! The corpora, played without a fuzzer.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus")
}

fn play(name: &str) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    let mut inputs: Vec<_> = fs::read_dir(corpus().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{name} has no corpus");
    for input in inputs {
        let bytes = fs::read(&input).unwrap();
        // Says which one it was where it panics.
        println!("{}", input.display());
        target(&bytes);
    }
}

macro_rules! corpora {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            play(stringify!($name));
        }
    )*};
}

corpora!(head lines slot config client_file control guard printed);
#[cfg(feature = "plugins")]
corpora!(plugin);

#[cfg(feature = "plugins")]
#[test]
fn every_corpus_has_a_target_and_a_program() {
    use std::collections::BTreeSet;
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    };
    let targets: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&corpus()), targets);
    assert_eq!(names(&corpus().join("../fuzz_targets")), targets);
}
