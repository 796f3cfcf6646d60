import type { Page } from "playwright-core";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Of every page, until somebody says otherwise. */
export const VIEWPORT: Size = { width: 1280, height: 720 };

export function viewportOf(page: Page): Size {
  return page.viewportSize() ?? VIEWPORT;
}
