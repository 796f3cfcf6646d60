import type { TabsArgs, TabsValue } from "../../actions/tabs.ts";
import { LISTED_URL_MAX } from "../../actions/change-limits.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { goTo } from "../go-to.ts";
import { titleOf } from "../page-title.ts";
import { saidInTime } from "../said-in-time.ts";
import { reasoned } from "./act.ts";

/** A tab that a dialog or a script holds does not say its title. */
const TITLE_MS = 500;
const NEW_MS = 8_000;

export const tabs = defineHandler<TabsArgs, TabsValue>({
  name: "tabs",
  isUrgent: true,
  endsTab: true,
  async run(current, { action, index, url }, { signal }) {
    if (action === "new") await open(current, url, signal);
    if (action === "select") current.tabs.select(find(current, index));
    if (action === "close") await find(current, index).page.close();
    const rows = current.tabs.all.map(async (tab) => ({
      url: tab.page.url().slice(0, LISTED_URL_MAX),
      title: (await saidInTime(titleOf(tab), TITLE_MS)) ?? "",
      current: tab === current.tabs.shown,
    }));
    return { value: { tabs: await Promise.all(rows) } };
  },
});

async function open({ tabs: all }: Tab, url: string | undefined, signal: AbortSignal): Promise<void> {
  const tab = await all.open();
  if (url !== undefined) await reasoned(() => goTo(tab.page, url, { timeout: NEW_MS, signal }), signal);
}

function find(current: Tab, index: number | undefined): Tab {
  const { all } = current.tabs;
  const tab = index === undefined ? current : all[index];
  if (!tab) throw new DriverError("TAB_NOT_FOUND", `There is no tab ${index}: there are ${all.length}, counted from 0`);
  return tab;
}
