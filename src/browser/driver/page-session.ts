import type { CDPSession, Page } from "playwright-core";

/** A session of the DevTools protocol with a page, one for the life of the page. */
export interface PageSession {
  readonly cdp: Promise<CDPSession>;
  /** The id of its main frame, which stays the same. A page that a dialog holds would not say it. */
  readonly frame: Promise<string>;
}

const SESSIONS = new WeakMap<Page, PageSession>();

/** The first call opens it. */
export function sessionOf(page: Page): PageSession {
  const known = SESSIONS.get(page);
  if (known) return known;
  const cdp = page.context().newCDPSession(page);
  const frame = cdp.then(findFrame);
  // Whoever needs it learns it.
  frame.catch(() => undefined);
  const session = { cdp, frame };
  SESSIONS.set(page, session);
  return session;
}

async function findFrame(cdp: CDPSession): Promise<string> {
  const [{ frameTree }] = await Promise.all([cdp.send("Page.getFrameTree"), cdp.send("Page.enable")]);
  return frameTree.frame.id;
}
