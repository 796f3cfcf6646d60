import { BACKGROUND_MARK } from "../../sandbox/background-mark.ts";

/** Marks a supervisor in the process table; the id of its process stands behind it. */
export const SUPERVISOR = BACKGROUND_MARK;

/** Bytes of one output file; a process has the newest of them, numbered on. */
export const SEGMENT_BYTES = 1_048_576;
const SEGMENTS_KEPT = 8;

const UNBUFFERED = `unbuffered=
command -v stdbuf >/dev/null && unbuffered='stdbuf -o0'`;

/** Carries stdin into numbered files until it ends. The oldest go. `head` alone would hold short lines back. */
const CARRY_OUTPUT = `n=0
while $unbuffered head -c ${SEGMENT_BYTES} >"out.$n"; [ -s "out.$n" ]; do
  rm -f "out.$((n - ${SEGMENTS_KEPT}))"
  n=$((n + 1))
done`;

/**
 * `ID PID`: stands in the place of a supervisor for a command that Belljar itself holds. Its output comes on stdin, and after that its exit
 * code as a line on fd 3. Prints a line once others can see the process.
 */
export const CARRY = `
umask 077
${UNBUFFERED}
printf '%s %s' "$$" "$2" >pids
echo ready
exec >/dev/null
${CARRY_OUTPUT}
read -r code <&3 && printf %s "$code" >exit
`;

/**
 * Makes the folder's pipes and leaves a supervisor behind, which the exec's end does not end. Prints the command's pid.
 * Without `set -m` SIGINT would be ignored in it for good.
 */
export const LAUNCH = `
umask 077
mkfifo in out || exit
pid=$(set -m; bash -c "$1" ${SUPERVISOR} "\${@:2}" </dev/null 2>/dev/null &)
printf %s "$pid"
`;

/**
 * `ID CWD [NAME=VALUE]...`, with CWD absolute or from the home: runs the command of the file `command` beside whoever started it, and writes its exit code when it ends.
 *
 * - The command stands on no command line but its own, so that `pkill -f` of it leaves the supervisor, which tells the end.
 * - The command leads a process group of its own, and takes SIGINT as programs at a terminal do: that is what `set -m` is for.
 * - `in` is held open, so that input may come at any time; SIGUSR1 closes it.
 * - `out` is carried into numbered files of a fixed size, byte by byte as it comes. The oldest go, so the disk is bounded and an
 *   offset keeps its meaning.
 * - When the command has ended, what it printed is carried on for a second at most before the exit is told: a child may hold `out` for ever.
 */
export const SUPERVISE = `
command=$(<command)
rm -f command
set -m
exec 3<>in
trap 'exec 3>&-; rm -f in; interrupted=1' USR1
trap : USR2
umask 077
${UNBUFFERED}
(
${CARRY_OUTPUT}
) <out >/dev/null 3>&- &
pump=$!
(
  umask 022
  cd && cd -- "$2" && exec env -- "\${@:3}" bash -c "$command"
) <in >out 2>&1 3>&- &
pid=$!
printf '%s %s' "$$" "$pid" >pids
printf %s "$pid"
exec >/dev/null
interrupted=1
while [ "$interrupted" = 1 ]; do
  interrupted=0
  wait "$pid"
  code=$?
done
(sleep 1; kill -USR2 $$) 3>&- &
alarm=$!
wait "$pump"
kill -KILL -- "-$alarm"
printf %s "$code" >exit
`;
