#!/bin/sh
# Starts Belljar as the tool server of the machine or container that this runs in, with a display for browsers if there is Xvfb.
#   WORKSPACE_DIR   where commands start (default /workspace if it is there, else the home)
#   LISTEN          HOST[:PORT] (default 127.0.0.1:6060). Beyond loopback clients need a token: one is made and printed if there is none
#   BELLJAR_HOME    the server's home, with its tokens (default ~/.belljar); `--home` is not seen here
# Further arguments go to `belljar serve --inside`.
set -eu
program=${BELLJAR_PROGRAM:-$(cd "$(dirname "$0")/../.." && pwd)/bin/belljar.js}
if [ -z "${WORKSPACE_DIR:-}" ] && [ -d /workspace ]; then
  export WORKSPACE_DIR=/workspace
fi
if [ -n "${LISTEN:-}" ]; then
  set -- --listen "$LISTEN" "$@"
  case $LISTEN in
    127.* | localhost* | "[::1]"*) ;;
    *) case $(node "$program" token list --json) in *\"id\"*) ;; *) node "$program" token create inside ;; esac ;;
  esac
fi
# The display lives as long as the server, which holds descriptor 9, and the server is this process, so that signals reach it. Belljar's own desktop
# is :99, and this one is above it.
if command -v xvfb-run >/dev/null && [ -z "${DISPLAY:-}" ]; then
  folder=$(mktemp -d)
  mkfifo "$folder/hold" "$folder/display"
  xvfb-run -a -n 100 -s "-screen 0 1280x720x24 -nolisten tcp" \
    sh -c 'printf "%s\n%s\n" "$DISPLAY" "$XAUTHORITY"; exec cat >/dev/null' <"$folder/hold" >"$folder/display" &
  exec 9>"$folder/hold"
  { read -r DISPLAY && read -r XAUTHORITY; } <"$folder/display" || { unset DISPLAY; echo "No display: xvfb-run failed" >&2; }
  rm -r "$folder"
  [ -z "${DISPLAY:-}" ] || export DISPLAY XAUTHORITY
fi
exec node "$program" serve --inside "$@"
