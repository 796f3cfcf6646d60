import type { ChangeFacts } from "../../actions/change.ts";
import type { ScrollArgs } from "../../actions/scroll.ts";
import { defineHandler } from "../handler.ts";
import { viewportOf } from "../viewport.ts";
import { act } from "./act.ts";
import { pointOf, toTarget } from "./target.ts";

export const scroll = defineHandler<ScrollArgs, ChangeFacts>({
  name: "scroll",
  run: (tab, args, call) =>
    act(tab, call, async (how) => {
      const { page } = tab;
      const target = await toTarget(tab, args);
      const { width, height } = viewportOf(page);
      const at = target ? await pointOf(target, how) : { x: width / 2, y: height / 2 };
      if (args.direction === undefined) return;
      how.signal.throwIfAborted();
      await page.mouse.move(at.x, at.y);
      const isAcross = args.direction === "left" || args.direction === "right";
      const pixels = args.pixels ?? (isAcross ? width : height);
      const signed = args.direction === "up" || args.direction === "left" ? -pixels : pixels;
      await page.mouse.wheel(isAcross ? signed : 0, isAcross ? 0 : signed);
    }),
});
