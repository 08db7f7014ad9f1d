#!/usr/bin/env bash
# Runs pages of papers on a card that is there for minutes, and keeps what came of it.
#
#   bash tests/gpu/graph.sh --pack                      with a network: packages for a bare machine
#   bash tests/gpu/graph.sh scale=mine papers=[clear] jobs_per_card=8
#
# What it takes is passed to `snakemake --config`. After MINUTES (8) running jobs are stopped, and the
# pages that stand by then are kept; the earliest pages are made first. Collections, entries and starts
# lie in the checkout. Results go to $OUT (build/gpu): run.log, card.csv, and results.tar.xz, which has
# pages, numbers and records, no models, vectors and lists of docs.
# PYTHON names an interpreter with residuum's packages. Without it, and where build/gpu-packages was
# packed, these are laid over python3's packages. Exit status: Snakemake's, 124 if the time ended.
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=build/gpu-packages
refuse() { echo "graph.sh: $1" >&2; exit 2; }
case ${1-} in
--pack)
    exec "${PYTHON:-python3}" tests/gpu/packing.py pack "$packages" \
        --python "${PYTHON_VERSION:-3.12}" --graph
    ;;
scale=*) ;;
*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; refuse "give scale=NAME first" ;;
esac
out=${OUT:-build/gpu}
mkdir -p "$out"
. tests/gpu/interpreter.sh graph.tar.xz
if command -v nvidia-smi > /dev/null; then
    nvidia-smi --query-gpu=timestamp,utilization.gpu,memory.used --format=csv -l 5 > "$out/card.csv" &
    watch=$!
    trap 'kill "$watch" 2> /dev/null; [ -z "$work" ] || rm -rf "$work"' EXIT
fi
status=0
timeout --signal=INT --kill-after=15 "$(awk "BEGIN {print 60 * ${MINUTES:-8}}")" \
    "$PYTHON" -m snakemake --cores "${CORES:-$((3 * $(nproc)))}" --config "$@" \
    > "$out/run.log" 2>&1 || status=$?
tail -n 5 "$out/run.log"
results=results/${1#scale=}
kept=()
for name in absent.json ledger.md ledger.tsv report cases claims dimensions figures lines tables venn \
    bounds learning metrics significance steps tuning logs benchmarks; do
    [ ! -e "$results/$name" ] || kept+=("$results/$name")
done
[ ${#kept[@]} = 0 ] || tar c "${kept[@]}" | xz -T0 -3 > "$out/results.tar.xz"
echo "status $status; results: $out/results.tar.xz" >&2
exit "$status"
