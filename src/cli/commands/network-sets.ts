import { describeSets } from "../../network/named-sets.ts";
import type { NamedSet } from "../../network/named-sets.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { printJson, printLine, printTable } from "../print.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, { stdout }: CommandContext): Promise<number> {
  const sets = chosen(call.positionals[0]);
  if (isSet(call, "json")) {
    printJson(stdout, sets);
    return 0;
  }
  for (const [index, { name, purpose, rules }] of sets.entries()) {
    if (index > 0) printLine(stdout, "");
    printLine(stdout, `${name}: ${purpose}`);
    printTable(
      stdout,
      rules.map(({ rule, reason }) => [`  ${rule}`, reason]),
    );
  }
  return 0;
}

function chosen(name: string | undefined): readonly NamedSet[] {
  const sets = describeSets();
  const found = sets.filter((set) => name === undefined || set.name === name);
  if (found.length > 0) return found;
  throw usage(`"${name}" is no set; expected one of ${sets.map((set) => set.name).join(", ")}`, "belljar network sets");
}
