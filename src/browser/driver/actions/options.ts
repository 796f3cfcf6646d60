import { OPTION_TEXT_MAX, OPTIONS_MAX } from "../../actions/option-limits.ts";
import type { OptionsArgs, OptionsValue } from "../../actions/options.ts";
import { DriverError } from "../driver-error.ts";
import { ANSWER_MAX_BYTES } from "../../frames.ts";
import { firstFitting } from "../fitting.ts";
import { defineHandler } from "../handler.ts";
import { ACT_MS, assertNoDialog, reasoned } from "./act.ts";
import { elementOf, needTarget } from "./target.ts";

/** As much of a list element as is read here. */
interface List {
  readonly nodeName: string;
  readonly options: ArrayLike<{ readonly label: string; readonly value: string; readonly selected: boolean }>;
}

function read(node: unknown, [rows, characters]: readonly [rows: number, characters: number]) {
  const { nodeName, options: all } = node as List;
  if (nodeName !== "SELECT") return undefined;
  const cut = (text: string): string => text.slice(0, characters);
  const shown = Array.from({ length: Math.min(all.length, rows) }, (_, at) => all[at]);
  return {
    total: all.length,
    rows: shown.map((one) => ({ label: cut(one?.label ?? ""), value: cut(one?.value ?? ""), selected: one?.selected ?? false })),
  };
}

export const options = defineHandler<OptionsArgs, OptionsValue>({
  name: "options",
  mayLinger: true,
  async run(tab, args, { signal }) {
    assertNoDialog(tab);
    const element = await elementOf(tab, await needTarget(tab, args), { timeout: ACT_MS, signal });
    const found = await reasoned(() => element.evaluate(read, [OPTIONS_MAX, OPTION_TEXT_MAX] as const));
    if (!found) throw new DriverError("ACTION_FAILED", "The element is no drop-down list of its own: click it, and then what it shows");
    const rows = firstFitting(found.rows, ANSWER_MAX_BYTES);
    return { value: { options: rows, omitted: found.total - rows.length } };
  },
});
