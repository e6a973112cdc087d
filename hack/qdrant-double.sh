#!/usr/bin/env bash
# Builds the Qdrant double of the tests once and prints the path of its binary. It is a workspace of its own: its 470
# packages stay out of the product's lock file and feature unification (docs/adr/0097-qdrant-double.md).
set -euo pipefail
cd "$(dirname "$0")/../tests/qdrant-double"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/groundwork/target}/qdrant-double"
export CARGO_TARGET_DIR
cargo build --locked --quiet >&2
echo "$CARGO_TARGET_DIR/debug/qdrant-double"
