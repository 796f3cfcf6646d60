import { BelljarError } from "../../errors.ts";
import type { Kernel, KernelRequest } from "./kernel.ts";

/**
 * bash reads its script from its channel as fd 0, and answers on it as fd 60. Code writes to fds 61 and 62. bash is interactive, so that
 * SIGINT ends the code and not the shell; its prompts and notices go to /dev/null.
 */
const START = "exec bash --noprofile --norc --noediting +H -i -s 60<&3 61>&1 62>&2 <&3 >/dev/null 2>/dev/null 3<&-";

/**
 * `take TOKEN CODE [NAME VALUE]... end` puts the code into a file, which the next line sources at the top level: a function would make its
 * variables local. Arguments are escaped for `printf %b`, so that a line cut anywhere has no open quote, and does nothing without its `end`.
 */
const OPENING = `set +o history; unset HISTFILE
__belljar_take() {
  __belljar_code=; __belljar_old=()
  [[ \${@: -1} = end ]] || return
  __belljar_token=$1
  local name; printf -v name %b "$2"
  printf %s "$name" >"/tmp/.belljar-bash-$$" || return
  shift 2
  while (($# > 2)); do
    printf -v name %b "$1"
    __belljar_old+=("$name" "\${!name+set}" "\${!name-}" "\${!name@a}")
    printf -v __belljar_value %b "$2"
    declare -gx "$name=$__belljar_value"
    shift 2
  done
  __belljar_code=/tmp/.belljar-bash-$$
  printf '{"type":"started","run":"%s"}\\n' "$__belljar_token" >&60
}
__belljar_done() {
  local code=$1 at
  [[ -n $__belljar_code ]] || return
  __belljar_code=
  rm -f "/tmp/.belljar-bash-$$"
  for ((at = 0; at < \${#__belljar_old[@]}; at += 4)); do
    unset "\${__belljar_old[at]}"
    [[ -z \${__belljar_old[at + 1]} ]] || declare -g "\${__belljar_old[at]}=\${__belljar_old[at + 2]}"
    [[ \${__belljar_old[at + 3]} != *x* ]] || export "\${__belljar_old[at]}"
  done
  echo "$__belljar_token" >&61; echo "$__belljar_token" >&62
  printf '{"type":"exit","code":%d}\\n{"type":"done","run":"%s"}\\n' "$code" "$__belljar_token" >&60
}
`;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The redirections stand first: without the rest of the line they do nothing. */
const SOURCE = "</dev/null >&61 2>&62 60<&- 61>&- 62>&- builtin source $__belljar_code";

function askBash({ token, code, env }: KernelRequest): string {
  const wrong = Object.keys(env).find((name) => !NAME.test(name));
  if (wrong !== undefined)
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      `${JSON.stringify(wrong.slice(0, 80))} cannot name a variable of bash; use letters, digits and _`,
    );
  const variables = Object.entries(env).flatMap(([name, value]) => [escape(name), escape(value)]);
  return `\n__belljar_take ${[token, escape(code), ...variables, "end"].join(" ")}\n${SOURCE}\n__belljar_done $?\n`;
}

/** For `printf %b`, in characters that no shell reads in another way. */
function escape(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length === 0) return "\\\\c";
  return bytes
    .toString("latin1")
    .replaceAll(/[^A-Za-z0-9_./-]/g, (character) => `\\\\0${character.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

export const BASH_KERNEL: Kernel = {
  language: "bash",
  argv: ["bash", "-c", START],
  env: { TERM: "dumb" },
  // bash forgets an interrupt that comes while it starts a program: it takes it for one that the program caught.
  interrupts: 8,
  opening: OPENING,
  ask: askBash,
};
