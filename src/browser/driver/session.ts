import type { BrowserContext } from "playwright-core";
import { DriverError } from "./driver-error.ts";
import { Tab, type Tabs } from "./tab.ts";

const TABS_MAX = 20;

/** What one session has open. */
export class Session implements Tabs {
  readonly #context: BrowserContext;
  readonly #tabs: Tab[] = [];
  #current: Tab | undefined;

  constructor(context: BrowserContext) {
    this.#context = context;
  }

  get all(): readonly Tab[] {
    return this.#tabs;
  }

  /** The tab to which a call goes that names none; opened if there is none. */
  async current(): Promise<Tab> {
    return this.#current ?? (await this.open());
  }

  async open(): Promise<Tab> {
    if (this.#tabs.length >= TABS_MAX) throw new DriverError("TAB_LIMIT", `There are ${TABS_MAX} tabs; close one of them`);
    const tab = new Tab(await this.#context.newPage(), this);
    tab.page.on("close", () => this.#forget(tab));
    this.#tabs.push(tab);
    this.#current = tab;
    return tab;
  }

  select(tab: Tab): void {
    this.#current = tab;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#tabs.map(({ page }) => page.close()));
  }

  #forget(tab: Tab): void {
    const at = this.#tabs.indexOf(tab);
    if (at >= 0) this.#tabs.splice(at, 1);
    if (this.#current === tab) this.#current = this.#tabs.at(-1);
  }
}
