#!/usr/bin/env bash
# Builds the image and runs it, on a Debian that has no Docker engine; as root:
#
#   apt-get install -y apt-utils buildah debootstrap dpkg-dev gnupg && bash tests/container/build_and_run.sh
#
# The base image is made by debootstrap and has the CA certificates of this machine. NVIDIA's packages
# for the stage profile are replaced by stand-ins, in a repository that is made and signed here.
# CUDA_MAJOR (12), RELEASE (trixie) and PYTHON_VERSION (3.13, which that release must have) may be set.
set -euo pipefail
cd "$(dirname "$0")/../.."
cuda_major=${CUDA_MAJOR:-12} release=${RELEASE:-trixie} python_version=${PYTHON_VERSION:-3.13}

work=$(mktemp -d)
repository=""
trap '[ -z "$repository" ] || kill "$repository"; rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=chroot
store() { buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }
step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

build() { # STAGE [OPTION ...]: build it
  local stage=$1 started=$SECONDS
  shift
  store build --format docker --target "$stage" -t "cudakern:$stage" \
    --build-arg BASE_IMAGE=localhost/base --build-arg PYTHON_VERSION="$python_version" \
    --build-arg CUDA_MAJOR="$cuda_major" --build-arg REVISION="$(git rev-parse HEAD)" "$@" \
    . > "$work/$stage.log" 2>&1 || { tail -n 40 "$work/$stage.log"; fail "building $stage"; }
  echo "$stage: built in $((SECONDS - started)) s, $(size "cudakern:$stage")"
}

size() { store images --format '{{.Size}}' "localhost/$1"; }

run() { # USER [WORD ...]: what docker run does, with a user and a volume that all runs share
  local user=$1 entry words container status=0
  shift
  mapfile -t entry < <(configured Entrypoint)
  mapfile -t words < <(configured Cmd)
  [ $# -eq 0 ] || words=("$@")
  container=$(store from localhost/cudakern:test)
  store run --user "$user" --volume "$work/cache:/cache" "$container" -- "${entry[@]}" "${words[@]}" > "$work/out" 2>&1 || status=$?
  cp "$(store mount "$container")"/results/*.xml "$work" 2> "$work/none" || true
  store rm "$container" > "$work/none"
  return "$status"
}

configured() { # Entrypoint | Cmd: its words, one a line
  store inspect --type image --format "{{range .OCIv1.Config.$1}}{{println .}}{{end}}" \
    localhost/cudakern:test | sed '/^$/d'
}

expect() { # STATUS TEXT ...: what the last run is to have ended with and printed
  [ "$status" -eq "$1" ] || { tail -n 60 "$work/out"; fail "status $status instead of $1"; }
  for text in "${@:2}"; do
    grep -qF -e "$text" "$work/out" || { cat "$work/out"; fail "not printed: $text"; }
  done
}

step "base image, Debian $release"
debootstrap --variant=minbase --include=ca-certificates "$release" "$work/base" > "$work/base.log"
cp -L /etc/ssl/certs/ca-certificates.crt "$work/base/etc/ssl/certs/"
install -d -m 1777 "$work/cache"
base=$(store from scratch)
store copy -q "$base" "$work/base" / > "$work/none"
store commit -q --format docker "$base" localhost/base > "$work/none"
store rm "$base" > "$work/none"
rm -rf "$work/base"
size base

step "stage test"
build test

step "the default command without a GPU"
status=0; run 10001 || status=$?
expect 1 "simulator.compiler" "No GPU can be used" "The container was started without a GPU." \
  "docker run --rm --gpus all" "--device nvidia.com/gpu=all" "docker compose -f tests/container/compose.yaml"

step "an unknown user"
status=0; run 54321:54321 python -m cudakern demo || status=$?
expect 0 "29 of 29 examples"
status=0; run 54321:54321 python -c "import cupy, os; print(cupy.__version__, os.getuid())" || status=$?
expect 0 " 54321"
status=0; run 54321:54321 cpu tests/test_package.py tests/test_command_line.py || status=$?
expect 0 " passed"

step "other words and their status"
status=0; run 10001 python -c "raise SystemExit(3)" || status=$?
expect 3
status=0; run 10001 no-such-command || status=$?
expect 127 "the image's own words are gpu and cpu"

step "stage profile, with stand-ins"
port=8793
bash tests/container/stand_in_repository.sh "$work/packages"
python3 -m http.server --bind 127.0.0.1 --directory "$work/packages" "$port" > "$work/none" 2>&1 &
repository=$!
from=(--build-arg NSIGHT_REPOSITORY="http://127.0.0.1:$port")
build profile "${from[@]}" --build-arg NSIGHT_FINGERPRINT="$(cat "$work/packages/fingerprint")"
if (build profile "${from[@]}") > "$work/out" 2>&1; then
  fail "a key of another fingerprint was taken for NVIDIA's"
fi

step "stage dev"
build dev

step "all tests on the simulator"
status=0; run 10001 cpu || status=$?
tail -n 8 "$work/out"
expect 0 " passed"
python3 - "$work/cpu.xml" << 'END'
import sys
from xml.etree import ElementTree
suite = ElementTree.parse(sys.argv[1]).find("testsuite").attrib
print({name: suite[name] for name in ("tests", "failures", "errors", "skipped", "time")})
assert int(suite["tests"]) > 9_000 and suite["failures"] == suite["errors"] == "0"
END

step "done"
