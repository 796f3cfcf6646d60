import type { ChangeFacts } from "../../actions/change.ts";
import type { SelectOptionArgs } from "../../actions/select-option.ts";
import { defineHandler } from "../handler.ts";
import { act } from "./act.ts";
import { elementOf, needTarget } from "./target.ts";

export const selectOption = defineHandler<SelectOptionArgs, ChangeFacts>({
  name: "select_option",
  run: (tab, args, call) =>
    act(tab, call, async (how) => {
      const element = await elementOf(tab, await needTarget(tab, args), how);
      await element.selectOption([...args.values], how);
    }),
});
