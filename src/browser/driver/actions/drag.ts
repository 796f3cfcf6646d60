import type { ChangeFacts } from "../../actions/change.ts";
import { endsOf } from "../../actions/drag-ends.ts";
import type { DragArgs } from "../../actions/drag.ts";
import { defineHandler } from "../handler.ts";
import { act, ACT_MS } from "./act.ts";
import { needTarget, pointOf } from "./target.ts";

/** Each may take a second where another session shows its tab meanwhile. */
const STEPS = 5;

export const drag = defineHandler<DragArgs, ChangeFacts>({
  name: "drag",
  run: (tab, args) =>
    act(tab, async () => {
      const [start, end] = endsOf(args);
      const [from, to] = [await needTarget(tab, start), await needTarget(tab, end)];
      if (from.kind === "element" && to.kind === "element") return from.locator.dragTo(to.locator, { timeout: ACT_MS });
      const { mouse } = tab.page;
      const begin = await pointOf(from, ACT_MS);
      await mouse.move(begin.x, begin.y);
      await mouse.down();
      const finish = await pointOf(to, ACT_MS);
      await mouse.move(finish.x, finish.y, { steps: STEPS });
      await mouse.up();
    }),
});
