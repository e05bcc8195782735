//! `watch`: paths whose changes replace the process.

use std::path::PathBuf;

use crate::config::error::ConfigError;
use crate::config::text::Written;
use crate::config::tree::Step;

use super::Context;

/// Absolute paths, which are there: one that is misspelled would be waited for without end.
pub(super) fn settle(
    written: &[Written<String>],
    context: &Context<'_>,
    errors: &mut Vec<ConfigError>,
) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for (at, Written(text)) in written.iter().enumerate() {
        let step = [Step::Key("watch".to_owned()), Step::Index(at)];
        match context.merged.path_at(&step, text) {
            Ok(path) => match std::path::absolute(&path).and_then(|path| path.metadata().map(|_| path)) {
                Ok(path) => paths.push(path),
                Err(error) => errors.push(context.error_at(
                    &step,
                    format!(
                        "`{}` cannot be watched ({error}): name a file or folder that is there, or make it first",
                        path.display()
                    ),
                )),
            },
            Err(error) => errors.push(error),
        }
    }
    paths
}
