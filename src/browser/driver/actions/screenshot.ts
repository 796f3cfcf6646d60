import type { CDPSession } from "playwright-core";
import { URL_MAX } from "../../actions/change-limits.ts";
import { PICTURE_MAX_BYTES } from "../../frames.ts";
import type { ScreenshotArgs, ScreenshotValue } from "../../actions/screenshot.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler, type Picture } from "../handler.ts";
import { titleOf } from "../page-title.ts";
import { drawMarks } from "../page-view.ts";
import type { Tab } from "../tab.ts";
import { ACT_MS, assertNoDialog, reasoned } from "./act.ts";
import { toLocator } from "./target.ts";

const WIDTH = 1_280;
const HEIGHT = 720;
const WHOLE_HEIGHT = 4_000;
const QUALITY = 80;

/** In pixels of the document. */
interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Shot {
  readonly area: Area;
  readonly scale: number;
  readonly isCut: boolean;
  /** What is in view, and nothing else. */
  readonly isView: boolean;
}

export const screenshot = defineHandler<ScreenshotArgs, ScreenshotValue>({
  name: "screenshot",
  mayLinger: true,
  async run(tab, args, { signal }) {
    assertNoDialog(tab);
    return reasoned(async () => {
      const cdp = await tab.cdp();
      const shot = fit(await findArea(tab, { cdp, args, signal }), args);
      await using marked = args.marks === true ? await drawMarks(tab.page) : undefined;
      if (marked) tab.log.marked = marked.marks.map(({ ref }) => ref);
      const { page } = tab;
      const [picture, title] = await Promise.all([take(cdp, shot, args.format ?? "jpeg"), titleOf(tab)]);
      const [width, height] = [Math.round(shot.area.width * shot.scale), Math.round(shot.area.height * shot.scale)];
      const facts = {
        url: page.url().slice(0, URL_MAX),
        title,
        width,
        height,
        scale: shot.scale,
      };
      return { value: { ...facts, cut: shot.isCut, marks: [...(marked?.marks ?? [])] }, picture };
    });
  },
});

interface Wish {
  readonly cdp: CDPSession;
  readonly args: ScreenshotArgs;
  readonly signal: AbortSignal;
}

async function findArea(tab: Tab, { cdp, args, signal }: Wish): Promise<Area> {
  const locator = await toLocator(tab, args);
  if (locator) await locator.scrollIntoViewIfNeeded({ timeout: ACT_MS, signal });
  const { cssLayoutViewport: view, cssContentSize: content } = await cdp.send("Page.getLayoutMetrics");
  if (args.full_page) return { x: 0, y: 0, width: content.width, height: content.height };
  if (!locator) return { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight };
  const box = await locator.boundingBox({ timeout: ACT_MS, signal });
  if (!box || box.width < 1 || box.height < 1) throw new DriverError("ACTION_FAILED", "The element has no place on the page: it is hidden");
  return { x: box.x + view.pageX, y: box.y + view.pageY, width: box.width, height: box.height };
}

/** Made smaller to fit; a whole page only to its width, as nobody could read it otherwise: its end is cut off. */
function fit(area: Area, { full_page: isWhole = false, max_width, max_height, ref, selector }: ScreenshotArgs): Shot {
  const [width, height] = [max_width ?? WIDTH, max_height ?? (isWhole ? WHOLE_HEIGHT : HEIGHT)];
  const scale = Math.min(1, width / area.width, isWhole ? 1 : height / area.height);
  const shown = Math.min(area.height, height / scale);
  const isView = !isWhole && (ref ?? selector) === undefined && scale === 1;
  return { area: { ...area, height: shown }, scale, isCut: shown < area.height, isView };
}

async function take(cdp: CDPSession, { area, scale, isView }: Shot, format: "jpeg" | "png"): Promise<Picture> {
  const { data } = await cdp.send("Page.captureScreenshot", {
    format,
    ...(format === "jpeg" && { quality: QUALITY }),
    // What is in view as it is costs half of what a part of the document costs, which is drawn anew.
    ...(!isView && { clip: { ...area, scale }, captureBeyondViewport: true }),
    optimizeForSpeed: true,
  });
  const bytes = Buffer.from(data, "base64");
  if (bytes.length <= PICTURE_MAX_BYTES) return { type: `image/${format}`, bytes };
  const advice = format === "png" ? "ask for a jpeg" : "ask for a smaller one with max_width and max_height";
  throw new DriverError("RESULT_TOO_LARGE", `The picture has ${bytes.length} bytes, at most ${PICTURE_MAX_BYTES} come back: ${advice}`);
}
