#!/usr/bin/env bash
# Formatting, clippy and dependency rules. Clippy runs as the compiler's wrapper, so that dependencies compile once for
# linting, tests and the demo.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/groundwork/target}"
start=$SECONDS

cargo fmt --all --check
RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings \
  cargo build --locked --workspace --all-targets --features groundwork/failpoints,groundwork/qdrant

if command -v cargo-deny >/dev/null 2>&1; then
  # It looks at the packages of all platforms, of which a build downloads its own.
  cargo fetch --locked --quiet
  cargo deny --all-features --offline --log-level warn check licenses bans sources
  if advisories=$(cargo deny --all-features --log-level error check advisories 2>&1); then
    echo "advisories ok"
  elif grep -qi "failed to fetch advisory database" <<<"$advisories"; then
    echo "skipped: advisories (their database is not reachable from here)"
  else
    echo "$advisories" >&2
    exit 1
  fi
else
  echo "skipped: cargo-deny is not installed (cargo install cargo-deny)"
  [ -z "${GROUNDWORK_REQUIRE:-}" ] || [[ "$GROUNDWORK_REQUIRE" != *cargo-deny* ]] || exit 1
fi
echo "lint: clean in $((SECONDS - start)) s"
