#!/usr/bin/env bash
# Resolve pyproject.toml into requirements.lock (runs the product) and requirements-dev.lock (that and all tools).
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${1:-python3.11}" -m venv "$tools"
"$tools/bin/pip" install --quiet pip-tools==7.6.2
# No index, host or option of the machine that resolves may end up in the files.
compile=("$tools/bin/pip-compile" --quiet --generate-hashes --strip-extras --allow-unsafe --no-header
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options)
"${compile[@]}" --output-file requirements.lock pyproject.toml
"${compile[@]}" --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml
