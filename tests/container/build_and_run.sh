#!/usr/bin/env bash
# Builds the image and runs it, on a Debian without a Docker engine; as root:
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
# As in Docker, whatever the starting shell ignores.
store() { env --default-signal buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }
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

run() { # USER [WORD ...]: what docker run does, in a container of its own; with a volume that all runs share
  local container status=0
  container=$(store from localhost/cudakern:test)
  mount_at "$container" --volume "$work/cache:/cache"
  run_in "$container" "$@" || status=$?
  cp "$(store mount "$container")"/results/*.xml "$work" 2> "$work/none" || true
  store rm "$container" > "$work/none"
  return "$status"
}

mount_at() { # CONTAINER [OPTION ...]: have these mounts in its runs, in place of buildah's own volume, which hides them
  store config --volume /cache- "$1"
  mounts=("${@:2}")
}

run_in() { # CONTAINER USER [WORD ...]: run a container with $mounts
  local container=$1 user=$2 entry words
  shift 2
  mapfile -t entry < <(configured Entrypoint)
  mapfile -t words < <(configured Cmd)
  [ $# -eq 0 ] || words=("$@")
  store run --user "$user" "${mounts[@]}" "$container" -- "${entry[@]}" "${words[@]}" > "$work/out" 2>&1
}

run_read_only() { # CONTAINER USER /tmp|no VOLUME|no WORD ...: docker run --read-only, which buildah lacks
  local entry env
  mapfile -t entry < <(configured Entrypoint)
  mapfile -t env < <(configured Env)
  # shellcheck disable=SC2016  # the inner shell's own
  unshare --mount bash -euc '
    root=$1 user=$2 temporary=$3 volume=$4
    mount --bind "$root" "$root"
    mount -o remount,bind,ro "$root"
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    [ "$temporary" = no ] || mount -t tmpfs none "$root/tmp"
    [ "$temporary" = no ] || mount -t tmpfs none "$root/results"
    [ "$volume" = no ] || mount --bind "$volume" "$root/cache"
    exec chroot --userspec="$user" "$root" env -i "${@:5}"
  ' bash "$(store mount "$1")" "$2" "$3" "$4" "${env[@]}" "${entry[@]}" "${@:5}" > "$work/out" 2>&1
}

configured() { # Entrypoint | Cmd | Env: its words, one a line
  store inspect --type image --format "{{range .OCIv1.Config.$1}}{{println .}}{{end}}" \
    localhost/cudakern:test | sed '/^$/d'
}

expect() { # STATUS TEXT ...: check the status and the output of the last run
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

step "volumes"
container=$(store from localhost/cudakern:test)
caches() { # TEXT ...: check the output, and where caches are, for a user of a container with $mounts
  status=0
  run_in "$container" "$user" python -W error -c \
    'from cudakern.compilation.cache import cache_folder; print("kernels are in", cache_folder())' || status=$?
  expect 0 "$@"
}
volume() { # MODE OWNER [OPTION]: mount a folder of the host
  local folder
  folder=$(mktemp -d "$work/volume.XXXXXXXX")
  chmod "$1" "$folder"
  chown "$2" "$folder"
  mount_at "$container" --volume "$folder:/cache${3:+:$3}"
}
temporary="kernels are in /tmp/caches-"
mounts=()
for user in 10001 54321:54321 0; do caches "$temporary" "/cache can be written by everybody"; done # buildah's own
status=0; run_in "$container" 54321:54321 cpu tests/test_package.py tests/test_command_line.py || status=$?
expect 0 " passed" "/cache can be written by everybody"
for user in 10001 54321:54321 0; do
  own="kernels are in /cache/${user%:*}/cudakern"
  mount_at "$container"; caches "$own" # the image's folder
  volume 1777 0; caches "$own" # a named volume
  volume 755 "$user"; caches "$own"
  volume 777 0; caches "$temporary" "/cache can be written by everybody"
  volume 1777 0 ro; caches "$temporary" "/cache/${user%:*}: Read-only file system"
  volume 1777 0 noexec; caches "$temporary" "/cache/${user%:*} is mounted noexec"
  mount_at "$container" --mount type=tmpfs,dst=/cache,tmpfs-mode=1777; caches "$own"
  mount_at "$container" --mount type=tmpfs,dst=/cache,tmpfs-mode=0777; caches "$temporary" # emptyDir
  volume 755 0
  if [ "$user" = 0 ]; then caches "$own"; else caches "$temporary" "/cache/${user%:*}: Permission denied"; fi
done
store rm "$container" > "$work/none"

step "a read-only file system"
container=$(store from localhost/cudakern:test)
read_only() { # STATUS TEXT USER /tmp|no VOLUME|no WORD ...
  status=0
  run_read_only "$container" "${@:3}" || status=$?
  expect "$1" "$2"
}
for user in 10001:0 54321:54321 0:0; do
  read_only 1 "a temporary folder must be writable: add --tmpfs /tmp:exec" "$user" no no python -m cudakern demo
  read_only 0 "29 of 29 examples" "$user" no "$work/cache" python -m cudakern demo
  read_only 1 "/results must be writable" "$user" no "$work/cache" cpu
  read_only 0 " passed" "$user" /tmp "$work/cache" cpu tests/test_package.py
  read_only 0 "compiled kernels are in /tmp/caches-" "$user" /tmp no cpu tests/test_package.py
done
store rm "$container" > "$work/none"

step "an image with compiled kernels"
# With the recipe of the reference.
# shellcheck disable=SC2016  # backticks of Markdown
recipe=$(sed -n '/^```dockerfile$/,/^```$/{//!p}' cudakern/operators/reference.md)
mkdir "$work/context"
printf 'FROM localhost/cudakern:test\n%s\n' "$recipe" | tee "$work/context/Dockerfile"
folder=$(sed -n 's/^ENV CUDAKERN_CACHE_DIR=//p' <<< "$recipe")
store build --format docker -t cudakern:warm "$work/context" > "$work/warm.log" 2>&1 ||
  { tail -n 40 "$work/warm.log"; fail "building an image with compiled kernels"; }
container=$(store from localhost/cudakern:warm)
cubins=$(find "$(store mount "$container")$folder" -name "*.cubin" | wc -l)
echo "$cubins files of machine code"
[ "$cubins" -gt 200 ] || fail "machine code of warmup is missing"
mounts=()
find_compiled=(python -W error -m cudakern warmup --arch sm_90) # compiling a kernel would warn: it cannot be cached
status=0; run_in "$container" 54321:54321 "${find_compiled[@]}" || status=$?
expect 0 "kernels are compiled and cached for sm_90"
if run_in "$container" 54321:54321 env CUDAKERN_CACHE_DIR=/opt/cudakern "${find_compiled[@]}"; then
  fail "kernels that are not there were found"
fi
store rm "$container" > "$work/none"

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
assert int(suite["tests"]) > 1_000 and suite["failures"] == suite["errors"] == "0"
END

step "done"
