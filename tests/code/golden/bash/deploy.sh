#!/usr/bin/env bash
# Puts a release on a server.
set -euo pipefail

source ./lib/log.sh
. "$HOME/.deployrc"

readonly RELEASES=5
TARGET="${1:-staging}"
export LANG=C

# Says how it is used.
usage() {
  echo "usage: $0 [target]" >&2
  exit 2
}

function build {
  local version
  version="$(git describe --tags)"
  make clean all VERSION="$version"
  log_info "built $version"
}

upload() {
  for host in $(hosts "$TARGET"); do
    rsync -a build/ "$host:/srv/app/" || fail "$host"
  done
}

[[ $# -le 1 ]] || usage
build
upload
