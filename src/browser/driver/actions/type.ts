import type { ChangeFacts } from "../../actions/change.ts";
import type { TypeArgs } from "../../actions/type.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { act, ACT_MS } from "./act.ts";
import { type Target, toTarget } from "./target.ts";

export const type = defineHandler<TypeArgs, ChangeFacts>({
  name: "type",
  run: (tab, args) =>
    act(tab, async () => {
      await enter(tab, await toTarget(tab, args), args);
      if (args.submit) await tab.page.keyboard.press("Enter");
    }),
});

async function enter(tab: Tab, target: Target | undefined, args: TypeArgs): Promise<void> {
  const { text, append = false, slowly = false } = args;
  if (target?.kind === "element" && !append && !slowly) return target.locator.fill(text, { timeout: ACT_MS });
  const { keyboard, mouse } = tab.page;
  if (target?.kind === "element") await target.locator.focus({ timeout: ACT_MS });
  else if (target) await mouse.click(target.at.x, target.at.y);
  if (target || args.append === false) await place(tab, append);
  if (slowly) return keyboard.type(text);
  return text === "" ? keyboard.press("Delete") : keyboard.insertText(text);
}

/** The cursor at the end, or everything selected. */
async function place({ page }: Tab, append: boolean): Promise<void> {
  await page.keyboard.press(append ? "Control+End" : "Control+A");
}
