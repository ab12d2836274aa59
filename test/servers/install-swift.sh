#!/bin/bash
# Unpacks OpenStack Swift, which has an S3 interface that checks signatures, into a folder.
# Packages come from the Debian archive this machine already uses, verified by apt against the
# signed release file. It needs no root and changes nothing outside the folder.
# usage: install-swift.sh FOLDER
set -euo pipefail

folder=$1
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9 # a second caller waits here and then finds the work done
[ -e "$folder/installed" ] && exit 0

apt_home=$folder/apt
root=$folder/root
rm -rf "$apt_home" "$root"
mkdir -p "$apt_home/state/lists/partial" "$apt_home/cache/archives/partial" "$apt_home/none" "$root"

. /etc/os-release
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 -E '/debian/?$' ||
  echo http://deb.debian.org/debian)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for release in $(printf '%s\n' "$VERSION_CODENAME" trixie | sort -u); do
  echo "deb [signed-by=$keyring] $archive $release main"
done >"$apt_home/sources.list"
# Only what is asked for by name may come from a release other than this machine's.
printf 'Package: *\nPin: release n=trixie\nPin-Priority: 100\n' >"$apt_home/preferences"

apt=(
  apt-get -qq
  -o "Dir::State=$apt_home/state" -o "Dir::Cache=$apt_home/cache"
  -o "Dir::Etc::sourcelist=$apt_home/sources.list" -o "Dir::Etc::sourceparts=$apt_home/none"
  -o "Dir::Etc::preferences=$apt_home/preferences" -o "Dir::Etc::preferencesparts=$apt_home/none"
  -o Dir::State::status=/var/lib/dpkg/status
  -o APT::Sandbox::User= -o Debug::NoLocking=1 -o Acquire::Languages=none
)
"${apt[@]}" update

# Swift itself is trixie's: older ones do not speak the checksums and chunks of today's clients.
mapfile -t dependencies < <(
  "${apt[@]}" --simulate install --no-install-recommends python3-swift |
    sed -n 's/^Inst \([^ ]*\) .*(\([^ ]*\) .*/\1=\2/p' | grep -v '^python3-swift='
)
cd "$apt_home/cache/archives"
"${apt[@]}" download "${dependencies[@]}" python3-swift/trixie
for package in *.deb; do
  case $package in python3_* | python3-minimal_* | libpython3* | python3.*) ;; # the machine's own
  *) dpkg -x "$package" "$root" ;; esac
done

rm -rf "$apt_home"
touch "$folder/installed"
