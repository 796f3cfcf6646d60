import { boxOf, createElement, rootElementOf } from "./dom.ts";
import type { References } from "./references.ts";
import { nameOf } from "./names.ts";
import { ACTED_ON, roleOf } from "./roles.ts";
import type { Box } from "./questions.ts";
import type { Walked } from "./walk.ts";

/** An element of the page's own kinds might be one that the page's scripts define. */
let shown: HTMLElement | undefined;
const COLOURS = ["#d01c8b", "#1f78b4", "#33a02c", "#e66101", "#6a3d9a"];

/** The boxes of what a walk found in view, each element once. */
export function boxesOf({ lines }: Walked, references: References, max: number): readonly Box[] {
  const refs = lines.filter(({ rank }) => rank === 0).map(({ key }) => key);
  const boxes: Box[] = [];
  for (const ref of refs) {
    const element = references.find(ref);
    if (boxes.length >= max || !element) continue;
    const role = roleOf(element) ?? "clickable";
    if (role !== "clickable" && !ACTED_ON.has(role)) continue;
    const { x, y, width, height } = boxOf(element);
    const [left, top] = [Math.max(0, x), Math.max(0, y)];
    const size = { width: Math.min(x + width, innerWidth) - left, height: Math.min(y + height, innerHeight) - top };
    if (size.width > 0 && size.height > 0) boxes.push({ ref, role, name: nameOf(element, role), x: left, y: top, ...size });
  }
  return boxes;
}

/** Draws numbered boxes above the page, where its own styles and scripts do not reach, until `hideMarks`. */
export function showMarks(boxes: readonly Box[], first: number): void {
  hideMarks();
  const host = createElement(document, "div");
  // Set as properties: a page may forbid attributes with styles.
  const whole = "all:initial;position:fixed;inset:0;width:auto;height:auto;overflow:visible;background:none;border:0;pointer-events:none;";
  host.style.cssText = whole.replaceAll(";", " !important;");
  const root = host.attachShadow({ mode: "closed" });
  for (const [at, { x, y, width, height }] of boxes.entries()) {
    const colour = COLOURS[at % COLOURS.length] ?? "#000";
    const box = createElement(document, "div");
    const place = `left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
    box.style.cssText = `position:fixed;box-sizing:border-box;border:2px solid ${colour};${place}`;
    const label = createElement(document, "span");
    label.textContent = String(first + at);
    const corner = `position:fixed;left:${x}px;top:${Math.max(0, y - 7)}px`;
    label.style.cssText = `${corner};background:${colour};color:#fff;font:bold 11px/13px monospace;padding:0 2px`;
    root.append(box, label);
  }
  rootElementOf(document).append(host);
  // Above dialogs too, which stand over everything else.
  host.popover = "manual";
  host.showPopover();
  shown = host;
}

export function hideMarks(): void {
  shown?.remove();
  shown = undefined;
}
