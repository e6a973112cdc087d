#!/usr/bin/env bash
# The whole table of evaluation gates as Markdown: every set with one chunk a document and with the product's chunks,
# each arm against keyword search, answers, and abstention. Small sets come first; the vectors of scifact take longest.
#   hack/gates.sh [OUTPUT] [SET...]
# GROUNDWORK_BIN and GROUNDWORK_SETS name a built program and BEIR folders that exist already.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/groundwork/target}"
[ -n "${GROUNDWORK_EVAL_DATA:-}${GROUNDWORK_SETS:-}" ] || {
  echo "gates: GROUNDWORK_EVAL_DATA names no folder with the evaluation data" >&2
  exit 1
}
output="${1:-$CARGO_TARGET_DIR/gates.md}"
sets=("${@:2}")
[ ${#sets[@]} -gt 0 ] || sets=(docs-rag hotpotqa codebase-rag cranfield cmrc2018 scifact)

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
folders="${GROUNDWORK_SETS:-$work/sets}"
if [ -z "${GROUNDWORK_SETS:-}" ]; then
  cargo run --locked -q -p groundwork-tests --example beir -- "$folders" "${sets[@]}"
fi
if [ -z "${GROUNDWORK_BIN:-}" ]; then
  cargo build --locked -q -p groundwork
  GROUNDWORK_BIN="$CARGO_TARGET_DIR/debug/groundwork"
fi

# The encoder is English: Chinese counts as keyword search only.
arms() {
  if [ "$1" = cmrc2018 ]; then echo --embedding-model none; else echo --ablation; fi
}

: >"$output"
failed=0
for set in "${sets[@]}"; do
  for profile in whole product; do
    start=$SECONDS
    # shellcheck disable=SC2046
    if "$GROUNDWORK_BIN" eval "$folders/$set" --profile "$profile" $(arms "$set") --abstention --quiet \
      --markdown "$work/report.md" >"$work/out" 2>&1; then
      sed "1s/\$/, profile $profile/" "$work/report.md" >>"$output"
      echo >>"$output"
      echo "gates: $set, $profile: $((SECONDS - start)) s"
    else
      failed=1
      echo "gates: $set, $profile failed:" >&2
      cat "$work/out" >&2
    fi
  done
done
echo "gates: tables in $output"
exit "$failed"
