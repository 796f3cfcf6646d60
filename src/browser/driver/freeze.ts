import type { CDPSession, Page } from "playwright-core";

/** Playwright's own session with a page, to which it gives no way: the names are those of the pinned release. */
interface Inner {
  readonly _connection?: {
    readonly toImpl?: (page: Page) => {
      readonly delegate?: { readonly _mainFrameSession?: { readonly _client?: Pick<CDPSession, "send"> } };
    };
  };
}

/**
 * Stops all timers and scripts of a page, or lets them go on. Playwright has each page as if somebody looked at it, and such a page is never
 * frozen, so that is taken back meanwhile.
 */
export async function setFrozen(page: Page, cdp: CDPSession, isFrozen: boolean): Promise<void> {
  const own = (page as Page & Inner)._connection?.toImpl?.(page)?.delegate?._mainFrameSession?._client;
  if (isFrozen) await own?.send("Emulation.setFocusEmulationEnabled", { enabled: false });
  await cdp.send("Page.setWebLifecycleState", { state: isFrozen ? "frozen" : "active" });
  if (!isFrozen) await own?.send("Emulation.setFocusEmulationEnabled", { enabled: true });
}
