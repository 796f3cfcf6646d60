import type { ChangeFacts } from "../../actions/change.ts";
import { endsOf } from "../../actions/drag-ends.ts";
import type { DragArgs } from "../../actions/drag.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { act, type How } from "./act.ts";
import { needTarget, pointOf } from "./target.ts";

/** Each may take a second where another session shows its tab meanwhile. */
const STEPS = 5;

export const drag = defineHandler<DragArgs, ChangeFacts>({
  name: "drag",
  run: (tab, args, call) =>
    act(tab, call, async (how) => {
      try {
        await pull(tab, args, how);
      } catch (error) {
        // What was broken off holds no button.
        await tab.page.mouse.up().catch(() => undefined);
        throw error;
      }
    }),
});

async function pull(tab: Tab, args: DragArgs, how: How): Promise<void> {
  const [start, end] = endsOf(args);
  const [from, to] = [await needTarget(tab, start), await needTarget(tab, end)];
  if (from.kind === "element" && to.kind === "element") return from.locator.dragTo(to.locator, how);
  const { mouse } = tab.page;
  const begin = await pointOf(from, how);
  how.signal.throwIfAborted();
  await mouse.move(begin.x, begin.y);
  await mouse.down();
  const finish = await pointOf(to, how);
  how.signal.throwIfAborted();
  await mouse.move(finish.x, finish.y, { steps: STEPS });
  await mouse.up();
}
