import type { Page } from "playwright-core";
import { Turns } from "../../async/turns.ts";

/** Those that a tab belongs to: the tabs of one session, in the order in which they were opened. */
export interface Tabs {
  readonly all: readonly Tab[];
  /** A new tab, which is the current one from now on. */
  open(): Promise<Tab>;
  select(tab: Tab): void;
}

/** One page of a session, and what happens to it. */
export class Tab {
  readonly page: Page;
  readonly tabs: Tabs;
  readonly turns = new Turns();

  constructor(page: Page, tabs: Tabs) {
    this.page = page;
    this.tabs = tabs;
  }
}
