import type { CloseArgs, CloseValue } from "../../actions/close.ts";
import { defineHandler } from "../handler.ts";

export const close = defineHandler<CloseArgs, CloseValue>({
  name: "close",
  isUrgent: true,
  endsTab: true,
  async run({ tabs }) {
    const closing = [...tabs.all];
    await Promise.allSettled(closing.map(({ page }) => page.close()));
    return { value: { closed: closing.length } };
  },
});
