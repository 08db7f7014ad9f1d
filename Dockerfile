# An image with all pins, which runs the scale smoke:
#   docker build -t residuum . && docker run --rm residuum
# Results of another scale stay on this machine:
#   docker run --rm -v "$PWD/results:/residuum/results" residuum make mini
# For Apptainer: apptainer build residuum.sif apptainer.def
FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git make procps python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /residuum
# The pins alone first: an edit of the code installs none of them again.
COPY Makefile requirements.lock ./
ENV PIP_NO_CACHE_DIR=1
RUN make .venv/run.lock
COPY . .
RUN make install
ENV PATH=/residuum/.venv/bin:$PATH
CMD ["make", "smoke"]
