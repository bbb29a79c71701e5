#!/usr/bin/env bash
# Makes a signed repository of packages that stand in for NVIDIA's, in a folder.
set -euo pipefail
folder=$1
export GNUPGHOME="$folder/gnupg"
mkdir -p "$folder"
install -d -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase "" --quick-generate-key "stand-in" ed25519 sign 1d
gpg --quiet --no-auto-check-trustdb --list-keys --with-colons | awk -F: '$1 == "fpr" { print $10; exit }' > "$folder/fingerprint"
gpg --armor --export > "$folder/8793F200.pub"

package() { # NAME PROGRAM: a package with a program that prints its version
  local root="$folder/root/$1"
  mkdir -p "$root/DEBIAN" "$root/usr/local/cuda-13.3/bin"
  printf 'Package: %s-13-3\nVersion: 0\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: stand-in\n' \
    "$1" > "$root/DEBIAN/control"
  printf '#!/bin/sh\necho %s, a stand-in\n' "$2" > "$root/usr/local/cuda-13.3/bin/$2"
  chmod 755 "$root/usr/local/cuda-13.3/bin/$2"
  dpkg-deb --root-owner-group --build "$root" "$folder/$1.deb" > "$folder/none"
}
package cuda-nsight-compute ncu
package cuda-nsight-systems nsys
package cuda-sanitizer compute-sanitizer

cd "$folder"
dpkg-scanpackages --multiversion . > Packages 2> none
apt-ftparchive release . > Release
gpg --batch --quiet --clearsign --output InRelease Release
rm -rf gnupg root
