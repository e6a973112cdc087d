"""Prints what both sides measured and the ratios."""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
load = lambda name: json.loads((folder / name).read_text())
search, ingest, peers = load("search.json"), load("ingest.json"), load("peers.json")

print("Cranfield, hybrid top 10, given query vector, filter, payload (ms a query, best of 5 rounds)")
print(f"{'':12} {'median':>8} {'p95':>8}   medians of the rounds")
for name, side in [("groundwork", search), ("lancedb", peers["lancedb"]), ("llamaindex", peers["llamaindex"])]:
    low, high = side["spread_ms"]
    print(f"{name:12} {side['median_ms']:8.3f} {side['p95_ms']:8.3f}   {low:.3f} to {high:.3f}")
for name in ("lancedb", "llamaindex"):
    print(f"{peers[name]['median_ms'] / search['median_ms']:.1f} times faster than {name}")

print("\nCranfield, ingesting 1,400 short documents (documents a second, best of 3)")
other = peers["llamaindex_ingest"]
print(f"groundwork, hashing encoder        {ingest['documents_per_second']:8.0f}")
print(f"llamaindex, constant vectors       {other['documents_per_second']:8.0f}")
print(f"{ingest['documents_per_second'] / other['documents_per_second']:.1f} times the rate of llamaindex")
