import type { ChangeFacts } from "../../actions/change.ts";
import type { TypeArgs } from "../../actions/type.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { act, type How } from "./act.ts";
import { type Target, toTarget } from "./target.ts";

export const type = defineHandler<TypeArgs, ChangeFacts>({
  name: "type",
  run: (tab, args, call) =>
    act(tab, call, async (how) => {
      await enter(tab, await toTarget(tab, args), { args, how });
      how.signal.throwIfAborted();
      if (args.submit) await tab.page.keyboard.press("Enter");
    }),
});

async function enter(tab: Tab, target: Target | undefined, { args, how }: { readonly args: TypeArgs; readonly how: How }): Promise<void> {
  const { text, append = false, slowly = false } = args;
  if (target?.kind === "element" && !append && !slowly) return target.locator.fill(text, how);
  const { keyboard, mouse } = tab.page;
  how.signal.throwIfAborted();
  if (target?.kind === "element") await target.locator.focus(how);
  else if (target) await mouse.click(target.at.x, target.at.y);
  how.signal.throwIfAborted();
  if (target || args.append === false) await place(tab, append);
  how.signal.throwIfAborted();
  if (slowly) return typeKeys(tab, text, how);
  return text === "" ? keyboard.press("Delete") : keyboard.insertText(text);
}

/** The cursor at the end, or everything selected. */
async function place({ page }: Tab, append: boolean): Promise<void> {
  await page.keyboard.press(append ? "Control+End" : "Control+A");
}

/** Each key by itself: none is left to come when the call is broken off. */
async function typeKeys({ page }: Tab, text: string, { signal }: How): Promise<void> {
  let typed = 0;
  for (const key of text) {
    if (signal.aborted) throw brokenOff(signal.reason, `${typed} of ${text.length} characters are typed`);
    await page.keyboard.type(key);
    typed += key.length;
  }
}

function brokenOff(reason: unknown, howFar: string): unknown {
  return reason instanceof DriverError ? new DriverError(reason.code, `${reason.message}: ${howFar}`) : reason;
}
