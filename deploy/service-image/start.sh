#!/bin/sh
# Starts Belljar as the tool server of the machine or container that this runs in, with a display for browsers if there is Xvfb.
#   WORKSPACE_DIR   where commands start (default /workspace if it is there, else the home)
#   LISTEN          HOST[:PORT] (default 127.0.0.1:6060). Beyond loopback clients need a token: one is made and printed if there is none
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
if command -v xvfb-run >/dev/null && [ -z "${DISPLAY:-}" ]; then
  exec xvfb-run -a -s "-screen 0 1280x720x24 -nolisten tcp" node "$program" serve --inside "$@"
fi
exec node "$program" serve --inside "$@"
