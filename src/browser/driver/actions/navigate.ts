import type { NavigateArgs, NavigateValue } from "../../actions/navigate.ts";
import { defineHandler } from "../handler.ts";

export const navigate = defineHandler<NavigateArgs, NavigateValue>({
  name: "navigate",
  async run({ page }, { url }) {
    const response = await page.goto(url, { waitUntil: "load" });
    const status = response?.status();
    return { value: { url: page.url(), title: await page.title(), ...(status !== undefined && { status }) } };
  },
});
