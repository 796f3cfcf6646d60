import type { NavigateArgs, NavigateValue } from "../../actions/navigate.ts";
import { goTo } from "../go-to.ts";
import { defineHandler } from "../handler.ts";

export const navigate = defineHandler<NavigateArgs, NavigateValue>({
  name: "navigate",
  async run({ page }, { url }) {
    const status = (await goTo(page, url))?.status();
    return { value: { url: page.url(), title: await page.title(), ...(status !== undefined && { status }) } };
  },
});
