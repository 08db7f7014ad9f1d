#!/usr/bin/env bash
# Measures what a card makes of training, encoding, reranking and search: nine steps in 570 seconds.
#
#   bash tests/gpu/measure.sh                        with an installation for cards, PYTHON=python3
#   bash tests/gpu/measure.sh --pack                 with a network: packages for a bare machine
#   bash tests/gpu/measure.sh --device cpu --tiny    shows that it runs; its numbers say nothing
#
# --steps "2 7" runs some of them. Results go to $OUT (build/gpu): results.jsonl, table.md, log.txt.
# Without PYTHON, and where build/gpu-packages was packed, these are laid over python3's packages.
# Exit status 1 if a step failed; the others ran all the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=build/gpu-packages seconds=570 device=cuda
how=() steps=()
while [ $# -gt 0 ]; do
    case $1 in
    --pack)
        exec "${PYTHON:-python3}" tests/gpu/packing.py pack "$packages" \
            --python "${PYTHON_VERSION:-3.12}"
        ;;
    --device) device=$2; shift 2 ;;
    --tiny) how+=(--tiny); shift ;;
    --steps) read -ra numbers <<<"$2"; steps=(--steps "${numbers[@]}"); shift 2 ;;
    *) echo "measure.sh: unknown option $1; known: --pack --device --tiny --steps" >&2; exit 2 ;;
    esac
done
out=${OUT:-build/gpu}
mkdir -p "$out"
if [ -z "${PYTHON-}" ]; then
    PYTHON=python3
    if [ -f "$packages/packages.json" ]; then
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        PYTHON=$(python3 tests/gpu/packing.py install "$packages" "$work/python")
    fi
fi
export PYTHONPATH=workflow:tests PYTHONUNBUFFERED=1
status=0
"$PYTHON" -m gpu.steps --output "$out" --device "$device" --seconds $((seconds - SECONDS)) \
    ${how[@]+"${how[@]}"} ${steps[@]+"${steps[@]}"} || status=$?
"$PYTHON" -m gpu.read "$out/results.jsonl" | tee "$out/table.md"
exit "$status"
