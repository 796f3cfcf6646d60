import { entryProblem } from "./entry-problem.ts";
import type { Launcher } from "./launchers.ts";

export interface LaunchOptions {
  readonly packages: readonly string[];
  readonly beside: readonly string[];
  /** The package, or the program, and its arguments. */
  readonly rest: readonly string[];
}

interface Entry {
  readonly name: string;
  readonly args: readonly string[];
}

/** Takes the launcher's own options off the arguments. Throws `CONFIG_INVALID` for one that would not do what it does elsewhere. */
export function readLaunchOptions(entry: Entry, launcher: Launcher): LaunchOptions {
  const args = entry.args.slice(launcher.words.length - 1);
  const found = { packages: [] as string[], beside: [] as string[] };
  let at = 0;
  for (; args[at]?.startsWith("-") === true && args[at] !== "--"; at += 1) {
    const [flag = "", ...inline] = (args[at] ?? "").split(/=(.*)/s);
    if (launcher.ignored.includes(flag) && inline.length === 0) continue;
    const list = launcher.packages.includes(flag) ? found.packages : launcher.beside.includes(flag) ? found.beside : undefined;
    if (!list) throw refused(entry, launcher, flag);
    const value = inline[0] ?? args[(at += 1)];
    if (value === undefined || value === "") throw entryProblem(entry.name, "args", `${flag} has no value`);
    list.push(value);
  }
  const rest = args.slice(args[at] === "--" ? at + 1 : at);
  return { ...found, rest: launcher.takesLateOptions && args[at] !== "--" ? withoutMark(entry, launcher, rest) : rest };
}

/** What stands behind the package is the program's, once a `--` says so. */
function withoutMark(entry: Entry, launcher: Launcher, rest: readonly string[]): readonly string[] {
  const mark = rest.indexOf("--");
  const before = mark < 0 ? rest : rest.slice(0, mark);
  const late = before.find((argument) => argument.startsWith("-"));
  if (late !== undefined)
    throw entryProblem(entry.name, "args", `${late} is an option of ${launcher.words.join(" ")} there: write -- before it`);
  return mark < 0 ? rest : [...before, ...rest.slice(mark + 1)];
}

function refused({ name }: Entry, { words, packages, beside, ignored }: Launcher, flag: string): Error {
  const known = [...packages, ...beside, ...ignored].join(", ");
  const problem = `the option ${JSON.stringify(flag.slice(0, 100))} of ${words.join(" ")} is not taken: Belljar knows ${known}`;
  return entryProblem(name, "args", `${problem}; with a "template" the command runs as it is`);
}
