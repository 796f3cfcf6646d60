import type { Locator } from "playwright-core";
import type { ElementArgs, TargetArgs } from "../../actions/fields.ts";
import { DriverError } from "../driver-error.ts";
import type { Tab } from "../tab.ts";
import { locateRef } from "../page-view.ts";
import { viewportOf } from "../viewport.ts";
import type { How } from "./act.ts";

type Handle = Awaited<ReturnType<Locator["elementHandle"]>>;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What an action is done to. */
export type Target = { readonly kind: "element"; readonly locator: Locator } | { readonly kind: "point"; readonly at: Point };

/**
 * Throws `STALE_REF` for a reference to an element that is gone, and `ARGUMENTS_INVALID` for a point out of view, where nothing would happen.
 * The server has checked that one way is named.
 */
export async function toTarget(tab: Tab, args: TargetArgs): Promise<Target | undefined> {
  const { coordinate_x: x, coordinate_y: y } = args;
  if (x !== undefined && y !== undefined) return { kind: "point", at: inView(tab, { x, y }) };
  const locator = await toLocator(tab, args);
  return locator && { kind: "element", locator };
}

function inView({ page }: Tab, at: Point): Point {
  const { width, height } = viewportOf(page);
  if (at.x >= 0 && at.y >= 0 && at.x < width && at.y < height) return at;
  const advice = "scroll first, or name the element by ref or selector";
  throw new DriverError("ARGUMENTS_INVALID", `${at.x},${at.y} is outside the viewport of ${width}x${height} pixels: ${advice}`);
}

export async function needTarget(tab: Tab, args: TargetArgs): Promise<Target> {
  const target = await toTarget(tab, args);
  if (!target) throw new DriverError("ARGUMENTS_INVALID", "Name what it is done to by ref, selector or coordinates");
  return target;
}

export async function toLocator({ page }: Tab, { ref, selector }: ElementArgs): Promise<Locator | undefined> {
  if (ref !== undefined) return locateRef(page, ref);
  return selector === undefined ? undefined : page.locator(selector);
}

/** An element, also of a point: the innermost one of the main frame there. */
export async function elementOf({ page }: Tab, target: Target, how: How): Promise<Handle> {
  if (target.kind === "element") {
    // Which can be broken off, as the next call cannot.
    await target.locator.waitFor({ state: "attached", ...how });
    return target.locator.elementHandle({ timeout: how.timeout });
  }
  const found = await page.evaluateHandle(`document.elementFromPoint(${target.at.x}, ${target.at.y})`);
  const element = found.asElement();
  if (!element) throw new DriverError("ELEMENT_NOT_FOUND", `Nothing is at ${target.at.x},${target.at.y} in the viewport`);
  return element;
}

/** The middle of an element, which is brought into view. */
export async function pointOf(target: Target, how: How): Promise<Point> {
  if (target.kind === "point") return target.at;
  await target.locator.scrollIntoViewIfNeeded(how);
  const box = await target.locator.boundingBox(how);
  if (!box) throw new DriverError("ACTION_FAILED", "The element has no place on the page: it is hidden");
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}
