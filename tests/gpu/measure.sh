#!/usr/bin/env bash
# Measures what a card makes of training, encoding, reranking and search: nine steps in 570 seconds.
#
#   bash tests/gpu/measure.sh                        with an installation for cards, PYTHON=python3
#   bash tests/gpu/measure.sh --pack                 with a network: packages for a bare machine
#   bash tests/gpu/measure.sh --device cpu --tiny    shows that it runs; its numbers say nothing
#
# --steps "2 7" runs some of them, and keeps what $OUT holds of the others. Results go to $OUT
# (build/gpu): results.jsonl, table.md, log.txt.
# Without PYTHON, and where build/gpu-packages was packed, these are laid over python3's packages.
# Exit status 1 if a step failed; the others ran all the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=build/gpu-packages seconds=570 device=cuda
how=() steps=()
refuse() { echo "measure.sh: $1" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
    --pack)
        exec "${PYTHON:-python3}" tests/gpu/packing.py pack "$packages" \
            --python "${PYTHON_VERSION:-3.12}"
        ;;
    --device)
        case ${2-} in
        cuda | cpu) device=$2 ;;
        *) refuse "--device ${2-(nothing)}; known: cuda, cpu" ;;
        esac
        shift 2
        ;;
    --tiny) how+=(--tiny); shift ;;
    --steps)
        [[ ${2-} =~ ^[0-8](\ [0-8])*$ ]] || refuse "--steps ${2-(nothing)}; give numbers from 0 to 8, as \"2 3\""
        read -ra numbers <<<"$2"
        steps=(--steps "${numbers[@]}")
        shift 2
        ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit ;;
    *) refuse "unknown option $1; known: --pack --device --tiny --steps (\"2 3\", quoted) --help" ;;
    esac
done
out=${OUT:-build/gpu}
mkdir -p "$out"
. tests/gpu/interpreter.sh packages.json
export PYTHONPATH=workflow:tests PYTHONUNBUFFERED=1
"$PYTHON" - "$PYTHON" <<'END' || exit 2
import importlib.util, sys
needed = "torch transformers sentence_transformers pytest typer polars pydantic faiss ir_measures"
missing = [name for name in needed.split() if importlib.util.find_spec(name) is None]
if missing:
    sys.exit(f"measure.sh: {sys.argv[1]} lacks {', '.join(missing)}. Name an interpreter that has "
             "residuum's packages: PYTHON=.venv/bin/python; or see --pack in CONTRIBUTING.md")
END
status=0
"$PYTHON" -m gpu.steps --output "$out" --device "$device" --seconds $((seconds - SECONDS)) \
    ${how[@]+"${how[@]}"} ${steps[@]+"${steps[@]}"} || status=$?
"$PYTHON" -m gpu.read "$out/results.jsonl" | tee "$out/table.md"
echo "these tables: $out/table.md" >&2
exit "$status"
