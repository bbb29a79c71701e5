# Tests of cudakern on a GPU; without one they fail and say so.
#
#   docker build -t cudakern .
#   docker run --rm --gpus all cudakern
#
# The base is Python's own slim image. CuPy, NVRTC and the CUDA headers come from PyPI, the driver from
# the host when a container starts, so nvidia/cuda's images would add nothing; they are larger, have one
# Python each, and their tags are deleted half a year after the end of a release. BASE_IMAGE may be any
# Debian or Ubuntu image that has Python of PYTHON_VERSION, or packages of it.
ARG PYTHON_VERSION=3.13
ARG BASE_IMAGE=python${PYTHON_VERSION}
ARG NSIGHT_REPOSITORY=https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64

# Images are pinned by the digests of their indexes, which cover all architectures. Dependabot renews them.
FROM python:3.11-slim-trixie@sha256:45037981b62b34b44602584fccbc4d884d5f7dc92c7ee86bb38a698a79fe1e51 AS python3.11
FROM python:3.12-slim-trixie@sha256:f77ac9e44ae96ef2c90b8053ea08c31f8be030f824196b0ae4db6d462c84e51f AS python3.12
FROM python:3.13-slim-trixie@sha256:bb2988715db2cf7ace7b53f38f3cffbef7c7046a656bee66245eb0ed386e2e81 AS python3.13
FROM python:3.14-slim-trixie@sha256:51dafde81dbdb6ebde285137a295cf18a47ca95234fe388a343719cb97305b3d AS python3.14

# A Python environment, and a user. All users may write to the folders, so any --user works.
# hadolint ignore=DL3006
FROM ${BASE_IMAGE} AS base
ARG PYTHON_VERSION
ENV PATH=/opt/cudakern/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_SYSTEM_CERTS=1 \
    VIRTUAL_ENV=/opt/cudakern
# hadolint ignore=DL3008
RUN --mount=type=cache,id=base-apt-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=base-apt-lists,target=/var/lib/apt,sharing=locked \
    rm -f /etc/apt/apt.conf.d/docker-clean && \
    if ! command -v "python${PYTHON_VERSION}"; then \
        apt-get update && \
        apt-get install -y --no-install-recommends \
            "python${PYTHON_VERSION}" "python${PYTHON_VERSION}-venv"; \
    fi && \
    "python${PYTHON_VERSION}" -m venv /opt/cudakern && \
    useradd --uid 10001 --gid 0 --create-home cudakern && \
    install -d -m 1777 /cache /home/cudakern /results

# The wheel, made from its own files alone; and uv, which installs the packages of a lock by hash.
FROM base AS build
WORKDIR /src
COPY .ci/locks/build.txt .ci/locks/uv.txt /locks/
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --require-hashes -r /locks/build.txt -r /locks/uv.txt
COPY pyproject.toml README.md LICENSE ./
COPY .ci/metadata.py .ci/metadata.py
COPY cudakern cudakern
COPY kernels kernels
RUN python -m build --wheel --no-isolation --outdir dist

# NVIDIA's key for its packages, which must have this fingerprint.
FROM base AS nsight-key
ARG NSIGHT_REPOSITORY
ARG NSIGHT_FINGERPRINT=02182E60104FCDC26EAE1B8597A5D4CB8793F200
# hadolint ignore=DL3008
RUN --mount=type=cache,id=key-apt-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=key-apt-lists,target=/var/lib/apt,sharing=locked \
    apt-get update && \
    apt-get install -y --no-install-recommends gpg
# hadolint ignore=DL3020
ADD ${NSIGHT_REPOSITORY}/8793F200.pub /tmp/nvidia.pub
RUN gpg --batch --no-autostart --import /tmp/nvidia.pub && \
    gpg --batch --no-autostart --output /nvidia.gpg --export "${NSIGHT_FINGERPRINT}" && \
    test -s /nvidia.gpg

# The wheel with CuPy, and the tests. The CUDA engine needs no compiler; g++ is for the simulator, git
# for a test.
FROM base AS test
ARG CUDA_MAJOR=12
# hadolint ignore=DL3008
RUN --mount=type=cache,id=test-apt-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=test-apt-lists,target=/var/lib/apt,sharing=locked \
    apt-get update && \
    apt-get install -y --no-install-recommends g++ git
WORKDIR /opt/cudakern/src
COPY --from=build /src/dist dist
COPY .ci/locks/cuda${CUDA_MAJOR}.txt lock.txt
COPY pyproject.toml README.md ./
RUN --mount=type=bind,from=build,source=/opt/cudakern/bin,target=/mnt \
    --mount=type=cache,target=/root/.cache/uv \
    /mnt/uv pip install --require-hashes -c lock.txt -r pyproject.toml \
        --extra "cuda${CUDA_MAJOR}" --extra test && \
    /mnt/uv pip install --no-deps dist/*.whl
COPY tests tests
COPY perf perf
RUN install -d -m 1777 perf/results perf/results/*/ perf/nsight/reports
ENV CUDA_MAJOR=${CUDA_MAJOR} \
    CUDAKERN_CACHE_DIR=/cache/cudakern \
    CUDAKERN_REQUIRE_GPU=1 \
    CUPY_CACHE_DIR=/cache/cupy \
    HOME=/home/cudakern \
    HYPOTHESIS_STORAGE_DIRECTORY=/cache/hypothesis \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    NVIDIA_VISIBLE_DEVICES=all \
    PYTEST_ADDOPTS="-p no:cacheprovider"
USER 10001
# The build fails if the package does not work: the simulator runs the examples, and NVRTC compiles
# kernels of each variant.
RUN CUDAKERN_CACHE_DIR=/tmp/kernels python -m cudakern demo --engine simulator && \
    python -m perf static code --cover sm_90 && \
    rm -r /tmp/kernels
VOLUME ["/cache"]
STOPSIGNAL SIGINT
ENTRYPOINT ["python", "/opt/cudakern/src/tests/container/entrypoint.py"]
CMD ["gpu"]
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="cudakern" \
      org.opencontainers.image.description="Tests of cudakern on a GPU" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      cudakern.cuda.major="${CUDA_MAJOR}"

# Nsight Systems, Nsight Compute and compute-sanitizer; NVIDIA has them for Debian 13 on x86-64. The
# packages of the extra profile are there, since the extra test has them, too.
FROM test AS profile
ARG NSIGHT_REPOSITORY
ARG NSIGHT_VERSION=13-3
USER 0
COPY --from=nsight-key /nvidia.gpg /usr/share/keyrings/nvidia.gpg
# hadolint ignore=DL3008
RUN --mount=type=cache,id=profile-apt-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=profile-apt-lists,target=/var/lib/apt,sharing=locked \
    echo "deb [signed-by=/usr/share/keyrings/nvidia.gpg] ${NSIGHT_REPOSITORY}/ /" \
        > /etc/apt/sources.list.d/nvidia.list && \
    apt-get update && \
    apt-get install -y --no-install-recommends "cuda-nsight-compute-${NSIGHT_VERSION}" \
        "cuda-nsight-systems-${NSIGHT_VERSION}" "cuda-sanitizer-${NSIGHT_VERSION}" && \
    ln -s /usr/local/cuda-*/bin/ncu /usr/local/cuda-*/bin/nsys \
        /usr/local/cuda-*/bin/compute-sanitizer /usr/local/bin
USER 10001
RUN nsys --version && ncu --version && compute-sanitizer --version

# For work on a checkout that is mounted at /workspace, from which the package is then imported.
FROM test AS dev
USER 0
# hadolint ignore=DL3008
RUN --mount=type=cache,id=dev-apt-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=dev-apt-lists,target=/var/lib/apt,sharing=locked \
    --mount=type=bind,from=build,source=/opt/cudakern/bin,target=/mnt \
    --mount=type=cache,target=/root/.cache/uv \
    apt-get update && \
    apt-get install -y --no-install-recommends clang gdb && \
    /mnt/uv pip install --require-hashes -c lock.txt -r pyproject.toml \
        --extra dask --extra lint --extra profile
WORKDIR /workspace
ENV CUDAKERN_REQUIRE_GPU=0 PYTEST_ADDOPTS=""
USER 10001
HEALTHCHECK --interval=5m --timeout=1m CMD ["python", "-m", "cudakern", "info", "--check"]
ENTRYPOINT []
CMD ["bash"]

# The stage that is built if none is named.
FROM test
