import type { Page } from "playwright-core";
import { Pages } from "./pages.ts";
import { type Place, Session } from "./session.ts";

/**
 * The sessions of one browser. A page that a page opens belongs to the session of that one. Of a page whose opener is not known (it has closed,
 * or a key was held while a link was clicked) the session is known if there is one; else the page is closed. So each page is somebody's tab.
 */
export class Sessions {
  readonly #place: Place;
  readonly #pages: Pages;
  readonly #byName = new Map<string, Session>();
  /** Their tabs are being closed. */
  readonly #leaving = new Set<Session>();

  constructor(place: Place) {
    this.#place = place;
    this.#pages = new Pages(place.context);
    place.context.on("page", (page) => void this.#take(page).catch(() => undefined));
  }

  of(name: string): Session {
    const session = this.#byName.get(name) ?? new Session(this.#place, this.#pages);
    this.#byName.set(name, session);
    return session;
  }

  async leave(name: string): Promise<void> {
    const session = this.#byName.get(name);
    if (!session) return;
    this.#byName.delete(name);
    this.#leaving.add(session);
    await session.close();
    this.#leaving.delete(session);
  }

  async #take(page: Page): Promise<void> {
    const opener = await page.opener();
    if (!opener && (await this.#pages.isTaken(page))) return;
    const session = opener ? this.#ownerOf(opener) : this.#only();
    if (!session || this.#pages.isFull) return page.close();
    session.adopt(page, false);
  }

  #ownerOf(opener: Page): Session | undefined {
    return [...this.#byName.values()].find(({ all }) => all.some((tab) => tab.page === opener));
  }

  #only(): Session | undefined {
    const [only, ...others] = [...this.#byName.values(), ...this.#leaving];
    return others.length === 0 ? only : undefined;
  }
}
