//! `Debug` for what may hold secrets: a derived one would put them wherever a `Config` is logged.

use std::fmt;

use super::{Command, Link};

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, args, cwd, env, bounds } = self;
        f.debug_struct("Command")
            .field("program", program)
            .field("args", &args.len())
            .field("cwd", cwd)
            .field("env", &env.len())
            .field("bounds", bounds)
            .finish()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, timeout, allow_methods, options: _ } = self;
        f.debug_struct("Link")
            .field("kind", kind)
            .field("name", name)
            .field("timeout", timeout)
            .field("allow_methods", allow_methods)
            .finish_non_exhaustive()
    }
}
