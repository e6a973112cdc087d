#!/usr/bin/env bash
# Runs every test and prints the number skipped. A test that cannot run here calls the harness's `skip`, which writes a
# line to GROUNDWORK_SKIP_LOG; parts named in GROUNDWORK_REQUIRE may not be skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/groundwork/target}"
GROUNDWORK_SKIP_LOG="$(mktemp)"
export GROUNDWORK_SKIP_LOG
trap 'rm -f "$GROUNDWORK_SKIP_LOG"' EXIT
start=$SECONDS
features=groundwork/failpoints,groundwork/qdrant

cargo build --locked --workspace --bins --tests --features "$features"
echo "test: built in $((SECONDS - start)) s"
# The first build of a Kubernetes version takes minutes; tests that find nothing built would wait for it one by one.
"$CARGO_TARGET_DIR/debug/groundwork-control-plane" build
hack/qdrant-double.sh >/dev/null || echo "test: the Qdrant double cannot be built; its tests are skipped"
# --tests is libraries, binaries and integration tests; benches are run by `make bench` alone.
cargo test --locked --workspace --tests --features "$features" --no-fail-fast
cargo test --locked --workspace --doc -q --features "$features"

skipped=$(sort -u "$GROUNDWORK_SKIP_LOG" | grep -c . || true)
[ "$skipped" = 0 ] || { echo "skipped:"; sort -u "$GROUNDWORK_SKIP_LOG" | sed 's/^/  /'; }
echo "test: $skipped skipped, whole run $((SECONDS - start)) s"
