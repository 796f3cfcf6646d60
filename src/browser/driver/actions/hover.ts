import type { ChangeFacts } from "../../actions/change.ts";
import type { HoverArgs } from "../../actions/hover.ts";
import { defineHandler } from "../handler.ts";
import { act } from "./act.ts";
import { needTarget } from "./target.ts";

export const hover = defineHandler<HoverArgs, ChangeFacts>({
  name: "hover",
  run: (tab, args, call) =>
    act(tab, call, async (how) => {
      const target = await needTarget(tab, args);
      if (target.kind === "element") return target.locator.hover(how);
      how.signal.throwIfAborted();
      return tab.page.mouse.move(target.at.x, target.at.y);
    }),
});
