import type { ChangeFacts } from "../../actions/change.ts";
import type { ClickArgs } from "../../actions/click.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { act, type How } from "./act.ts";
import { needTarget } from "./target.ts";

export const click = defineHandler<ClickArgs, ChangeFacts>({
  name: "click",
  run: (tab, args, call) => act(tab, call, (how) => pressOrLetGo(tab, args, how), { followsLinks: true }),
});

/** What was broken off holds no key. */
async function pressOrLetGo(tab: Tab, args: ClickArgs, how: How): Promise<void> {
  try {
    await press(tab, args, how);
  } catch (error) {
    for (const key of args.modifiers ?? []) await tab.page.keyboard.up(key).catch(() => undefined);
    throw error;
  }
}

async function press(tab: Tab, args: ClickArgs, how: How): Promise<void> {
  const { double_click: isDouble = false, button = "left", modifiers = [] } = args;
  const target = await needTarget(tab, args);
  const clicks = { button, clickCount: isDouble ? 2 : 1 };
  if (target.kind === "element") return target.locator.click({ ...clicks, modifiers, ...how });
  how.signal.throwIfAborted();
  for (const key of modifiers) await tab.page.keyboard.down(key);
  await tab.page.mouse.click(target.at.x, target.at.y, clicks);
  for (const key of modifiers) await tab.page.keyboard.up(key);
}
