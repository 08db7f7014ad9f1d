# Sets PYTHON, if it is not set: python3 with the packages of the folder $packages laid over its own, or
# python3 alone where $1, a file there, was not packed. `work` is the folder to remove at the end.
work=
if [ -z "${PYTHON-}" ]; then
    PYTHON=python3
    if [ -f "$packages/$1" ]; then
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        PYTHON=$(python3 tests/gpu/packing.py install "$packages" "$work/python")
    fi
fi
