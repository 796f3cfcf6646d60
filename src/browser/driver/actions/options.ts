import { OPTION_TEXT_MAX, OPTIONS_MAX } from "../../actions/option-limits.ts";
import type { OptionsArgs, OptionsValue } from "../../actions/options.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";
import { ACT_MS, assertNoDialog, reasoned } from "./act.ts";
import { elementOf, needTarget } from "./target.ts";

const READ = `(node) => node.nodeName === "SELECT" && {
  total: node.options.length,
  rows: [...node.options].slice(0, ${OPTIONS_MAX}).map(({ label, value, selected }) =>
    ({ label: label.slice(0, ${OPTION_TEXT_MAX}), value: value.slice(0, ${OPTION_TEXT_MAX}), selected })),
}`;

export const options = defineHandler<OptionsArgs, OptionsValue>({
  name: "options",
  async run(tab, args) {
    assertNoDialog(tab);
    const element = await elementOf(tab, await needTarget(tab, args), ACT_MS);
    const read = await reasoned(() => element.evaluate<false | { total: number; rows: OptionsValue["options"] }>(READ));
    if (!read) throw new DriverError("ACTION_FAILED", "The element is no drop-down list of its own: click it, and then what it shows");
    return { value: { options: read.rows, omitted: read.total - read.rows.length } };
  },
});
