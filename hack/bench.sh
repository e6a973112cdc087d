#!/usr/bin/env bash
# Measures speed side by side with the named peers, in the demo's profile (benches run as test targets, since cargo's own
# bench profile is another one). Prints figures and ratios; asserts nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/groundwork/target}"
bench() { cargo test --locked --workspace --quiet --bench "$1" -- "${@:2}"; }

if [ -n "${GROUNDWORK_EVAL_DATA:-}" ]; then
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  peers="${GROUNDWORK_BENCH_VENV:-$HOME/.cache/groundwork/bench-venv}"
  [ -x "$peers/bin/python" ] || python3 -m venv "$peers"
  "$peers/bin/pip" install --quiet lancedb llama-index-core llama-index-retrievers-bm25
  bench cranfield export "$work"
  bench cranfield search "$work" | tail -1 > "$work/search.json"
  bench cranfield ingest "$work" | tail -1 > "$work/ingest.json"
  "$peers/bin/python" -W ignore hack/bench/peers.py "$work" 2>/dev/null | tail -1 > "$work/peers.json"
  "$peers/bin/python" hack/bench/ratios.py "$work"
else
  echo "skipped: Cranfield side by side (GROUNDWORK_EVAL_DATA is not set)"
fi
# Without --bench these run each case once, as a test.
bench search --bench
bench sync --bench
bench text --bench
