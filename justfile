# What a change has to pass. `.ci/run` does all of it, and the acceptance pack where that is at hand.

# Everything but the release build
default: check lint test doc

# Does it compile?
check:
    cargo check --workspace --all-targets --locked

# All tests
test:
    cargo test --workspace --locked

# Format and lints
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings

# The API documentation, warnings being errors
doc:
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --document-private-items --locked
