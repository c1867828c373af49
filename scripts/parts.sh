# For scripts that run parts beside each other (`. scripts/parts.sh`): what each printed is kept, each is told of in a line when it ends,
# and `conclude` shows what failed in full and how many tests ran.
#
#   lane FUNCTION        in the background: FUNCTION runs parts one after the other; lanes run beside each other
#   part NAME COMMAND... one part
#   conclude             waits for all lanes; exits 1 if any part failed

# Compiled modules are kept: else each worker and each child process of the tests compiles everything again.
unset PYTHONDONTWRITEBYTECODE

# A process group for each lane: Ctrl-C is passed on to all that a lane has started, and tests end what they have started.
set -m
lanes=()
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'trap - INT TERM; for lane in "${lanes[@]}"; do kill -INT -- "-$lane" 2>/dev/null || true; done; wait; exit 130' INT TERM

lane() {
  "$@" </dev/null &
  lanes+=($!)
}

part() {
  local name=$1 began=$SECONDS rc=0
  shift
  "$@" >"$logs/$name.log" 2>&1 || rc=$?
  if [ $rc = 0 ]; then
    # Of pytest: what was skipped, and the count. Of others: the last word.
    printf '== %s: passed (%s s)\n%s\n' "$name" $((SECONDS - began)) "$(grep -E '^SKIPPED ' "$logs/$name.log"; tail -n 1 "$logs/$name.log")"
  else
    : >"$logs/$name.failed"
    printf '== %s: FAILED (%s s), see below\n' "$name" $((SECONDS - began))
  fi
}

# The sum of pytest's last lines, as one line.
count_tests() {
  grep -hE '^(=+ )?[0-9]+ [a-z]+.* in [0-9.]+s' "$logs"/*.log 2>/dev/null | grep -oE '[0-9]+ (passed|failed|errors?|skipped)' | awk '
    { sum[$2] += $1 }
    END { printf "%d passed, %d failed, %d skipped\n", sum["passed"], sum["failed"] + sum["error"] + sum["errors"], sum["skipped"] }'
}

conclude() {
  local broken=0 log name failed=""
  for lane in "${lanes[@]}"; do wait "$lane" || broken=1; done
  for log in "$logs"/*.failed; do
    [ -e "$log" ] || continue
    broken=1
    name=$(basename "$log" .failed)
    failed="$failed${failed:+, }$name"
    printf '\n#### %s failed:\n' "$name"
    cat "$logs/$name.log"
  done
  printf '\nafter %s s: %s\n' "$SECONDS" "$([ $broken = 0 ] && echo "all parts passed" || echo "FAILED: ${failed:-a lane was broken off}")"
  count_tests
  exit $broken
}
