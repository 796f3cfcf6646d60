import type { ServerTarget } from "../../client/config/resolve-server.ts";

/** Names of variables, headers and options whose value is a key. */
const KEY_NAME = /key|token|secret|pass(?:word|wd|phrase)|credential|auth|cookie|(?:^|[_-])pat$/i;
/** Keys that are known by their shape: those of GitHub, GitLab, Slack, AWS, npm, PyPI, OpenAI, and JSON web tokens. */
const KEY_SHAPE = /^(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|npm_|pypi-|sk-|AKIA|ASIA|eyJ)[\w.-]{8,}$/;
/** Something shorter stands in texts by chance. */
const SHORTEST = 8;

/** The values of an entry that look like keys, by their names or their shapes. */
export function keyValuesOf(target: ServerTarget): readonly string[] {
  const found = target.kind === "stdio" ? [...named(target.ownEnv), ...inArguments(target.args)] : named(target.headers);
  return [...new Set(found.flatMap(parts))].filter((value) => value.length >= SHORTEST);
}

function named(values: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => (KEY_NAME.test(name) || KEY_SHAPE.test(value) ? [value] : []));
}

function inArguments(args: readonly string[]): readonly string[] {
  return args.flatMap((argument, index) => keyIn(argument, args[index - 1])?.key ?? []);
}

/** Arguments as they may be shown: for those that hold a key it says so. */
export function withoutKeys(args: readonly string[]): readonly string[] {
  return args.map((argument, index) => {
    const found = keyIn(argument, args[index - 1]);
    return found && found.key.length >= SHORTEST ? `${found.lead}[key]` : argument;
  });
}

/** `--token VALUE`, `--token=VALUE`, `TOKEN=VALUE`, and what is a key by its shape. `lead`: what of the argument stands before it. */
function keyIn(argument: string, before = ""): { readonly lead: string; readonly key: string } | undefined {
  const [name = "", value] = argument.split(/=(.*)/s);
  if (value !== undefined) return KEY_NAME.test(name) || KEY_SHAPE.test(value) ? { lead: `${name}=`, key: value } : undefined;
  const isNamed = before.startsWith("-") && !before.includes("=") && KEY_NAME.test(before) && !argument.startsWith("-");
  return isNamed || KEY_SHAPE.test(argument) ? { lead: "", key: argument } : undefined;
}

/** A header has a scheme before the key itself. */
function parts(value: string): readonly string[] {
  const [, key] = /^(?:bearer|basic|token)\s+(\S.*)$/i.exec(value) ?? [];
  return key === undefined ? [value] : [key];
}
