import type { BrowserContext, Page } from "playwright-core";
import { DriverError } from "./driver-error.ts";
import { sessionOf } from "./page-session.ts";

const TABS_MAX = 20;

/** Which pages of a browser are tabs, and how many more there may be. */
export class Pages {
  readonly #context: BrowserContext;
  /** With which the browser has started: nobody's until a session needs a tab. */
  readonly #spare: readonly Page[];
  readonly #taken = new WeakSet<Page>();
  readonly #opening = new Set<Promise<unknown>>();

  constructor(context: BrowserContext) {
    this.#context = context;
    this.#spare = context.pages();
    // While whoever wanted the browser is told that it is there.
    for (const page of this.#spare) void sessionOf(page);
  }

  /** A page for a tab: `take` makes it one. Throws `TAB_LIMIT`. */
  async open<Tab>(take: (page: Page) => Tab): Promise<Tab> {
    const spare = this.#spare.find((page) => !this.#taken.has(page) && !page.isClosed());
    if (spare) return take(spare);
    if (this.isFull) throw new DriverError("TAB_LIMIT", `The browser has ${TABS_MAX} tabs; close one of them`);
    const opening = this.#context.newPage().then(take);
    this.#opening.add(opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(opening);
    }
  }

  /** It is a tab from now on. */
  take(page: Page): void {
    this.#taken.add(page);
  }

  /** With the tabs that are being opened. */
  get isFull(): boolean {
    const tabs = this.#context.pages().filter((page) => this.#taken.has(page) || this.#spare.includes(page));
    return tabs.length + this.#opening.size >= TABS_MAX;
  }

  /** Whether a new page is a tab. Resolves when those that are being opened now are. */
  async isTaken(page: Page): Promise<boolean> {
    await Promise.allSettled(this.#opening);
    return this.#taken.has(page);
  }
}
