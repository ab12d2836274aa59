#!/bin/bash
# Unpacks a Debian package and its missing dependencies into a folder.
# Packages come from the Debian archive that this machine already uses, verified by apt against the
# signed release file. Needs no root and changes nothing outside the folder.
# usage: unpack-debian.sh FOLDER PACKAGE [RELEASE [NEIGHBOUR...]]
#   RELEASE applies to the package itself, not to its dependencies
#   NEIGHBOUR is a dependency whose files the program looks for beside itself, so it is unpacked even if it is installed
set -euo pipefail

folder=$1 package=$2 release=${3:-} neighbours=("${@:4}")
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9 # a second caller waits here and then finds the work done
[ -e "$folder/unpacked" ] && exit 0

apt_home=$folder/apt
root=$folder/root
rm -rf "$apt_home" "$root"
mkdir -p "$apt_home/state/lists/partial" "$apt_home/cache/archives/partial" "$apt_home/none" "$root"

mapfile -t sources < <(
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
    grep -E '/debian(-security)?/? ' | sort -u
)
[ ${#sources[@]} -gt 0 ] || { echo "apt has no Debian archive configured" >&2; exit 1; }
archive=$(printf '%s\n' "${sources[@]}" | grep -m1 -oE '^[^ ]+/debian/?')
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for source in "${sources[@]}" ${release:+"$archive $release"}; do
  echo "deb [signed-by=$keyring] $source main"
done >"$apt_home/sources.list"
if [ "$release" ]; then
  # Only the package itself may come from a release other than this machine's.
  printf 'Package: *\nPin: release n=%s\nPin-Priority: 100\n' "$release" >"$apt_home/preferences"
fi

apt=(
  apt-get -qq
  -o "Dir::State=$apt_home/state" -o "Dir::Cache=$apt_home/cache"
  -o "Dir::Etc::sourcelist=$apt_home/sources.list" -o "Dir::Etc::sourceparts=$apt_home/none"
  -o "Dir::Etc::preferences=$apt_home/preferences" -o "Dir::Etc::preferencesparts=$apt_home/none"
  -o Dir::State::status=/var/lib/dpkg/status
  -o APT::Sandbox::User= -o Debug::NoLocking=1 -o Acquire::Languages=none
)
"${apt[@]}" update

mapfile -t dependencies < <(
  "${apt[@]}" --simulate install --no-install-recommends "$package" |
    sed -n 's/^Inst \([^ ]*\) .*(\([^ ]*\) .*/\1=\2/p' | grep -v "^$package="
)
cd "$apt_home/cache/archives"
for neighbour in "${neighbours[@]}"; do
  printf '%s\n' "${dependencies[@]}" | grep -q "^$neighbour=" || dependencies+=("$neighbour")
done
"${apt[@]}" download "${dependencies[@]}" "$package${release:+/$release}"
for file in *.deb; do
  case $file in python3_* | python3-minimal_* | libpython3* | python3.*) ;; # the machine's own
  *) dpkg -x "$file" "$root" ;; esac
done

rm -rf "$apt_home"
touch "$folder/unpacked"
