#!/usr/bin/env bash
# Builds what the demo runs, ingests the example handbook, asks three questions, then serves until Ctrl-C.
# DEMO_EXIT=1 ends after the answers. Data goes to a folder of its own, so that nothing else is touched.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/groundwork/target}"
for need in cargo cc; do
  command -v "$need" >/dev/null || { echo "demo: $need is missing; a Rust toolchain, make and a C compiler are needed" >&2; exit 2; }
done

start=$SECONDS
cargo build --locked -p groundwork --bin groundwork
built=$((SECONDS - start))
groundwork="$CARGO_TARGET_DIR/debug/groundwork"
# Checkouts share the target folder, but a data folder belongs to one folder of documents.
data="${DEMO_DATA_DIR:-$CARGO_TARGET_DIR/demo-data/$(pwd | cksum | cut -d ' ' -f 1)}"

step=$SECONDS
"$groundwork" ingest examples/quickstart --data-dir "$data"
ingested=$((SECONDS - step))

ask() {
  printf '\n> %s\n\n' "$1"
  local code=0
  "$groundwork" ask "$1" --dir examples/quickstart --data-dir "$data" || code=$?
  # 4 (related passages) and 5 (not found) are honest outcomes, not failures of the demo.
  case $code in 0 | 4 | 5) ;; *) exit "$code" ;; esac
}
step=$SECONDS
while IFS= read -r question; do ask "$question"; done < examples/quickstart/demo-questions.txt
printf '\ndemo: built in %d s, ingested in %d s, three answers in %d s\n' "$built" "$ingested" "$((SECONDS - step))"

[ "${DEMO_EXIT:-}" = 1 ] && exit 0
exec "$groundwork" up examples/quickstart --data-dir "$data"
