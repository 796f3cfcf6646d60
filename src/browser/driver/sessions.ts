import type { Page } from "playwright-core";
import { type Place, Session, TABS_MAX } from "./session.ts";

/** The sessions of one browser. A page that a page opens belongs to the session of that one. */
export class Sessions {
  readonly #place: Place;
  readonly #byName = new Map<string, Session>();

  constructor(place: Place) {
    this.#place = place;
    place.context.on("page", (page) => void this.#take(page).catch(() => undefined));
  }

  of(name: string): Session {
    const session = this.#byName.get(name) ?? new Session(this.#place);
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
    if (!session || this.#place.context.pages().length > TABS_MAX) return page.close();
    session.adopt(page, false);
  }
}
