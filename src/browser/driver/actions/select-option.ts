import type { ChangeFacts } from "../../actions/change.ts";
import type { SelectOptionArgs } from "../../actions/select-option.ts";
import { defineHandler } from "../handler.ts";
import { act, ACT_MS } from "./act.ts";
import { elementOf, needTarget } from "./target.ts";

export const selectOption = defineHandler<SelectOptionArgs, ChangeFacts>({
  name: "select_option",
  run: (tab, args) =>
    act(tab, async () => {
      const element = await elementOf(tab, await needTarget(tab, args), ACT_MS);
      await element.selectOption([...args.values], { timeout: ACT_MS });
    }),
});
