import type { BrowserContext, Page } from "playwright-core";
import type { BrowserFolders } from "./profile.ts";
import { Session, TABS_MAX } from "./session.ts";

/** The sessions of one browser. A page that a page opens belongs to the session of that one. */
export class Sessions {
  readonly #context: BrowserContext;
  readonly #folders: BrowserFolders;
  readonly #byName = new Map<string, Session>();

  constructor(context: BrowserContext, folders: BrowserFolders) {
    this.#context = context;
    this.#folders = folders;
    context.on("page", (page) => void this.#take(page).catch(() => undefined));
  }

  of(name: string): Session {
    const session = this.#byName.get(name) ?? new Session(this.#context, this.#folders);
    this.#byName.set(name, session);
    return session;
  }

  async leave(name: string): Promise<void> {
    const session = this.#byName.get(name);
    this.#byName.delete(name);
    await session?.close();
  }

  async #take(page: Page): Promise<void> {
    const opener = await page.opener();
    if (!opener) return;
    const session = [...this.#byName.values()].find(({ all }) => all.some((tab) => tab.page === opener));
    if (!session || this.#context.pages().length > TABS_MAX) return page.close();
    session.adopt(page, false);
  }
}
