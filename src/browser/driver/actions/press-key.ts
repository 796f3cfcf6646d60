import type { ChangeFacts } from "../../actions/change.ts";
import type { PressKeyArgs } from "../../actions/press-key.ts";
import { defineHandler } from "../handler.ts";
import { act } from "./act.ts";

export const pressKey = defineHandler<PressKeyArgs, ChangeFacts>({
  name: "press_key",
  run: (tab, { key }, call) => act(tab, call, () => tab.page.keyboard.press(key), { followsLinks: true }),
});
