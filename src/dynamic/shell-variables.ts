const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
/** Names that bash, the dynamic linker or common programs take as settings. */
const RESERVED = new Set(
  (
    "_ PATH HOME IFS ENV SHELL SHELLOPTS USER LOGNAME PWD OLDPWD CDPATH TERM TMPDIR TZ LANG LANGUAGE LOCPATH NLSPATH HOSTNAME HOSTTYPE MACHTYPE" +
    " OSTYPE UID EUID PPID GROUPS DIRSTACK FUNCNAME FUNCNEST PIPESTATUS RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME LINENO SHLVL REPLY" +
    " OPTIND OPTARG OPTERR PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 TMOUT TIMEFORMAT GLOBIGNORE EXECIGNORE FIGNORE IGNOREEOF INPUTRC POSIXLY_CORRECT" +
    " COLUMNS LINES COPROC MAPFILE MAIL MAILCHECK MAILPATH GCONV_PATH HOSTALIASES RES_OPTIONS EDITOR VISUAL PAGER HTTP_PROXY HTTPS_PROXY" +
    " ALL_PROXY NO_PROXY FTP_PROXY"
  ).split(" "),
);
const RESERVED_PREFIXES = /^(?:BASH|LD_|LC_|GLIBC_|MALLOC_|COMP_|HIST|BELLJAR_|NODE_|NPM_|PYTHON|PERL|RUBY|JAVA_|GIT_|SSH_|SSL_|CURL_)/;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** The kernel's MAX_ARG_STRLEN is 128 KiB for `NAME=value` and its end. */
const MAX_VARIABLE_BYTES = 128 * 1024 - 1;
const MAX_VARIABLES_BYTES = 1024 * 1024;

/** The variable of an argument: its name in capitals. */
export function variableOf(name: string): string {
  return name.toUpperCase();
}

/** Why an argument cannot have this name; nothing, if it can. */
export function problemOfName(name: string): string | undefined {
  const shown = JSON.stringify(name.slice(0, 100));
  if (!NAME.test(name)) return `The parameter ${shown} cannot be a variable; use letters, digits and "_", 64 at most`;
  const variable = variableOf(name);
  if (!RESERVED.has(variable) && !RESERVED_PREFIXES.test(variable)) return undefined;
  return `The parameter ${shown} would set the variable ${variable}, which programs take as a setting; choose another name`;
}

/**
 * Arguments as variables: strings as they are, numbers and booleans as text, arrays and objects as JSON. What is null or absent has no variable,
 * and neither has a string that no variable can hold: one of 128 KiB and more, one with half a surrogate pair,
 * or one beyond 1 MiB of variables in all. A script that expects such strings reads the JSON on its standard input.
 */
export function toVariables(args: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  let bytes = 0;
  for (const name of names) {
    const text = Object.hasOwn(args, name) ? toText(args[name]) : undefined;
    if (text === undefined || LONE_SURROGATE.test(text)) continue;
    const size = Buffer.byteLength(text) + name.length + 1;
    if (size > MAX_VARIABLE_BYTES || bytes + size > MAX_VARIABLES_BYTES) continue;
    bytes += size;
    variables[variableOf(name)] = text;
  }
  return variables;
}

function toText(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}
