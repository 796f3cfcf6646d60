import type { BrowserContext, Page } from "playwright-core";
import type { Pages } from "./pages.ts";
import type { BrowserFolders } from "./profile.ts";
import { Tab, type Tabs } from "./tab.ts";

/** What the sessions of one browser share. */
export interface Place {
  readonly context: BrowserContext;
  readonly folders: BrowserFolders;
  readonly restMs: number;
}

/** What one session has open. */
export class Session implements Tabs {
  readonly #place: Place;
  readonly #pages: Pages;
  readonly #tabs: Tab[] = [];
  readonly #timers = new Map<Tab, NodeJS.Timeout>();
  #current: Tab | undefined;
  #opening: Promise<Tab> | undefined;
  #isClosed = false;

  constructor(place: Place, pages: Pages) {
    this.#place = place;
    this.#pages = pages;
  }

  get all(): readonly Tab[] {
    return this.#tabs;
  }

  get shown(): Tab | undefined {
    return this.#current;
  }

  /** The tab to which a call goes that names none; opened if there is none. */
  async current(): Promise<Tab> {
    return this.#current ?? (await (this.#opening ??= this.open().finally(() => (this.#opening = undefined))));
  }

  open(): Promise<Tab> {
    return this.#pages.open((page) => this.adopt(page, true));
  }

  /** A page that is there already belongs to this session from now on. */
  adopt(page: Page, isCurrent: boolean): Tab {
    this.#pages.take(page);
    const tab = new Tab(page, { tabs: this, folders: this.#place.folders });
    page.once("close", () => this.forget(tab));
    this.#tabs.push(tab);
    if (isCurrent || !this.#current) this.#current = tab;
    this.touch(tab);
    // Opened for a call that its session did not wait for.
    if (this.#isClosed) void page.close().catch(() => undefined);
    return tab;
  }

  select(tab: Tab): void {
    this.#current = tab;
  }

  /** It is used now. */
  touch(tab: Tab): void {
    clearTimeout(this.#timers.get(tab));
    const timer = setTimeout(() => this.#rest(tab), this.#place.restMs);
    this.#timers.set(tab, timer);
  }

  /** Its tabs go, and so does each that comes later. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#tabs.map(({ page }) => page.close()));
  }

  forget(tab: Tab): void {
    const at = this.#tabs.indexOf(tab);
    if (at >= 0) this.#tabs.splice(at, 1);
    clearTimeout(this.#timers.get(tab));
    this.#timers.delete(tab);
    if (this.#current === tab) this.#current = this.#tabs.at(-1);
  }

  #rest(tab: Tab): void {
    if (tab === this.#current) return this.touch(tab);
    void tab.freeze().catch(() => undefined);
  }
}
