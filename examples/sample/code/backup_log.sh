#!/usr/bin/env bash
# Copy the log to the office every night, and keep the last fourteen copies.
set -euo pipefail

log_folder=${1:-/srv/tower/log}
office_folder=${2:-/srv/office/backup}
keep=14

name="log-$(date +%Y-%m-%d).tar"
tar -cf "$office_folder/$name.part" -C "$log_folder" .
mv "$office_folder/$name.part" "$office_folder/$name"

# The oldest copies go when there are too many.
ls -1 "$office_folder"/log-*.tar | sort -r | tail -n "+$((keep + 1))" | while read -r old; do
    rm -- "$old"
done
