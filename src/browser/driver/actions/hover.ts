import type { ChangeFacts } from "../../actions/change.ts";
import type { HoverArgs } from "../../actions/hover.ts";
import { defineHandler } from "../handler.ts";
import { act, ACT_MS } from "./act.ts";
import { needTarget } from "./target.ts";

export const hover = defineHandler<HoverArgs, ChangeFacts>({
  name: "hover",
  run: (tab, args) =>
    act(tab, async () => {
      const target = await needTarget(tab, args);
      if (target.kind === "element") await target.locator.hover({ timeout: ACT_MS });
      else await tab.page.mouse.move(target.at.x, target.at.y);
    }),
});
