#!/usr/bin/env bash
# Runs the operator with every fault between it and a real API server (tests/cluster/README.md). `make test` has a short part.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/groundwork/target}" GROUNDWORK_FAULTS=all
output="$(mktemp)"
trap 'rm -f "$output"' EXIT
start=$SECONDS
features=groundwork/failpoints,groundwork/qdrant

# Built as for `make test`, so that nothing is compiled twice.
cargo build --locked --workspace --bins --tests --features "$features"
"$CARGO_TARGET_DIR/debug/groundwork-control-plane" build
built=$SECONDS
status=0
cargo test --locked --workspace --features "$features" --test faults -- --nocapture | tee "$output" || status=$?

runs=$(awk '/^faults: [0-9]+ runs with / { sum += $2 } END { print sum + 0 }' "$output")
count() { grep -c "^test .*$1\$" "$output" || true; }
echo "test-faults: $runs runs with a fault came to the same, $(count ok) tests passed, $(count FAILED) failed," \
  "$((SECONDS - built)) s (whole run $((SECONDS - start)) s)"
exit "$status"
