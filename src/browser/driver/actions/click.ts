import type { ChangeFacts } from "../../actions/change.ts";
import type { ClickArgs } from "../../actions/click.ts";
import { defineHandler } from "../handler.ts";
import { act, ACT_MS } from "./act.ts";
import { needTarget } from "./target.ts";

export const click = defineHandler<ClickArgs, ChangeFacts>({
  name: "click",
  run: (tab, args) =>
    act(tab, async () => {
      const { double_click: isDouble = false, button = "left", modifiers = [] } = args;
      const target = await needTarget(tab, args);
      const how = { button, clickCount: isDouble ? 2 : 1 };
      if (target.kind === "element") return target.locator.click({ ...how, modifiers, timeout: ACT_MS });
      for (const key of modifiers) await tab.page.keyboard.down(key);
      await tab.page.mouse.click(target.at.x, target.at.y, how);
      for (const key of modifiers) await tab.page.keyboard.up(key);
    }),
});
